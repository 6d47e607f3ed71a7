"""When the frames of a link direction were on the air.

A frame's air time is its share of the opportunity it was sent in: frames that were sent in one divide it by their
octets, where the log has the octets of all of them; a short one in UMTS fills a block like any other. Where frames
follow one another as they end, with no opportunities, each takes as long as its octets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitracer.compute.kernels import kernel
from multitracer.link.frames import DATA_TYPES
from multitracer.link.timing import Timing
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

_RLP_FRAMING = rlp.HEADER_BYTES + rlp.FCS_BYTES
"""Octets of an RLP frame beside its information field."""


@dataclass(frozen=True)
class FramesOnAir:
    """One direction's frames ordered by time; arrays of shape (frames,), `rows` are positions in the frames table."""

    rows: Ints
    start_ns: Ints
    end_ns: Ints
    data: Any
    """Whether each carries user data; bool."""
    repeat: Any
    """Whether each is a link retransmission; bool."""
    octets: Ints
    """All octets of each frame."""
    packet_octets: Ints
    """Octets of packets in it."""
    carried_before: Ints
    """Of `packet_octets`, TCP bytes that the link had carried before."""
    unclear: Ints
    """Of `packet_octets`, those that may or may not have been carried before."""


def frames_on_air(frames: pd.DataFrame, link: int, timing: Timing) -> FramesOnAir:
    """The frames that the sender of `link` logged, with their air times; no packet octets are entered yet."""
    rows = np.flatnonzero(((frames["link"] == link) & frames["sent"]).to_numpy())
    rows = rows[np.argsort(frames["time_ns"].to_numpy()[rows], kind="stable")]
    own = frames.take(rows)
    data = own["type"].isin(DATA_TYPES).to_numpy()
    length = own["length_bytes"].to_numpy().astype(np.int64)
    if (own["type"].str.startswith("I ") if len(own) else own["type"].isna()).any():
        length = np.where(data, length + _RLP_FRAMING, length)
    start, end = _times(own["time_ns"].to_numpy(), np.maximum(length, timing.block_bytes), timing)
    nothing = np.zeros(len(rows), dtype=np.int64)
    repeat = own["transmission"].to_numpy() > 0
    return FramesOnAir(rows, start, end, data, repeat, np.maximum(length, 1), nothing, nothing.copy(), nothing.copy())


def _times(times: Ints, octets: Ints, timing: Timing) -> tuple[Ints, Ints]:
    """(Start, end) of each frame in ns, without gaps from jitter: the frames of one opportunity divide its time.

    Those of a link without opportunities begin when they were logged and take as long as their octets.
    """
    interval, together = timing.interval_ns or 0, timing.frames or 1
    if not len(times) or not interval:
        return times, times
    if timing.octet_ns:
        own = np.rint(octets * timing.octet_ns).astype(np.int64)
        apart = np.append(np.diff(times), own[-1:])
        return times, times + np.where(apart < own * 3 // 2, apart, own)
    begins = np.empty(len(times), dtype=np.bool_)
    mark_opportunities(times, interval, begins)
    first = np.flatnonzero(begins)
    count = np.diff(np.append(first, len(times)))
    which = np.repeat(np.arange(len(first)), count)
    starts = times[first]
    following = np.append(starts[1:], starts[-1] + interval)
    lasts = np.where(following - starts < interval * 3 // 2, following - starts, interval)
    used = lasts * count // np.maximum(count, together)
    known = (np.minimum.reduceat(octets, first) > 0)[which]
    part = np.where(known, octets, 1)
    done = np.cumsum(part)
    before = done - part - (done - part)[first][which]
    whole = np.add.reduceat(part, first)[which]
    return starts[which] + used[which] * before // whole, starts[which] + used[which] * (before + part) // whole


@kernel
def mark_opportunities(times: Any, interval_ns: int, begins: Any) -> None:
    """Mark the first frame of each opportunity: a pause comes before it, or the one before it has lasted an interval.

    The short frames of a link that sends octet by octet follow each other with no pause.
    """
    start = times[0]
    for at in range(len(times)):
        begins[at] = at == 0 or times[at] - times[at - 1] > interval_ns // 2 or times[at] - start >= interval_ns
        if begins[at]:
            start = times[at]

"""Air time of a frame, rate and round trip time of a link, estimated from its frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.link.frames import ASKING_TYPES, DATA_TYPES, LARGEST_NUMBER
from multitracer.link.pace import Pace, are_sent_together, octet_ns, pace_of

if TYPE_CHECKING:
    import pandas as pd

_LEAST_FRAMES = 10
_ONE_SIZE = 0.9
"""A link has a fixed rate if at least this share of its frames has one size."""
_MISTAKEN = 0.01
"""So large a share of RLP's answers may name another frame than it seems."""
NOT_TOLD = Pace()


@dataclass(frozen=True)
class Timing:
    """Timing of one link direction from its sender's log; None where the log does not show it.

    Every `interval_ns` there is an opportunity for `frames` frames, each `frame_ns` long.
    """

    interval_ns: int | None = None
    frames: int | None = None
    rate_bps: float | None = None
    """User data with full frames in every opportunity; None unless nearly all frames have one size."""
    rtt_ns: int | None = None
    block_bytes: int = 0
    """What a frame fills at least, however short: the blocks of a TTI are of one size (25.212 4.2.2.1); 0: no more."""
    octet_ns: float = 0.0
    """How long an octet takes where frames follow one another as they end; 0: frames have opportunities, or unknown."""

    @property
    def frame_ns(self) -> int | None:
        """The air time of one frame."""
        return None if self.interval_ns is None or not self.frames else self.interval_ns // self.frames


LONGEST_PPDU_NS = 5_484_000
"""802.11-2020 tables 19-25 and 21-29, aPPDUMaxTime: so long a frame may last that somebody else sends.

Wi-Fi's frames are acknowledged within microseconds, once they are on the air; the wait for it decides about delays.
"""


def timing(frames: pd.DataFrame, link: int, reverse: int, protocol: str, told: Pace = NOT_TOLD) -> Timing:
    """The timing of a link, from its log's header or from at least 10 frames that its sender logged."""
    sent = frames[(frames["link"] == link) & frames["sent"]]
    if protocol == "wifi":  # rates and gaps of a shared channel differ from frame to frame
        return Timing(rtt_ns=LONGEST_PPDU_NS if len(sent) else None)
    if len(sent) < _LEAST_FRAMES:
        return Timing(*told) if told.frames else Timing()
    sent = sent.sort_values("time_ns", kind="stable")
    data = sent[sent["type"].isin(DATA_TYPES)]
    rtt = _rtt(frames, data, reverse, protocol)
    pace = _pace(sent, protocol, told, rtt)
    full, rate, each = _full_frame(data), None, 0.0
    if pace.interval_ns:
        sizes = sent["length_bytes"].to_numpy()
        each = octet_ns(sent["time_ns"].to_numpy(), sizes, pace.interval_ns, full.length_bytes)
    if each:  # short frames that follow one another have no opportunity in common
        pace = Pace(pace.interval_ns, told.frames or 1)
    if pace.interval_ns and pace.frames and full.payload_bytes > 0:
        rate = 8e9 * pace.frames * full.payload_bytes / pace.interval_ns
    blocks = protocol == "rlc-umts" and pace.interval_ns and are_sent_together(sent["time_ns"], pace.interval_ns)
    return Timing(*pace, rate, rtt, full.length_bytes if blocks else 0, each)


def _pace(sent: pd.DataFrame, protocol: str, told: Pace, rtt: int | None) -> Pace:
    """How often the sender of these frames may send: told, or by the spacing of its data frames.

    A spacing that is no shorter than a round trip may be that of frames that waited for an answer each. Where an RLP
    entity has little to send, it fills the opportunities with RR: then the spacing of all frames tells.
    """
    times, data = sent["time_ns"].to_numpy(), sent["type"].isin(DATA_TYPES).to_numpy()
    pace = pace_of(told, times, data, one_each=protocol == "rlp")
    if told.interval_ns is None and pace.interval_ns is None and protocol == "rlp" and rtt is not None:
        pace = pace_of(told, times, np.ones(len(times), dtype=np.bool_), one_each=True)
    waited = rtt is not None and pace.interval_ns is not None and rtt <= pace.interval_ns
    return NOT_TOLD if waited and told.interval_ns is None else pace


class _Full(NamedTuple):
    """A full frame: its user octets, and its size in the log."""

    payload_bytes: int = 0
    length_bytes: int = 0


def _full_frame(data: pd.DataFrame) -> _Full:
    """A full frame if nearly all have one size; nothing if sizes vary with the transport format."""
    if not len(data):
        return _Full()
    size = data["length_bytes"].to_numpy()
    sizes, counts = np.unique(size, return_counts=True)
    if counts.max() < _ONE_SIZE * len(size):
        return _Full()
    return _Full(int(data["payload_bytes"].max()), int(sizes[np.argmax(counts)]))


def _rtt(frames: pd.DataFrame, data: pd.DataFrame, reverse: int, protocol: str) -> int | None:
    """The least time in ns from a data frame sent once to its acknowledgement; None without one.

    Of RLP, the least that 99 % of these times reach: its numbers come round within a window, so that now and then an
    N(R) is that of a frame long before.
    """
    log = data["input"].iloc[0] if len(data) else -1
    back = frames[(frames["link"] == reverse) & ~frames["sent"] & (frames["input"] == log)]
    # A number too large for its field is a damaged record.
    back = back[back["nr"].between(0, LARGEST_NUMBER) & ~back["type"].isin(ASKING_TYPES)]
    once = data[(data["transmission"] == 0) & data["sn"].between(0, LARGEST_NUMBER) & (data["input"] == log)]
    if not len(back) or not len(once):
        return None
    once = once.sort_values("time_ns", kind="stable")
    back = back.sort_values("time_ns", kind="stable")
    last_sent = np.full(int(max(once["sn"].max(), back["nr"].max())) + 1, -1, dtype=np.int64)
    took = np.empty(len(back), dtype=np.int64)
    count = answer_times(
        once["time_ns"].to_numpy(), once["sn"].to_numpy(), back["time_ns"].to_numpy(), back["nr"].to_numpy(), last_sent,
        took,
    )  # fmt: skip
    spared = int(_MISTAKEN * count) if protocol == "rlp" else 0
    return int(np.partition(took[:count], spared)[spared]) if count else None


@kernel
def answer_times(sent_at: Any, numbers: Any, when: Any, named: Any, last_sent: Any, took: Any) -> int:
    """Fill `took` with the times from a frame to the first response with N(R) one above its number; returns how many.

    `last_sent` is work space: all -1, with an element for every number.
    """
    count, at, seen = 0, 0, -1
    for place in range(len(when)):
        while at < len(sent_at) and sent_at[at] <= when[place]:
            last_sent[numbers[at]] = sent_at[at]
            at += 1
        # N(R) is the next number expected: the frame before it has arrived.
        number = named[place]
        if number == seen or number == 0:
            seen = number
            continue
        seen = number
        before = last_sent[number - 1]
        if before >= 0:
            took[count] = when[place] - before
            count += 1
    return count

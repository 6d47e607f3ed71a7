"""How long a frame is on the air, how fast the link is, and how long it takes to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.link.frames import DATA_TYPES, LARGEST_NUMBER

if TYPE_CHECKING:
    import pandas as pd

MS = 1_000_000
RLP_FRAME_MS = {25: 20, 67: 40}
"""Octets of information, and how often such a frame is sent: TCH/F9.6 and TCH/F14.4 (24.022 4.1)."""
_LONGEST_INTERVAL_MS = 100
_LEAST_FRAMES = 10
_ONE_SIZE = 0.9
"""A link has a rate of its own where this share of its frames has one size."""


@dataclass(frozen=True)
class Timing:
    """One direction of a link by its sender's log; None is what the log does not show.

    Every `interval_ns` there is an opportunity for `frames` frames; one has the air for `frame_ns`.
    """

    interval_ns: int | None = None
    frames: int | None = None
    rate_bps: float | None = None
    """Of user data at best: full frames in every opportunity; known where frames have one size."""
    rtt_ns: int | None = None

    @property
    def frame_ns(self) -> int | None:
        """The air time of one frame."""
        return None if self.interval_ns is None or not self.frames else self.interval_ns // self.frames


def timing(frames: pd.DataFrame, link: int, reverse: int, protocol: str) -> Timing:
    """The timing of a link, from the frames that its sender logged."""
    sent = frames[(frames["link"] == link) & frames["sent"]]
    if len(sent) < _LEAST_FRAMES:
        return Timing()
    times = np.sort(sent["time_ns"].to_numpy())
    data = sent[sent["type"].isin(DATA_TYPES)]
    interval = interval_of(times)
    if protocol == "rlp":
        size = int(data["length_bytes"].max()) if len(data) else 25
        interval = RLP_FRAME_MS.get(size, 20) * MS
        count = 1
    else:
        count = at_once(times, interval)
    largest = _fixed_payload(data)
    rate = 8e9 * count * largest / interval if interval and largest > 0 else None
    return Timing(interval, count if interval else None, rate, _rtt(frames, data, link, reverse))


def _fixed_payload(data: pd.DataFrame) -> int:
    """User octets of a full frame where nearly all have one size; -1 where sizes follow the radio's mood."""
    if not len(data):
        return -1
    size = data["length_bytes"].to_numpy()
    _, counts = np.unique(size, return_counts=True)
    return int(data["payload_bytes"].max()) if counts.max() >= _ONE_SIZE * len(size) else -1


def interval_of(times: Any) -> int | None:
    """The shortest spacing that is common, in whole ms: timers jitter, slots do not."""
    spacing = np.rint(np.diff(times) / MS).astype(np.int64)
    spacing = spacing[(spacing > 0) & (spacing <= _LONGEST_INTERVAL_MS)]
    if len(spacing) < _LEAST_FRAMES:
        return None
    values, counts = np.unique(spacing, return_counts=True)
    return int(values[np.argmax(counts)]) * MS


def at_once(times: Any, interval: int | None) -> int:
    """How many frames share an opportunity at most, seen more than once."""
    if interval is None:
        return 1
    starts = np.flatnonzero(np.concatenate([[True], np.diff(times) > interval // 2]))
    counts = np.diff(np.concatenate([starts, [len(times)]]))
    values, often = np.unique(counts, return_counts=True)
    common = values[often > 1]
    return int(common.max()) if len(common) else int(values.max())


def _rtt(frames: pd.DataFrame, data: pd.DataFrame, link: int, reverse: int) -> int | None:
    """The least time from a data frame sent once to the answer that acknowledges it."""
    log = data["input"].iloc[0] if len(data) else -1
    back = frames[(frames["link"] == reverse) & ~frames["sent"] & (frames["input"] == log)]
    # A number that no field holds is damage.
    back = back[back["nr"].between(0, LARGEST_NUMBER) & ~back["type"].isin(("SREJ", "I SREJ"))]
    once = data[(data["transmission"] == 0) & data["sn"].between(0, LARGEST_NUMBER) & (data["input"] == log)]
    if not len(back) or not len(once):
        return None
    once = once.sort_values("time_ns", kind="stable")
    back = back.sort_values("time_ns", kind="stable")
    last_sent = np.full(int(max(once["sn"].max(), back["nr"].max())) + 1, -1, dtype=np.int64)
    least = least_answer(
        once["time_ns"].to_numpy(), once["sn"].to_numpy(), back["time_ns"].to_numpy(), back["nr"].to_numpy(), last_sent
    )
    return int(least) if least >= 0 else None


@kernel
def least_answer(sent_at: Any, numbers: Any, when: Any, named: Any, last_sent: Any) -> int:
    """The least time from a frame to the first answer that names the number after it; -1 without one.

    `last_sent`, all -1, has room for every number.
    """
    least, at, seen = -1, 0, -1
    for place in range(len(when)):
        while at < len(sent_at) and sent_at[at] <= when[place]:
            last_sent[numbers[at]] = sent_at[at]
            at += 1
        # An answer names the next number expected: the frame before it has arrived.
        number = named[place]
        if number == seen or number == 0:
            seen = number
            continue
        seen = number
        before = last_sent[number - 1]
        if before >= 0 and (least < 0 or when[place] - before < least):
            least = when[place] - before
    return least

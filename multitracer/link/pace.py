"""How often a link can send, and how many frames at once: as its log says, or by the spacing of its frames.

Where neither tells, it is unknown: a frame's size does not say how long it lasts (24.022 4.1: 240 bits take 20 ms or,
at half the rate, 40 ms).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

MS = 1_000_000
_LEAST = 10
"""So many spacings of one length are needed."""
_AT_ONCE_NS = MS // 20
"""Frames logged so close together had one opportunity; a host needs time to log each."""
_SHORTEST_NS = MS // 2
"""Spacings below this, down to `_AT_ONCE_NS`, may be of either kind."""
_STRAY = 0.05
"""The share of spacings that may contradict, by a log's jitter."""
_OCTETS_OFF = 0.1
"""By so much of the time of its octets the next frame may come sooner or later, beside `_AT_ONCE_NS`."""


class Pace(NamedTuple):
    """Every `interval_ns` there is an opportunity for `frames` frames; None where unknown."""

    interval_ns: int | None = None
    frames: int | None = None

    @property
    def frame_ns(self) -> int | None:
        """The air time of one frame."""
        return None if self.interval_ns is None or not self.frames else self.interval_ns // self.frames


def stated(header: Mapping[str, Any]) -> Pace:
    """What the header of a log says: `frame_ms`, or `tti_ms` and `frames_per_tti`."""
    if "frame_ms" in header:
        return Pace(round(float(header["frame_ms"]) * MS), 1)
    if "tti_ms" in header:
        frames = header.get("frames_per_tti")
        return Pace(round(float(header["tti_ms"]) * MS), int(frames) if frames else None)
    return Pace()


def first_stated(headers: Iterable[Mapping[str, Any]]) -> Pace:
    """What the first of these headers says that says anything."""
    return next((told for told in map(stated, headers) if told.interval_ns), Pace())


def pace_of(told: Pace, times: Any, waiting: Any, *, one_each: bool) -> Pace:
    """The pace as told, and what is not told by the spacing of frames sent at `times` (ascending, int64 ns).

    `waiting` marks frames that a sender with more to send follows with another; with `one_each` an opportunity is
    known to be for one frame.
    """
    interval = told.interval_ns or interval_of(times, waiting)
    if interval is None:
        return Pace()
    return Pace(interval, told.frames or (1 if one_each else at_once(times, interval)))


def interval_of(times: Any, waiting: Any) -> int | None:
    """The most common spacing of frames that `waiting` marks; None if too few, or if many are closer together.

    Back-to-back frames cannot be closer together than that, so a spacing that many fall below is not theirs. Their
    median is taken, or the whole ms that it or their mean is near to compared with their scatter.
    """
    spacing = np.diff(times)[waiting[1:] & waiting[:-1]]
    unclear = (spacing > _AT_ONCE_NS) & (spacing < _SHORTEST_NS)
    apart = spacing[spacing >= _SHORTEST_NS]
    if len(apart) < _LEAST or unclear.sum() > _STRAY * len(apart):
        return None
    values, counts = np.unique(np.rint(apart / MS), return_counts=True)
    common = max(int(values[np.argmax(counts)]), 1) * MS
    near = apart[np.abs(apart - common) <= max(common // 10, MS // 2)]
    if len(near) < _LEAST or (apart < 3 * common // 4).sum() > _STRAY * len(apart):
        return None
    low, middle, high = np.percentile(near, (25, 50, 75))
    # A log that is late now and then moves the mean, one whose times alternate the median.
    whole = round(middle / MS) * MS
    off = min(abs(middle - whole), abs(float(near.mean()) - whole))
    return int(whole if whole and off <= (high - low) / 4 else round(middle))


def at_once(times: Any, interval: int) -> int:
    """The largest number of frames in one opportunity that occurs more than once."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(times) > interval // 2]))
    counts = np.diff(np.concatenate([starts, [len(times)]]))
    values, often = np.unique(counts, return_counts=True)
    common = values[often > 1]
    return int(common.max()) if len(common) else int(values.max())


def are_sent_together(times: Any, interval: int) -> bool:
    """Whether what is sent within an opportunity is logged at once: else frames follow one another as they end."""
    near = np.diff(times)
    near = near[near <= interval // 2]
    return bool((near > _AT_ONCE_NS).sum() <= _STRAY * len(near))


def octet_ns(times: Any, octets: Any, interval: int, full: int) -> float:
    """How long an octet takes where frames follow one another as they end, `full` octets in an `interval`; else 0.

    Frames of one opportunity that are logged with some time between them take no account of octets. A sender may pause
    after a frame, so that most have to be followed in the time of their octets, and hardly any sooner.
    """
    apart = np.diff(times)
    near = (apart > _AT_ONCE_NS) & (apart <= interval // 2)
    if are_sent_together(times, interval) or full <= 0 or (octets <= 0).any():
        return 0.0
    each = interval / full
    off = apart[near] - each * octets[:-1][near]
    allowed = _AT_ONCE_NS + _OCTETS_OFF * each * octets[:-1][near]
    follows = (np.abs(off) <= allowed).mean() > 0.5 and (off < -allowed).mean() <= _STRAY
    return each if follows else 0.0

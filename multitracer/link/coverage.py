"""From when to when the log of an end of a link has every frame, as far as the frames' numbers show it.

An end numbers what it sends without a gap, and the octets under a number stay the same. What it acknowledges has come.
Where a log contradicts that, it lacks frames: it has a hole. Numbers come round: where a log is silent for as long as
all of them take, it may lack just as many frames; its peer's log tells whether there were any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.link.acknowledgements import unheard
from multitracer.link.frames import ASKING_TYPES, DATA_TYPES, modulus_of
from multitracer.link.rlp_receiver import frames_taken
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]
Holes = tuple[Ints, Ints]
"""When each hole begins, with a frame that the log has, and when it ends, with another."""

EPOCH = np.int64(1) << 40
"""The place of a frame in what an end sent: the resets before it, times this, plus its number."""


class Coverage(NamedTuple):
    """When a log begins and ends, and its holes, in order, apart from each other; ns."""

    begin_ns: int
    end_ns: int
    start_ns: Ints
    stop_ns: Ints

    def covers(self, since_ns: Any, until_ns: Any) -> Any:
        """Whether the log has all frames of each of these times."""
        following = np.searchsorted(self.stop_ns, since_ns, side="right")
        start = np.append(self.start_ns, np.iinfo(np.int64).max)[following]
        return (since_ns >= self.begin_ns) & (until_ns <= self.end_ns) & (start >= until_ns)

    def apart(self, error_ns: int) -> Coverage:
        """What it covers at least by a clock that is wrong against its own by no more than this."""
        begin_ns, end_ns = self.begin_ns + error_ns, self.end_ns - error_ns
        holes = self.start_ns - error_ns, np.maximum.accumulate(self.stop_ns + error_ns)
        return Coverage(begin_ns, end_ns, *_merged([holes]))


NOTHING = Coverage(1, 0, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
"""Of an end without a log, or whose log has no numbers."""


def one_log(frames: pd.DataFrame, rows: Ints) -> Ints:
    """The rows of the log with most frames, and of further logs that do not overlap it in time.

    The same frames in two logs of one end would be taken for retransmissions.
    """
    inputs, time = frames["input"].to_numpy()[rows], frames["time_ns"].to_numpy()[rows]
    numbers, counts = np.unique(inputs, return_counts=True)
    chosen: list[tuple[int, int, int]] = []
    for number in numbers[np.argsort(-counts, kind="stable")].tolist():
        own = time[inputs == number]
        begin, end = int(own.min()), int(own.max())
        if all(end <= other_begin or begin >= other_end for other_begin, other_end, _ in chosen):
            chosen.append((begin, end, number))
    return rows[np.isin(inputs, [number for _, _, number in chosen])]


def coverage(frames: pd.DataFrame, links: pd.DataFrame, link: int, *, by_sender: bool) -> Coverage:
    """What the log of a link's sender covers, or that of its receiver; NOTHING without one."""
    rows = one_log(frames, np.flatnonzero(((frames["link"] == link) & (frames["sent"] == by_sender)).to_numpy()))
    if not (frames["sn_unwrapped"].to_numpy()[rows] >= 0).any():
        return NOTHING
    reverse = int(links["reverse"].iat[link])
    ends = (link, reverse) if by_sender else (reverse, link)
    logs = frames["input"].to_numpy()[rows]
    bearer = frames["link"].isin([end for end in ends if end >= 0]).to_numpy()
    modulus = modulus_of(frames, links, link)
    data = bearer & frames["type"].isin(DATA_TYPES).to_numpy()
    spans: list[tuple[int, int]] = []
    found: list[Holes] = []
    for log in np.unique(logs).tolist():
        own = (frames["input"] == log).to_numpy()
        mine = frames[own & bearer].sort_values("record", kind="stable")
        spans.append((int(mine["time_ns"].min()), int(mine["time_ns"].max())))
        found += _holes(mine, ends, modulus)
        found.append(_silences(mine["time_ns"].to_numpy(), frames[data & ~own], modulus))
    spans.sort()
    found.append((np.array([end for _, end in spans[:-1]]), np.array([begin for begin, _ in spans[1:]])))
    return Coverage(spans[0][0], spans[-1][1], *_merged(found))


class Coverages:
    """What the logs of each link cover; found when it is first asked for."""

    def __init__(self, frames: pd.DataFrame, links: pd.DataFrame) -> None:
        self._frames, self._links = frames, links
        self._found: dict[tuple[int, bool], Coverage] = {}

    def of(self, link: int, *, by_sender: bool) -> Coverage:
        """What the log of a link's sender covers, or that of its receiver."""
        key = link, by_sender
        if key not in self._found:
            self._found[key] = coverage(self._frames, self._links, link, by_sender=by_sender)
        return self._found[key]

    def received(self, link: int) -> Coverage:
        """What the log of a link's receiver covers."""
        return self.of(link, by_sender=False)


def _merged(found: list[Holes]) -> Holes:
    """Holes of several kinds in order, joined where they overlap."""
    start, stop = (np.concatenate([one[side] for one in found]).astype(np.int64) for side in (0, 1))
    order = np.argsort(start, kind="stable")
    start, stop = start[order], np.maximum.accumulate(stop[order]) if len(order) else stop
    first = np.concatenate([[True], start[1:] >= stop[:-1]])[: len(start)]
    last = np.append(first[1:], True)[: len(start)]
    return start[first], stop[last]


def _holes(log: pd.DataFrame, ends: tuple[int, int], modulus: int) -> Iterator[Holes]:
    """The holes of one log, in order of record; `ends` are the link on which its end sends, and the reverse."""
    sent, link = log["sent"].to_numpy(), log["link"].to_numpy()
    data, numbered = log["type"].isin(DATA_TYPES).to_numpy(), (log["sn_unwrapped"] >= 0).to_numpy()
    own, came = log[sent & (link == ends[0]) & data & numbered], log[~sent & (link == ends[1]) & data]
    yield _jumps(own)
    first, again = _changed(own)
    new = np.sort(own["time_ns"].to_numpy()[_new(own)])
    if len(again):
        # Up to the last frame that was the next in number nothing is missing.
        first = np.maximum(first, new[np.searchsorted(new, again) - 1])
    yield first, again
    yield _changed(came[came["sn_unwrapped"] >= 0])
    lacking = unheard(log[sent & (link == ends[0])], came, log[~sent & (link == ends[1])], modulus)
    yield _unfollowed(log, ends, lacking) if modulus == rlp.MODULUS else lacking


def _unfollowed(log: pd.DataFrame, ends: tuple[int, int], lacking: Holes) -> Holes:
    """Of what an RLP entity's log seems to lack, the part that the entity's N(R)s do not explain by what it has.

    It may take old frames for new ones, and what it says of that waits in its device. Where it is followed, each of its
    N(R)s but the first, with which it begins, is where its window was after frames that the log has.
    """
    start, stop = lacking
    sent, link = log["sent"].to_numpy(), log["link"].to_numpy()
    if not len(stop) or frames_taken(log, np.flatnonzero(~sent & (link == ends[1])), ends[0]) is None:
        return lacking
    telling = sent & (link == ends[0]) & (log["nr"] >= 0).to_numpy() & ~log["type"].isin(ASKING_TYPES).to_numpy()
    before = stop <= log["time_ns"].to_numpy()[telling].min()
    return start[before], stop[before]


def places(data: pd.DataFrame) -> Ints:
    """The place of each numbered frame in what its end sent."""
    found: Ints = data["epoch"].to_numpy().astype(np.int64) * EPOCH + data["sn_unwrapped"].to_numpy()
    return found


def _jumps(own: pd.DataFrame) -> Holes:
    """Where the next frame that an end sent for the first time is not the next in number."""
    time, place = own["time_ns"].to_numpy(), places(own)
    before, after = np.maximum.accumulate(place)[:-1], place[1:]
    # After a reset numbers begin at 0.
    following = np.where(after // EPOCH > before // EPOCH, after // EPOCH * EPOCH, before + 1)
    jump = np.flatnonzero(after > following)
    new = np.flatnonzero(_new(own))
    return time[new[np.searchsorted(new, jump, side="right") - 1]], time[jump + 1]


def _new(own: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which frames have a higher number than all before."""
    return np.diff(np.maximum.accumulate(places(own)), prepend=-1) > 0


def _changed(data: pd.DataFrame) -> Holes:
    """From a frame to another one with its number and other octets: all numbers were used between."""
    place, so, length = places(data), data["so"].to_numpy(), data["length_bytes"].to_numpy()
    order = np.lexsort((np.arange(len(data)), length, so, place))
    again = np.zeros(len(order), dtype=np.bool_)
    again[1:] = np.logical_and.reduce([np.diff(column[order]) == 0 for column in (place, so, length)])
    first = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    octets, later = data["data"].to_numpy(dtype=object), np.flatnonzero(again)
    one, other = octets[order[first[later]]], octets[order[later]]
    pairs = zip(one, other, strict=True)
    wrong = np.array([a is not None and b is not None and a != b for a, b in pairs], dtype=np.bool_)
    time = data["time_ns"].to_numpy()
    return time[order[first[later[wrong]]]], time[order[later[wrong]]]


def _silences(time: Ints, others: pd.DataFrame, modulus: int) -> Holes:
    """Where a log has no frame at all while others have, on one link, as many as there are numbers."""
    time = np.sort(time)
    most = np.zeros(max(len(time) - 1, 0), dtype=np.int64)
    for _, same in others.groupby(["link", "input"], observed=True):
        at = np.sort(same["time_ns"].to_numpy())
        most = np.maximum(most, np.searchsorted(at, time[1:]) - np.searchsorted(at, time[:-1], side="right"))
    long = np.flatnonzero(most >= modulus)
    return time[long], time[long + 1]

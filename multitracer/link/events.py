"""When the link was reset, released, or told to keep quiet.

Every interval says by which frames it was found, so that a person can look them up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multitracer.link.frames import DATA_TYPES, RESET_DONE_TYPES, RESET_TYPES

if TYPE_CHECKING:
    import pandas as pd

RESET, FLOW_CONTROL, RELEASE = "reset", "flow-control", "release"


class Interval(NamedTuple):
    """One interval of one bearer; `link` is the direction whose sender was stopped, for a reset the first."""

    link: int
    kind: str
    start_ns: int
    end_ns: int
    because: str


class _Mark(NamedTuple):
    time_ns: int
    log: int
    record: int
    what: str


@dataclass(frozen=True)
class Bearer:
    """Both directions of one link, and what either end logged of them."""

    links: tuple[int, ...]
    frames: pd.DataFrame
    events: pd.DataFrame

    @property
    def last_ns(self) -> int:
        """The last time logged."""
        return max((int(table["time_ns"].max()) for table in (self.frames, self.events) if len(table)), default=0)


def bearers(links: pd.DataFrame, frames: pd.DataFrame, events: pd.DataFrame) -> Iterator[Bearer]:
    """The bearers, each with its own frames and events."""
    reverse = links["reverse"].tolist()
    done: set[int] = set()
    for link in links["link"].tolist():
        if link in done:
            continue
        both = (link, reverse[link]) if reverse[link] >= 0 else (link,)
        done.update(both)
        yield Bearer(both, frames[frames["link"].isin(both)], events[events["link"].isin(both)])


def intervals(frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """Intervals (link, kind, start_ns, end_ns, because) of every bearer, in order of time."""
    import pandas as pd

    found: list[Interval] = []
    for bearer in bearers(links, frames, events):
        found += _resets(bearer)
        found += _releases(bearer)
        found += _stops(bearer)
    found.sort(key=lambda interval: (interval.start_ns, interval.link))
    table = pd.DataFrame(found, columns=list(Interval._fields))
    return table.astype({"link": np.int16, "start_ns": np.int64, "end_ns": np.int64})


def _marks(bearer: Bearer, types: tuple[str, ...], events: tuple[str, ...] = ()) -> list[_Mark]:
    """Frames of these types and these events, in order of time."""
    kinds = bearer.frames["type"].isin(types) if types else np.zeros(len(bearer.frames), dtype=np.bool_)
    chosen = bearer.frames[kinds]
    found = [
        _Mark(*row)
        for row in zip(chosen["time_ns"], chosen["input"], chosen["record"], chosen["type"].astype(str), strict=True)
    ]
    said = bearer.events[bearer.events["event"].isin(events)] if events else bearer.events[:0]
    found += [
        _Mark(time, log, record, f"EVENT {event}")
        for time, log, record, event in zip(
            said["time_ns"], said["input"], said["record"], said["event"].astype(str), strict=True
        )
    ]
    return sorted(found)


def _resets(bearer: Bearer) -> Iterator[Interval]:
    """From the first SABM or RESET to the first UA or RESET ACK that either side saw; crossing ones are one."""
    begun = _marks(bearer, RESET_TYPES, ("reset",))
    done = _marks(bearer, RESET_DONE_TYPES, ("reset-done",))
    data = np.sort(bearer.frames["time_ns"].to_numpy()[bearer.frames["type"].isin(DATA_TYPES).to_numpy()])
    reached = -1
    for mark in begun:
        if mark.time_ns <= reached:
            continue
        after = [other for other in done if other.time_ns >= mark.time_ns]
        end = after[0].time_ns if after else bearer.last_ns
        # Answers to repeats and to the crossing one are of the same exchange, until data moves again.
        following = data[np.searchsorted(data, end, side="right") :]
        moves = int(following[0]) if len(following) else bearer.last_ns
        reached = max([end, *(other.time_ns for other in (*begun, *done) if end < other.time_ns <= moves)])
        answer = f"{after[0].what} in record {after[0].record}" if after else "no answer in the log"
        yield Interval(
            bearer.links[0], RESET, mark.time_ns, end,
            f"{mark.what} in record {mark.record} of the link's log began a reset, {answer} ended it "
            f"after {(end - mark.time_ns) / 1e6:.0f} ms",
        )  # fmt: skip


def _releases(bearer: Bearer) -> Iterator[Interval]:
    """The call or bearer given up: DISC, or the log says so."""
    marks = _marks(bearer, ("DISC",), ("release",))
    if marks:
        first = marks[0]
        answers = [m for m in _marks(bearer, ("UA", "DM")) if m.time_ns >= first.time_ns]
        end = answers[0].time_ns if answers else first.time_ns
        because = f"{first.what} in record {first.record} of the link's log gave the link up"
        yield Interval(bearer.links[0], RELEASE, first.time_ns, end, because)


def _stops(bearer: Bearer) -> Iterator[Interval]:
    """Between XOFF (or RNR) and XON (or RR), by the log of the end that was told."""
    for log in np.unique(np.concatenate([bearer.frames["input"], bearer.events["input"]])):
        frames = bearer.frames[bearer.frames["input"] == log]
        events = bearer.events[bearer.events["input"] == log]
        for link in bearer.links:
            yield from _stops_of(link, frames, events, bearer)


def _stops_of(link: int, frames: pd.DataFrame, events: pd.DataFrame, bearer: Bearer) -> Iterator[Interval]:
    """The stops of the sender of `link`, from what came to it over the other link."""
    back = [other for other in bearer.links if other != link]
    if not back or not (frames["sent"] & (frames["link"] == link)).any():
        return
    told = frames[(frames["link"] == back[0]) & ~frames["sent"]]
    changes = [*_by_l2r(told), *_by_readiness(told), *_by_events(events[events["link"] == back[0]])]
    stopped: _Mark | None = None
    for stop, mark in sorted(changes, key=lambda change: change[1]):
        if stop and stopped is None:
            stopped = mark
        elif not stop and stopped is not None:
            yield _stop(link, stopped, mark)
            stopped = None
    if stopped is not None:
        yield _stop(link, stopped, _Mark(bearer.last_ns, stopped.log, -1, "the end of the log"))


def _stop(link: int, begun: _Mark, ended: _Mark) -> Interval:
    until = f"{ended.what} in record {ended.record}" if ended.record >= 0 else ended.what
    because = (
        f"the peer stopped the sender with {begun.what} in record {begun.record} of its log, until {until} "
        f"{(ended.time_ns - begun.time_ns) / 1e6:.0f} ms later"
    )
    return Interval(link, FLOW_CONTROL, begun.time_ns, ended.time_ns, because)


def _by_l2r(told: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    """Changes of the X bit in the first L2R status octet of frames (27.002 5.2)."""
    status = told["l2r"].to_numpy()
    known = np.flatnonzero(status >= 0)
    off = (status[known] & 0x20) != 0
    changed = np.flatnonzero(np.diff(np.concatenate([[False], off]).astype(np.int8)))
    for place in changed:
        row = told.iloc[known[place]]
        kind = "XOFF" if off[place] else "XON"
        yield bool(off[place]), _Mark(int(row["time_ns"]), int(row["input"]), int(row["record"]), kind)


def _by_readiness(told: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    """RNR stops, the next RR or REJ frees (24.022 5.2.2)."""
    kinds = told["type"].astype(str).str.removeprefix("I ").to_numpy()
    if not (kinds == "RNR").any():
        return
    for row, kind in zip(told.itertuples(), kinds, strict=True):
        if kind in ("RNR", "RR", "REJ"):
            yield kind == "RNR", _Mark(int(row.time_ns), int(row.input), int(row.record), kind)


def _by_events(said: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    for row in said.itertuples():
        if row.event in ("xoff", "xon"):
            yield row.event == "xoff", _Mark(int(row.time_ns), int(row.input), int(row.record), str(row.event).upper())

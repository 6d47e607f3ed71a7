"""Intervals in which the link was reset or released, or its sender was stopped by flow control.

Every interval names the records that begin and end it, so that they can be looked up in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import (
    ACTIVE_TYPES,
    RELEASE_TYPES,
    RESET_DONE_TYPES,
    RESET_TYPES,
    lone_resets,
)

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

RESET, FLOW_CONTROL, RELEASE = "reset", "flow-control", "release"


TRANSIT_NS = 5_000_000_000
"""What was sent longer ago is not what came: no link takes as long, also where logs' clocks are an instant apart."""


class Interval(NamedTuple):
    """One interval of one bearer, in ns; `link` is the direction stopped, for a reset or release the bearer's first."""

    link: int
    kind: str
    start_ns: int
    end_ns: int
    because: str


class _Mark(NamedTuple):
    """A frame or event that begins or ends an interval."""

    time_ns: int
    log: int
    record: int
    what: str
    link: int = -1
    side: str = ""

    @property
    def where(self) -> str:
        """What it is, and in which record of which end's log."""
        return f"{self.what} in record {self.record} of the {self.side or 'link'}'s log"


@dataclass(frozen=True)
class Bearer:
    """Both directions of one link, with their frames and events from either end's log."""

    links: tuple[int, ...]
    frames: pd.DataFrame
    events: pd.DataFrame

    @property
    def last_ns(self) -> int:
        """The last time in either table, 0 when both are empty."""
        return max((int(table["time_ns"].max()) for table in (self.frames, self.events) if len(table)), default=0)


def bearers(links: pd.DataFrame, frames: pd.DataFrame, events: pd.DataFrame) -> Iterator[Bearer]:
    """Each bearer once, with its own frames and events."""
    reverse = links["reverse"].tolist()
    done: set[int] = set()
    for link in links["link"].tolist():
        if link in done:
            continue
        both = (link, reverse[link]) if reverse[link] >= 0 else (link,)
        done.update(both)
        yield Bearer(both, frames[frames["link"].isin(both)], events[events["link"].isin(both)])


def intervals(frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """A table of every bearer's intervals (link, kind, start_ns, end_ns, because), ordered by start."""
    import pandas as pd

    found: list[Interval] = []
    repeated = (events["event"] == "reset").to_numpy() & ~lone_resets(frames, events, links)
    for bearer in bearers(links, frames, events[~repeated]):
        found += _resets(bearer)
        found += _releases(bearer)
        found += _stops(bearer)
    found.sort(key=lambda interval: (interval.start_ns, interval.link))
    table = pd.DataFrame(found, columns=list(Interval._fields))
    return table.astype({"link": np.int16, "start_ns": np.int64, "end_ns": np.int64})


def _marks(bearer: Bearer, types: tuple[str, ...], events: tuple[str, ...] = ()) -> list[_Mark]:
    """The frames of these types and the events of these kinds, ordered by time."""
    chosen = bearer.frames[bearer.frames["type"].isin(types)]
    reported = bearer.events[bearer.events["event"].isin(events)]
    return sorted(
        _Mark(int(time), int(log), int(record), prefix + str(what), int(link), str(side))
        for table, name, prefix in ((chosen, "type", ""), (reported, "event", "EVENT "))
        for time, log, record, what, link, side in zip(
            *(table[column] for column in ("time_ns", "input", "record", name, "link", "side")), strict=True
        )
    )


def _resets(bearer: Bearer) -> Iterator[Interval]:
    """From the first SABM or RESET to the first UA or RESET ACK in either log; crossing requests are one reset."""
    begun = _as_sent(_marks(bearer, RESET_TYPES, ("reset",)), bearer)
    done = _marks(bearer, RESET_DONE_TYPES, ("reset-done",))
    activity = _Activity(bearer)
    end = None
    for mark in begun:
        if end is not None and not activity.sent_between(mark, end, mark.time_ns):
            continue
        if mark.what == "SABM" and not activity.connected(mark.time_ns):
            continue  # this SABM sets the link up (24.022 5.2.1)
        answer = next((other for other in done if other.time_ns >= mark.time_ns), None)
        on = activity.next_after(mark)
        end, how = bearer.last_ns, "no answer in the log, which ends"
        if answer is not None and (on is None or answer.time_ns <= on):
            end, how = answer.time_ns, f"{answer.where} ended it"
        elif on is not None:
            end, how = on, "no answer in the log, its sender went on"
        yield Interval(
            bearer.links[0], RESET, mark.time_ns, end,
            f"{mark.where} began a reset, {how} after {(end - mark.time_ns) / 1e6:.0f} ms",
        )  # fmt: skip


def _as_sent(requests: list[_Mark], bearer: Bearer) -> list[_Mark]:
    """The requests without those that the peer's log has a second time, as they came, a link's transit later."""
    kept = bearer.frames[bearer.frames["type"].isin(RESET_TYPES) & bearer.frames["sent"]]
    sent = set(zip(kept["input"].tolist(), kept["record"].tolist(), strict=True))
    unheard: list[_Mark] = []
    found = []
    for mark in requests:
        own = (mark.log, mark.record) in sent
        twin = None if own or mark.what.startswith("EVENT") else next(
            (other for other in unheard if (other.link, other.what) == (mark.link, mark.what)
             and other.log != mark.log and other.time_ns >= mark.time_ns - TRANSIT_NS), None
        )  # fmt: skip
        if own:
            unheard.append(mark)
        if twin is None:
            found.append(mark)
        else:
            unheard = [one for one in unheard if one.link != twin.link or one.time_ns > twin.time_ns]
    return found


class _Activity:
    """When either end sent frames that it sends only while the link is not being reset."""

    def __init__(self, bearer: Bearer) -> None:
        active = bearer.frames["type"].isin(ACTIVE_TYPES)
        heard = bearer.frames[active].sort_values("time_ns", kind="stable")
        self.time, self.link, self.log = (heard[name].to_numpy() for name in ("time_ns", "link", "input"))
        released = bearer.frames["type"].isin(RELEASE_TYPES)
        self.released = np.sort(bearer.frames["time_ns"].to_numpy()[released.to_numpy()])

    def _times(self, mark: _Mark) -> Ints:
        """Times in the log of this request: of the end that sent it, for an event of both ends."""
        event = mark.what.startswith("EVENT")
        times: Ints = self.time[(self.log == mark.log) & (event | (self.link == mark.link))]
        return times

    def sent_between(self, mark: _Mark, start: int, end: int) -> bool:
        """Whether the requesting end sent such frames in between: else the request repeats or crosses the last."""
        times = self._times(mark)
        return bool(np.searchsorted(times, end) > np.searchsorted(times, start, side="right"))

    def next_after(self, mark: _Mark) -> int | None:
        """The first such frame of the requesting end after its request; None without one."""
        times = self._times(mark)
        at = np.searchsorted(times, mark.time_ns, side="right")
        return int(times[at]) if at < len(times) else None

    def connected(self, at: int) -> bool:
        """Whether either end sent such frames before, since the link was last released."""
        before = self.released[self.released <= at]
        since = before[-1] if len(before) else np.iinfo(np.int64).min
        return bool(np.searchsorted(self.time, at) > np.searchsorted(self.time, since, side="right"))


def _releases(bearer: Bearer) -> Iterator[Interval]:
    """The release of the call or bearer: from DISC or a release event to the answer."""
    marks = _marks(bearer, ("DISC",), ("release",))
    if marks:
        first = marks[0]
        answers = [m for m in _marks(bearer, ("UA", "DM")) if m.time_ns >= first.time_ns]
        end = answers[0].time_ns if answers else first.time_ns
        because = f"{first.where} gave the link up"
        yield Interval(bearer.links[0], RELEASE, first.time_ns, end, because)


def _stops(bearer: Bearer) -> Iterator[Interval]:
    """Flow control from XOFF (or RNR) to XON (or RR), by the log of the end that received them."""
    for log in np.unique(np.concatenate([bearer.frames["input"], bearer.events["input"]])):
        frames = bearer.frames[bearer.frames["input"] == log]
        events = bearer.events[bearer.events["input"] == log]
        for link in bearer.links:
            yield from _stops_of(link, frames, events, bearer)


def _stops_of(link: int, frames: pd.DataFrame, events: pd.DataFrame, bearer: Bearer) -> Iterator[Interval]:
    """The intervals in which the sender of `link` was stopped, by what it received over the reverse link."""
    back = [other for other in bearer.links if other != link]
    if not back or not (frames["sent"] & (frames["link"] == link)).any():
        return
    received = frames[(frames["link"] == back[0]) & ~frames["sent"]]
    changes = [*_by_l2r(received), *_by_readiness(received), *_by_events(events[events["link"] == back[0]])]
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
        f"the peer stopped the sender with {begun.where}, until {until} "
        f"{(ended.time_ns - begun.time_ns) / 1e6:.0f} ms later"
    )
    return Interval(link, FLOW_CONTROL, begun.time_ns, ended.time_ns, because)


def _by_l2r(received: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    """Changes of the X bit in the first L2R status octet of frames (27.002 5.2)."""
    received = _in_sequence(received[(received["l2r"] >= 0).to_numpy()])
    status = received["l2r"].to_numpy()
    known = np.flatnonzero(status >= 0)
    off = (status[known] & 0x20) != 0
    changed = np.flatnonzero(np.diff(np.concatenate([[False], off]).astype(np.int8)))
    what = ["XOFF" if stop else "XON" for stop in off[changed]]
    yield from _changes(received.iloc[known[changed]], off[changed], what)


def _in_sequence(received: pd.DataFrame) -> pd.DataFrame:
    """Frames as RLP hands them on: by their numbers, each once, at the time when none before it is missing (24.022 4).

    Frames of which no number is known stay as they came.
    """
    number = received["sn_unwrapped"].to_numpy()
    if (number < 0).any():
        return received
    ordered = received.sort_values(["input", "epoch", "sn_unwrapped", "time_ns"], kind="stable")
    ordered = ordered.drop_duplicates(["input", "epoch", "sn_unwrapped"])
    return ordered.assign(time_ns=np.maximum.accumulate(ordered["time_ns"].to_numpy()))


def _by_readiness(received: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    """RNR stops the sender, the next RR or REJ lets it go on (24.022 5.2.2)."""
    kinds = received["type"].astype(str).str.removeprefix("I ").to_numpy()
    reported = np.flatnonzero(np.isin(kinds, ("RNR", "RR", "REJ")))
    stop = kinds[reported] == "RNR"
    changed = np.flatnonzero(np.diff(np.concatenate([[False], stop]).astype(np.int8)))
    yield from _changes(received.iloc[reported[changed]], stop[changed], kinds[reported[changed]].tolist())


def _by_events(reported: pd.DataFrame) -> Iterator[tuple[bool, _Mark]]:
    own = reported[reported["event"].isin(("xoff", "xon"))]
    yield from _changes(own, (own["event"] == "xoff").to_numpy(), own["event"].astype(str).str.upper().tolist())


def _changes(rows: pd.DataFrame, stops: npt.NDArray[np.bool_], what: list[str]) -> Iterator[tuple[bool, _Mark]]:
    names = ("time_ns", "input", "record", "link", "side")
    for stop, kind, time, log, record, link, side in zip(stops, what, *(rows[name] for name in names), strict=True):
        yield bool(stop), _Mark(int(time), int(log), int(record), kind, int(link), str(side))

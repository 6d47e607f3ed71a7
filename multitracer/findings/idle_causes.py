"""What left a link idle: a repair of TCP, a window, or the application of one of the streams that the link carries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.finding_index import MOST, NONE, FindingIndex, Ints
from multitracer.findings.observations import Observations
from multitracer.findings.timer_waits import waits_begin

_BY_TIMER = ("timeout", "probe")
"""Triggers of resends that a timer sets off."""
SENDERS = {"client": 0, "server": 1}
"""The ends by the names that evidence has for them."""
_KINDS = {
    # While the link is dead, or holds back what came after a loss, no window is what holds data back.
    "idle_window_limited": (
        "zero-window",
        "link-outage",
        "link-recovery-hole",
        "receiver-window-limited",
        "path-stall",
    ),
    "idle_sender": ("zero-window", "application-limited"),
    "idle_recovery": ("link-outage", "link-recovery-hole"),
}
"""Of each cause of an idle link the kinds that can set it off, the first to hold for most of it."""


class Waits(NamedTuple):
    """Resends by a timer that had to expire, as rows of `retransmissions`, and since when it was waited for."""

    rows: Ints
    since_ns: Ints


class IdleCauses:
    """Looks for what left a link idle, among the findings that are not undecided."""

    def __init__(
        self, observed: Observations, found: FindingColumns, copy: Ints, finding_of: Ints, loser: Callable[[Ints], int]
    ) -> None:
        """`copy` and `finding_of`: of each row of `retransmissions` the earlier copy, the finding that reports it.

        `loser` gives the finding that lost the copies before some of these rows, NONE where none did.
        """
        self.observed, self.found, self.copy, self.finding_of, self.loser = observed, found, copy, finding_of, loser
        self.links: dict[int, _Link] = {}

    def cause(self, one: Finding) -> int:
        """The finding that set this idle time off, NONE where nothing did, or nobody knows."""
        link = int(one.evidence.get("link", -1))
        if link not in self.links:
            self.links[link] = _Link(self, self.observed.streams(link))
        return self.links[link].cause(one)


class _Link:
    """What may leave one link idle: what happened to its streams, whose ends are given as 2 * connection + sender."""

    def __init__(self, every: IdleCauses, ends: Ints) -> None:
        self.observed, self.found, self.finding_of, self.loser = (
            every.observed, every.found, every.finding_of, every.loser,
        )  # fmt: skip
        self.columns, self.copy = self.observed.retransmission_columns, every.copy
        self.ends, self.known = self._most_data_first(ends), frozenset(ends.tolist())
        self.opened_ns, self.closed_ns = (
            self.observed.connections[name].to_numpy()[self.ends // 2] for name in ("start_ns", "end_ns")
        )
        about = np.fromiter(map(self._is_about, self.found), dtype=np.bool_, count=len(self.found))
        self.index = FindingIndex(self.found, about)

    def cause(self, one: Finding) -> int:
        """By its cause: TCP's resend that ends the wait or began the repair; a closed window; the application.

        Of the stream with most data that was open as the link fell idle; where none was, of any. A resend in doubt
        does not tell, but what lost that which its repair sent again does; and what the link stood still for TCP had to
        wait for, if that had begun before the repair. What lasted longer than the idle time, beside something that was
        over when data was sent again, it did not wait for.
        """
        cause, end = str(one.evidence.get("cause")), self._open_then(one)
        one = one._replace(connection=end // 2 if end != NONE else NONE)
        resend = self._resend_of(one, end) if cause == "idle_recovery" else NONE
        if resend != NONE and self.finding_of[resend] != NONE:
            return int(self.finding_of[resend])
        lost_by = self.loser(self._repair_begun_with(resend)) if resend != NONE else NONE
        if lost_by != NONE:
            return lost_by
        begun_by = self._repair_begun_ns(resend) if resend != NONE else one.end_ns
        kinds = _KINDS.get(cause, ())
        for kind in kinds:
            number = self.index.first_over((kind,), one)
            if number == NONE or self.found.start_ns[number] > begun_by:
                continue
            if self.index.share(number, one) >= MOST:
                return number
        if cause == "idle_window_limited":
            return self._just_over(kinds, one)
        return NONE if cause == "idle_recovery" else self.index.most_overlap(kinds, one, one.start_ns, one.end_ns)

    def _just_over(self, kinds: tuple[str, ...], one: Finding) -> int:
        """What shares most of an idle time, and was over no longer than a round trip before its end.

        So long the acknowledgement takes that ends it.
        """
        number = self.index.most_overlap(kinds, one, one.start_ns, one.end_ns)
        trip_ns = self.observed.rtt_ns(one.connection) if one.connection != NONE else 0
        return number if number != NONE and self.found.end_ns[number] + trip_ns >= one.end_ns else NONE

    def _most_data_first(self, ends: Ints) -> Ints:
        seen = self.observed.directions
        octets = np.zeros(2 * len(self.observed.connections), dtype=np.int64)
        octets[2 * seen.connection + seen.sender] = seen.data_bytes
        ordered: Ints = ends[np.argsort(-octets[ends], kind="stable")]
        return ordered

    def _open_then(self, one: Finding) -> int:
        """The stream with most data whose connection was open as an interval began, NONE if none was."""
        open_ = np.flatnonzero((self.opened_ns <= one.start_ns) & (self.closed_ns > one.start_ns))
        return int(self.ends[open_[0]]) if len(open_) else NONE

    def _is_about(self, other: Finding) -> bool:
        """Whether a finding is about one of the streams, or about no connection."""
        if other.connection == NONE:
            return True
        sender = SENDERS.get(str(other.evidence.get("sender")))
        ends = (0, 1) if sender is None else (sender,)
        return any(2 * other.connection + one in self.known for one in ends)

    def _resend_of(self, one: Finding, end: int) -> int:
        """The resend when the timer expired that was waited for; else the last one before, which began a repair.

        The link's own repeats may divide a wait. Nobody waited for a timer that expired though all that was
        outstanding, or its acknowledgement, was on its way.
        """
        time, mine = self.columns["time_ns"], self.own if end == NONE else self.end == end
        ended = self.waits.rows[(self.waits.since_ns < one.end_ns) & (time[self.waits.rows] > one.start_ns)]
        ended, begun = ended[mine[ended]], np.flatnonzero(mine & (time <= one.start_ns))
        ended, begun = (rows[np.argsort(time[rows], kind="stable")] for rows in (ended, begun))
        rows = ended[:1] if len(ended) else begun[-1:]
        return int(rows[0]) if len(rows) else NONE

    def _repair_begun_with(self, resend: int) -> Ints:
        """What a repair sent again that this resend set off; nothing where it is only a part of one."""
        time, trigger = self.columns["time_ns"], self.columns["trigger"]
        if trigger[resend] == "recovery":
            return np.empty(0, dtype=np.int64)
        mine = np.flatnonzero((self.end == self.end[resend]) & (time >= time[resend]))
        mine = mine[np.argsort(time[mine], kind="stable")]
        others = np.flatnonzero((trigger[mine] != "recovery") & (mine != resend))
        found: Ints = mine[: others[0]] if len(others) else mine
        return found

    def _repair_begun_ns(self, resend: int) -> int:
        """When the repair began of which a resend is a part: with one that was set off by more than the repair."""
        time, first = self.columns["time_ns"], self.columns["trigger"] != "recovery"
        begun = first & (self.end == self.end[resend]) & (time <= time[resend])
        return int(time[begun].max() if begun.any() else time[resend])

    @cached_property
    def end(self) -> Ints:
        """Of each resend its sender's end, NONE where its segment was not captured."""
        segment = self.columns["segment"]
        sender = self.observed.column("sender")[np.maximum(segment, 0)].astype(np.int64)
        return np.where(segment >= 0, 2 * self.columns["connection"].astype(np.int64) + sender, NONE)

    @cached_property
    def own(self) -> npt.NDArray[np.bool_]:
        """Which resends are of the data that the link carried: the other ends' do not tell why it was idle."""
        return np.isin(self.end, self.ends)

    @cached_property
    def waits(self) -> Waits:
        """The waits for timers of that data that had to expire."""
        time = self.columns["time_ns"]
        rows = np.flatnonzero(self.own & np.isin(self.columns["trigger"].astype(str), _BY_TIMER))
        rows = np.array([row for row in rows.tolist() if self._was_due(row)], dtype=np.int64)
        since = time[rows]
        for end in np.unique(self.end[rows]).tolist():
            direction, mine = self.observed.direction(*divmod(end, 2)), self.end[rows] == end
            if direction is not None:
                since[mine] = waits_begin(self.observed, direction, time[rows[mine]])
        return Waits(rows[since < time[rows]], since[since < time[rows]])

    def _was_due(self, row: int) -> bool:
        """Whether a timer had to expire: no finding says that it was needless, or something else had been lost."""
        if self.finding_of[row] == NONE or self.found.kind[self.finding_of[row]] != "spurious-timeout":
            return True
        time, when = self.columns["time_ns"], self.columns["time_ns"][row]
        known = np.flatnonzero((self.columns["spurious"] == "no") & (time > when) & (self.copy >= 0))
        lost = self.copy[known[self.end[known] == self.end[row]]]
        return bool((self.observed.column("time_ns")[lost] < when).any())

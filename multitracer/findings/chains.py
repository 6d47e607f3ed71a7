"""What set each finding off: chains of findings, from a root to what it caused.

A kind can be caused only by kinds on an earlier step of STEPS, so that chains have no circle. What lost a segment is
found by the segment; what held one up, or made the link stand still, by the interval of time that they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.earlier_copies import earlier_copies
from multitracer.findings.finding import Finding
from multitracer.findings.observations import Observations

Ints = npt.NDArray[np.int64]

STEPS = (
    ("link-outage", "path-stall", "local-drop", "excessive-queueing", "zero-window", "receiver-window-limited",
     "application-limited"),
    ("link-reset", "link-release"),
    ("link-retransmissions",),
    ("link-recovery-hole",),
    ("flow-control-gap", "header-decompression-failure", "reordering"),
    ("burst-loss", "ack-loss", "ack-compression"),
    ("timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "probe", "handshake-retry"),
    ("competing-recovery", "idle-link"),
)  # fmt: skip
"""Kinds in the order in which one can cause another."""

RETRANSMISSIONS = STEPS[6]
_LOSSES = ("header-decompression-failure", "local-drop", "link-reset", "link-release", "burst-loss")
"""Kinds that lose segments, the one that says most about where first."""
_REPAIRS = ("timeout", "fast-retransmit", "probe")
_STANDSTILLS = ("link-outage", "link-reset", "path-stall", "link-recovery-hole", "flow-control-gap")
"""Kinds that hold segments or acknowledgements up."""
NONE = -1


class Chains(NamedTuple):
    """What caused what, as places in the list of findings; NONE where nothing did, or nobody knows."""

    caused_by: Ints
    """Of each finding."""
    layer: list[str]
    """Of each finding; that of TCP's repairs is the layer that lost the data."""
    resent_for: Ints
    """Of each row of `retransmissions`, the finding to which its air time belongs: what lost the earlier copy, or if
    it was needless what made TCP send it again."""


def find_chains(found: Sequence[Finding], observed: Observations) -> Chains:
    """The cause of each finding and of each retransmission."""
    return Chains(*_Search(found, observed).chains())


class _Search:
    """Looks for causes among the findings that are not undecided."""

    def __init__(self, found: Sequence[Finding], observed: Observations) -> None:
        self.found, self.observed = found, observed
        self.start, self.end = (
            np.array([getattr(one, name) for one in found], dtype=np.int64) for name in ("start_ns", "end_ns")
        )
        self._by_kind: dict[str, list[int]] = {}
        self._by_connection: dict[tuple[str, int], list[int]] = {}
        for number, one in enumerate(found):
            if one.verdict != "undecided":
                self._by_kind.setdefault(one.kind, []).append(number)
                self._by_connection.setdefault((one.kind, one.connection), []).append(number)
        self.lost_by, self.copy = self._losses(), earlier_copies(observed)
        self.finding_of = self._retransmission_findings()

    def _of(self, kinds: Iterable[str], connection: int = NONE) -> Ints:
        """The findings of these kinds; with a connection those about it, and those about no connection."""
        numbers: list[int] = []
        for kind in kinds:
            if connection == NONE:
                numbers += self._by_kind.get(kind, ())
            else:
                numbers += self._by_connection.get((kind, connection), ())
                numbers += self._by_connection.get((kind, NONE), ())
        return np.array(numbers, dtype=np.int64)

    def chains(self) -> tuple[Ints, list[str], Ints]:
        caused_by = np.array([self._cause(number) for number in range(len(self.found))], dtype=np.int64)
        return caused_by, self._layers(caused_by), self._resent_for()

    def _layers(self, caused_by: Ints) -> list[str]:
        """TCP repairs what others lost: its needed resends, and the wait for them, are the layer's that lost the data.

        Where the evidence does not show which did, the layer is unknown, never the sender.
        """
        layers = [one.layer for one in self.found]
        steps = {kind: step for step, kinds in enumerate(STEPS) for kind in kinds}
        for number in sorted(range(len(self.found)), key=lambda number: steps[self.found[number].kind]):
            one = self.found[number]
            waits = one.kind == "idle-link" and one.evidence.get("cause") == "idle_recovery"
            if waits or (one.kind in _REPAIRS and not self._needless_probe(one)):
                cause = caused_by[number]
                layers[number] = layers[cause] if cause >= 0 else "unknown"
        return layers

    def _losses(self) -> Ints:
        """For each row of segments the finding that lost it."""
        lost_by = np.full(len(self.observed.segments), NONE, dtype=np.int64)
        for kind in reversed(_LOSSES):
            for number in self._by_kind.get(kind, ()):
                rows = np.asarray(self.found[number].segments, dtype=np.int64)
                lost_by[rows] = number
        return lost_by

    def _retransmission_findings(self) -> Ints:
        """For each row of retransmissions the finding that reports it."""
        finding_of = np.full(len(self.observed.retransmissions), NONE, dtype=np.int64)
        for kind in RETRANSMISSIONS:
            for number in self._by_kind.get(kind, ()):
                finding_of[np.asarray(self.found[number].resends, dtype=np.int64)] = number
        return finding_of

    def _cause(self, number: int) -> int:
        """The finding that set this one off."""
        one = self.found[number]
        if one.kind in RETRANSMISSIONS:
            return self._cause_of_resends(one)
        if one.kind == "competing-recovery":
            return self._nearest_resend(one)
        if one.kind == "idle-link":
            return self._cause_of_idleness(one)
        if one.kind in ("burst-loss", "ack-loss"):
            return self._cause_of_loss(number, one)
        if one.kind == "header-decompression-failure":
            return self._latest_before(("link-reset",), one, one.end_ns)
        if one.kind in ("link-reset", "link-release"):
            return self._outage_before(one)
        return self._most_overlap(_CAUSES_BY_TIME.get(one.kind, ()), one, one.start_ns, one.end_ns)

    def _cause_of_resends(self, one: Finding) -> int:
        """Needed: what lost the first earlier copy, else most of them. Needless: what held the earlier copy up."""
        columns = self.observed.retransmission_columns
        rows = np.asarray(one.resends, dtype=np.int64)
        copies = self.copy[rows]
        if not len(copies) or copies[0] < 0:
            return NONE
        lost_by = self.lost_by[copies[copies >= 0]]
        if lost_by[0] >= 0:
            return int(lost_by[0])
        if (lost_by >= 0).any():
            return int(np.bincount(lost_by[lost_by >= 0]).argmax())
        sent = int(self.observed.column("time_ns")[copies[0]])
        if one.kind == "spurious-fast-retransmit":
            return self._most_overlap(("reordering",), one, sent, one.start_ns)
        standstill = self._most_overlap(_STANDSTILLS, one, sent, one.start_ns)
        if standstill >= 0 or columns["spurious"][rows[0]] != "yes":
            return standstill
        lost_ack = self._most_overlap(("ack-loss",), one, sent, one.start_ns)
        return lost_ack if lost_ack >= 0 else self._most_overlap(("excessive-queueing",), one, sent, one.start_ns)

    def _nearest_resend(self, one: Finding) -> int:
        """The finding that reports the resend that competes with the link."""
        starts = self._of(RETRANSMISSIONS, one.connection)
        near = starts[(self.start[starts] <= one.start_ns) & (self.end[starts] >= one.start_ns)]
        return int(near[np.argmax(self.start[near])]) if len(near) else NONE

    def _cause_of_idleness(self, one: Finding) -> int:
        """By its cause: TCP's resend that ends the wait or began the repair; a closed window; the application."""
        cause = one.evidence.get("cause")
        if cause == "idle_recovery":
            slack = self.observed.link_rtt_ns or 0
            return self._latest_before(RETRANSMISSIONS, one, one.end_ns + slack)
        kinds = _IDLE.get(str(cause), ())
        return self._most_overlap(kinds, one, one.start_ns, one.end_ns)

    def _cause_of_loss(self, number: int, one: Finding) -> int:
        """What lost the same segments and says where; of acknowledgements else what held the link then."""
        rows = np.asarray(one.segments, dtype=np.int64)
        others = self.lost_by[rows]
        others = others[(others >= 0) & (others != number)]
        if len(others):
            return int(np.bincount(others).argmax())
        if one.layer in ("link", "unknown"):
            return self._most_overlap(("link-reset", "link-release", "link-outage"), one, one.start_ns, one.end_ns)
        return NONE

    def _outage_before(self, one: Finding) -> int:
        """The outage that ended when this reset began, or held it."""
        outages = self._of(("link-outage",))
        slack = self.observed.link_rtt_ns or 0
        near = outages[(self.start[outages] <= one.start_ns) & (self.end[outages] >= one.start_ns - slack)]
        return max(near.tolist(), key=lambda number: self.found[number].evidence["erased"], default=NONE)

    def _latest_before(self, kinds: Iterable[str], one: Finding, time_ns: int) -> int:
        """The finding of these kinds that began last, up to a time."""
        numbers = self._of(kinds, one.connection)
        numbers = numbers[self.start[numbers] <= time_ns]
        return int(numbers[np.argmax(self.start[numbers])]) if len(numbers) else NONE

    def _most_overlap(self, kinds: Iterable[str], one: Finding, start: int, end: int) -> int:
        """The finding of these kinds that shares most time with an interval; the first of equals."""
        numbers = self._of(kinds, one.connection)
        if not len(numbers):
            return NONE
        shared = np.minimum(self.end[numbers], end) - np.maximum(self.start[numbers], start)
        # Instants inside the interval share no time with it, but lie in it.
        shared = np.where((shared == 0) & (self.start[numbers] == self.end[numbers]), 1, shared)
        return int(numbers[shared.argmax()]) if shared.max() > 0 else NONE

    def _needless_probe(self, one: Finding) -> bool:
        """Whether TCP probed though nothing was lost."""
        needless = self.observed.retransmission_columns["spurious"]
        return one.kind == "probe" and len(one.resends) > 0 and needless[one.resends[0]] == "yes"

    def _resent_for(self) -> Ints:
        lost_by = np.where(self.copy >= 0, self.lost_by[self.copy], NONE)
        needed = self.observed.retransmission_columns["spurious"] == "no"
        return np.where(needed & (lost_by >= 0), lost_by, self.finding_of)


_CAUSES_BY_TIME = {
    "link-recovery-hole": ("link-outage",),
    "link-retransmissions": ("link-outage",),
    "flow-control-gap": ("link-outage", "link-reset", "link-recovery-hole", "link-retransmissions"),
    "reordering": ("link-retransmissions",),
    "ack-compression": ("link-outage", "link-recovery-hole", "link-retransmissions"),
}
"""Of each kind the kinds that can set it off, told by the time that they share."""
_IDLE = {
    "idle_window_limited": ("zero-window", "receiver-window-limited", "link-outage", "path-stall"),
    "idle_sender": ("zero-window", "application-limited"),
}
"""Of each cause of an idle link the kinds that can set it off."""


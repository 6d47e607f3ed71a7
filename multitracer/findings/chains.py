"""What set each finding off: chains of findings, from a root to what it caused.

A kind can be caused only by kinds on an earlier step of STEPS, so that chains have no circle. What lost a segment is
found by the segment; what held one up, or made the link stand still, by the interval of time that they share.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.earlier_copies import earlier_copies
from multitracer.findings.finding import Finding
from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.finding_index import MOST, NONE, FindingIndex, Ints
from multitracer.findings.flushed_acks import flushed_by
from multitracer.findings.idle_causes import SENDERS, IdleCauses
from multitracer.findings.observations import Observations

STEPS = (
    ("link-outage", "path-stall", "local-drop", "excessive-queueing", "zero-window", "application-limited"),
    ("link-reset", "link-release", "receiver-window-limited"),
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
_REPAIRS_OF_LINK = ("link-outage", "link-reset", "link-recovery-hole", "link-retransmissions")


class Chains(NamedTuple):
    """What caused what, as places in the list of findings; NONE where nothing did, or nobody knows."""

    caused_by: Ints
    """Of each finding."""
    layer: npt.NDArray[np.object_]
    """Of each finding; that of TCP's repairs is the layer that lost the data."""
    resent_for: Ints
    """Of each row of `retransmissions`, the finding to which its air time belongs: what lost the earlier copy, or if
    it was needless what made TCP send it again."""


def find_chains(found: Iterable[Finding], observed: Observations) -> Chains:
    """The cause of each finding and of each retransmission."""
    return Chains(*_Search(FindingColumns.of(found), observed).chains())


class _Search:
    """Looks for causes among the findings that are not undecided."""

    def __init__(self, found: FindingColumns, observed: Observations) -> None:
        self.found, self.observed, self.index = found, observed, FindingIndex(found)
        self.columns = observed.retransmission_columns
        self.losses, self.copy = self._losses(), earlier_copies(observed)
        self.finding_of = self._retransmission_findings()
        self.idle = IdleCauses(observed, found, self.copy, self.finding_of, self._loser)

    def chains(self) -> tuple[Ints, npt.NDArray[np.object_], Ints]:
        caused_by = np.full(len(self.found), NONE, dtype=np.int64)
        numbers = np.flatnonzero(~self.found.are(*STEPS[0]))  # nothing sets off those of the first step
        for number, one in zip(numbers.tolist(), self.found.at(numbers), strict=True):
            caused_by[number] = self._cause(number, one)
        return caused_by, self._layers(caused_by), self._resent_for()

    def _losses(self) -> Ints:
        """For each row of segments 1 + the finding that lost it; zeros take no memory before they are written."""
        losses = np.zeros(len(self.observed.segments), dtype=np.int64)
        for kind in reversed(_LOSSES):
            for number in self.index.of_kind(kind):
                losses[np.asarray(self.found.segments[number], dtype=np.int64)] = 1 + number
        return losses

    def _lost_by(self, rows: Ints) -> Ints:
        """The finding that lost each of these rows of segments, NONE where none did."""
        lost_by: Ints = self.losses[rows] - 1
        return lost_by

    def _retransmission_findings(self) -> Ints:
        """For each row of retransmissions the finding that reports it."""
        finding_of = np.full(len(self.observed.retransmissions), NONE, dtype=np.int64)
        for kind in RETRANSMISSIONS:
            for number in self.index.of_kind(kind):
                finding_of[np.asarray(self.found.resends[number], dtype=np.int64)] = number
        return finding_of

    def _cause(self, number: int, one: Finding) -> int:
        """The finding that set this one off."""
        if one.kind in RETRANSMISSIONS:
            return self._cause_of_resends(one)
        if one.kind == "competing-recovery":
            return self.index.latest(RETRANSMISSIONS, one, one.start_ns, one.start_ns)
        if one.kind == "idle-link":
            return self.idle.cause(one)
        if one.kind in ("burst-loss", "ack-loss"):
            return self._cause_of_loss(number, one)
        if one.kind == "header-decompression-failure":
            return self._reset_before(one)
        if one.kind in ("link-reset", "link-release"):
            slack = self.observed.link_rtt_ns or 0
            return self.index.latest(("link-outage",), one, one.start_ns, one.start_ns - slack)
        if one.kind == "flow-control-gap":
            return self._cause_of_stop(one)
        causes = _CAUSES_BY_TIME.get(one.kind, ())
        return self.index.most_overlap(causes, one, one.start_ns, one.end_ns) if causes else NONE

    def _cause_of_stop(self, one: Finding) -> int:
        """What the link repaired while its window was full; nothing where the peer said stop, or all frames came.

        Without a repeat it is the outage or reset that lasted for most of it: no acknowledgement came. A repeat keeps
        the window full until it is acknowledged, a round trip later.
        """
        if one.verdict == "confirmed":
            return NONE
        if not one.evidence.get("repairing"):
            dead = self.index.most_overlap(("link-outage", "link-reset"), one, one.start_ns, one.end_ns)
            return dead if dead != NONE and self.index.share(dead, one) >= MOST else NONE
        start = one.start_ns - (self.observed.link_rtt_ns or 0)
        return self.index.most_overlap(_REPAIRS_OF_LINK, one, start, one.end_ns)

    def _cause_of_resends(self, one: Finding) -> int:
        """Needed: what lost the first earlier copy, else most of them. Needless: what held the earlier copy up.

        A timer that expired rightly though the octets had arrived: what lost the acknowledgements, else other copies.
        Of octets that a link delivered, and no acknowledgement came back: what lost copies, else the acknowledgements.
        """
        rows = np.asarray(one.resends, dtype=np.int64)
        if not len(rows):
            return NONE
        needless = self.columns["spurious"][rows[0]] == "yes"
        if one.kind == "probe" or one.kind.startswith("spurious"):
            held = self._holder(one, int(rows[0])) if needless else NONE
            return held if held != NONE or one.kind != "probe" else self._loser(rows)
        acks = self._loser_of_acks(one, int(rows[0])) if needless or self._was_unanswered(int(rows[0])) else NONE
        if needless and acks != NONE:
            return acks
        lost = self._loser(rows)
        if needless and self._may_discard_acks(one, int(rows[0])):
            return NONE
        return lost if lost != NONE else acks

    def _may_discard_acks(self, one: Finding, row: int) -> bool:
        """Whether the entity that sends acknowledgements told meanwhile, by an MRW, that it gave something up."""
        table, first, (time, link) = self.observed.segment_frames, self._first_copy(row), self.discards
        if table is None or first < 0 or not len(time):
            return False
        carried = table["link"].to_numpy()[np.isin(table["segment"].to_numpy(), [first, self.copy[row]])]
        meanwhile = (time >= self.observed.column("time_ns")[first]) & (time <= one.start_ns)
        return bool((meanwhile & ~np.isin(link, carried)).any())

    @cached_property
    def discards(self) -> tuple[Ints, Ints]:
        """The time and the link of each MRW."""
        frames = self.observed.frames
        if frames is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        told = frames[(frames["type"] == "MRW").to_numpy()]
        return told["time_ns"].to_numpy(), told["link"].to_numpy()

    def _was_unanswered(self, row: int) -> bool:
        """Whether a link delivered the copy before a resend, and no acknowledgement of it came back."""
        return bool(self.columns["late_ack"][row] == 0 and self.copy[row] in self.delivered)

    @cached_property
    def delivered(self) -> frozenset[int]:
        """Rows of segments that came out of a link, by the log of its far end."""
        table = self.observed.segment_frames
        if table is None:
            return frozenset()
        came = (table["delivered_ns"] >= 0) & (table["segment"] >= 0) & (table["matched_by"] == "payload")
        return frozenset(table.loc[came, "segment"].tolist())

    def _loser(self, rows: Ints) -> int:
        """What lost the copies before these resends, unless they were needless: of the first, else of most."""
        copies = self.copy[rows[self.columns["spurious"][rows] != "yes"]]
        lost_by = self._lost_by(copies[copies >= 0])
        known = lost_by[lost_by >= 0]
        if not len(known):
            return NONE
        return int(lost_by[0]) if lost_by[0] >= 0 else int(np.bincount(known).argmax())

    def _holder(self, one: Finding, row: int) -> int:
        """What held up the copy before a needless resend, or its acknowledgement."""
        if self.copy[row] < 0:
            return NONE
        sent = int(self.observed.column("time_ns")[self.copy[row]])
        if one.kind == "spurious-fast-retransmit":
            return self.index.most_overlap(("reordering",), one, sent, one.start_ns)
        if self.columns["late_ack"][row] == 0:
            return self._loser_of_acks(one, row)
        standstill = self.index.most_overlap(_STANDSTILLS, one, sent, one.start_ns)
        return standstill if standstill != NONE else self._queue(one, sent)

    def _loser_of_acks(self, one: Finding, row: int) -> int:
        """The first run of lost acknowledgements that told of a resend's octets, since these were first sent."""
        first = self._first_copy(row)
        if first < 0:
            return NONE
        time, seq, size = (int(self.observed.column(name)[first]) for name in ("time_ns", "seq", "payload_bytes"))
        near = self.index.within(("ack-loss",), one, time, one.start_ns)
        other = 1 - int(self.observed.column("sender")[first])
        return next((number for number in near if self._acknowledged(number, other) >= seq + size), NONE)

    def _first_copy(self, row: int) -> int:
        """The row of segments that was first sent of the octets that a resend repeats, -1 unknown."""
        copy = int(self.copy[row])
        while copy in self.resend_of and self.copy[self.resend_of[copy]] >= 0:
            copy = int(self.copy[self.resend_of[copy]])
        return copy

    @cached_property
    def resend_of(self) -> dict[int, int]:
        """The row of `retransmissions` of each segment that is one."""
        return {segment: row for row, segment in enumerate(self.columns["segment"].tolist()) if segment >= 0}

    def _acknowledged(self, number: int, sender: int) -> int:
        """The highest number in the acknowledgements of an end that a finding says were lost, NONE unknown."""
        rows, evidence = np.asarray(self.found.segments[number], dtype=np.int64), self.found.evidence[number]
        if len(rows):
            mine = rows[self.observed.column("sender")[rows] == sender]
            return int(self.observed.column("ack")[mine].max(initial=NONE))
        return int(evidence.get("highest_ack", NONE)) if SENDERS.get(str(evidence.get("sender"))) == sender else NONE

    def _queue(self, one: Finding, sent: int) -> int:
        """The queue in which the copy waited, where the link's log shows that it did."""
        number = self.index.most_overlap(("excessive-queueing",), one, sent, one.start_ns)
        return number if number != NONE and self.found.verdict[number] == "confirmed" else NONE

    def _cause_of_loss(self, number: int, one: Finding) -> int:
        """What lost most of the same segments and says where; of others what flushed the link then."""
        rows = np.asarray(one.segments, dtype=np.int64)
        others = self._lost_by(rows)
        others = others[(others >= 0) & (others != number)]
        if len(others) >= MOST * len(rows) and len(others):
            return int(np.bincount(others).argmax())
        if one.kind == "ack-loss" and one.layer in ("link", "unknown"):
            then = self.index.most_overlap(("link-reset", "link-release"), one, one.start_ns, one.end_ns)
            return then if then != NONE or one.layer == "unknown" else flushed_by(self.observed, self.index, one)
        return NONE

    def _reset_before(self, one: Finding) -> int:
        """The reset before a decompressor went wrong, unless data came through it well in between."""
        rows = np.asarray(one.segments, dtype=np.int64)
        number = self.index.latest(("link-reset",), one, one.start_ns, np.iinfo(np.int64).min)
        if number == NONE or not len(rows):
            return NONE
        connection, sender = (int(self.observed.column(name)[rows[0]]) for name in ("connection", "sender"))
        direction = self.observed.direction(connection, sender)
        sent = self.observed.rows_sent(direction) if direction else rows[:0]
        came = self.observed.arrival[sent[(self.observed.arrived[sent] == 1) & (self.observed.arrival[sent] >= 0)]]
        came = came[self.observed.column("payload_bytes")[came] > 0]
        time = self.observed.column("time_ns")[came]
        well = (time > self.found.end_ns[number]) & (time < one.start_ns)
        return NONE if well.any() else number

    def _layers(self, caused_by: Ints) -> npt.NDArray[np.object_]:
        """TCP repairs what others lost: its needed resends, and the wait for them, are the layer's that lost the data.

        Where the evidence does not show which did, the layer is unknown, never the sender.
        """
        layers = self.found.layer.copy()
        for kinds in STEPS:
            numbers = np.flatnonzero(self.found.are(*kinds) & self.found.are(*_REPAIRS, "idle-link"))
            for number, one in zip(numbers.tolist(), self.found.at(numbers), strict=True):
                if self._repairs(one):
                    cause = caused_by[number]
                    layers[number] = layers[cause] if cause >= 0 else "unknown"
        return layers

    def _repairs(self, one: Finding) -> bool:
        """Whether TCP repaired, or waited to repair, what something else had lost."""
        if one.kind == "idle-link":
            return one.evidence.get("cause") == "idle_recovery"
        return not self._needless_probe(one)

    def _needless_probe(self, one: Finding) -> bool:
        """Whether TCP probed though nothing was lost."""
        return one.kind == "probe" and len(one.resends) > 0 and self.columns["spurious"][one.resends[0]] == "yes"

    def _resent_for(self) -> Ints:
        lost_by = np.where(self.copy >= 0, self._lost_by(self.copy), NONE)
        needed = self.columns["spurious"] != "yes"
        return np.where(needed & (lost_by >= 0), lost_by, self.finding_of)


_CAUSES_BY_TIME = {
    "link-recovery-hole": ("link-outage",),
    "link-retransmissions": ("link-outage",),
    "reordering": ("link-retransmissions",),
    "ack-compression": ("link-outage", "link-recovery-hole", "link-retransmissions"),
    "receiver-window-limited": ("zero-window",),
}
"""Of each kind the kinds that can set it off, told by the time that they share."""

"""What happened in a simulated transfer that `analyze` has a name for, and what set each of it off.

Everything is from the state of the simulated ends: which frames the radio lost, when each packet was given to the link,
delivered or lost, which timers ran out. Kinds and thresholds are those of findings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from multitracer.model.thresholds import Thresholds
from multitracer.model.vocabulary import UNEXPLAINED
from multitracer.replay.record.accounting_truth import IDLE, LinkAccounting
from multitracer.replay.record.known_run import PROBE, RECOVERY, TIMEOUT, Copy, Resend
from multitracer.replay.record.limits_truth import causes_of
from multitracer.replay.record.link_frames import SideTruth
from multitracer.replay.record.overtaking import overtaken
from multitracer.replay.record.tcp_truth import lost_by
from multitracer.replay.record.transfer import Transfer, transfers
from multitracer.replay.tcp.packets import DATA, SYN

LIMITS = Thresholds()
RESENDS = ("timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "probe", UNEXPLAINED)
"""UNEXPLAINED: of a kernel's resend whose trigger is not known, and those after it."""
STANDSTILLS = ("link-outage", "link-reset", "link-recovery-hole", "flow-control-gap")
"""What holds packets or acknowledgements up."""
REPAIRS = ("link-outage", "link-reset", "link-recovery-hole", "link-retransmissions")
"""What keeps a window full for longer than it would be."""


@dataclass(eq=False)
class Event:
    """Something that happened, from a time to another."""

    kind: str
    start_ns: int
    end_ns: int
    cause: Event | None = None
    resends: Sequence[Resend] = ()
    lost: Sequence[Copy] = ()
    """The packets that were lost by it."""
    idle: str = ""
    """The cause of the accounting, of an idle link."""

    @property
    def root(self) -> Event:
        """Where its chain begins."""
        return self if self.cause is None else self.cause.root

    @property
    def chain(self) -> list[str]:
        """The kinds from the root to this."""
        return [*(self.cause.chain if self.cause is not None else ()), self.kind]


@dataclass
class TrueFindings:
    """All that happened to a transfer's link and to the transfers on it."""

    accounting: LinkAccounting
    other: SideTruth
    """The link's other direction."""
    found: list[Event] = field(default_factory=list)
    _of_kinds: dict[tuple[str, ...], tuple[int, list[Event], Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for make in (
            self._outages, self._resets, self._repeats, self._holes, self._gaps, self._queues, self._drops,
            self._bursts, self._ack_losses, self._reorderings, self._handshakes, self._resends, self._limited,
            self._idle, self._other,
        ):  # fmt: skip
            self.found += list(make())

    @cached_property
    def trip_ns(self) -> int:
        """The link's round trip."""
        return self.accounting.side.round_trip_ns

    @cached_property
    def tcp_trip_ns(self) -> int:
        """The least round trip of the main transfer."""
        return self.accounting.transfers[0].least_trip_ns

    def of_kinds(self, *kinds: str) -> list[Event]:
        """Those found so far."""
        return self._sorted_out(kinds)[0]

    def _sorted_out(self, kinds: tuple[str, ...]) -> tuple[list[Event], Any]:
        """Those of some kinds, and when each began and ended; as long as no more are found, worked out once."""
        known = self._of_kinds.get(kinds)
        if known is None or known[0] != len(self.found):
            own = [one for one in self.found if one.kind in kinds]
            times = np.array([(one.start_ns, one.end_ns) for one in own], dtype=np.int64).reshape(-1, 2).T
            known = self._of_kinds[kinds] = len(self.found), own, times
        return known[1:]

    def overlapping(self, kinds: Iterable[str], start: int, end: int) -> Event | None:
        """The one that shares most time with an interval; of equals the latest to begin.

        One that ends as the interval begins counts, too: what an outage erased is repeated at once when it is over.
        """
        own, (starts, ends) = self._sorted_out(tuple(kinds))
        near = [own[place] for place in np.flatnonzero((starts < max(end, start + 1)) & (ends >= start))]
        return max(near, key=lambda one: (min(one.end_ns, end) - max(one.start_ns, start), one.start_ns), default=None)

    def latest(self, kinds: Iterable[str], begun_by: int, not_over_at: int) -> Event | None:
        """The one that began last, up to a time, and was not over at another."""
        near = [one for one in self.of_kinds(*kinds) if one.start_ns <= begun_by and one.end_ns >= not_over_at]
        return max(near, key=lambda one: one.start_ns, default=None)

    def _outages(self) -> Iterator[Event]:
        """No frame came either way, and some were lost; to the begin of a reset, if one follows."""
        came = self.accounting.side.arrivals
        times, is_good = (np.concatenate(columns) for columns in zip(*came, strict=True))
        good, bad = (np.sort(times[is_good == each]).tolist() for each in (1, 0))
        least = LIMITS.outage_link_rtts * self.trip_ns
        for start, after in pairwise(good):
            end = min([after, *(begin for begin, _ in self.accounting.side.resets if start < begin < after)])
            lost = bad[bisect_left(bad, start) : bisect_left(bad, end)]
            if lost and end - lost[-1] > least:
                end = lost[-1]  # after that nothing was sent
            if lost and end - start > least:
                yield Event("link-outage", start, end)

    def _resets(self) -> Iterator[Event]:
        for start, end in self.accounting.side.resets:
            yield Event("link-reset", start, end, self.latest(("link-outage",), start, start - self.trip_ns))

    def _repeats(self) -> Iterator[Event]:
        """Repeats of either side with no longer pause than a round trip."""
        for side in (self.accounting.side, self.other):
            again = np.flatnonzero(side.octets.repeat)
            begin, end = side.frames.begin_ns[again].tolist(), side.frames.end_ns[again].tolist()
            for start, stop in _groups(begin, end, LIMITS.group_rtts * self.trip_ns):
                yield Event("link-retransmissions", start, stop, self.overlapping(("link-outage",), start, stop))

    def _holes(self) -> Iterator[Event]:
        """Nothing was delivered while the link repeated frames of the packet that came next."""
        least = LIMITS.hole_link_rtts * self.trip_ns
        for side in (self.accounting.side, self.other):
            for mine in side.deliveries.values():
                for before, one in pairwise(mine):
                    start, end = max(before.delivered_ns, one.first_ns), one.delivered_ns
                    reset = any(begin < end and stop > start for begin, stop in side.resets)
                    if end - start > least and one.repeats and not reset:
                        cause = self.overlapping(("link-outage",), start, end)
                        yield Event("link-recovery-hole", start, end, cause)

    def _gaps(self) -> Iterator[Event]:
        """The link was stopped, or data waited for its window: while a frame was repeated that was in it, or not."""
        side = self.accounting.side
        again = side.frames.begin_ns[side.octets.repeat].tolist()
        spans = self.accounting.causes.get("flow_controlled", [])
        stalls = [(self._stalled(again, *span), span) for span in spans]
        for why, several in groupby(stalls, key=lambda stall: stall[0]):
            mine = [span for _, span in several]
            for start, end in _groups([one for one, _ in mine], [other for _, other in mine], self.trip_ns):
                cause = self.overlapping(REPAIRS, start - self.trip_ns, end) if why == "repair" else None
                cause = self._dead(start, end) if why == "window" else cause
                yield Event("flow-control-gap", start, end, cause)

    def _dead(self, start: int, end: int) -> Event | None:
        """What let no acknowledgement through for most of a time."""
        one = self.overlapping(("link-outage", "link-reset"), start, end)
        shared = min(one.end_ns, end) - max(one.start_ns, start) if one is not None else 0
        return one if 2 * shared >= end - start else None

    def _stalled(self, again: Sequence[int], start: int, end: int) -> str:
        """Why new data did not go: `again` are the times of repeats, acknowledged a round trip later at the soonest."""
        if any(one <= start < other for one, other in self.accounting.side.stopped):
            return "stop"
        repeats = bisect_left(again, end) - bisect_right(again, start - self.trip_ns)
        return "repair" if repeats > 0 else "window"

    def _queues(self) -> Iterator[Event]:
        """Packets waited for their first frame for longer than a round trip, and did so for many round trips."""
        on_air = self.accounting.side.first_times
        for transfer in self.accounting.transfers:
            trip = transfer.least_trip_ns
            if trip <= 0:
                continue
            waits = [(one.sent_ns, on_air[id(one)][0] - one.sent_ns) for one in transfer.copies if id(one) in on_air]
            times = sorted(sent for sent, waited in waits if waited > LIMITS.queue_pipes * trip)
            for start, end in _groups(times, times, trip + max((waited for _, waited in waits), default=0)):
                if end - start >= LIMITS.queue_rtts * trip:
                    yield Event("excessive-queueing", start, end)

    def _drops(self) -> Iterator[Event]:
        """Queues dropped packets."""
        for one in self.accounting.side.run.copies:
            if lost_by(one) == "local-drop":
                yield Event("local-drop", one.sent_ns, one.sent_ns, lost=(one,))

    def _bursts(self) -> Iterator[Event]:
        """Two segments or more, sent within a round trip, never came; what lost most of them is their cause."""
        for transfer in self.accounting.transfers:
            lost = [one for one in transfer.copies if not one.taken]
            first = 0
            while first < len(lost):
                until = lost[first].sent_ns + LIMITS.burst_rtts * self.tcp_trip_ns
                group = lost[first : bisect_right([one.sent_ns for one in lost], until)]
                first += len(group)
                if len(group) >= LIMITS.burst_segments:
                    yield self._loss("burst-loss", group)

    def _ack_losses(self) -> Iterator[Event]:
        """Acknowledgements without data never came; those sent with no longer pause than a round trip are one loss."""
        for transfer in self.accounting.transfers:
            lost = [one for one in transfer.acks if not one.taken and not one.packet.bits & (DATA | SYN)]
            sent, pause = [one.sent_ns for one in lost], LIMITS.group_rtts * self.tcp_trip_ns
            for start, end in _groups(sent, sent, pause):
                yield self._loss("ack-loss", lost[bisect_left(sent, start) : bisect_right(sent, end)])

    def _loss(self, kind: str, lost: Sequence[Copy]) -> Event:
        """Packets that were lost together; what lost most of them is their cause."""
        known = [event for event in map(self.loser, lost) if event is not None]
        cause = max(known, key=known.count) if 2 * len(known) >= len(lost) else None
        return Event(kind, lost[0].sent_ns, lost[-1].sent_ns, cause, lost=lost)

    def _reorderings(self) -> Iterator[Event]:
        """Later segments overtook others, which the link may have been repeating."""
        for transfer in self.accounting.transfers:
            for start, end in overtaken(transfer, LIMITS.group_rtts * self.tcp_trip_ns):
                yield Event("reordering", start, end, self.overlapping(("link-retransmissions",), start, end))

    def _handshakes(self) -> Iterator[Event]:
        """SYNs were sent again."""
        syns: dict[tuple[int, int], list[int]] = {}
        for one in self.accounting.side.run.copies:
            if one.packet.bits & SYN:
                syns.setdefault((one.segment.flow.number, one.segment.end), []).append(one.sent_ns)
        for times in syns.values():
            if len(times) > 1:
                yield Event("handshake-retry", times[0], times[-1])

    def _resends(self) -> Iterator[Event]:
        """Probes, timeouts and fast retransmissions, each with what it sent again."""
        for transfer in self.accounting.transfers:
            probes = [one for one in transfer.resends if one.trigger == PROBE]
            yield from (self._resent("probe", transfer, [one]) for one in probes)
            for group in _recoveries([one for one in transfer.resends if one.trigger != PROBE]):
                first = group[0]
                if not first.trigger:
                    yield Event(UNEXPLAINED, first.copy.sent_ns, group[-1].copy.sent_ns, resends=group)
                elif first.trigger == TIMEOUT:
                    late = first.spurious and transfer.on_its_way(first)
                    yield self._resent("spurious-timeout" if late else "timeout", transfer, group)
                else:
                    for kind, spurious in (("fast-retransmit", False), ("spurious-fast-retransmit", True)):
                        if mine := [one for one in group if one.spurious is spurious]:
                            yield self._resent(kind, transfer, mine)

    def _resent(self, kind: str, transfer: Transfer, group: Sequence[Resend]) -> Event:
        first, last = group[0].copy, group[-1].copy
        cause = self._held_up(kind, transfer, group[0]) if group[0].spurious else None
        if cause is None and not kind.startswith("spurious"):
            cause = self._lost(transfer, group)
        return Event(kind, first.sent_ns, last.sent_ns, cause, group)

    def _lost(self, transfer: Transfer, group: Sequence[Resend]) -> Event | None:
        """What lost the copies before these resends: before the first, else most."""
        lost = [self.loser(transfer.earlier(one.copy)) for one in group if not one.spurious]
        known = [one for one in lost if one is not None]
        if lost and lost[0] is not None:
            return lost[0]
        return max(known, key=known.count, default=None)

    def earlier(self, copy: Copy) -> Copy | None:
        """The copy of the same segment that was sent before this one; None of an end whose data is not followed."""
        flow, end = copy.segment.flow, copy.segment.end
        transfer = next((one for one in self.accounting.transfers if one.flow is flow and one.end == end), None)
        return transfer.earlier(copy) if transfer is not None else None

    def loser(self, copy: Copy | None) -> Event | None:
        """What lost a packet."""
        if copy is None:
            return None
        at = copy.lost_ns
        if at is not None and (reset := self._reset_at(at)) is not None:
            return reset
        return next((one for one in self.of_kinds("local-drop", "burst-loss", "ack-loss") if copy in one.lost), None)

    def _reset_at(self, at: int) -> Event | None:
        """The reset that flushed what an end lost at a time, None where the end gave it up by itself (RLC's discard).

        RLC flushes with the request and with the answer (25.322 11.4.3), which may be lost and asked for again. RLP
        does so when it decides to reset, and frames may wait in its device before the SABM; it gives up nothing else.
        """
        resets, settled_ns = self.of_kinds("link-reset"), self.accounting.side.settled_ns
        begun = [one for one in resets if one.start_ns <= at]
        begun = [one for one in begun if at <= max(one.end_ns + self.trip_ns, settled_ns(one.start_ns))]
        later = [one for one in resets if one.start_ns > at and self._protocol == "rlp"]
        return begun[-1] if begun else next(iter(later), None)

    @property
    def _protocol(self) -> str:
        return self.accounting.side.run.scenario.word("link.protocol")

    def _held_up(self, kind: str, transfer: Transfer, one: Resend) -> Event | None:
        """What held up the copy before a needless resend, or its acknowledgement, or lost the latter."""
        sent = transfer.earlier(one.copy)
        if sent is None:
            return None
        if kind == "spurious-fast-retransmit":
            return self.overlapping(("reordering",), sent.sent_ns, one.copy.sent_ns)
        if not transfer.on_its_way(one):
            lost = [self.loser(ack) for ack in transfer.acks_lost(one)]
            return next((found for found in lost if found is not None), None)
        held_up = self.overlapping(STANDSTILLS, sent.sent_ns, one.copy.sent_ns)
        return held_up or self.overlapping(("excessive-queueing",), sent.sent_ns, one.copy.sent_ns)

    def _limited(self) -> Iterator[Event]:
        """The application, or the receiver's window, limited a transfer."""
        for transfer in self.accounting.transfers:
            yield from _limits(transfer)

    def _other(self) -> Iterator[Event]:
        """The same of what the other ends sent, whose limits left this direction idle for no reason."""
        own = self.accounting.transfers
        for transfer in transfers(self.accounting.side.run):
            if transfer.end != own[0].end:
                yield from _limits(transfer)

    def _idle(self) -> Iterator[Event]:
        """The link was idle for longer than a round trip, once data had been sent by either end."""
        begun = min(one.sent_ns for one in self.accounting.side.run.copies if one.packet.bits & DATA)
        for name in IDLE:
            for start, end in self.accounting.causes.get(name, []):
                if end - start > LIMITS.idle_rtts * self.tcp_trip_ns and start >= begun:
                    yield Event("idle-link", start, end, self._why_idle(name, start, end), idle=name)

    def _why_idle(self, name: str, start: int, end: int) -> Event | None:
        if name == "idle_recovery":
            return self._repairing(start, end)
        if name == "idle_sender":  # new data ends what the application left idle, and is no cause of what follows
            one = self.overlapping(("application-limited",), start, end)
            return one if one is not None and min(one.end_ns, end) > max(one.start_ns, start) else None
        return self._most(("link-outage", "link-recovery-hole", "receiver-window-limited"), start, end)

    def _repairing(self, start: int, end: int) -> Event | None:
        """The resend by the timer that was waited for; else the latest before, whose repair goes on.

        What the link did meanwhile may divide the wait.
        """
        spans = [
            (one.copy.sent_ns, one, begin, stop)
            for transfer in self.accounting.transfers for one, (begin, stop) in transfer.repairs
        ]  # fmt: skip
        ended = [(at, one) for at, one, begin, _ in spans if begin < end and start < at and begin < at]
        going_on = [(at, one) for at, one, _, stop in spans if at <= start < stop]
        near = [min(ended, key=_when)] if ended else [max(going_on, key=_when)] if going_on else []
        return next((event for _, one in near for event in self.of_kinds(*RESENDS) if one in event.resends), None)

    def _most(self, kinds: Sequence[str], start: int, end: int) -> Event | None:
        """Of the first kind that holds for most of the time; else what shares most."""
        for kind in kinds:
            one = self.overlapping((kind,), start, end)
            if one is not None and min(one.end_ns, end) - max(one.start_ns, start) >= (end - start) / 2:
                return one
        return self.overlapping(kinds, start, end)


def _limits(transfer: Transfer) -> Iterator[Event]:
    """When the application, or the receiver's window, limited a transfer for longer than its round trip."""
    trip, found = transfer.least_trip_ns, causes_of(transfer)
    for name, kind in (("application", "application-limited"), ("receiver_window", "receiver-window-limited")):
        long = [span for span in found.get(name, []) if span[1] - span[0] > LIMITS.limited_rtts * trip > 0]
        begin, end = [one for one, _ in long], [other for _, other in long]
        for start, stop in _groups(begin, end, LIMITS.group_rtts * trip):
            yield Event(kind, start, stop)


def _when(one: tuple[int, Resend]) -> int:
    return one[0]


def _groups(begin: Sequence[int], end: Sequence[int], pause: float) -> Iterator[tuple[int, int]]:
    """Spans of times that follow one another after no longer pause."""
    first = 0
    for at in range(1, len(begin) + 1):
        if at == len(begin) or begin[at] - end[at - 1] > pause:
            yield begin[first], max(end[first:at])
            first = at


def _recoveries(resends: Sequence[Resend]) -> Iterator[list[Resend]]:
    """Each timeout or fast retransmission, or what may be one, with the resends of its recovery."""
    group: list[Resend] = []
    for one in resends:
        if one.trigger != RECOVERY and group:
            yield group
            group = []
        group.append(one)
    if group:
        yield group

"""What limited the data of a simulated run at each instant, from the model's own state.

The causes are those of `analyze`; each instant has the first that applies. What a capture has to infer is known here:
when the bottleneck had octets, whether a segment was lost, and which window was full. Of a send buffer nobody tells
how much room it had: that is inferred as `analyze` does, from what an acknowledgement set off within 3 ms.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from math import isnan

from multitracer.model.limits import LIMITS
from multitracer.replay.arq import notes
from multitracer.replay.record.known_run import BY_TIMER, FAST, PROBE, RECOVERY, TIMEOUT, Copy, KnownRun, Resend, State
from multitracer.replay.record.spans import Spans, charged, joined, length
from multitracer.replay.record.tcp_packets import Flow
from multitracer.replay.tcp.packets import DATA, FIN, SYN

AT_ONCE_NS = 3_000_000
"""What is sent within this time of an acknowledgement was set off by it."""
STALL_TRIPS = 2
"""The path stands still when nothing arrives for more than so many round trips."""


@dataclass(frozen=True)
class Transfer:
    """The data that one end of one connection sent: that with most of it."""

    run: KnownRun
    flow: Flow
    end: int

    @cached_property
    def copies(self) -> list[Copy]:
        """Its segments with data, as they were sent."""
        return [one for one in self.run.copies if self._is_own(one) and one.packet.bits & DATA]

    def _is_own(self, copy: Copy) -> bool:
        return copy.segment.flow is self.flow and copy.segment.end == self.end

    @cached_property
    def arrivals(self) -> list[Copy]:
        """Those that came to the receiver's TCP, as they came."""
        return [one for one in self.run.arrived if one.taken and self._is_own(one) and one.packet.bits & DATA]

    @cached_property
    def states(self) -> list[State]:
        """What the sender was like after each of its events, from its first segment on."""
        found = [one for one in self.run.states if one.flow is self.flow and one.end == self.end]
        return [one for one in found if one.time_ns >= self.copies[0].sent_ns]

    @cached_property
    def session(self) -> tuple[int, int]:
        """From the first data sent to the last acknowledged."""
        last, ended = 1, self.copies[0].sent_ns
        for state in self.states:
            if state.seen.una > last:
                last, ended = state.seen.una, state.time_ns
        return self.copies[0].sent_ns, ended

    @cached_property
    def resends(self) -> list[Resend]:
        """Its retransmissions."""
        return [one for one in self.run.resends if self._is_own(one.copy)]

    @cached_property
    def trips(self) -> list[tuple[int, int]]:
        """When each round trip was measured, and how long it was: of segments sent once, by their acknowledgement.

        Nothing may have been sent again since: the acknowledgement could have waited for that (Karn's algorithm).
        """
        return list(self._trips())

    def _trips(self) -> Iterator[tuple[int, int]]:
        sendings = {copy.packet.seq: copy for copy in self.copies}
        again = [-1, *(copy.sent_ns for copy in self.copies if copy.packet.sending > 0)]
        una = 1
        for state in self.states:
            acked = sendings.get(state.seen.una - 1) if state.seen.una > una and state.came is not None else None
            latest = again[bisect_left(again, state.time_ns) - 1]
            if acked is not None and acked.packet.sending == 0 and acked.sent_ns >= latest:
                yield state.time_ns, state.time_ns - acked.sent_ns
            una = max(una, state.seen.una)

    @property
    def least_trip_ns(self) -> int:
        """The shortest round trip, those of SYN and FIN included; 0 if none was measured."""
        return min([*(trip for _, trip in self.trips), *self._opening(), *self._closing()], default=0)

    def _opening(self) -> Iterator[int]:
        """How long the answer to its SYN took, unless that was sent again."""
        run, mine = self.run, (self.flow, self.end)
        own = [one for one in run.copies if (one.segment.flow, one.segment.end) == mine and one.packet.bits & SYN]
        heard = (one.time_ns for one in run.states if (one.flow, one.end) == mine and one.came is not None)
        for syn in own if len(own) == 1 else ():
            yield from (at - syn.sent_ns for at in islice((at for at in heard if at > syn.sent_ns), 1))

    def _closing(self) -> Iterator[int]:
        """How long the answer to its FIN took, unless that was sent again, or came before all data had come."""
        fins = [one for one in self.run.copies if self._is_own(one) and one.packet.bits & FIN]
        if len(fins) != 1 or not fins[0].taken or fins[0].packet.bits & DATA:
            return
        sent, came = fins[0].sent_ns, fins[0].came_ns or 0
        if {one.packet.seq for one in self.arrivals if (one.came_ns or 0) <= came} == set(self.sendings):
            answers = (ack for ack in self.acks if ack.sent_ns >= came and ack.taken)
            yield from ((ack.came_ns or 0) - sent for ack in islice(answers, 1))

    def waits_for_timer(self, one: Resend) -> bool:
        """Whether a timer was to expire: something outstanding was lost, or all acknowledgements of it were."""
        if not (one.spurious and self.on_its_way(one)):
            return True
        at = one.copy.sent_ns
        una = next((state.seen.una for state in reversed(self.states) if state.time_ns < at), 0)
        sent = [copy for copy in self.copies if copy.sent_ns < at and copy.packet.seq >= una]
        return bool({copy.packet.seq for copy in sent} - {copy.packet.seq for copy in sent if copy.taken})

    def earlier(self, copy: Copy) -> Copy | None:
        """The copy of the same segment that was sent before this one."""
        same = self.sendings[copy.packet.seq]
        place = same.index(copy)
        return same[place - 1] if place else None

    @cached_property
    def sendings(self) -> dict[int, list[Copy]]:
        """By segment, its copies as they were sent."""
        found: dict[int, list[Copy]] = {}
        for copy in self.copies:
            found.setdefault(copy.packet.seq, []).append(copy)
        return found

    def on_its_way(self, one: Resend) -> bool:
        """Whether an earlier copy of a resend, or an acknowledgement of it, was on its way then, and came."""
        at = one.copy.sent_ns
        came = self._first_arrival(one.copy)
        answered = (ack.came_ns or 0 for ack in self._answers(one) if ack.taken)
        return came is not None and (came > at or any(when > at for when in answered))

    def acks_lost(self, one: Resend) -> list[Copy]:
        """The acknowledgements that the receiver sent of an earlier copy, none of which came."""
        return [ack for ack in self._answers(one) if not ack.taken]

    def _first_arrival(self, copy: Copy) -> int | None:
        """When an earlier copy of a segment that was sent again came to the receiver."""
        before = [each for each in self.sendings[copy.packet.seq] if each.sent_ns < copy.sent_ns and each.taken]
        return min((each.came_ns for each in before if each.came_ns is not None), default=None)

    def _answers(self, one: Resend) -> list[Copy]:
        """What acknowledges a segment and was sent after an earlier copy had come, before the resend or a later did."""
        came, same = self._first_arrival(one.copy), self.sendings[one.copy.packet.seq]
        end = min((each.came_ns for each in same[same.index(one.copy) :] if each.came_ns is not None), default=None)
        if came is None:
            return []
        return [
            ack for ack in self.acks
            if ack.packet.ack > one.copy.packet.seq and came <= ack.sent_ns and (end is None or ack.sent_ns < end)
        ]  # fmt: skip

    @cached_property
    def acks(self) -> list[Copy]:
        """What the other end sent."""
        flow, end = self.flow, 1 - self.end
        return [one for one in self.run.copies if one.segment.flow is flow and one.segment.end == end]

    def is_full(self, state: State) -> bool:
        """Whether data is outstanding up to the window that can be used: no whole segment fits beside its octets.

        Windows are octets, also of a sender that counts segments: behind a short last one they may have room.
        """
        seen = state.seen
        top = min(seen.top, seen.written)  # without a FIN
        if top <= seen.una:
            return False
        first, last = (self.sendings[seq][0].segment for seq in (seen.una, top - 1))
        whole = self.run.whole_bytes
        outstanding = last.seq + last.payload_bytes - first.seq
        return outstanding + whole > (seen.limit - seen.una) * whole or outstanding + whole > seen.cwnd * whole

    def waited_from(self, at: int) -> int:
        """Since when the timer that ran out at a time had been waited for."""
        news, una = self.copies[0].sent_ns, 0
        for state in self.states:
            if state.time_ns >= at:
                break
            moved = state.seen.una > una or (state.came is not None and state.came.packet.blocks > 0)
            if moved:
                news = state.time_ns
            una = max(una, state.seen.una)
        first = next((one.sent_ns for one in self.copies if one.packet.seq >= una and one.sent_ns >= news), at)
        outstanding = any(one.packet.seq >= una and one.sent_ns < news for one in self.copies)
        return news if outstanding else min(first, at)

    def repaired(self, copy: Copy) -> int:
        """When all was acknowledged that had been sent up to a segment.

        Acknowledgements that come at one instant let more be sent at that instant, after it: its repair does not wait
        for that.
        """
        top = self._tops[id(copy)] + 1
        return next((one.time_ns for one in self.states if one.seen.una >= top), self.session[1])

    @cached_property
    def _tops(self) -> dict[int, int]:
        """Of each copy, the highest segment that had been sent with it or before."""
        highest = accumulate((one.packet.seq for one in self.copies), max)
        return {id(one): top for one, top in zip(self.copies, highest, strict=True)}


def transfers(run: KnownRun) -> list[Transfer]:
    """What each end of each connection sent, that with most data first."""
    octets: dict[tuple[int, int], int] = {}
    flows: dict[int, Flow] = {}
    for copy in run.copies:
        if copy.packet.bits & DATA:
            key = copy.segment.flow.number, copy.segment.end
            octets[key] = octets.get(key, 0) + copy.segment.payload_bytes
            flows[key[0]] = copy.segment.flow
    return [Transfer(run, flows[number], end) for number, end in sorted(octets, key=lambda key: -octets[key])]


def largest(run: KnownRun) -> Transfer | None:
    """The transfer of most data; None if there was none."""
    return next(iter(transfers(run)), None)


def causes_of(transfer: Transfer) -> dict[str, Spans]:
    """The instants of each cause between the first data sent and the last acknowledgement."""
    start, end = transfer.session
    repairs = dict(_repairs(transfer))
    causes = [
        ("path_stall", stalls(transfer)), ("path_rate", busy(transfer)),
        ("timeout_recovery", joined(repairs.get(TIMEOUT, []))), ("fast_recovery", joined(repairs.get(FAST, []))),
        *waits(transfer).items(),
    ]  # fmt: skip
    return charged((start, end), causes)


def limits(transfer: Transfer) -> dict[str, float] | None:
    """The share of each cause; None where nothing was acknowledged."""
    start, end = transfer.session
    if end <= start:
        return None
    found = causes_of(transfer)
    shares = {name: length(found.get(name, [])) / (end - start) for name in LIMITS}
    shares["unknown"] = 0.0
    return shares


def busy(transfer: Transfer) -> Spans:
    """When the bottleneck, link or wired hop, had octets of it that it had not delivered yet."""
    if _wired_is_slower(transfer.run):
        return joined(_on_the_wire(transfer))
    return joined(_on_the_link(transfer))


def _wired_is_slower(run: KnownRun) -> bool:
    way = run.scenario.forward
    wired = run.scenario.number("wired.rate_bps", way)
    return 0 < wired < link_rate(run, way)


def link_rate(run: KnownRun, way: str) -> float:
    """What one direction of the link can carry, in bit/s."""
    scenario = run.scenario
    if scenario.value("link.tti_s", way) is None:
        return scenario.number("link.rate_bps", way)
    frames = scenario.whole("link.blocks_per_tti", way) / scenario.number("link.tti_s", way)
    return 8 * scenario.whole("link.frame_bytes", way) * frames


def _on_the_wire(transfer: Transfer) -> Iterator[tuple[int, int]]:
    """From when each was sent until it left the wired hop's sender: its delay is no work."""
    delay = transfer.run.setting.wired[transfer.end].delay_ns
    for copy in transfer.copies:
        if transfer.end == 0 and copy.given_ns is not None:
            yield copy.sent_ns, copy.given_ns - delay
        elif transfer.end == 1 and copy.delivered_ns is not None and copy.came_ns is not None:
            yield copy.delivered_ns, copy.came_ns - delay


def _on_the_link(transfer: Transfer) -> Iterator[tuple[int, int]]:
    """From when the link was given each until its last bit left; what it lost left with its time on the air.

    A link that repairs its losses still has at the end what it neither delivered nor gave up, unless its other side
    took it for something else.
    """
    direction = transfer.run.setting.radio[transfer.end]
    delay = direction.delay_ns - direction.slot_ns
    repairs = transfer.run.scenario.word("link.protocol") not in UNREPAIRED
    for copy in transfer.copies:
        if copy.given_ns is None or copy.refused:
            continue
        if copy.delivered_ns is not None:
            yield copy.given_ns, copy.delivered_ns - delay
        elif copy.lost_ns is not None:
            yield copy.given_ns, copy.lost_ns if copy.left_ns is None else min(copy.lost_ns, copy.left_ns)
        elif repairs:
            yield copy.given_ns, max(copy.given_ns, transfer.session[1] if copy.left_ns is None else copy.left_ns)
    if not repairs:
        yield from air_times(transfer.run, transfer.end)


UNREPAIRED = ("raw", "rlc-um", "rlc-tm")
"""Links that send no frame again: each is on the air once, and whatever is in it has left the bottleneck then."""


def air_times(run: KnownRun, side: int) -> Iterator[tuple[int, int]]:
    """When each of a side's own frames was on the air."""
    direction = run.setting.radio[side]
    rows = run.link
    own = rows[(rows["event"] == notes.SENT) & (rows["side"] == side) & (rows["what"] == 0)]
    for begin, octets in zip(own["time_ns"].tolist(), own["octets"].tolist(), strict=True):
        yield begin, begin + (direction.slot_ns or -(-octets * 8_000_000_000 // direction.rate_bps))


def stalls(transfer: Transfer) -> Spans:
    """Stretches of more than two round trips in which data was in flight, none of it lost, and nothing arrived."""
    trips = transfer.trips
    lost = {one.copy.packet.seq for one in transfer.resends if not one.spurious}
    flying: list[Copy] = []
    sent, trip, latest = 0, 0, 0
    found: Spans = []
    held: set[int] = set()
    for copy in transfer.arrivals:
        now = copy.came_ns or 0
        while sent < len(transfer.copies) and transfer.copies[sent].sent_ns < now:
            flying.append(transfer.copies[sent])
            sent += 1
        flying = [one for one in flying if one.packet.seq not in held]
        begin = max(latest, flying[0].sent_ns) if flying else now
        while trip + 1 < len(trips) and trips[trip + 1][0] <= begin:
            trip += 1
        known = bool(trips) and trips[trip][0] <= begin
        if known and now - begin > STALL_TRIPS * trips[trip][1] and not any(one.packet.seq in lost for one in flying):
            found.append((begin, now))
        held.add(copy.packet.seq)
        latest = now
    return joined(found)


def _repairs(transfer: Transfer) -> Iterator[tuple[str, Spans]]:
    """The spans of recoveries by a timer, and of those by acknowledgements.

    One by a timer begins with the wait for it: when an acknowledgement last brought something new, or when data was
    first outstanding after that. It lasts until all is acknowledged that had been sent at the resend: what is repaired
    until then the timer found, though what it sent again itself need not have been lost. A probe's ends where
    acknowledgements begin a recovery of their own.
    """
    by_timer: Spans = []
    by_acks: Spans = []
    wait, over = 0, 0
    begun = [one.copy.sent_ns for one in transfer.resends if one.trigger == FAST]
    for one in transfer.resends:
        at = one.copy.sent_ns
        if one.trigger == TIMEOUT:
            wait, over = transfer.waited_from(at), transfer.repaired(one.copy)
        if one.spurious:
            continue
        end = transfer.repaired(one.copy)
        if one.trigger == PROBE:
            end = min([end, *(when for when in begun if when > at)])
        if one.trigger in BY_TIMER:
            by_timer.append((transfer.waited_from(at), end))
        elif one.trigger == RECOVERY and at < over:
            by_timer.append((wait, end))
        else:
            by_acks.append((at, end))
        if one.trigger == FAST:
            over = 0
    yield TIMEOUT, by_timer
    yield FAST, by_acks


def waits(transfer: Transfer) -> dict[str, Spans]:
    """What held new data back after each event: the receiver's window, the sender's, or neither.

    While data is outstanding and the congestion window has room, the sender's may be its buffer: an acknowledgement
    gives that room, and sets the next new data off. What leaves without one waited for neither; so does what is paced.
    """
    found: dict[str, Spans] = {"receiver_window": [], "sender_window": [], "application": []}
    states = transfer.states
    sent = [one.sent_ns for one in transfer.copies if one.packet.sending == 0]
    news = list(_news(states))
    for state, after in zip(states, [*states[1:], None], strict=True):
        end = after.time_ns if after is not None else transfer.session[1]
        cause = _holds_back(state)
        if cause == "sender_window" and not isnan(state.seen.cwnd) and not transfer.is_full(state):
            cause = "sender_window" if _set_off(state, sent, news) else "application"
        found[cause].append((state.time_ns, end))
    return {name: joined(spans) for name, spans in found.items()}


def _news(states: Sequence[State]) -> Iterator[int]:
    """When acknowledgements came that acknowledge or report more."""
    una = 0
    for state in states:
        if state.came is not None and (state.seen.una > una or state.came.packet.blocks > 0):
            yield state.time_ns
        una = max(una, state.seen.una)


def _set_off(state: State, sent: Sequence[int], news: Sequence[int]) -> bool:
    """Whether an acknowledgement let the next new data leave, while some was outstanding; or none left any more."""
    if state.seen.una >= state.seen.top:
        return False
    following = bisect_right(sent, state.time_ns)
    if following == len(sent):
        return False
    latest = bisect_right(news, sent[following]) - 1
    return latest >= 0 and sent[following] - news[latest] <= AT_ONCE_NS


def _holds_back(state: State) -> str:
    seen = state.seen
    if seen.top >= seen.written:
        return "application"
    return "receiver_window" if seen.top >= seen.limit else "sender_window"

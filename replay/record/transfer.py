"""The data that one end of a connection sent in a known run, and what became of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice

from multitracer.replay.record.known_run import BY_TIMER, Copy, KnownRun, Resend, State
from multitracer.replay.record.tcp_packets import Flow
from multitracer.replay.tcp.packets import DATA, FIN, SYN


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
        """From the first data sent to the last acknowledged, as a capture has it; a FIN is no data.

        An acknowledgement that comes when the sender has ended already, as a page does with its last octet, is there.
        """
        last, ended = 1, self.copies[0].sent_ns
        end = max(copy.packet.seq for copy in self.copies) + 1
        heard = [(one.time_ns, one.seen.una) for one in self.states]
        for time_ns, una in sorted([*heard, *_heard_late(self.acks)]):
            if last < min(una, end):
                last, ended = una, time_ns
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
        heard, una = [(one.time_ns, one.seen.una) for one in self.states if one.came is not None], 1
        for time_ns, number in sorted([*heard, *_heard_late(self.acks)]):
            acked = sendings.get(number - 1) if number > una else None
            latest = again[bisect_left(again, time_ns) - 1]
            if acked is not None and acked.packet.sending == 0 and acked.sent_ns >= latest:
                yield time_ns, time_ns - acked.sent_ns
            una = max(una, number)

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

    @cached_property
    def repairs(self) -> list[tuple[Resend, tuple[int, int]]]:
        """When it waited for a timer that sends lost data again, or repaired: until all is acknowledged that was sent.

        A span for each retransmission.
        """
        found = []
        for one in self.resends:
            at = one.copy.sent_ns
            waits = one.trigger in BY_TIMER and self.waits_for_timer(one)
            found.append((one, (self.waited_from(at) if waits else at, self.repaired(one.copy))))
        return found

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
        begin = bisect_left(self.acks, came, key=_sent_ns)
        stop = len(self.acks) if end is None else bisect_left(self.acks, end, begin, key=_sent_ns)
        return [ack for ack in self.acks[begin:stop] if ack.packet.ack > one.copy.packet.seq]

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


def _sent_ns(copy: Copy) -> int:
    return copy.sent_ns


def _heard_late(acks: list[Copy]) -> Iterator[tuple[int, int]]:
    """When acknowledgements came after their receiver had ended, and of what."""
    yield from ((one.came_ns, one.packet.ack) for one in acks if one.late and one.came_ns is not None)


def transfers(run: KnownRun) -> list[Transfer]:
    """What each end of each connection sent, that with most data first: what was sent again counts once."""
    octets: dict[tuple[int, int], int] = {}
    flows: dict[int, Flow] = {}
    for copy in run.copies:
        if copy.packet.bits & DATA:
            key = copy.segment.flow.number, copy.segment.end
            octets[key] = octets.get(key, 0) + (copy.segment.payload_bytes if copy.packet.sending == 0 else 0)
            flows[key[0]] = copy.segment.flow
    return [Transfer(run, flows[number], end) for number, end in sorted(octets, key=lambda key: -octets[key])]


def largest(run: KnownRun) -> Transfer | None:
    """The transfer of most data; None if there was none."""
    return next(iter(transfers(run)), None)

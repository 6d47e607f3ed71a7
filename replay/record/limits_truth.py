"""What limited the data of a simulated run at each instant, from the model's own state.

The causes are those of `analyze`; each instant has the first that applies. What a capture has to infer is known here:
when the bottleneck had octets, whether a segment was lost, and which window was full. Of a send buffer nobody tells
how much room it had: that is inferred as `analyze` does, from what an acknowledgement set off within 3 ms.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan
from operator import itemgetter
from typing import Any

from multitracer.model.limits import LIMITS
from multitracer.replay.arq import notes
from multitracer.replay.arq.rlc.um import HEAD_BYTES
from multitracer.replay.record.known_run import BY_TIMER, FAST, PROBE, RECOVERY, TIMEOUT, Copy, KnownRun, State
from multitracer.replay.record.spans import Spans, charged, joined, length
from multitracer.replay.record.transfer import Transfer
from multitracer.replay.simulate.frames_sent import air_times
from multitracer.replay.simulate.hosts import interface

AT_ONCE_NS = 3_000_000
"""What is sent within this time of an acknowledgement was set off by it."""
STALL_TRIPS = 2
"""The path stands still when nothing arrives for more than so many round trips."""


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
    """From when each waited for the link until its last bit left; what it lost left with its time on the air, which may
    be after it was given up, as its frames may wait in the device then.

    A link that repairs its losses still has at the end what it neither delivered nor gave up, unless its other side
    took it for something else. What came sooner than its slot was over, it has delivered.
    """
    direction = transfer.run.setting.radio[transfer.end]
    delay = max(0, direction.delay_ns - direction.slot_ns)
    repairs = transfer.run.scenario.word("link.protocol") not in UNREPAIRED
    for copy in transfer.copies:
        if copy.given_ns is None or copy.refused:
            continue
        begin = _waits_from(transfer, copy, copy.given_ns)
        if copy.delivered_ns is not None:
            yield begin, copy.delivered_ns - delay
        elif copy.lost_ns is not None:
            yield begin, copy.lost_ns if copy.left_ns is None else copy.left_ns
        elif repairs:
            yield begin, max(copy.given_ns, transfer.session[1] if copy.left_ns is None else copy.left_ns)
    if not repairs:
        yield from _lost_on_air(transfer)


def _waits_from(transfer: Transfer, copy: Copy, given_ns: int) -> int:
    """Since when a packet that the link was given then had waited for it.

    In the queue of the terminal's interface packets wait for nothing else: it is the bottleneck's queue.
    """
    queued = transfer.end == 1 and any(interface(transfer.run.scenario, "up"))
    return copy.sent_ns if queued else given_ns


UNREPAIRED = ("raw", "rlc-um", "rlc-tm")
"""Links that send no frame again: each is on the air once, and whatever is in it has left the bottleneck then."""


def _lost_on_air(transfer: Transfer) -> Iterator[tuple[int, int]]:
    """From when the link was given each of its lost packets until the last frame with octets of it has ended.

    Packets leave such a link in the order in which it was given them: a lost one after those before it, in as many
    frames as its octets fill, but for those that found no room in the queue of frames.
    """
    run, side = transfer.run, transfer.end
    direction, own = run.setting.radio[side], set(map(id, transfer.copies))
    frames, dropped = _FilledFrames(transfer), _dropped_octets(transfer)
    for (end, _), copy in sorted(run.given.items(), key=itemgetter(0)):
        if end != side or copy.refused or copy.given_ns is None:
            continue
        ended = frames.fill(copy.packet.octets - dropped.get(id(copy), 0), copy.given_ns)
        if copy.delivered_ns is not None:
            frames.go_on(copy.delivered_ns - direction.delay_ns + direction.slot_ns)
        elif id(copy) in own:
            yield _waits_from(transfer, copy, copy.given_ns), ended


class _FilledFrames:
    """The frames of a link that sends none again, filled with packets in the order in which it was given them.

    RLC in unacknowledged mode fills the rest of a PDU with the next SDU (25.322 11.2.2.1), if that was there when the
    PDU was made: as it goes on the air, where they are not handed down ahead.
    """

    def __init__(self, transfer: Transfer) -> None:
        sent, direction = _frames(transfer, notes.SENT), transfer.run.setting.radio[transfer.end]
        times = air_times(sent["time_ns"], sent["octets"], direction)
        self._begins, self._ends = (one.tolist() for one in times)
        self._shared = transfer.run.scenario.word("link.protocol") == "rlc-um" and not direction.eager
        self._data = (sent["octets"] - (HEAD_BYTES if self._shared else 0)).tolist()
        self._next, self._rest = 0, 0

    def fill(self, octets: int, given_ns: int) -> int:
        """When the last frame with octets of a packet that the link was given then has ended."""
        first = bisect_left(self._begins, given_ns)
        left, ended = octets, given_ns
        if self._rest > 0 and first < self._next and left > 0:
            left, ended = left - self._rest, self._ends[self._next - 1]
        self._next = max(self._next, first) if left > 0 else self._next
        while left > 0 and self._next < len(self._ends):
            ended, left = self._ends[self._next], left - self._data[self._next]
            self._next += 1
        self._rest = -left if self._shared else 0
        return ended

    def go_on(self, begin_ns: int) -> None:
        """Whatever was counted: the last frame with octets of the latest packet is the one before that time."""
        at = bisect_left(self._begins, begin_ns)
        self._next, self._rest = at, self._rest if at == self._next else 0


def _dropped_octets(transfer: Transfer) -> dict[int, int]:
    """Of each packet of this way, by identity, how many of its octets the full queue of frames dropped.

    That is when the link is given it, and makes its frames at once: the last of one instant finds no room.
    """
    rows, left = _frames(transfer, notes.DROPPED), Counter[int | None]()
    for time_ns, octets in zip(rows["time_ns"].tolist(), rows["octets"].tolist(), strict=True):
        left[time_ns] += octets
    found: dict[int, int] = {}
    for (end, _), copy in sorted(transfer.run.given.items(), key=itemgetter(0), reverse=True):
        if end == transfer.end and copy.delivered_ns is None and left[copy.given_ns] > 0:
            found[id(copy)] = min(left[copy.given_ns], copy.packet.octets)
            left[copy.given_ns] -= found[id(copy)]
    return found


def _frames(transfer: Transfer, event: int) -> Any:
    """The rows of the link's log in which that became of a frame with data of this way."""
    link = transfer.run.link
    return link[(link["event"] == event) & (link["side"] == transfer.end) & (link["what"] == 0)]


def stalls(transfer: Transfer) -> Spans:
    """Stretches of more than two round trips in which data was in flight, none of it lost, and nothing arrived.

    What had been resent before such a stretch is in flight as any other.
    """
    trips = transfer.trips
    resent = {one.copy.packet.seq: one.copy.sent_ns for one in transfer.resends if not one.spurious}
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
        lost = any(resent.get(one.packet.seq, -1) >= begin for one in flying)
        if known and now - begin > STALL_TRIPS * trips[trip][1] and not lost:
            found.append((begin, now))
        held.add(copy.packet.seq)
        latest = now
    return joined(found)


def _repairs(transfer: Transfer) -> Iterator[tuple[str, Spans]]:
    """The spans of recoveries by a timer, and of those by acknowledgements.

    One by a timer begins with the wait for it: when an acknowledgement last brought something new, or when data was
    first outstanding after that. It lasts until all is acknowledged that had been sent at the resend: what is repaired
    until then the timer found, though what it sent again itself need not have been lost. A probe's ends where
    acknowledgements begin a recovery of their own. If these answer a timer that sent again what had come, of which
    nothing was on its way back any more, and have repaired what had been sent before, its wait was needed as well.
    """
    by_timer: Spans = []
    by_acks: Spans = []
    wait, over, needless = 0, 0, 0
    begun = [one.copy.sent_ns for one in transfer.resends if one.trigger == FAST]
    for one in transfer.resends:
        at = one.copy.sent_ns
        if one.trigger == TIMEOUT:
            wait, over = transfer.waited_from(at), transfer.repaired(one.copy)
            needless = at if one.spurious and not transfer.on_its_way(one) else 0
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
            if transfer.sendings[one.copy.packet.seq][0].sent_ns < needless:
                by_timer.append((wait, needless))
            over = needless = 0
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

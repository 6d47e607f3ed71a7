"""The loop that drives two entities, A and B, against each other: written once, and bound to each protocol's kernels.

Everything happens in order of time. At one instant: what is offered, arrivals, timers, sending; A before B. What a
delivery causes to be offered is offered in the same instant, before timers and sending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER, codes
from multitracer.replay.arq.notes import ARRIVED, DROPPED, ERASED, EXPIRED, OFFERED, RECEIVED, REFUSED, SENDING, SENT
from multitracer.replay.arq.notes import note as write
from multitracer.replay.engine.ledger import enter, has_place
from multitracer.replay.engine.protocol import (
    KERNELS,
    carries_data,
    copy_frame,
    expire,
    next_frame,
    next_timer,
    note,
    offer,
    on_air,
    receive,
    total_delivered,
    wants,
)
from multitracer.replay.engine.reports import Desk, Marks, Upper, collect, end_past, pass_mark
from multitracer.replay.engine.source import endless_octets, hear, is_open, plan
from multitracer.replay.engine.way import (
    DONE,
    LEDGER_FULL,
    STOPPED,
    is_lost,
    lacks,
    own_place,
    place,
    poke,
    resume,
    schedule,
    serialised_ns,
    swap,
)

A, B = codes(2)
NOBODY, USER_A, USER_B = codes(3)
"""Who was using its way when something was missing, and goes on before anything else happens."""
NO_SDU, *_ = codes(1)
NO_MORE, MORE = codes(2)
"""Whether an entity that may send has another frame, as far as was tried."""


class Link(NamedTuple):
    """Two entities and all that lies between them and above them."""

    a: Any
    b: Any
    forth: Any
    """From A to B."""
    back: Any
    upper: Upper


def run(link: Link, marks: Marks) -> int:
    """Let everything happen up to each mark, that instant included; DONE, or what is missing to go on."""
    a, b, forth, back, upper = link.a, link.b, link.forth, link.back, link.upper
    k, short, turns = marks.state.passed, DONE, 0
    user, marks.state.user = marks.state.user, NOBODY
    until = marks.times[k]
    while k < len(marks.times) and short == DONE:
        arrival = min(forth.state.arrives_ns, back.state.arrives_ns)
        sending = min(forth.state.next_ns, back.state.next_ns)
        timer = min(next_timer(a), next_timer(b))
        now = min(upper.source.state.next_ns, arrival, timer, sending)
        turns += int(now <= until)
        if now > until:
            k = pass_mark(marks, b.above, total_delivered(b))
            until = marks.times[min(k, len(marks.times) - 1)]
        elif user == NOBODY and upper.source.state.next_ns == now:
            short = take_offers(link, now)
        elif user == NOBODY and arrival == now:
            while back.state.arrives_ns == now:
                at = arrive(back, upper, now)
                if at >= 0:
                    receive(a, back.frames[own_place(back, at)], back.air[at].octets, now)
                    heed(a, forth.state, upper, now)
            while forth.state.arrives_ns == now:
                at = arrive(forth, upper, now)
                if at >= 0:
                    receive(b, forth.frames[own_place(forth, at)], forth.air[at].octets, now)
                    heed(b, back.state, upper, now)
            note_arrivals(link, now)
        elif user == NOBODY and timer == now:
            wake(a, forth.state, upper, now)
            wake(b, back.state, upper, now)
        else:
            if user != USER_B and forth.state.next_ns == now:
                short, user = use(a, forth, upper, now), USER_A
            if back.state.next_ns == now and short == DONE:
                short, user = use(b, back, upper, now), USER_B
            if short != DONE:
                marks.state.user = user
            user = NOBODY
    marks.state.events += turns - int(short not in (DONE, STOPPED))  # what something was missing for is gone on with
    return short


def take_offers(link: Link, now: int) -> int:
    """Offer what is due: SDUs at their times, then what open windows have room for; DONE, or what is missing.

    What ended is heard of after that, and windows that it opens are due at once: so it can be gone on with anywhere.
    """
    source, state = link.upper.source, link.upper.source.state
    while state.next_offer < len(source.offers) and source.offers[state.next_offer].time_ns <= now:
        row = source.offers[state.next_offer]
        taken = to_side(link, row.side, row.octets, row.flow, row.past, now)
        if taken < 0:
            return -taken
        state.next_offer += 1
    for k in range(len(source.windows)):
        window = source.windows[k]
        while is_open(window):
            taken = to_side(link, window.side, window.octets, window.flow, window.past, now)
            if taken < 0:
                return -taken
            window.offered += 1
            window.under_way += max(taken, window.past)  # what the device's queue drops is heard of
            window.lost += 1 - max(taken, window.past)
    hear(source, link.upper.books)
    plan(source, now)
    return DONE


def to_side(link: Link, side: int, octets: int, flow: int, past: int, now: int) -> int:
    """Offer an SDU to a side's entity or put it past that: 1 taken, 0 refused, else what is missing, negative."""
    way = link.forth if side == A else link.back
    if past:
        return put_past(way, link.upper, octets, flow, now)
    return give(link.a if side == A else link.b, way.state, link.upper, octets, flow, now)


def give(e: Any, state: Any, upper: Upper, octets: int, flow: int, now: int) -> int:
    """Offer an SDU to an entity: 1 taken, 0 refused, else what the link lacks, negative."""
    side = state.side
    if not has_place(upper.books, side):
        return -LEDGER_FULL
    book = upper.books.state[side]
    number = book.offered
    if not offer(e, number, book.end, octets, now):
        state.refused += 1
        write(upper.log, now, side, REFUSED, octets, number, flow)
        return 0
    enter(upper.books, side, flow, octets, now)
    if len(upper.log.rows) > 0:
        write(upper.log, now, side, OFFERED, octets, number, flow)
    poke(state, now)
    return 1


def put_past(way: Any, upper: Upper, octets: int, flow: int, now: int) -> int:
    """Put a packet into the device's queue, past the entity: 1 taken, 0 dropped, else what the link lacks, negative."""
    state = way.state
    if not has_place(upper.books, 2 + state.side):
        return -LEDGER_FULL
    short = lacks(way)
    if short:
        return -short
    number = enter(upper.books, 2 + state.side, flow, octets, now)
    write(upper.log, now, state.side, OFFERED, octets, number, flow)
    if is_full(state):
        drop(state, upper, octets, number, flow, now)
        return 0
    if state.made == state.sent and (state.eager or state.asks == 0):
        resume(state, now)
    queue(way, octets, flow, number, NO_SDU)
    schedule(state)
    return 1


def drop(state: Any, upper: Upper, octets: int, number: int, flow: int, now: int) -> None:
    """Leave out what finds the device's queue full."""
    state.dropped += 1
    state.handed_dropped += int(flow == NO_SDU)
    write(upper.log, now, state.side, DROPPED, octets, number, flow)
    if flow > 0:
        end_past(Desk(upper.source.state, upper.books, upper.reports, upper.log), number, 1, state.side, now)


def queue(way: Any, octets: int, flow: int, number: int, data: int) -> None:
    """Let the frame at the ring's end wait to be sent."""
    row = way.air[place(way.state, way.state.made)]
    row.octets, row.flow, row.number, row.carries = octets, flow, number, data
    way.state.made += 1


def pass_data(way: Any) -> None:
    """Let the frame that was queued last, a control frame, pass all that waits but control frames."""
    air, state, at = way.air, way.state, way.state.made - 1
    while at > state.sent and air[place(state, at - 1)].carries + air[place(state, at - 1)].flow > 0:
        swap(air, place(state, at), place(state, at - 1))
        at -= 1


def note_arrivals(link: Link, now: int) -> None:
    """Log what arrivals did to the entities."""
    if len(link.upper.log.rows) > 0:
        note(link.a, link.upper.log, now, link.forth.state.side, ARRIVED)
        note(link.b, link.upper.log, now, link.back.state.side, ARRIVED)


def arrive(way: Any, upper: Upper, now: int) -> Any:
    """Take the next frame from the air: its row if an entity's came undamaged, else -1."""
    state = way.state
    at = place(state, state.arrived)
    row = way.air[at]
    state.arrived += 1
    state.arrives_ns = way.air[place(state, state.arrived)].arrives_ns if state.arrived < state.sent else NEVER
    if len(upper.log.rows) > 0:
        log_frame(upper.log, way, at, ERASED if row.lost else RECEIVED, 1 - state.side, now)
    if row.flow > 0:
        end_past(Desk(upper.source.state, upper.books, upper.reports, upper.log), row.number, row.lost, state.side, now)
    elif row.lost:
        data_lost(way, upper, at)
    return -1 if row.flow > 0 or row.lost else np.int64(at)


def heed(e: Any, state: Any, upper: Upper, now: int) -> None:
    """Book what an entity has to report, and let it send if something happened to it."""
    tell(e, upper, state.side, now)
    poke(state, now)


def tell(e: Any, upper: Upper, side: int, now: int) -> None:
    """Book what an entity reports, if anything."""
    if e.above.count.handed > 0 or e.above.count.lost > 0:
        collect(e.above, Desk(upper.source.state, upper.books, upper.reports, upper.log), side, now)


def log_frame(log: Any, way: Any, at: Any, event: int, side: int, now: int) -> None:
    """Log what happened to a frame, and the frame."""
    row = way.air[at]
    line = write(log, now, side, event, row.octets, row.number, row.flow)
    if line >= 0 and row.flow == 0:
        copy_frame(way.frames[own_place(way, at)], log.frames[line], row.octets)


def wake(e: Any, state: Any, upper: Upper, now: int) -> None:
    """Run an entity's timers that are due."""
    if next_timer(e) > now:
        return
    expire(e, now)
    if len(upper.log.rows) > 0:
        note(e, upper.log, now, state.side, EXPIRED)
    heed(e, state, upper, now)


def use(e: Any, way: Any, upper: Upper, now: int) -> int:
    """Make the frames that are wanted now, and send those that may be sent; DONE, or what is missing to do so."""
    state, more = way.state, MORE
    while more >= NO_MORE:
        if may_send(state, more, now):
            send(e, way, upper, now)
        elif more == MORE and may_make(state, upper, now):
            more = stock(e, way, upper, now)
            if more == MORE:
                octets = next_frame(e, way.frames[own_place(way, place(state, state.made))], now)
                tell(e, upper, state.side, now)
                more = hand_down(e, way, upper, octets, now)
        elif more == MORE and state.eager:
            more = NO_MORE
        else:
            end_use(state, more, now)
            return DONE
    return -more


def may_send(state: Any, more: int, now: int) -> bool:
    """Whether a frame waits and the air is free; in an eager sender's slot, not before it has made all it can."""
    if state.made == state.sent:
        return False
    if state.slotted == 0:
        return state.free_ns <= now
    return now == state.slot * state.slot_ns and state.used < state.per_slot and (state.eager == 0 or more == NO_MORE)


def may_make(state: Any, upper: Upper, now: int) -> bool:
    """Whether a frame is wanted: lazy, when it can go; eager, always, but where a full queue holds back its source."""
    if state.eager:
        held = state.drops == 0 or endless_octets(upper.source, state.side) > 0
        return not (held and is_full(state))
    return state.used < state.per_slot if state.slotted else state.free_ns <= now


def is_full(state: Any) -> bool:
    """Whether the device's queue takes no more."""
    return state.limit > 0 and state.made - state.sent >= state.limit


def end_use(state: Any, more: int, now: int) -> None:
    """Work out when to go on: a lazy sender that had nothing more is asked again after something happened to it."""
    state.make_ns = NEVER
    state.asks = int(more == MORE and state.eager == 0)
    if state.slotted and now == state.slot * state.slot_ns:
        state.used = 0
        state.slot += 1
        if state.eager and state.drops == 0:
            state.make_ns = now
    schedule(state)


def send(e: Any, way: Any, upper: Upper, now: int) -> None:
    """Put the frame on the air that waits longest."""
    state = way.state
    at = place(state, state.sent)
    row = way.air[at]
    opportunity, end = state.sent, now + state.slot_ns
    if state.slotted:
        opportunity = state.slot * state.per_slot + state.used
        state.used += 1
        row.arrives_ns = now + state.delay_ns
    else:
        end = now + serialised_ns(state, row.octets)
        row.arrives_ns = end + state.delay_ns
        state.free_ns = end
    if state.whole_slots == 0 or state.used == 1:
        state.hit = is_lost(way, opportunity, now, end, row.octets)
    row.lost = state.hit & (row.carries | state.hits_all)
    state.erased += row.lost
    if state.next_late < len(way.late) and way.late[state.next_late] == state.sent:
        row.arrives_ns += way.late[state.next_late + 1]
        state.next_late += 2
    state.sent += 1
    if len(upper.log.rows) > 0:
        note(e, upper.log, now, state.side, SENDING)
        log_frame(upper.log, way, at, SENT, state.side, now)
    if row.flow == 0:
        on_air(e, way.frames[own_place(way, at)], end)
        if row.carries:
            data_sent(e, way, upper, at)
    order_arrivals(way)


def data_sent(e: Any, way: Any, upper: Upper, at: int) -> None:
    """An entity's frame with data goes on the air: nobody here looks at it."""


def data_lost(way: Any, upper: Upper, at: int) -> None:
    """An entity's frame was lost on the air or dropped below it: nobody here looks at it."""


def order_arrivals(way: Any) -> None:
    """Let the frame sent last come after all that arrive no later; others before it may be late."""
    air, state, at = way.air, way.state, way.state.sent - 1
    while at > state.arrived and air[place(state, at - 1)].arrives_ns > air[place(state, at)].arrives_ns:
        swap(air, place(state, at), place(state, at - 1))
        at -= 1
    state.arrives_ns = air[place(state, state.arrived)].arrives_ns


def stock(e: Any, way: Any, upper: Upper, now: int) -> int:
    """Offer what a source that never ends has for the next frame: MORE, or what the link lacks for it, negative."""
    short = lacks(way)
    endless = endless_octets(upper.source, way.state.side)
    while short == DONE and endless > 0 and wants(e, endless):
        taken = give(e, way.state, upper, endless, NO_SDU, now)
        if taken <= 0:
            short = -taken
            break
    return MORE if short == DONE else -short


def hand_down(e: Any, way: Any, upper: Upper, octets: int, now: int) -> int:
    """Let the frame just made wait, or drop it; MORE, or NO_MORE when none was made."""
    state = way.state
    if octets < 0 and state.slotted and state.eager == 0:
        octets = -octets
    if octets <= 0:
        return NO_MORE
    state.handed += 1
    at = place(state, state.made)
    frame = way.frames[own_place(way, at)]
    if is_full(state):
        drop(state, upper, octets, NO_SDU, NO_SDU, now)
        on_air(e, frame, now)
        way.air[at].octets = octets
        data_lost(way, upper, at)
    else:
        data = carries_data(frame)
        queue(way, octets, NO_SDU, NO_SDU, data)
        if state.control_first > data:
            pass_data(way)
    return MORE


Decorator: TypeAlias = Callable[[Any], Any]
Parts: TypeAlias = Mapping[Callable[..., Any], Decorator]
"""Functions, each after those that it calls, and how they are compiled."""

LINK_PARTS: Parts = {
    is_full: inlined, drop: inlined, queue: inlined, pass_data: merged, data_sent: merged, data_lost: inlined,
    order_arrivals: merged, give: inlined, put_past: merged, to_side: inlined, tell: inlined, log_frame: inlined,
    arrive: inlined, heed: inlined, note_arrivals: kernel, wake: inlined, stock: merged, hand_down: merged,
    send: merged, may_send: merged, may_make: merged, end_use: merged, use: inlined,
}  # fmt: skip
"""The loop's functions but `run`; what every frame goes through is compiled into the loop. `merged`: called once."""


def always_merged(function: Any) -> Any:
    """Mark a part that is `merged` in every loop: most of the loop is in it, and would be optimised twice."""
    return merged(function)


SOURCE_PARTS: Parts = {take_offers: merged}
"""What acts for the source."""


Run: TypeAlias = Callable[[Link, Marks], int]
"""A protocol's loop: `run`, bound to its kernels."""


def bind(name: str, machine: Any, *, large: bool = False, parts: Parts | None = None, **given: Any) -> Run:
    """The loop of a protocol: its functions anew, with the machine's kernels as globals and names of their own.

    A large machine's loop is not compiled into one function, which would take minutes: what is `inlined` in others is
    called. What is `merged` is `inlined` here: the loop runs a fifth faster.
    `parts` stand in place of SOURCE_PARTS, the last of them is the one that `run` calls; `given` are more kernels, by
    name.
    """
    bound = {each: getattr(machine, each) for each in KERNELS} | given
    instead: dict[Decorator, Decorator] = {inlined: kernel if large else inlined, merged: inlined}
    namespaces: dict[str, dict[str, Any]] = {}
    for part, decorated in {**LINK_PARTS, **(parts or SOURCE_PARTS), run: kernel}.items():
        namespace = namespaces.setdefault(part.__module__, dict(part.__globals__))
        namespace.update(bound)
        own = FunctionType(part.__code__, namespace, f"{part.__name__}_{name}")
        own.__qualname__, own.__doc__, own.__module__ = own.__name__, part.__doc__, part.__module__
        own.__annotations__ = part.__annotations__  # they say on which named tuples the compiled code depends
        bound[part.__name__] = instead.get(decorated, decorated)(own)
    made: Run = bound["run"]
    return made

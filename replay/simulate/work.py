"""What the applications do: pages of objects, each of them a request and a reply over a connection of its own.

A file is a page of one object without a request. A page may have a first object that the others wait for (the page's
own text), and a pause before it. Beside the pages, one more object may begin at a time of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined
from multitracer.replay.arq.fields import NEVER, codes, numbers, record, table

PAGE = numbers("first end pause_ns begin_ns asked_ns end_ns")
"""Its objects are those from `first` to `end`; when its first one began, the first request left, the last one ended."""
OBJECT = numbers("request reply begin_ns syn_ns end_ns slot")
"""Octets of application data each way; when its connection's SYN was sent a second time."""
SLOT = numbers("object phase due_ns")
"""A connection: the object that it carries; when the server will have the answer."""
STATE = numbers(
    "page next running due_ns second second_ns", "primary acknowledged closes parallel server_ns", "client server",
    "finished_ns",
)  # fmt: skip
"""The page, its next object and those running, and when to go on after a pause; the object beside the pages (-1: none,
or it is done), and when it begins. Fixed, as in `Manner`: how objects are transferred, and the ends (0 wired, 1
terminal)."""
IDLE, BEGUN, ASKING, THINKING, ANSWERING, CLOSING = codes(6)
LINGERING = 3
"""Connections that may be closing for each one that carries an object; with more than that the next object waits."""


class Work(NamedTuple):
    """All that is to be done."""

    state: Any
    pages: Any
    objects: Any
    slots: Any


@dataclass(frozen=True)
class Manner:
    """How objects are transferred."""

    client: int
    """The end that takes the replies."""
    parallel: int = 1
    """Objects at a time."""
    primary: bool = False
    """A page's first object goes alone."""
    acknowledged: bool = True
    """A request or a reply ends with its last acknowledgement at its sender, not when it has come."""
    closes: bool = False
    """The server closes a connection after its reply; it is used for no other object until both ends are at rest."""
    server_ns: int = 0
    """From a request to its reply."""


Page = tuple[int, Sequence[tuple[int, int]]]
"""pause_ns, and (request, reply) of each object in octets, at least one of them above 0."""


def work(pages: Sequence[Page], how: Manner, second: tuple[int, int] | None = None) -> Work:
    """Pages one after the other, and beside them (begin_ns, reply) a second connection."""
    extra = [] if second is None else [(0, second[1])]
    things = [thing for _, each in pages for thing in each] + extra
    slots = how.parallel * (1 + LINGERING * how.closes) + len(extra)
    made = Work(record(STATE), table(len(pages), PAGE), table(len(things), OBJECT), table(slots, SLOT))
    counts = np.array([len(each) for _, each in pages], dtype=np.int64)
    made.pages["end"] = np.cumsum(counts)
    made.pages["first"] = made.pages["end"] - counts
    made.pages["pause_ns"] = [pause for pause, _ in pages]
    if things:
        made.objects["request"], made.objects["reply"] = np.array(things, dtype=np.int64).T
    for rows in (made.pages, made.objects, made.slots):
        for name in ("begin_ns", "asked_ns", "syn_ns", "end_ns", "due_ns"):
            if name in rows.dtype.names:
                rows[name] = NEVER
    state = made.state
    state.primary, state.acknowledged, state.closes = how.primary, how.acknowledged, how.closes
    state.parallel, state.server_ns = how.parallel, how.server_ns
    state.client, state.server = how.client, 1 - how.client
    state.finished_ns = NEVER
    state.due_ns = made.pages[0].pause_ns if len(pages) else NEVER
    state.second, state.second_ns = (-1, NEVER) if second is None else (len(things) - 1, second[0])
    return made


@inlined
def may_start(work: Work, now: int) -> bool:
    """Whether another object can begin: the one beside the pages, or the page's next."""
    return (work.state.second_ns <= now or page_may_go_on(work, now)) and idle_slot(work) >= 0


@inlined
def page_may_go_on(work: Work, now: int) -> bool:
    """Whether the page's next object is due."""
    state = work.state
    if state.page >= len(work.pages) or state.due_ns > now or state.running == state.parallel:
        return False
    page = work.pages[state.page]
    alone = state.primary != 0 and state.next == page.first + 1 and state.running > 0
    return state.next < page.end and not alone


@inlined
def idle_slot(work: Work) -> int:
    """The first connection that carries nothing, -1 if all do."""
    for slot in range(len(work.slots)):
        if work.slots[slot].phase == IDLE:
            return slot
    return -1


@inlined
def take_next(work: Work, now: int) -> int:
    """The object that begins now."""
    state, number = work.state, work.state.next
    if state.second_ns <= now:
        number, state.second_ns = state.second, NEVER
    else:
        page = work.pages[state.page]
        page.begin_ns = min(page.begin_ns, now)
        state.next += 1
        state.running += 1
    work.objects[number].begin_ns = now
    return int(number)


@inlined
def end_object(work: Work, slot: int, now: int) -> None:
    """The object of a connection is done; go on to the next page if its page is, too."""
    state, row = work.state, work.slots[slot]
    work.objects[row.object].end_ns = now
    row.phase = CLOSING if state.closes else IDLE
    if row.object == state.second:
        state.second = -1
    else:
        state.running -= 1
        if state.running == 0 and state.next == work.pages[state.page].end:
            end_page(work, now)
    if state.page == len(work.pages) and state.second < 0:
        state.finished_ns = now


@inlined
def end_page(work: Work, now: int) -> None:
    """Go on to the next page, if there is one."""
    state = work.state
    work.pages[state.page].end_ns = now
    state.page += 1
    state.due_ns = now + work.pages[state.page].pause_ns if state.page < len(work.pages) else NEVER


@inlined
def due_slot(work: Work, now: int) -> int:
    """The first connection whose server has its answer now, -1 for none."""
    for slot in range(len(work.slots)):
        if work.slots[slot].due_ns <= now:
            return slot
    return -1


@inlined
def next_due(work: Work, now: int) -> int:
    """When the applications have something to do next, of themselves."""
    state = work.state
    if may_start(work, now):
        return now
    due = state.due_ns if state.due_ns > now else NEVER
    if state.second_ns > now:
        due = min(due, state.second_ns)
    for slot in range(len(work.slots)):
        due = min(due, work.slots[slot].due_ns)
    return int(due)

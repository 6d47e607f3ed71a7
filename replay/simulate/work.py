"""What the applications do: pages of objects, each of them a request and a reply over a connection of its own.

A file is a page of one object without a request. A page may have a first object that the others wait for (the page's
own text), and a pause before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from multitracer.compute.kernels import inlined
from multitracer.replay.arq.fields import NEVER, codes, numbers, record, table

PAGE = numbers("first end pause_ns begin_ns end_ns")
"""Its objects are those from `first` to `end`; when its first one began and its last one ended."""
OBJECT = numbers("request reply begin_ns end_ns slot")
"""Octets of application data each way."""
SLOT = numbers("object phase")
"""A connection: the object that it carries."""
STATE = numbers("page next running due_ns", "primary acknowledged server_ns", "client server", "finished_ns")
"""The page, its next object and those running, and when to go on after a pause. Fixed: whether a page's first object
goes alone, whether a reply ends with its last acknowledgement, the server's delay; the ends (0 wired, 1 terminal)."""
IDLE, BEGUN, ASKING, ANSWERING = codes(4)


class Work(NamedTuple):
    """All that is to be done."""

    state: Any
    pages: Any
    objects: Any
    slots: Any


def work(
    pages: Sequence[tuple[int, Sequence[tuple[int, int]]]], parallel: int, *, primary: bool, acknowledged: bool,
    client: int,
) -> Work:  # fmt: skip
    """Pages are (pause_ns, [(request, reply), ...]) with sizes in octets, at least one of them above 0."""
    objects = table(sum(len(each) for _, each in pages), OBJECT)
    made = Work(record(STATE), table(len(pages), PAGE), objects, table(parallel, SLOT))
    at = 0
    for row, (pause, each) in zip(made.pages, pages, strict=True):
        row.first, row.end, row.pause_ns, row.begin_ns, row.end_ns = at, at + len(each), pause, NEVER, NEVER
        for thing, (request, reply) in zip(objects[at : at + len(each)], each, strict=True):
            thing.request, thing.reply, thing.begin_ns, thing.end_ns = request, reply, NEVER, NEVER
        at += len(each)
    state = made.state
    state.primary, state.acknowledged, state.client, state.server = primary, acknowledged, client, 1 - client
    state.finished_ns = NEVER
    state.due_ns = made.pages[0].pause_ns if len(pages) else NEVER
    return made


@inlined
def may_start(work: Work, now: int) -> bool:
    """Whether another object of the page can begin."""
    state = work.state
    if state.page >= len(work.pages) or state.due_ns > now or state.running == len(work.slots):
        return False
    page = work.pages[state.page]
    alone = state.primary != 0 and state.next == page.first + 1 and state.running > 0
    return state.next < page.end and not alone


@inlined
def idle_slot(work: Work) -> int:
    """The first connection that carries nothing."""
    slot = 0
    while work.slots[slot].phase != IDLE:
        slot += 1
    return slot


@inlined
def end_page(work: Work, now: int) -> None:
    """Go on to the next page, if there is one."""
    state = work.state
    work.pages[state.page].end_ns = now
    state.page += 1
    if state.page == len(work.pages):
        state.finished_ns, state.due_ns = now, NEVER
    else:
        state.due_ns = now + work.pages[state.page].pause_ns

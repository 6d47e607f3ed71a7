"""The SDUs of each direction: which octets of its stream each one is, when they came, and when it was handed over.

Rows are kept by number in a ring, from when an SDU is offered until the ring needs its place again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel, merged
from multitracer.replay.arq.fields import NEVER, codes, numbers, record, table
from multitracer.replay.engine.way import place, ring_place

SDU = numbers("flow octets start end offered_ns first_ns last_ns handed lost done delivered_ns")
"""`handed` and `lost` count octets; `first_ns` and `last_ns` are when the octets came that came first and last.

`done` is 0 until it is whole or lost for good; once `came` is as much, nothing more of it is booked. Only entities that
hand over out of sequence still could."""
STATE = numbers("offered end reached came settled kept in_order mask")
"""SDUs offered and their octets; the SDU up to which positions were handed over; 1 more than the highest number of
which something `came`, 1 at least; those before `settled` need their rows no more; whether rows are kept; whether SDUs
come in the order of their numbers, so that those before one that came are done (`reached` says it then, not `came`)."""
UNDER_WAY, WHOLE, GONE, FOUND = codes(4)
ENDED = numbers("kind number flow became")
"""An SDU of this kind that came or was lost for good: WHOLE, GONE or FOUND."""
ENDS = numbers("posted taken")


class Ledgers(NamedTuple):
    """SDUs of four kinds: what side k was offered (k), and what it put past its entity (2 + k)."""

    state: Any
    rows: Any
    ends: Any
    ended: Any
    """A ring of SDUs that ended, from `ends.taken` on those that the source has not heard of yet."""


def ledgers(rows: int) -> Ledgers:
    """Empty ledgers with room for at least `rows` SDUs at a time, or (0) without rows."""
    size = 1 << max(rows - 1, 0).bit_length()
    made = Ledgers(table(4, STATE), table((4, size), SDU), record(ENDS), table(8 * size, ENDED))
    made.state["mask"], made.state["kept"], made.state["came"] = size - 1, int(rows > 0), 1
    return made


def grown(old: Ledgers) -> Ledgers:
    """The same ledgers with twice as much room."""
    size = old.rows.shape[1]
    old.state["mask"] = 2 * size - 1
    ended = table(16 * size, ENDED)
    for at in range(int(old.ends.taken), int(old.ends.posted)):
        ended[at & (16 * size - 1)] = old.ended[at & (8 * size - 1)]
    return old._replace(rows=beside(old, old.rows), ended=ended)


def beside(books: Ledgers, old: Any) -> Any:
    """The rows of a ring by number, one for each of the first kinds, in rings as long as the ledgers' mask says."""
    made = table((len(old), int(books.state[0].mask) + 1), old.dtype)
    for state, before, after in zip(books.state, old, made, strict=False):
        held = np.arange(int(state.settled), int(state.offered))
        after[held & (len(after) - 1)] = before[held & (len(before) - 1)]
    return made


@kernel
def has_place(books: Any, k: int) -> bool:
    """Whether there is a row for one more SDU; until the source has heard of those that ended, it needs theirs."""
    kind = np.uint64(k)
    state = books.state[kind]
    if state.kept == 0:
        return True
    if books.ends.taken == books.ends.posted:
        settled = max(state.settled, min(state.reached, state.offered))
        while settled < state.offered and 0 < books.rows[kind, place(state, settled)].done <= state.came:
            settled += 1
        state.settled = settled
    return state.offered - state.settled <= state.mask


@kernel
def enter(books: Any, k: int, flow: int, octets: int, now: int) -> int:
    """Take in an SDU that was offered; its number."""
    kind = np.uint64(k)
    state = books.state[kind]
    number = state.offered
    if state.kept:
        row = books.rows[kind, place(state, number)]
        row.flow, row.octets, row.start, row.end, row.offered_ns = flow, octets, state.end, state.end + octets, now
        row.first_ns = row.delivered_ns = NEVER
        row.last_ns = row.handed = row.lost = row.done = 0
    state.offered = number + 1
    state.end += octets
    return number


@merged
def conclude(row: Any, offered: int, now: int) -> int:
    """What becomes of an SDU of which octets were just handed over or lost: WHOLE, GONE, FOUND, or still UNDER_WAY.

    FOUND: octets that its sender had given up were on their way, and it is there whole after all. That can be until
    something comes of an SDU that is offered later: `offered` were by now.
    """
    if row.handed == row.octets:
        row.delivered_ns = now
        found, row.done = row.done, 1
        return FOUND if found else WHOLE
    if row.done == 0 and row.handed + row.lost >= row.octets:
        row.done = offered + 1
        return GONE
    return UNDER_WAY


@merged
def post(books: Any, kind: int, number: int, flow: int, became: int) -> None:
    """Let the source know that an SDU ended; of each SDU there are two such rows at most, so that there is room."""
    row = books.ended[ring_place(len(books.ended), books.ends.posted)]
    row.kind, row.number, row.flow, row.became = kind, number, flow, became
    books.ends.posted += 1


@merged
def at_position(books: Any, k: int, position: int) -> int:
    """The number of the SDU with the octet at `position`, -1 for none; positions never fall from call to call."""
    state = books.state[k]
    state.reached = max(state.reached, state.settled)
    while state.reached < state.offered and books.rows[k, state.reached & state.mask].end <= position:
        state.reached += 1
    state.came = max(state.came, state.reached + 1)
    return state.reached if state.reached < state.offered else -1

"""One direction of a link: the ring of frames from hand-down to arrival, who may send when, and what the air loses.

The ring serves as the device's queue and as the air: `arrived` <= `sent` <= `made` count its frames, those between the
first two are on the air, those between the last two wait. Nothing is copied in between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.replay.arq.fields import NEVER, codes, joined, numbers, record, table

_NUMBERS = numbers(
    # Fixed: which side sends; slotted or by octets; eager or lazy; whether a full queue drops frames; the ring's mask.
    "side slotted eager drops slot_ns per_slot rate_bps delay_ns limit mask channel rule threshold",
    # Whether control frames pass the others in the queue; whether all of a slot is lost at once; whether the air can
    # lose all frames, or (0) those with data alone.
    "control_first whole_slots hits_all",
    # The next opportunity and how much of it is used; when to make or send next; when the sender is free, and whether
    # to ask the entity then (one that had nothing is asked again after the next event); when the first frame arrives.
    "slot used next_ns make_ns free_ns asks arrives_ns",
    # The ring; frames erased and dropped; which of the channel's numbers is the first at hand; the sojourn reached;
    # what became of the last frame's part of the air; the next of those that arrive late; packets refused above.
    "made sent arrived erased dropped first_number sojourn hit next_late refused",
    # Of the frames that the entity handed down: how many, and how many of them found the queue full.
    "handed handed_dropped",
    # Octets of the last frame that was serialised, and how long that took: see serialised_ns.
    "timed_octets timed_ns",
)
STATE = joined(_NUMBERS, tables=[("log_good_bit", np.float64), ("log_bad_bit", np.float64)])
"""Logarithms of a bit's chance to get through, in good times (0 where bits lose no frames) and in bad ones."""
AIR = numbers("arrives_ns octets flow number lost place carries")
"""A frame's own row; `flow` is 0 for the entity's frames, `number` an SDU's that goes past the entity. `place` is the
protocol's frame's among `frames`, whatever rows change places with it; `carries` is 0 for control frames."""

DONE, AIR_FULL, NUMBERS_USED, LEDGER_FULL, STOPPED = codes(5)
"""Why a run came back: it is done, or it needs room for frames or SDUs, or more of the channel's numbers, to go on; or
its source has all that it wanted."""
TRACE, RANDOM, BAD_TIMES, STATES = range(4)
"""What loses frames: a trace by opportunity, a number drawn for each frame, times in which nothing gets through, or a
number drawn for each frame and bit error rates of good and of bad times."""
TOUCH, END, PRODUCT = range(3)
"""A frame is in bad times when it touches one, when it ends in one, or with as many bits as it has there."""
SCALE = 2**53
"""Numbers drawn are kept as whole numbers below this; the next frame is lost if its number is below the threshold."""


class Way(NamedTuple):
    """One direction."""

    state: Any
    air: Any
    frames: Any
    """The protocol's, row by row beside `air`."""
    trace: Any
    """Erasures (1) by opportunity; after its end nothing is lost."""
    numbers: Any
    """The channel's, one for each frame on the air."""
    times: Any
    """Times (ns), bad from each one of even place to the next; good after the last."""
    late: Any
    """Frames that arrive late, in order: the number of each, counted as they are sent, and by how much (ns)."""


def ring(size: int) -> Any:
    """A ring of rows, the protocol's frame of each at its own place."""
    made = table(size, AIR)
    made["place"] = np.arange(size)
    return made


def grown(way: Way, frames: Any) -> Way:
    """The same way with a ring twice as long; `frames` is an empty table of that length."""
    state, size = way.state, len(way.air)
    air = ring(2 * size)
    for k in range(int(state.arrived), int(state.made)):
        to, row = k & (2 * size - 1), way.air[k & (size - 1)]
        frames[to] = way.frames[row.place]
        air[to] = row
        air[to].place = to
    state.mask = 2 * size - 1
    return way._replace(air=air, frames=frames)


def idle_state() -> Any:
    """The state of a way on which nothing was sent."""
    state = record(STATE)
    state.make_ns = state.arrives_ns = NEVER
    state.hits_all = 1
    return state


@inlined
def place(state: Any, number: int) -> Any:
    """The row of a ring that has what bears a number: unsigned, so that it is not taken to count from the end.

    `state` has the ring's mask.
    """
    return np.uint64(number & state.mask)


@inlined
def ring_place(rows: int, number: int) -> Any:
    """The same in a ring of a power of two of rows."""
    return np.uint64(number & (rows - 1))


@inlined
def own_place(way: Any, at: Any) -> Any:
    """The row of the protocol's frame that belongs to a row of the ring."""
    return np.uint64(way.air[at].place)


@inlined
def swap(air: Any, one: Any, other: Any) -> None:
    """Exchange two rows of the ring: what the protocol wrote stays where it is."""
    a, b = air[one], air[other]
    a.arrives_ns, b.arrives_ns = b.arrives_ns, a.arrives_ns
    a.octets, b.octets = b.octets, a.octets
    a.flow, b.flow = b.flow, a.flow
    a.number, b.number = b.number, a.number
    a.lost, b.lost = b.lost, a.lost
    a.place, b.place = b.place, a.place
    a.carries, b.carries = b.carries, a.carries


@inlined
def schedule(state: Any) -> None:
    """Work out when this way wants to make or send a frame next."""
    service = NEVER
    if (state.eager and state.slotted) or state.asks != 0 or state.made > state.sent:
        service = state.slot * state.slot_ns if state.slotted else state.free_ns
    state.next_ns = min(state.make_ns, service)


@inlined
def poke(state: Any, now: int) -> None:
    """Something happened to the sender: it may have a frame now."""
    if state.eager:
        state.make_ns = state.next_ns = now
    elif state.asks == 0:
        state.asks = 1
        resume(state, now)
        schedule(state)


@inlined
def resume(state: Any, now: int) -> None:
    """Nothing was to be sent before `now`: pass over the time and the opportunities until then."""
    if state.slotted:
        state.slot = max(state.slot, (now + state.slot_ns - 1) // state.slot_ns)
    else:
        state.free_ns = max(state.free_ns, now)


@inlined
def serialised_ns(state: Any, octets: int) -> int:
    """How long a frame of so many octets takes at the link's rate; kept for the next one, which often has as many.

    The division takes longer than anything else that the loop does with a frame.
    """
    if octets != state.timed_octets:
        state.timed_octets = octets
        state.timed_ns = (octets * 8_000_000_000 + state.rate_bps - 1) // state.rate_bps
    return state.timed_ns


@inlined
def lacks(way: Any) -> int:
    """What is missing to make and send one more frame: AIR_FULL, NUMBERS_USED, or nothing (DONE)."""
    state = way.state
    if state.made - state.arrived > state.mask:
        return AIR_FULL
    if (state.channel == RANDOM or state.channel == STATES) and state.made - state.first_number >= len(way.numbers):
        return NUMBERS_USED
    return DONE


@inlined
def is_lost(way: Any, opportunity: int, start: int, end: int, octets: int) -> int:
    """Whether the air loses the frame that is on it from `start` to `end`."""
    state = way.state
    if state.channel == TRACE:
        lost: Any = np.int64(way.trace[opportunity]) if opportunity < len(way.trace) else 0
        return lost
    if state.channel == BAD_TIMES:
        return int(share_of_bad(state, way.times, start, end) > 0.0)
    threshold = state.threshold
    if state.channel == STATES:
        bad = share_of_bad(state, way.times, start, end)
        log_bit = bad * state.log_bad_bit + (1.0 - bad) * state.log_good_bit
        threshold = int(-np.expm1(8 * octets * log_bit) * SCALE)
    elif state.log_good_bit < 0.0:
        threshold = int(-np.expm1(8 * octets * state.log_good_bit) * SCALE)
    return 1 if way.numbers[state.sent - state.first_number] < threshold else 0


@kernel
def share_of_bad(state: Any, times: Any, start: int, end: int) -> float:
    """The share of a frame's bits that the rule puts into bad times."""
    at = state.sojourn
    while at + 1 < len(times) and times[at + 1] <= start:
        at += 2
    state.sojourn = at
    if state.rule == END:
        while at + 1 < len(times) and times[at + 1] <= end:
            at += 2
    if state.rule != PRODUCT:
        return 1.0 if at < len(times) and times[at] < end else 0.0
    bad = 0
    while at + 1 < len(times) and times[at] < end:
        bad += min(end, times[at + 1]) - max(start, times[at])
        at += 2
    return bad / (end - start)

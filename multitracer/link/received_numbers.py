"""Which number an RLP frame had that its receiver's log shows (3GPP TS 24.022 5).

A sender numbers modulo 62 and has at most 61 frames open, from V(A) on: the oldest not acknowledged. Both ends of what
it can have sent follow from the receiver's log. V(A) is at least 60 below any number received, and at most V(R), which
the receiver tells in the N(R)s that it sends. And an opportunity carries one frame: since the last new number, at most
as many more were sent as opportunities went by in which nothing was received whole.

Up to two numbers remain, one modulus apart: a new one, and one acknowledged long before. Other octets than that one
had are new. With the same octets it may be either; then the number is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.link.number_state import (
    ASKED,
    ASKS,
    BACK,
    FIRST,
    GOES_BACK,
    HAS_TOLD,
    LATEST,
    NEXT,
    OPPORTUNITY,
    STARTED,
    TELLS,
    TOLD,
)
from multitracer.link.pace import Pace, pace_of
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

WINDOW = rlp.LARGEST_WINDOW
JITTER = 1
"""A frame's time may be wrong by so many opportunities."""
NEVER_ASKED = np.int64(-rlp.MODULUS)
"""Below all numbers that a frame may have had."""
_UNTOLD = -1


def checksums(frames: pd.DataFrame, wanted: Any) -> Any:
    """A checksum of the octets of each `wanted` frame; -1 of the others, and where they are not known."""
    made = np.full(len(frames), -1, dtype=np.int64)
    octets = frames["data"].to_numpy(dtype=object)[wanted]
    made[wanted] = [-1 if one is None else crc32(one) for one in octets]
    return made


def opportunities(frames: pd.DataFrame, wanted: Any) -> Any:
    """The number of each received frame's opportunity in its log, of `wanted` frames; -1 where it is unknown.

    A frame may be logged late, but came at least one opportunity before the next.
    """
    made = np.full(len(frames), -1, dtype=np.int64)
    at, record = frames["recorded_ns"].to_numpy(), frames["record"].to_numpy()
    received = frames[wanted & ~frames["sent"].to_numpy()]
    for rows in received.groupby(["input", "link"], observed=True).indices.values():
        own = received.index.to_numpy()[rows]
        own = own[np.argsort(record[own], kind="stable")]
        interval = pace_of(Pace(), at[own], np.ones(len(own), dtype=np.bool_), one_each=True).interval_ns
        if interval is not None:
            least = np.arange(len(own)) * interval
            came = least_of_following(at[own] - least) + least
            made[own] = np.rint((came - came[0]) / interval)
    return made


def least_of_following(values: Any) -> Any:
    """The least of each value and the 63 that follow it: no more, as an error of the interval adds up over all."""
    least = values.copy()
    for step in (1, 2, 4, 8, 16, 32):
        least[:-step] = np.minimum(least[:-step], least[step:])
    return least


@kernel
def expect_from(number: int, state: Any) -> None:
    """The log's first number: later ones may have been sent before, and asked for."""
    state[TOLD], state[LATEST] = number, number + WINDOW - 1
    state[ASKED] = state[LATEST]


@kernel
def pass_opportunities(opportunity: int, state: Any) -> None:
    """A frame is received whole: in the opportunities since the one before, new numbers may have been sent."""
    known = opportunity >= 0 and state[OPPORTUNITY] >= 0
    lost = max(opportunity - state[OPPORTUNITY] - 1, np.int64(0)) if known else np.int64(WINDOW)
    state[LATEST] = min(state[LATEST] + lost, state[TOLD] + WINDOW - 1)
    state[OPPORTUNITY] = opportunity


@kernel
def hear_report(report: int, nr: int, size: int, state: Any, asked: Any) -> None:
    """The receiver tells V(R), or asks for a number, which the sender takes for one that it may have sent."""
    if state[STARTED] == 0:
        return
    if report == ASKS:
        ask_for(state[TOLD] + WINDOW - 1 - (state[TOLD] + WINDOW - 1 - nr) % size, state, asked)
        return
    # V(R) is never a modulus ahead of V(S), even if old frames were taken for new ones.
    most = min(state[TOLD] + size - 1, state[LATEST] + size) if state[TELLS] == HAS_TOLD else state[NEXT]
    state[TELLS] = HAS_TOLD
    state[TOLD] = most - (most - nr) % size
    if report == GOES_BACK:
        ask_for_all(state, asked)


@kernel
def ask_for(number: int, state: Any, asked: Any) -> None:
    """The receiver asks for `number`."""
    state[ASKED] = max(state[ASKED], number)
    asked[number % len(asked)] = number


@kernel
def ask_for_all(state: Any, asked: Any) -> None:
    """The receiver has all sent again from V(R) on; what it asks for twice may come twice."""
    if state[BACK] == state[TOLD]:
        for number in range(state[TOLD], state[TOLD] + WINDOW):
            asked[number % len(asked)] = number
    state[BACK] = state[TOLD]


@kernel
def unwrap_received(sn: int, size: int, octets: int, state: Any, seen: Any, before: Any, asked: Any) -> int:
    """`sn` unwrapped; -1 if it may be one of two numbers.

    By `sn`, `seen` are the last numbers received, `before` the checksums of their octets, `asked` the last asked for.
    """
    top = state[NEXT] - 1
    lowest, highest = top - WINDOW + 1, min(state[TOLD] + WINDOW - 1, state[LATEST] + 1 + JITTER)
    number = highest - (highest - sn) % size
    other = number - size
    differs = octets >= 0 and before[sn] >= 0 and octets != before[sn]
    if number < lowest or (differs and seen[sn] == number):
        return _UNTOLD
    unasked = asked[sn] < other
    if other < lowest or (seen[sn] == other and (differs or (unasked and state[TELLS] == HAS_TOLD))):
        return number
    # Hardly a frame from before the log, unless that is nearer, or nothing is told.
    near = other < state[FIRST] and unasked and number <= top + size // 2
    return number if near and state[TELLS] == HAS_TOLD else _UNTOLD


@kernel
def note_number(number: int, state: Any) -> None:
    """Follow the latest number that can have been sent through a frame; `number` -1: it may have been a new one.

    New numbers are sent in order. A number that was asked for may have been sent before later ones.
    """
    if number < 0:
        state[LATEST] += 1
    elif number >= state[NEXT]:
        state[LATEST] = number if number > state[ASKED] else max(state[LATEST], number)
    if number >= 0 and state[TELLS] != HAS_TOLD:
        state[TOLD] = max(state[TOLD], number + 1)

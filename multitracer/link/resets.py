"""Resets of a link, followed through the frames of one log.

A reset concerns both directions of a bearer. Each direction restarts its numbers when its own sender
takes part in the reset: frames still in flight towards the end that began it have the old numbers.
"""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import kernel
from multitracer.link.number_state import (
    AGAIN,
    ASKED,
    BACK,
    BEGAN,
    DONE,
    EPOCH,
    LATEST,
    OPEN,
    OTHER,
    RELEASE,
    RELEASED,
    RESET,
    RESETS,
    STARTED,
    TOLD,
    WAS_ACTIVE,
)


@kernel
def restart_numbers(end: int, bearer: int, state: Any, seen: Any) -> None:
    """Restart the numbers of direction `end`, unless it has done so since the bearer's last reset."""
    if state[end, EPOCH] != state[bearer, RESETS]:
        state[end, EPOCH] = state[bearer, RESETS]
        state[end, AGAIN] = 0
        forget_numbers(end, state, seen)


@kernel
def forget_numbers(end: int, state: Any, seen: Any) -> None:
    """The next number of direction `end` is its first."""
    state[end, STARTED] = 0
    state[end, TOLD] = 0
    state[end, LATEST] = state[end, ASKED] = state[end, BACK] = -1
    seen[2 * end, :] = -1
    seen[2 * end + 1, :] = -1


@kernel
def count_reset(own: int, other: int, state: Any) -> None:
    """A reset of the bearer of two directions begins: an epoch that neither of them has had."""
    state[min(own, other), RESETS] += 1 + max(state[own, AGAIN], state[other, AGAIN])
    state[own, WAS_ACTIVE] = state[other, WAS_ACTIVE] = 0


@kernel
def follow_reset(kind: int, own: int, other: int, narrow: bool, state: Any, seen: Any) -> None:
    """Follow resets through one frame; crossing requests, and retransmitted ones, are the same reset.

    An end that waits for the answer to its request sends nothing else. So a request from an end that
    sent nothing else since its last request is a retransmission, whether or not the log has the answer.
    In RLP, which does not tell it from a new one (24.022 5.2.2.1), its peer counts anew whenever it answers.
    """
    bearer = min(own, other)
    if kind == RELEASE:
        state[own, WAS_ACTIVE] = state[other, WAS_ACTIVE] = 0
        state[own, OPEN] = state[other, OPEN] = 0
        state[own, RELEASED] = state[other, RELEASED] = 1
    elif kind == RESET:
        state[own, RELEASED] = state[other, RELEASED] = 0
        active = state[own, WAS_ACTIVE] == 1 or (state[own, BEGAN] == 0 and state[other, WAS_ACTIVE] == 1)
        if active and state[own, OPEN] == 0 and state[other, OPEN] == 0:
            count_reset(own, other, state)
        state[own, OPEN] = state[own, BEGAN] = 1
        restart_numbers(own, bearer, state, seen)
    elif kind == DONE:
        if state[other, OPEN] == 1:
            state[other, OPEN] = 0
            restart_numbers(own, bearer, state, seen)
        if narrow and state[own, STARTED] == 1 and state[own, RELEASED] == 0:
            state[own, AGAIN] += 1
            forget_numbers(own, state, seen)
    elif kind != OTHER and state[own, EPOCH] == state[bearer, RESETS]:
        state[own, WAS_ACTIVE], state[own, BEGAN] = 1, 0
        if state[own, OPEN] == 1:
            state[own, OPEN] = 0
            restart_numbers(other, bearer, state, seen)

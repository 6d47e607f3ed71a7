"""Copies of the same octets: what each proves of the others.

Of copies a needed resend proves that no earlier copy of all its octets arrived, a needless one that an earlier copy
did; what is left of them after that is known, or it is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import FATES

DELIVERED, DROPPED, FLUSHED, REPEATED, LOST, NEEDLESS, UNKNOWN = range(len(FATES))
NO_DATA = -1
"""Instead of a fate: no data, or it counts with another packet."""
NO_VERDICT, YES, NO, UNDECIDED = -1, 0, 1, 2
"""Whether a copy was a needless resend; no verdict of what was not recognised as a resend."""


class Copies(NamedTuple):
    """Data of which some was sent more than once, by end, first and last octet and time; an element each."""

    end: Any
    start: Any
    stop: Any
    row: Any
    verdict: Any
    arrived: Any
    """1 yes, 0 no, -1 unknown, by the receiver's capture."""
    gone: Any
    """Whether it is known not to have arrived."""
    doubtful: Any
    """Whether it holds octets that were acknowledged, though all copies of these would be gone."""
    answered: Any
    """Whether all of it was acknowledged, by a capture that has all that was sent."""


class Runs(NamedTuple):
    """Copies of exactly the same octets; `begins` has an element more."""

    begins: Any
    reach: Any
    """Where the octets of it, and of all runs of its end before it, end."""


class Others(NamedTuple):
    """What the copies of each copy's run say of any other, by time."""

    alive: Any
    """Whether it or one before it may have arrived."""
    needed: Any
    """Whether it or one after it was a needed resend."""
    open_: Any
    """Whether it or one after it may have brought the octets."""


class Told(NamedTuple):
    """What all other copies tell of each copy."""

    lost: Any
    """Whether a later resend of no octets but its own was needed."""
    open_: Any
    """Whether a later one may have brought some of its octets."""
    preceded: Any
    """Whether there is an earlier one."""
    alive: Any
    """Whether there is an earlier one that may have arrived."""


def judged(copies: Copies) -> Any:
    """The fate of each copy, from those with any of the same octets: int8."""
    count = len(copies.end)
    changed = np.logical_or.reduce([np.diff(column) != 0 for column in (copies.end, copies.start, copies.stop)])
    begins = np.concatenate([[0], np.flatnonzero(changed) + 1, [count]])
    runs = Runs(begins, np.empty(len(begins) - 1, dtype=np.int64))
    others = Others(*(np.empty(count, dtype=np.bool_) for _ in Others._fields))
    told = Told(*(np.zeros(count, dtype=np.bool_) for _ in Told._fields))
    fates = np.empty(count, dtype=np.int8)
    judge_copies(copies, runs, others, told, fates)
    return fates


@kernel
def judge_copies(copies: Copies, runs: Runs, others: Others, told: Told, fates: Any) -> None:
    """Judge each copy by the runs whose octets overlap its own; those that do not reach it end the search."""
    note_reach(copies, runs)
    note_others(copies, others)
    for run in range(len(runs.reach)):
        at = runs.begins[run]
        low = run
        while low > 0 and copies.end[runs.begins[low - 1]] == copies.end[at] and runs.reach[low - 1] > copies.start[at]:
            low -= 1
        for other in range(low, len(runs.reach)):
            one = runs.begins[other]
            if copies.end[one] != copies.end[at] or copies.start[one] >= copies.stop[at]:
                break
            if copies.stop[one] > copies.start[at]:
                compare(copies, runs, others, run, other, told)
    for at in range(len(fates)):
        fates[at] = copy_fate(copies, at, told)


@kernel
def note_reach(copies: Copies, runs: Runs) -> None:
    """Write down where the octets of each run, and of all of its end before it, end."""
    for run in range(len(runs.reach)):
        at = runs.begins[run]
        runs.reach[run] = copies.stop[at]
        if run > 0 and copies.end[at] == copies.end[at - 1]:
            runs.reach[run] = max(runs.reach[run], runs.reach[run - 1])


@kernel
def note_others(copies: Copies, others: Others) -> None:
    """Write down what the copies of each run say, up to each and from each on."""
    count = len(copies.end)
    for at in range(count):
        others.alive[at] = not copies.gone[at]
        if at > 0 and same_octets(copies, at - 1, at):
            others.alive[at] = others.alive[at] or others.alive[at - 1]
    for at in range(count - 1, -1, -1):
        others.needed[at] = copies.verdict[at] == NO
        others.open_[at] = not copies.gone[at] and copies.verdict[at] != YES
        if at + 1 < count and same_octets(copies, at, at + 1):
            others.needed[at] = others.needed[at] or others.needed[at + 1]
            others.open_[at] = others.open_[at] or others.open_[at + 1]


@inlined
def same_octets(copies: Copies, one: int, other: int) -> bool:
    """Whether two copies are of exactly the same octets."""
    return bool(
        copies.end[one] == copies.end[other]
        and copies.start[one] == copies.start[other]
        and copies.stop[one] == copies.stop[other]
    )


@kernel
def compare(copies: Copies, runs: Runs, others: Others, run: int, other: int, told: Told) -> None:
    """Note of each copy of a run what those of another, or of its own, tell of it."""
    begin, stop = runs.begins[other], runs.begins[other + 1]
    first = runs.begins[run]
    inside = copies.start[begin] >= copies.start[first] and copies.stop[begin] <= copies.stop[first]
    later = begin
    for at in range(first, runs.begins[run + 1]):
        while later < stop and copies.row[later] < copies.row[at]:
            later += 1
        if later > begin:
            told.preceded[at] = True
            told.alive[at] = told.alive[at] or others.alive[later - 1]
        following = later + 1 if run == other else later
        if following < stop:
            told.lost[at] = told.lost[at] or (inside and others.needed[following])
            told.open_[at] = told.open_[at] or others.open_[following]


@kernel
def copy_fate(copies: Copies, at: int, told: Told) -> int:
    """The fate of a copy."""
    if copies.doubtful[at]:
        return UNKNOWN
    verdict: Any = np.int64(copies.verdict[at])
    if verdict == NO_VERDICT and told.preceded[at]:
        verdict = UNDECIDED
    if copies.gone[at]:
        return LOST
    if told.lost[at]:
        return UNKNOWN if verdict == YES else LOST
    if verdict == YES:
        return UNKNOWN if told.preceded[at] and not told.alive[at] else NEEDLESS
    if copies.arrived[at] == 1:
        return DELIVERED if verdict != UNDECIDED or not told.alive[at] else UNKNOWN
    if (verdict == NO or not told.alive[at]) and not told.open_[at] and copies.answered[at]:
        return DELIVERED
    return UNKNOWN

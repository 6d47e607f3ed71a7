"""Sets of instants as sorted spans of time: joined, cut, and charged to the first cause that applies."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Spans: TypeAlias = list[tuple[int, int]]
"""(start, end) in ns, sorted, none of which touches another."""


def joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """The instants that are in any of some spans."""
    found: Spans = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def within(spans: Iterable[tuple[int, int]], start: int, end: int) -> Spans:
    """What of them lies between two times."""
    return joined((max(start, one), min(end, other)) for one, other in spans)


def without(spans: Spans, others: Spans) -> Spans:
    """The instants of sorted spans that are in none of other sorted ones."""
    if not others:
        return spans
    first, last = _touched(spans, others[0][0], others[-1][1])
    found, at = spans[:first], 0
    for begin, end in spans[first:last]:
        start = begin
        while at < len(others) and others[at][1] <= start:
            at += 1
        place = at
        while place < len(others) and others[place][0] < end:
            if others[place][0] > start:
                found.append((start, others[place][0]))
            start = max(start, others[place][1])
            place += 1
        if start < end:
            found.append((start, end))
    return found + spans[last:]


def both(spans: Spans, others: Spans) -> Spans:
    """The instants that are in both of two sets of sorted spans."""
    few, many = sorted((spans, others), key=len)
    found: Spans = []
    for begin, end in few:
        first, last = _touched(many, begin, end)
        found += ((max(begin, one), min(end, other)) for one, other in many[first:last] if other > begin)
    return found


def _touched(spans: Spans, begin: int, end: int) -> tuple[int, int]:
    """Which of sorted spans can have instants between two times: from one to before another."""
    return max(bisect_left(spans, (begin,)) - 1, 0), bisect_left(spans, (end,))


def length(spans: Iterable[tuple[int, int]]) -> int:
    """How long they last together (ns)."""
    return sum(end - start for start, end in spans)


def charged(whole: tuple[int, int], causes: Sequence[tuple[str, Spans]]) -> dict[str, Spans]:
    """The instants of each cause: every one of `whole` that is in its spans and in those of none before it."""
    left: Spans = joined([whole])
    found: dict[str, Spans] = {}
    for name, spans in causes:
        rest = without(left, spans)
        found[name] = joined(found.get(name, []) + without(left, rest))
        left = rest
    return found

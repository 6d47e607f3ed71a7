"""The findings as a page lists them: dearest first, each with what it set off below it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Finding: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A finding, its place in the summary, and the rows of what it set off."""

    index: int
    finding: Finding
    effects: list[Row] = field(default_factory=list)

    @property
    def members(self) -> int:
        """The findings of the chain that begins here."""
        return 1 + sum(one.members for one in self.effects)


def rows(findings: Sequence[Finding], most: int) -> list[Row]:
    """The roots by what they cost, then by how long they lasted, with their effects in the order of time.

    At most `most` findings: of what a root set off at most half of these, and then whole chains, the dearest first.
    """
    effects: dict[int | None, list[int]] = {}
    for index, finding in enumerate(findings):
        effects.setdefault(finding["caused_by"], []).append(index)
    kept: list[Row] = []
    left = most
    for root in sorted(effects.get(None, ()), key=lambda index: _rank(index, findings[index])):
        chain, members = _chain(root, effects, max(1, most // 2))
        if members > left:
            continue
        kept.append(_row(root, findings, chain))
        left -= members
    return kept


def _chain(root: int, effects: Mapping[int | None, list[int]], most: int) -> tuple[dict[int, list[int]], int]:
    """What each finding of a chain set off, and how many these are: at most `most`, the nearest to the root first."""
    chain: dict[int, list[int]] = {}
    waiting, members = deque([root]), 1
    while waiting:
        cause = waiting.popleft()
        chain[cause] = effects.get(cause, [])[: most - members]
        members += len(chain[cause])
        waiting += chain[cause]
    return chain, members


def _row(index: int, findings: Sequence[Finding], chain: Mapping[int, list[int]]) -> Row:
    return Row(index, findings[index], [_row(effect, findings, chain) for effect in chain[index]])


def _rank(index: int, finding: Finding) -> tuple[float, float, int]:
    """Smaller is earlier in the list."""
    return -(finding["lost_s"] or 0.0), finding["start_s"] - finding["end_s"], index

"""The findings as a page lists them: dearest first, each with what it set off below it."""

from __future__ import annotations

from collections.abc import Sequence
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

    At most `most` findings: whole chains, the dearest first.
    """
    made = [Row(index, finding) for index, finding in enumerate(findings)]
    for row in made:
        if row.finding["caused_by"] is not None:
            made[row.finding["caused_by"]].effects.append(row)
    roots = sorted((row for row in made if row.finding["caused_by"] is None), key=_rank)
    kept: list[Row] = []
    left = most
    for root in roots:
        if root.members <= left or not kept:
            kept.append(root)
            left -= root.members
    return kept


def _rank(row: Row) -> tuple[float, float, int]:
    """Smaller is earlier in the list."""
    return -(row.finding["lost_s"] or 0.0), row.finding["start_s"] - row.finding["end_s"], row.index

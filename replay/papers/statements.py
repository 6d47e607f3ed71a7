"""What the papers state, as data: each statement with the check that decides it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from multitracer.replay.papers.folder import read
from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.parts import Spec

KINDS = ("optimum", "ordering", "value")
PLURALS = {"optimum": "optima", "ordering": "orderings", "value": "values"}
ROLES = ("result", "setup", "input", "event", "background")


@dataclass(frozen=True)
class Statement:
    """One published statement."""

    id: str
    role: str
    kind: str
    sentence: str
    """In our words."""
    source: str
    """Section or figure of the paper."""
    published: float | str
    unit: str = ""
    repeats: str = ""
    """The statement that it repeats, whose score it does not add to."""
    check: tuple[Spec, ...] = ()
    key: tuple[str, ...] = ()
    """Of a set-up row: what the scenarios' keys must be."""
    scope: Labels = field(default_factory=dict)
    """Of a set-up row: the labels of the variants that it speaks of."""
    under: str = ""
    """Of a set-up row: the alternative that it describes, where the default cannot be what is stated."""
    differs: str = ""
    """Why a set-up row is not equal: the choice or the contradiction."""
    held_by: str = ""
    """Of a set-up row without a key: what holds it."""
    contradiction: str = ""
    """Where the text speaks against itself."""
    reading: str = ""
    """How the check was read where it can be read in two ways."""
    options: tuple[str, ...] = ()
    """The axes of the figure's options, which random orderings permute; none: the row compares no options."""
    family: tuple[str, ...] = ()
    """Which options of its one axis the figure has; none: all that were run."""
    ignored_when_undecided: bool = False
    """It leaves the score's denominator when undecided: no run that can be afforded decides it."""

    @property
    def scored(self) -> bool:
        """Whether it enters a score."""
        return self.role == "result" and not self.repeats


@cache
def statements(paper: str) -> tuple[Statement, ...]:
    """Every statement of a paper, in the order of their IDs."""
    return tuple(map(_statement, read(paper, "statements")["statement"]))


def _statement(row: dict[str, Any]) -> Statement:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("check", "key", "options", "family") if name in row}
    return Statement(**(row | lists))

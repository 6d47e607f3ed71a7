"""How many of a paper's results are reproduced, and how many random orderings would be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from multitracer.replay.papers.labels import Labels, labelled
from multitracer.replay.papers.runs import METRIC, Runs
from multitracer.replay.papers.statements import KINDS, Statement, statements
from multitracer.replay.papers.verdicts import REPRODUCED, UNDECIDED, Decision, decide

DRAWS = 1000
COMPOSED = "alike"
ERROR_AXES = ("flr", "ber", "fer")
"""Along a figure, not its options."""


def score(decisions: Iterable[Decision]) -> dict[str, Any]:
    """Reproduced and all results by kind, each once; undecided ones are among all, unless they are to be ignored."""
    scored = [one for one in decisions if one.statement.scored]
    counted = [one for one in scored if not (one.verdict == UNDECIDED and one.statement.ignored_when_undecided)]
    of_kind = {kind: [one for one in counted if one.statement.kind == kind] for kind in KINDS}
    reached = {kind: [sum(one.verdict == REPRODUCED for one in rows), len(rows)] for kind, rows in of_kind.items()}
    return {**reached, "undecided": sum(one.verdict == UNDECIDED for one in scored)}


def random_orderings(paper: str, runs: Runs, draws: int = DRAWS, seed: int = 0) -> float | None:
    """The mean share of orderings that are reproduced when each figure's options are permuted at random.

    One permutation a figure and draw, the same for all error rates; None where no ordering compares options.
    """
    rows = [one for one in statements(paper) if permutable(one)]
    if not rows:
        return None
    random = np.random.Generator(np.random.Philox(seed))
    held = [
        decide(one, replace(runs, renamed=Permuted(paper, one, int(number)), _found={})).verdict == REPRODUCED
        for number in random.integers(1 << 62, size=draws)
        for one in rows
    ]
    return sum(held) / len(held)


def permutable(statement: Statement) -> bool:
    """Whether a statement is an ordering of a figure's options that counts."""
    composed = any(spec["test"] == COMPOSED for spec in statement.check)
    return statement.scored and statement.kind == "ordering" and bool(statement.options) and not composed


@dataclass
class Permuted:
    """Labels with each figure's options permuted: one permutation for all runs and error rates of a figure.

    Delays and throughputs of the same runs are two figures.
    """

    paper: str
    statement: Statement
    seed: int
    figures: dict[Any, dict[Any, Any]] = field(default_factory=dict)

    def __call__(self, labels: Labels) -> Labels:
        """The labels whose runs stand in for these."""
        axes = tuple(axis for axis in self.statement.options if axis in labels)
        if not axes:
            return labels
        left_out = (*axes, METRIC, *ERROR_AXES)
        place = tuple(sorted((name, value) for name, value in labels.items() if name not in left_out))
        figure = (axes, labels.get(METRIC), place)
        if figure not in self.figures:
            self.figures[figure] = self._drawn(axes, place, len(self.figures))
        option = tuple(labels[axis] for axis in axes)
        return {**labels, **dict(zip(axes, self.figures[figure].get(option, option), strict=True))}

    def _drawn(self, axes: tuple[str, ...], figure: tuple[Any, ...], number: int) -> dict[Any, Any]:
        family = tuple((value,) for value in self.statement.family)
        options = family or _options(self.paper, axes, figure)
        order = np.random.Generator(np.random.Philox(key=[self.seed, number])).permutation(len(options))
        return {option: options[place] for option, place in zip(options, order, strict=True)}


@cache
def _options(paper: str, axes: tuple[str, ...], figure: tuple[tuple[str, Any], ...]) -> tuple[tuple[Any, ...], ...]:
    """The options of a figure: what its axes are called together."""
    found = (
        tuple(labels[axis] for axis in axes)
        for labels, _ in labelled(paper)
        if all(axis in labels for axis in axes) and all(labels.get(name) == value for name, value in figure)
    )
    return tuple(dict.fromkeys(found))

"""Every statement decided from runs: its parts, and the verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from multitracer.replay.papers import optima, orderings, shares, values
from multitracer.replay.papers.folder import read
from multitracer.replay.papers.parts import Case, Part, Spec
from multitracer.replay.papers.runs import METRIC, MissingRunsError, Runs
from multitracer.replay.papers.setup_rows import compare
from multitracer.replay.papers.statements import Statement, statements

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"
CALIBRATED, SET_UP, NOT_DECIDABLE = "calibrated", "set-up", "not decidable"
WITHOUT_RUNS = {"setup": SET_UP, "input": CALIBRATED, "event": NOT_DECIDABLE, "background": NOT_DECIDABLE}


@dataclass(frozen=True)
class Decision:
    """A statement and what our runs say of it."""

    statement: Statement
    verdict: str
    parts: tuple[Part, ...] = ()
    dropped_percent: float = 0.0
    """See `Runs.dropped_percent`: of the runs that decide."""

    @property
    def decisive(self) -> Part | None:
        """The part that decides: the worst that does not hold, else one without runs, else the first."""
        worst = [part for part in self.parts if part.holds is False] or [p for p in self.parts if p.holds is None]
        return max(worst, key=lambda part: (part.missing, part.miss_percent)) if worst else (self.parts or (None,))[0]

    @property
    def distance(self) -> float | None:
        """Of a number ours less the published one, in its unit; else how far the worst part is off, in percent."""
        part = self.decisive
        if part is None or self.statement.role != "result":
            return None
        stated = self.statement.published
        if self.statement.kind == "value" and isinstance(stated, int | float):
            return part.value - stated if part.value is not None else None
        return None if self.verdict == REPRODUCED else part.miss_percent


def decide(statement: Statement, runs: Runs) -> Decision:
    """The verdict on one statement."""
    if statement.role != "result":
        parts = compare(runs.paper, statement) if statement.role == "setup" else []
        return Decision(statement, WITHOUT_RUNS[statement.role], tuple(parts))
    parts = [part for spec in statement.check for part in _parts(statement, spec, runs)]
    return Decision(statement, verdict_of(parts), tuple(parts))


def verdict_of(parts: list[Part]) -> str:
    """Not reproduced if a part is contradicted, undecided if one is open or there is none, else reproduced."""
    held = [part.holds for part in parts]
    return NOT_REPRODUCED if False in held else UNDECIDED if None in held or not held else REPRODUCED


def _parts(statement: Statement, spec: Spec, runs: Runs) -> Iterator[Part]:
    case = Case(runs, level(runs.paper, statement.kind), _number(statement.published), partial(_of_another))
    try:
        yield from TESTS[spec["test"]](case, _with_defaults(runs.paper, spec))
    except MissingRunsError as error:
        yield Part(str(error), None, missing=True)


def _with_defaults(paper: str, spec: Spec) -> Spec:
    """The labels and the metric that a test means where it says nothing."""
    defaults = read(paper, "paper").get("defaults", {})
    metric = {METRIC: spec["metric"]} if "metric" in spec else {}
    return {**spec, "where": {**defaults, **metric, **spec.get("where", {})}}


def level(paper: str, kind: str) -> float:
    """The confidence level of a paper's values, or of its orderings and optima."""
    return float(read(paper, "paper")["level_values_percent" if kind == "value" else "level_orderings_percent"]) / 100


def _number(published: float | str) -> float | None:
    return float(published) if isinstance(published, int | float) and math.isfinite(published) else None


def alike(case: Case, spec: Spec) -> Iterator[Part]:
    """Other statements are decided alike on runs with other labels or another metric; undecided is not decided."""
    for identity in spec["rows"]:
        ours = _of_another(identity, case.runs)
        for labels in spec.get("labels", [{}]):
            metrics = {**case.runs.metrics, **spec.get("metrics", {})}
            other = replace(case.runs, overrides={**case.runs.overrides, **labels}, metrics=metrics, _found={})
            theirs = _of_another(identity, other)
            holds = None if UNDECIDED in (ours, theirs) else ours == theirs
            yield Part(f"{identity}: {ours}, {theirs} with {labels or spec.get('metrics')}", holds)


def _of_another(identity: str, runs: Runs) -> str:
    statement = next(one for one in statements(runs.paper) if one.id == identity)
    return decide(statement, runs).verdict


def all_decisions(paper: str, runs: Runs) -> list[Decision]:
    """Every statement of a paper decided."""
    own = [(statement, replace(runs, used=set())) for statement in statements(paper)]
    return [replace(decide(statement, used), dropped_percent=used.dropped_percent) for statement, used in own]


Test = Callable[[Case, Any], Iterator[Part]]
TESTS: dict[str, Test] = {
    "beats": orderings.beats, "stays": orderings.stays, "rises": orderings.rises, "chain": orderings.chain,
    "falls": orderings.falls, "linear": orderings.linear, "overlap": orderings.overlap,
    "equivalent": orderings.equivalent, "same-order": orderings.same_order, "small-step": orderings.small_step,
    "repaired-later": orderings.repaired_later, "best": optima.best, "lowest": optima.lowest,
    "same-best": optima.same_best, "best-differs": optima.best_differs, "one-best": optima.one_best,
    "near": values.near, "stated-inside": values.stated_inside, "inside": values.inside,
    "means-inside": values.means_inside, "below": values.below, "over": values.over, "more": values.more,
    "every-run": shares.every_run, "each-near": shares.each_near, "no-counterexample": shares.no_counterexample,
    "share": shares.share, "placements": shares.placements, "placements-less": shares.placements_less, "alike": alike,
}  # fmt: skip
"""The verbs of checks."""

"""Tests of every run, and of how many: what never happens, what always does, what more than half do."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

import numpy as np

from multitracer.replay.papers.estimates import mean
from multitracer.replay.papers.labels import Labels
from multitracer.replay.papers.parts import Case, Part, Spec, above, named, places, spelled
from multitracer.replay.papers.runs import METRIC, MissingRunsError, Sample, together

_COMPARED: dict[str, Callable[[np.ndarray, float | np.ndarray], np.ndarray]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def every_run(case: Case, spec: Spec) -> Iterator[Part]:
    """Of the runs for which `of` holds (all without it), `is` holds in each.

    Both are [metric, sign, number], or [metric, sign, other metric].
    """
    for place in places(spec):
        for labels in spelled(place):
            asked, good = _counted(case, labels, spec.get("of"), spec["is"])
            text = f"{' '.join(map(str, spec['is']))} in each run{_which(spec)}, {named(labels)}"
            yield Part(text, good == asked if asked else None, asked - good, None, 100 * (asked - good) / max(asked, 1))


def each_near(case: Case, spec: Spec) -> Iterator[Part]:
    """Of the runs for which `of` holds, a metric is within `slack` of `times` the metric `than` in each."""
    for place in places(spec):
        names = [spec["of"][0], spec["metric"], spec["than"]]
        asked, values, others = together([case.sample(place, {METRIC: name}) for name in names])
        kept = _holds(spec["of"], asked)
        off = np.abs(values[kept] - spec["times"] * others[kept])
        far = int((off > spec["slack"]).sum())
        text = f"{spec['metric']} = {spec['times']:g} {spec['than']} +- {spec['slack']:g} in each run{_which(spec)}"
        yield Part(text, far == 0 if len(off) else None, far, None, 100 * far / max(len(off), 1))


def no_counterexample(case: Case, spec: Spec) -> Iterator[Part]:
    """As every_run; holds also where `of` holds of no run."""
    for part in every_run(case, spec):
        yield Part(part.test, part.holds is not False, part.value, None, part.miss_percent)


def _counted(case: Case, labels: Labels, of: list[object] | None, is_: list[object]) -> tuple[int, int]:
    tests = [test for test in (of, is_) if test is not None]
    words = (word for test in tests for word in (test[0], test[2]))
    names = dict.fromkeys(word for word in words if isinstance(word, str))
    samples = [case.sample(labels, {METRIC: name}) for name in names]
    values = dict(zip(names, together(samples), strict=True))
    kept = [_holds(test, values[str(test[0])], values.get(str(test[2]))) for test in tests]
    asked = kept[0] if of is not None else np.ones(len(kept[0]), bool)
    return int(asked.sum()), int((asked & kept[-1]).sum())


def _holds(test: list[object], values: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    return _COMPARED[str(test[1])](values, others if others is not None else float(str(test[2])))


def _which(spec: Spec) -> str:
    return f" with {' '.join(map(str, spec['of']))}" if "of" in spec else ""


def share(case: Case, spec: Spec) -> Iterator[Part]:
    """More than `above` percent of the placements have a metric from `low` to `high`; none counts as outside."""
    for place in places(spec):
        found = [case.runs.points_value({**place, "placement": at}) for at in case.runs.values_of("placement", place)]
        good = sum(one is not None and spec["low"] <= one <= spec["high"] for one in found)
        percent = 100 * good / len(found) if found else 0.0
        holds = percent > spec["above"] if found else None
        yield Part(f"more than {spec['above']} % of placements from {spec['low']} to {spec['high']}", holds, percent,
                   None, 0.0 if holds else spec["above"] - percent)  # fmt: skip


def placements(case: Case, spec: Spec) -> Iterator[Part]:
    """At every placement at which `of` holds, `is` holds."""
    for place in places(spec):
        spots = [{**place, "placement": at} for at in case.runs.values_of("placement", place)]
        counts = [_counted_or_none(case, spot, spec) for spot in spots]
        asked, good = (sum(pair[side] for pair in counts) for side in (0, 1))
        text = f"{' '.join(map(str, spec['is']))} at each placement{_which(spec)}, {named(place)}"
        yield Part(text, good == asked if asked else None, asked - good, None, 100 * (asked - good) / max(asked, 1))


def _counted_or_none(case: Case, labels: Labels, spec: Spec) -> tuple[int, int]:
    try:
        return _counted(case, labels, spec.get("of"), spec["is"])
    except MissingRunsError:
        return 0, 0


def _asked(case: Case, spot: Labels, spec: Spec) -> bool:
    return _counted_or_none(case, spot, {**spec, "is": spec["of"]})[0] > 0


def placements_less(case: Case, spec: Spec) -> Iterator[Part]:
    """A metric less with `a` than with `b`, paired over the placements (at which `of` holds with `b`), at the level."""
    for place in places(spec):
        spots = case.runs.values_of("placement", {**place, **spec["a"]})
        asked = [at for at in spots if "of" not in spec or _asked(case, {**place, **spec["b"], "placement": at}, spec)]
        pairs = [[case.runs.points_value({**place, **spec[side], "placement": at}) for side in "ab"] for at in asked]
        known = np.array([pair for pair in pairs if None not in pair], float).reshape(-1, 2)
        if not len(known):
            raise MissingRunsError(f"no placement has values of both, {named(place)}")
        found = mean(Sample(np.arange(len(known)), known[:, 1] - known[:, 0]), case.level)
        yield above(f"less with {named(spec['a'])} than with {named(spec['b'])}, {named(place)}", found, 1.0)

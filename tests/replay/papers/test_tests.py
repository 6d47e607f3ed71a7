"""Each kind of test that checks consist of: made numbers that pass, that fail, and that cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from paper_runs import NOISE, SEEDS, noisy

from multitracer.replay.papers.parts import Case
from multitracer.replay.papers.runs import MissingRunsError, Runs, Sample
from multitracer.replay.papers.verdicts import TESTS, verdict_of

Value = Callable[[Mapping[str, Any]], Any]


class Made(Runs):
    """Runs of any labels, from a function of them."""

    def __init__(self, value: Value, placements: tuple[Any, ...] = (), frames: tuple[Any, ...] = ()) -> None:
        super().__init__("asr", {})
        self.value, self.known = value, {"placement": list(placements), "frame": list(frames)}

    def _search(self, wanted: dict[str, Any]) -> Sample:
        made = np.asarray(self.value(wanted), float)
        if np.isnan(made).any():
            raise MissingRunsError("made without")
        return Sample(SEEDS, np.broadcast_to(made, SEEDS.shape))

    def values_of(self, name: str, labels: Mapping[str, Any]) -> list[Any]:  # noqa: ARG002
        """What is known of the placements and frames."""
        return self.known[name]


def verdict(spec: Mapping[str, Any], value: Value, published: float | None = None, **known: Any) -> str:
    """What one test comes to at 95 %."""
    where = {"metric": "m", **spec.get("where", {})}
    return verdict_of(list(TESTS[spec["test"]](Case(Made(value, **known), 0.95, published), {**spec, "where": where})))


def means(**by_option: Any) -> Value:
    """A sample a value of the label `o`."""
    return lambda labels: by_option[labels["o"]]


A_B = {"a": {"o": "a"}, "b": {"o": "b"}}
ABC = {"axis": "o", "of": ["a", "b", "c"]}
GAIN = {"kind": "gain", **A_B}
SAY = ("reproduced", "not reproduced", "undecided")
CASES: dict[str, tuple[Mapping[str, Any], Value, Value, Value | None]] = {
    "beats": ({"test": "beats", **A_B}, means(a=2, b=1), means(a=1, b=1), means(a=noisy(1.1, 2), b=1)),
    "beats anywhere": (
        {"test": "beats", "any": True, "each": {"flr": [1, 2]}, **A_B},
        lambda labels: (
            2 if labels == {"o": "a", "flr": 1, "metric": "m"} or (labels["o"] == "a" and labels["flr"] == 1) else 1
        ),
        means(a=1, b=2),
        means(a=noisy(1.1, 2), b=1),
    ),
    "stays": ({"test": "stays", **A_B}, means(a=noisy(0.9, 2), b=1), means(a=0.9, b=1), None),
    "rises": ({"test": "rises", **A_B}, means(a=noisy(1.1, 2), b=1), means(a=noisy(0.9, 2), b=1), None),
    "chain": ({"test": "chain", **ABC}, means(a=3, b=2, c=1), means(a=3, b=1, c=2), means(a=3, b=noisy(2, 9), c=1)),
    "falls": (
        {"test": "falls", **ABC},
        means(a=3, b=noisy(2, 2), c=1),
        means(a=3, b=noisy(1, 9), c=2),
        None,
    ),
    "falls from the greatest of two": (
        {"test": "falls", "axis": "o", "of": [["a", "b"], "c"]},
        means(a=1, b=3, c=2),
        means(a=1, b=2, c=3),
        None,
    ),
    "linear": (
        {"test": "linear", "terms": [{"times": 1, "of": {"o": "a"}}, {"times": -2, "of": {"o": "b"}}]},
        means(a=3, b=1),
        means(a=1, b=1),
        means(a=noisy(2.1, 5), b=1),
    ),
    "overlap": ({"test": "overlap", **A_B}, means(a=noisy(1, 1), b=noisy(1.2, 1, 5)), means(a=1, b=2), None),
    "equivalent": (
        {"test": "equivalent", "percent": 1, **A_B},
        means(a=100.5 + NOISE, b=100.5 + NOISE),
        means(a=98, b=100),
        means(a=noisy(100, 9), b=100),
    ),
    "same order": (
        {"test": "same-order", "axis": "o", "of": ["a", "b"], "first": {"media": 0}, "second": {"media": 1}},
        lambda labels: {"a": 1, "b": 2}[labels["o"]],
        lambda labels: {"a": 1, "b": 2 - 2 * labels["media"]}[labels["o"]],
        means(a=1, b=1),
    ),
    "small step": (
        {"test": "small-step", **A_B, "of": {"o": ["c"]}},
        means(a=2, b=1, c=4),
        means(a=4, b=1, c=3),
        None,
    ),
    "best": (
        {"test": "best", **ABC, "option": "a", "beats": ["c"]},
        means(a=3, b=3, c=1),
        means(a=1, b=2, c=0),
        means(a=noisy(2, 5), b=1, c=1.9),
    ),
    "lowest": (
        {"test": "lowest", **ABC, "option": "c"},
        means(a=3, b=2, c=1),
        means(a=1, b=2, c=noisy(1.1, 5)),
        None,
    ),
    "same best": (
        {"test": "same-best", **ABC, "first": {"media": 0}, "second": {"media": 1}},
        means(a=3, b=2, c=1),
        lambda labels: {"a": 1, "b": 2 + labels["media"], "c": 2.5}[labels["o"]],
        None,
    ),
    "best differs": (
        {"test": "best-differs", **ABC, "first": {"media": 0}, "second": {"media": 1}},
        lambda labels: {"a": 1, "b": 2 + labels["media"], "c": 2.5}[labels["o"]],
        means(a=3, b=2, c=1),
        None,
    ),
    "one best": (
        {"test": "one-best", **ABC, "sides": [{"model": 0}, {"model": 1}]},
        lambda labels: {"a": 1 + labels["model"], "b": 1.5, "c": 0}[labels["o"]],
        means(a=3, b=2, c=1),
        None,
    ),
    "below": (
        {"test": "below", "limit": 3, "of": {"kind": "mean", "where": {"o": "a"}}},
        means(a=2),
        means(a=3),
        means(a=noisy(2.9, 5)),
    ),
    "over": (
        {"test": "over", "limit": 3, "of": {"kind": "mean", "where": {"o": "a"}}},
        means(a=4),
        means(a=3),
        means(a=noisy(3.1, 5)),
    ),
    "more": (
        {"test": "more", "of": GAIN, "than": {**GAIN, "where": {"media": 1}}, "where": {"media": 0}},
        lambda labels: 1 if labels["o"] == "b" else 3 - labels["media"],
        means(a=2, b=1),
        lambda labels: 1 if labels["o"] == "b" else noisy(3, 9) - 0.1 * labels["media"],
    ),
    "inside": (
        {"test": "inside", "low": 1, "high": 2, "most_half": 0.5, "of": {"kind": "mean", "where": {"o": "a"}}},
        means(a=1.5),
        means(a=2.5),
        means(a=noisy(1.5, 9)),
    ),
    "means inside": (
        {"test": "means-inside", "axis": "o", "of": ["a", "b"], "times": 0.1, "low": 1, "high": 2},
        means(a=11, b=19),
        means(a=11, b=21),
        None,
    ),
    "every run": ({"test": "every-run", "is": ["x", "=", 0], "where": {"o": "a"}}, means(a=0), means(a=NOISE), None),
    "no counterexample": (
        {"test": "no-counterexample", "of": ["x", ">", 5], "is": ["x", ">", 9], "where": {"o": "a"}},
        means(a=0),
        means(a=7),
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("which", [0, 1, 2], ids=SAY)
def test_each_kind_of_test(name: str, which: int) -> None:
    """It holds, is contradicted, or is open where the intervals are too wide."""
    spec, value = CASES[name][0], CASES[name][1 + which]
    if value is not None:
        assert verdict(spec, value) == SAY[which]


@pytest.mark.parametrize(
    ("ours", "spread", "expected"),
    [
        (2.0, 0.1, "reproduced"),
        (2.1, 0.1, "not reproduced"),
        (2.05, 0.5, "reproduced"),
        (2.0, 9.0, "undecided"),
        (9.0, 9.0, "not reproduced"),
    ],
)
def test_a_gain_is_compared_within_141_half_widths(ours: float, spread: float, expected: str) -> None:
    """Where the tolerance reaches no gain at all, what lies inside decides nothing, and what lies outside does."""
    spec = {"test": "near", "factor": 1.41, "of": GAIN}
    assert verdict(spec, means(a=noisy(ours, spread), b=1), published=100) == expected


@pytest.mark.parametrize(("ours", "expected"), [(0.4, "reproduced"), (0.9, "not reproduced")])
def test_a_value_may_be_off_by_its_own_spread_and_ours(ours: float, expected: str) -> None:
    """0.34 +- (0.15 + half-width)."""
    spec = {"test": "near", "slack": 0.15, "of": {"kind": "mean", "where": {"o": "a"}}}
    assert verdict(spec, means(a=noisy(ours, 0.05)), published=0.34) == expected


@pytest.mark.parametrize(
    ("ours", "spread", "expected"),
    [(5.36, 0.01, "reproduced"), (5.2, 1.0, "reproduced"), (5.2, 0.01, "not reproduced")],
)
def test_a_stated_rate_lies_in_our_interval_or_within_its_last_digit(ours: float, spread: float, expected: str) -> None:
    """The losses of the channel."""
    spec = {"test": "stated-inside", "slack": 0.05, "of": {"kind": "mean", "where": {"o": "a"}}}
    assert verdict(spec, means(a=noisy(ours, spread)), published=5.4) == expected


def repair(first: float, last: Callable[[int], float]) -> Value:
    """Frames 3 and 4 are repaired after so long; frame 5 is a control frame, which nothing repairs."""
    return lambda labels: {3: first, 4: last(labels["placement"]), 5: np.nan}[labels["frame"][0]]


def test_a_repair_is_timed_from_the_last_frame_and_the_first() -> None:
    """Frames without a repair, the control frames, are passed over; the median over the placements decides."""
    spec = {"test": "repaired-later"}
    known = {"placements": tuple(range(40)), "frames": ((3,), (4,), (5,))}
    assert verdict(spec, repair(0.1, lambda at: 0.5 + 0.001 * at), **known) == "reproduced"
    assert verdict(spec, repair(0.5, lambda at: 0.1 + 0.001 * at), **known) == "not reproduced"
    assert verdict(spec, repair(0.5, lambda at: at % 2), **known) == "undecided"


def test_more_than_half_of_the_placements() -> None:
    """A placement without the metric counts as outside."""
    spec = {"test": "share", "above": 50, "low": 5.5, "high": 6.5}
    assert verdict(spec, lambda labels: 6, placements=(1, 2, 3)) == "reproduced"
    assert verdict(spec, lambda labels: 6 if labels["placement"] == 1 else 1, placements=(1, 2, 3)) == "not reproduced"


def test_all_placements_and_differences_over_them() -> None:
    """No timeout at any; the gap shorter with one setting, paired."""
    spec = {"test": "placements", "is": ["x", "=", 0]}
    assert verdict(spec, lambda labels: 0, placements=(1, 2)) == "reproduced"
    assert verdict(spec, lambda labels: labels["placement"], placements=(0, 1)) == "not reproduced"
    less = {"test": "placements-less", **A_B}
    assert verdict(less, means(a=1, b=2), placements=(1, 2, 3)) == "reproduced"
    assert verdict(less, means(a=2, b=1), placements=(1, 2, 3)) == "not reproduced"
    wide = lambda labels: 2 if labels["o"] == "b" else labels["placement"]  # noqa: E731
    assert verdict(less, wide, placements=(-5, 9)) == "undecided"


def named_metrics(**values: float) -> Value:
    """A value a metric, the same in each run."""
    return lambda labels: values[labels["metric"]]


def test_each_run_may_be_compared_with_another_metric_of_it() -> None:
    """As many of one as of the other; near half of another; where no run is asked, nothing is known."""
    asked = {"of": ["drops", ">", 0]}
    same = {"test": "every-run", "is": ["repaired", "=", "drops"], **asked}
    assert verdict(same, named_metrics(drops=3, repaired=3)) == "reproduced"
    assert verdict(same, named_metrics(drops=3, repaired=2)) == "not reproduced"
    half = {"test": "each-near", "metric": "after", "than": "before", "times": 0.5, "slack": 1, **asked}
    assert verdict(half, named_metrics(drops=1, after=8, before=17)) == "reproduced"
    assert verdict(half, named_metrics(drops=1, after=10, before=17)) == "not reproduced"
    assert verdict(half, named_metrics(drops=0, after=10, before=17)) == "undecided"


def test_a_duration_is_that_of_the_published_size() -> None:
    """However few octets the runs sent: 10 MB at 64 kbit/s take 20.8 minutes."""
    spec = {"test": "inside", "low": 20.5, "high": 21.5, "of": {"kind": "duration", "bits": 8e7, "where": {"o": "a"}}}
    assert verdict(spec, means(a=64_000)) == "reproduced"
    assert verdict(spec, means(a=60_000)) == "not reproduced"
    assert verdict(spec, means(a=0)) == "undecided"


def test_differences_over_the_placements_that_count() -> None:
    """Placements at which a condition fails are left out; without any, nothing is known."""
    less = {"test": "placements-less", "of": ["flushed", ">", 0], **A_B}
    gap = lambda labels: 1 if labels["o"] == "a" or labels["placement"] == 3 else 2  # noqa: E731
    flushed = lambda labels: labels["placement"] < 3 if labels["metric"] == "flushed" else gap(labels)  # noqa: E731
    assert verdict(less, flushed, placements=(1, 2, 3)) == "reproduced"
    with pytest.raises(MissingRunsError):
        verdict({**less, "of": ["flushed", ">", 1]}, flushed, placements=(1, 2, 3))

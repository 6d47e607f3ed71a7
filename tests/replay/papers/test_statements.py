"""The published statements as data: complete, each with a check that can be made, and the set-up equal to the keys."""

from __future__ import annotations

from collections import Counter

import pytest
from paper_runs import runs

from multitracer.replay.papers import PAPERS
from multitracer.replay.papers.folder import read
from multitracer.replay.papers.labels import labelled
from multitracer.replay.papers.plan import METRICS_ADDED
from multitracer.replay.papers.setup_rows import compare
from multitracer.replay.papers.statements import KINDS, ROLES, Statement, statements
from multitracer.replay.papers.verdicts import TESTS, all_decisions
from multitracer.replay.simulate.metrics import METRICS

ALL = [(paper, statement) for paper in PAPERS for statement in statements(paper)]
pytestmark = pytest.mark.slow
SET_UP = [(paper, one) for paper, one in ALL if one.role == "setup"]
RESULTS = [(paper, one) for paper, one in ALL if one.role == "result"]


def metrics_of(table: object) -> set[str]:
    """Every metric that a check reads."""
    if isinstance(table, dict):
        own = {table["metric"]} if isinstance(table.get("metric"), str) else set()
        asked = [value for name, value in table.items() if name in ("is", "of") and is_condition(value)]
        runs_asked = [word for value in asked for word in (value[0], value[2]) if isinstance(word, str)]
        own |= {table["than"]} if isinstance(table.get("than"), str) else set()
        replaced = set(table["metrics"].values()) if "metrics" in table else set()
        return own | set(runs_asked) | replaced | set().union(*map(metrics_of, table.values()))
    return set().union(*map(metrics_of, table)) if isinstance(table, list | tuple) else set()


def is_condition(value: object) -> bool:
    """Whether it is [metric, sign, number or other metric]."""
    return isinstance(value, list) and len(value) == 3 and value[1] in ("=", "<", "<=", ">", ">=")


def test_the_statements_are_those_published() -> None:
    """466 statements, by role; of 258 results 21 repeat others, and 112 orderings, 50 optima and 75 values count."""
    assert Counter(one.role for _, one in ALL) == {
        "result": 258,
        "setup": 168,
        "input": 18,
        "event": 15,
        "background": 7,
    }
    assert sum(bool(one.repeats) for _, one in ALL) == 21
    assert Counter(one.kind for _, one in ALL if one.scored) == {"ordering": 112, "optimum": 50, "value": 75}
    assert {one.kind for _, one in ALL} == set(KINDS)
    assert {one.role for _, one in ALL} == set(ROLES)


def test_a_repeating_statement_names_one_that_counts() -> None:
    """What is left out of the score is in it under another ID."""
    known = {one.id: one for _, one in ALL}
    assert all(known[one.repeats].role == "result" for _, one in ALL if one.repeats)


def test_every_result_has_a_check_of_known_tests_and_metrics() -> None:
    """A metric is one of simulate's, or one that the plan says is needed beside."""
    for _, one in RESULTS:
        assert one.check, one.id
        assert {spec["test"] for spec in one.check} <= set(TESTS), one.id
        asked = {metric.partition(".")[0] for metric in metrics_of(list(one.check))}
        assert asked <= {*METRICS, *METRICS_ADDED}, one.id


@pytest.mark.parametrize("paper", PAPERS)
def test_every_check_finds_its_runs(paper: str) -> None:
    """With results at every planned point no check misses any, and each gives a part."""
    metrics = set().union(*(metrics_of(list(one.check)) for one in statements(paper)))
    found = all_decisions(paper, runs(paper, lambda labels, metric: 1.0, tuple(metrics)))
    for one in found:
        if one.statement.role == "result":
            assert one.parts, one.statement.id
            assert not [part.test for part in one.parts if part.test.startswith("no runs")], one.statement.id


@pytest.mark.parametrize(("paper", "statement"), SET_UP, ids=[one.id for _, one in SET_UP])
def test_the_scenarios_are_set_up_as_stated(paper: str, statement: Statement) -> None:
    """The keys have the stated values; where they have not, the row says which choice or contradiction is behind it."""
    parts = compare(paper, statement)
    assert parts or statement.held_by
    assert all(part.holds for part in parts) != bool(statement.differs)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_variant_is_labelled(paper: str) -> None:
    """No variant is unknown to the checks, and none has the labels of another."""
    seen: Counter[tuple[object, ...]] = Counter()
    for labels, variant in labelled(paper):
        assert variant.experiment in read(paper, "paper")["experiment"]
        seen[tuple(sorted(labels.items(), key=str))] += 1
    assert max(seen.values()) == 1

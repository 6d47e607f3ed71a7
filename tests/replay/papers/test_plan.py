"""The runs that the statements need: which, how many, with which keys, and again under alternatives."""

from __future__ import annotations

import pytest

from multitracer.model.errors import UsageError
from multitracer.replay.papers import PAPERS
from multitracer.replay.papers.alternatives import alternatives, changed, taken
from multitracer.replay.papers.plan import Run, plan
from multitracer.replay.papers.variants import variants

pytestmark = pytest.mark.slow


def of(runs: list[Run], experiment: str) -> list[Run]:
    return [run for run in runs if run.experiment == experiment]


def test_seeds_and_sizes_are_those_of_the_scale() -> None:
    """30 seeds of 10 MB at the paper's scale, 5 of 1 MB at the quick one."""
    full, quick = (of(plan("rlc-sack", scale), "file-transfer-uniform") for scale in ("paper", "quick"))
    assert {len(run.seeds) for run in full} == {30}
    assert {run.keys["workload.file_bytes"] for run in full} == {10_000_000}
    assert {len(run.seeds) for run in quick} == {5}
    assert {run.keys["workload.file_bytes"] for run in quick} == {1_000_000}


def test_the_numbers_of_runs_are_those_that_the_texts_give() -> None:
    """291 points of paper 001 with five seeds, 36 cells of 1000 sessions in 002, 200 transfers of 004."""
    assert [(len(runs := plan("rlc-web", "paper")), {len(run.seeds) for run in runs})] == [(291, {5})]
    assert sum(len(run.seeds) for run in plan("delivery-order", "paper")) == 36_000
    transfers = of(plan("multitracer", "paper"), "transfers")
    assert sum(len(run.seeds) for run in transfers if run.keys["link.rlp.n2"] == 6) == 200


def test_placements_are_thinned_at_the_quick_scale() -> None:
    """200 placements become 20; with each both ways of a comparison stay."""
    assert len(of(plan("multitracer", "paper"), "forced-reset")) == 400
    quick = of(plan("multitracer", "quick"), "forced-reset")
    assert len(quick) == 40
    assert len({run.keys["link.reset_at_s"] for run in quick}) == 20


@pytest.mark.parametrize("paper", PAPERS)
def test_every_experiment_is_a_scenario(paper: str) -> None:
    """`simulate` takes the first run of each experiment as it is."""
    first = {run.experiment: run for run in plan(paper, "paper")}
    for run in first.values():
        assert run.scenario.word("workload.kind")


def test_an_alternative_changes_its_keys_and_nothing_else() -> None:
    """A6b: RLC alone, lazily; all other runs stay those of the defaults."""
    runs = plan("rlc-sack", "quick", ("A6b",))
    others = [run for run in runs if run.choice]
    assert {run.keys["link.protocol"] for run in others} == {"rlc-am"}
    defaults = {(run.experiment, run.variant): run for run in runs if not run.choice}
    for run in others:
        before = defaults[run.experiment, run.variant].keys
        assert {key: value for key, value in run.keys.items() if before.get(key) != value} == {"link.hand_down": "lazy"}


def test_media_directions_are_run_for_their_rows_only() -> None:
    """A9b and A9c: file transfer with media."""
    runs = [run for run in plan("asr", "quick", ("A9b", "A9c")) if run.choice]
    assert {run.keys["contention.direction"] for run in runs} == {"up", "both"}
    assert all(run.keys["contention.enabled"] and run.experiment.startswith("file-transfer") for run in runs)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_alternative_changes_something(paper: str) -> None:
    """Each that can be run changes a variant's keys, or what is read; none is the default."""
    points = [one for name in {run.experiment for run in plan(paper, "quick")} for one in variants(paper, name)]
    for choice in alternatives(paper):
        run = any(changed(choice, one.experiment, one.keys) != one.keys for one in points)
        assert run or choice.metrics or choice.needs, choice.id
    assert taken(paper)


def test_wrong_names_are_told() -> None:
    """The scale and the alternative are named, with what there is."""
    with pytest.raises(UsageError, match="quick, paper"):
        plan("asr", "slow")
    with pytest.raises(UsageError, match="no alternative 'Z9'"):
        plan("asr", "quick", ("Z9",))
    with pytest.raises(UsageError, match="no paper 'rlc'"):
        plan("rlc", "quick")

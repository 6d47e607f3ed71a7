"""From planned runs to the table: what is done once, in which order, and what cannot be done."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from paper_runs import runs

from multitracer.replay.papers import PAPERS, results
from multitracer.replay.papers.alternatives import chosen
from multitracer.replay.papers.document import paper_document
from multitracer.replay.papers.figures import figures
from multitracer.replay.papers.folder import first_run, read
from multitracer.replay.papers.plan import plan
from multitracer.replay.papers.results import points, refusals, table, tasks
from multitracer.replay.papers.retraced import retraced, trace_of
from multitracer.replay.papers.runs import runs_of
from multitracer.replay.simulate.run import refusal
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

pytestmark = pytest.mark.slow


def test_tasks_that_share_a_loop_stand_together() -> None:
    """All of one link protocol and model of TCP, then all of the next; none twice."""
    made = tasks(points(plan("rlc-sack", "quick"), "commit"), "simulate")
    loops = [task.scenario.word("link.protocol") for task in made]
    assert sum(a != b for a, b in pairwise(loops)) == len(set(loops)) - 1
    assert len({task.key for task in made}) == len(made) > 1000


def test_a_point_that_cannot_be_simulated_has_no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says why, by experiment, variant and choice; retraces need no simulation."""
    monkeypatch.setattr(results, "refusal", lambda one: "no RLP" if one.word("link.protocol") == "rlp" else "")
    made = points(plan("multitracer", "quick"), "commit")
    assert set(refusals(made).values()) == {"no RLP"}
    assert {point.run.experiment for point in made if point.tasks} == {"retrace-bursts"}
    assert len(tasks(made, "simulate")) == 0
    assert len(tasks(made, "retrace")) == 100


def test_what_cannot_be_simulated_is_told_by_its_key() -> None:
    """In one line; nothing where all keys are modelled."""
    known = dict([parsed("link.protocol", "raw"), parsed("tcp.variant", "reno")])
    assert refusal(resolve("", known)) == ""
    why = refusal(resolve("", known | dict([parsed("tcp.segment_bytes", 300)])))
    assert why.startswith("tcp.segment_bytes: packets of 300 octets")
    assert "\n" not in why


def test_an_alternative_that_cannot_be_simulated_has_no_verdict_of_the_defaults() -> None:
    """Its points are missing, not those of the defaults; a statement's verdict under it is open."""
    made = points([run for run in plan("rlc-sack", "quick", ("A6b",)) if "uniform" in run.experiment], "commit")
    of_defaults = [point for point in made if not point.run.choice]
    found = table(of_defaults, {task.key: {"throughput_bps": 1.0 + task.seed} for p in of_defaults for task in p.tasks})
    refused = {(p.run.experiment, p.run.variant, "A6b"): "lazily is not modelled" for p in made if p.run.choice}
    changed = {place[:2] for place in refused}
    assert changed.isdisjoint(runs_of("rlc-sack", found, "A6b", refused).points)
    assert changed <= set(runs_of("rlc-sack", found, "", refused).points)
    document = paper_document("rlc-sack", found, "quick", ("A6b",), refused=refused)
    row = next(one for one in document["statements"] if one["id"] == "P000-029")
    assert row["alternatives"] == [{"choice": "A6b", "verdict": "undecided"}]


def test_ids_are_taken_by_the_papers_that_have_them() -> None:
    """One ID may be in several papers; `beside` and `all` are for all of them."""
    assert chosen(("rlc-sack", "asr", "rlc-web"), ("A6b", "B3c")) == {
        "rlc-sack": ("A6b",), "asr": ("A6b",), "rlc-web": ("B3c",),
    }  # fmt: skip
    assert chosen(PAPERS, ("beside",)) == dict.fromkeys(PAPERS, ("beside",))


def test_traces_lose_the_blocks_that_touch_a_bad_time() -> None:
    """About the share of bad time, and half a block more at either end of a burst; a seed has one trace."""
    run = next(one for one in plan("multitracer", "quick") if one.variant == "5 % in bursts of 10")
    trace = trace_of(run.scenario, 1)
    assert len(trace.erased) == 645_000
    assert (trace.block_bytes, trace.block_ms) == (30, 20.0)
    assert trace.count / len(trace.erased) == pytest.approx(0.05 + 0.02 / 4.0, rel=0.1)
    assert np.array_equal(trace.erased, trace_of(run.scenario, 1).erased)
    assert not np.array_equal(trace.erased, trace_of(run.scenario, 2).erased)


def test_bursts_are_best_met_with_larger_frames_than_even_losses() -> None:
    """The original analysis on a trace and on its even twin: frames of up to 50 blocks."""
    run = next(one for one in plan("multitracer", "quick") if one.tool == "retrace")
    found = retraced(run.scenario, 1)
    assert set(found) == {"optimal_frame_bytes", "even_optimal_frame_bytes"}
    assert found["optimal_frame_bytes"] > found["even_optimal_frame_bytes"] >= 30  # type: ignore[operator]


def test_figures_have_a_curve_an_option_along_the_error_rate() -> None:
    """Each of the paper's figures once; without losses RLC as set for that error model."""
    made = runs("rlc-sack", lambda labels, _: 10.0 * labels["flr"] + (labels.get("limit") == 3), ("throughput_bps",))
    found = figures("rlc-sack", made)
    assert len(found) == 8
    assert "file transfer, Uniform, no media" in [one.title for one in found]
    for one in found:
        assert next(iter(one.curves)) == "SACK alone"
        assert len(one.curves) == 6
        assert [point[0] for point in one.curves["RLC, limit 3"]] == [0.0, 1.5, 2.5, 5.4, 9.8]
        assert one.curves["RLC, limit 3"][3] == (5.4, 55.0, 0.0)


@pytest.mark.parametrize("paper", PAPERS)
def test_figures_name_axes_that_runs_have(paper: str) -> None:
    """Every rule is filled by runs at all points."""
    table_of = read(paper, "paper")
    metrics = tuple({metric for rule in table_of.get("figure", ()) for metric in rule["metrics"]})
    made = figures(paper, runs(paper, lambda *_: 1.0, metrics))
    assert {one.metric for one in made} == set(metrics)
    assert all(len(points) > 1 for one in made for points in one.curves.values())


@pytest.mark.parametrize("paper", PAPERS)
def test_a_first_run_is_kept_as_its_score(paper: str) -> None:
    """Where there is one, it has the score's counts; else none is told."""
    found = first_run(paper)
    assert found is None or {"optimum", "ordering", "value", "undecided"} <= set(found)

"""`reproduce`: what it runs, writes and says, whatever the runs give; and going on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import paper_results
import pytest

from multitracer import cli
from multitracer.commands import reproduce
from multitracer.commands.simulate_task import KEPT
from multitracer.export.result_directory import OURS
from multitracer.replay.papers import results
from multitracer.replay.papers.plan import RUN_COLUMNS, plan

pytestmark = pytest.mark.slow
ONE = ["multitracer", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that cost nothing, of a working tree that does not change meanwhile; every key can be simulated."""
    monkeypatch.setattr(reproduce, "_runners", lambda: paper_results.RUNNERS)
    monkeypatch.setattr("multitracer.model.commit.commit", lambda: "c0ffee")
    monkeypatch.setattr(results, "refusal", lambda _: "")


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run in this process: status, stdout, stderr."""
    status = cli.run(["reproduce", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def octets(out: Path) -> dict[str, bytes]:
    """Every file of a result directory."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def told(path: Path) -> list[str]:
    """The runs that were made, as each of them told."""
    return path.read_text().splitlines() if path.exists() else []


def test_json_is_the_document_that_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document on stdout, nothing on stderr; quick verdicts enter no score."""
    status, out, err = called(capsys, *ONE, "--json", "-o", tmp_path)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found == json.loads((tmp_path / "reproduce.json").read_text())
    assert (found["scale"], found["commit"]) == ("quick", "c0ffee")
    (paper,) = found["papers"]
    assert (paper["paper"], paper["score"], paper["first_run"]) == ("multitracer", None, None)
    assert len(paper["statements"]) == 76


def test_bursts_are_retraced_and_decide_their_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Frames that are larger on bursts than on their even twins: the row holds at each point of the grid."""
    found = json.loads(called(capsys, *ONE, "--json", "-o", tmp_path)[1])
    row = next(one for one in found["papers"][0]["statements"] if one["id"] == "P004-006")
    assert (row["verdict"], row["because"]) == ("reproduced", "all 20 tests hold")


def test_the_table_has_a_row_for_each_metric_of_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metric that a run has not has none, of several samples it is their mean, quartiles have numbers."""
    assert called(capsys, *ONE, "-o", tmp_path)[0] == 0
    table = pd.read_parquet(tmp_path / "runs.parquet")
    assert list(table.columns) == list(RUN_COLUMNS)
    count = sum(len(run.seeds) for run in plan("multitracer", "quick") if run.tool == "simulate")
    of = table.groupby("metric")["value"]
    assert of.count()["completion_s"] == count
    assert set(of.get_group("completion_s")) == {2.0}
    quartiles = [name for name in of.groups if name.startswith("connection_goodput_quartile_bps")]
    assert [name[-2:] for name in quartiles] == [".1", ".2", ".4"]
    assert not {"tcp_timeouts", "events"} & set(of.groups)


def test_the_text_says_what_is_not_reproduced_and_where_the_results_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line for the paper, then each result with its reason."""
    status, out, err = called(capsys, *ONE, "-o", tmp_path)
    assert (status, err) == (0, "")
    assert out.startswith("multitracer: quick: verdicts enter no score\n")
    assert out.splitlines()[-1] == ", ".join(
        str(tmp_path / name) for name in ("reproduce.json", "runs.parquet", "reproduce.html")
    )


def test_a_run_that_several_points_share_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal keys and seeds are one run, and all of its points have its result."""
    monkeypatch.setenv(paper_results.TOLD, str(tmp_path / "told"))
    assert called(capsys, *ONE, "-o", tmp_path / "out")[0] == 0
    runs = plan("multitracer", "quick")
    planned = [(run.tool, run.scenario.digest, seed) for run in runs for seed in run.seeds]
    assert len(told(tmp_path / "told")) == len(set(planned)) < len(planned)
    table = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    assert len(table.drop_duplicates(["experiment", "variant", "choice", "seed"])) == len(planned)


def test_what_was_run_is_not_run_again_unless_the_program_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another commit's results are others."""
    monkeypatch.setenv(paper_results.TOLD, str(tmp_path / "told"))
    out = tmp_path / "out"
    assert called(capsys, *ONE, "-o", out)[0] == 0
    before, count = octets(out), len(told(tmp_path / "told"))
    assert called(capsys, *ONE, "-o", out)[0] == 0
    assert (octets(out), len(told(tmp_path / "told"))) == (before, count)
    monkeypatch.setattr("multitracer.model.commit.commit", lambda: "decaf")
    assert called(capsys, *ONE, "-o", out)[0] == 0
    assert len(told(tmp_path / "told")) == 2 * count


def test_a_stopped_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What had ended is kept, even where the last line was cut, and the result is that of one that never stopped."""

    def stops(scenario: Any, seed: int) -> dict[str, Any]:
        if len(told(tmp_path / "told")) == 50:
            raise KeyboardInterrupt
        return paper_results.simulated(scenario, seed)

    monkeypatch.setenv(paper_results.TOLD, str(tmp_path / "told"))
    out = tmp_path / "out"
    monkeypatch.setattr(reproduce, "_runners", lambda: {**paper_results.RUNNERS, "simulate": stops})
    assert called(capsys, *ONE, "-o", out)[0] == 130
    assert not (out / "reproduce.json").exists()
    with (out / OURS / KEPT).open("ab") as kept:
        kept.write(b'{"version": "0')
    monkeypatch.setattr(reproduce, "_runners", lambda: paper_results.RUNNERS)
    assert called(capsys, *ONE, "-o", out)[0] == 0
    after = len(told(tmp_path / "told"))
    assert called(capsys, *ONE, "-o", tmp_path / "other")[0] == 0
    assert after == len(told(tmp_path / "told")) - after
    assert octets(out) == octets(tmp_path / "other")


def test_a_key_that_is_not_modelled_stops_nothing_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Statements that need its runs are undecided because of it, without another reason; others are decided."""

    def refusal(scenario: Any) -> str:
        return "link.vj = True cannot be simulated yet" if scenario.value("link.vj") else ""

    monkeypatch.setattr(results, "refusal", refusal)
    paper = json.loads(called(capsys, *ONE, "--json", "-o", tmp_path)[1])["papers"][0]
    rows = {one["id"]: one for one in paper["statements"]}
    named = [one for one in rows.values() if one["because"].endswith("link.vj = True cannot be simulated yet")]
    assert named
    assert {(one["verdict"], one["reason"]) for one in named} == {("undecided", None)}
    assert rows["P004-006"]["verdict"] == "reproduced"
    assert [one["because"] for one in paper["not_simulated"]] == ["link.vj = True cannot be simulated yet"]
    assert {"forced-reset", "transfers-vj"} == set(paper["not_simulated"][0]["experiments"])


def test_an_alternative_is_run_beside_the_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its runs are in the table under its ID, its verdicts beside those of the defaults."""
    paper = json.loads(called(capsys, *ONE, "--alternatives", "D9b", "--json", "-o", tmp_path)[1])["papers"][0]
    assert {one["choice"] for row in paper["statements"] for one in row["alternatives"]} == {"D9b"}
    assert set(pd.read_parquet(tmp_path / "runs.parquet")["choice"]) == {"", "D9b"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rlc",), ("'rlc' is not one of", "rlc-sack")),
        (("asr", "--scale", "slow"), ("'slow' is not one of", "quick")),
        (("asr", "--alternatives", "Z9"), ("there is no alternative 'Z9' of asr", "A9b")),
        (("asr", "--alternatives", "A9b,"), ("an empty ID",)),
        (("--jobs", "0"), ("--jobs",)),
    ],
)  # fmt: skip
def test_wrong_usage_is_2_and_names_what_there_is(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    status, out, err = called(capsys, *arguments, "-o", tmp_path / "out")
    assert (status, out) == (2, "")
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()


def test_any_number_of_processes_writes_the_same_octets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files, page, and what is kept of each run."""
    for jobs in ("1", "3"):
        assert called(capsys, "multitracer", "--jobs", jobs, "-o", tmp_path / jobs)[0] == 0
    assert octets(tmp_path / "1") == octets(tmp_path / "3")
    assert "reproduce.html" in octets(tmp_path / "1")

"""`simulate`: what it writes and says, whatever runs there are; and going on where it stopped."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import simulated
from dask_cluster import cluster

from multitracer import cli
from multitracer.commands import simulate
from multitracer.commands.simulate_task import KEPT
from multitracer.export.result_directory import OURS

SUPPORT = Path(simulated.__file__).parent
SMALL = ["raw-file-transfer", "--seeds", "3", "--no-report", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that cost nothing."""
    monkeypatch.setattr(simulate, "_runner", lambda: simulated.run)


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run in this process: status, stdout, stderr."""
    status = cli.run(["simulate", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def octets(out: Path) -> dict[str, bytes]:
    """Every file of a result directory."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_the_built_in_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each; as JSON with names."""
    status, out, _ = called(capsys, "--list")
    assert status == 0
    listed = [line.split("  ")[0].strip() for line in out.splitlines()]
    assert {"raw-file-transfer", "sr-file-transfer", "rlc-am-file-transfer", "rlp-bulk", "web-browsing"} <= set(listed)
    assert [one["name"] for one in json.loads(called(capsys, "--list", "--json")[1])] == listed


def test_json_is_the_document_that_is_written_and_how_long_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One document on stdout, nothing on stderr."""
    status, out, err = called(capsys, *SMALL, "--json", "-o", tmp_path)
    assert (status, err) == (0, "")
    printed = json.loads(out)
    assert printed.pop("wall_s") >= 0
    assert printed == json.loads((tmp_path / "simulate.json").read_text())
    assert [one["name"] for one in printed["variants"]][:2] == [
        "channel.frame_loss_rate = 0", "channel.frame_loss_rate = 0.015",
    ]  # fmt: skip


def test_every_metric_of_every_run_is_a_line_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a run cannot have is empty; several samples stand in one cell."""
    assert called(capsys, "media-contention", "--seeds", "2", "--no-report", "--jobs", "1", "-o", tmp_path)[0] == 0
    with (tmp_path / "simulate.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 15 * 2 * 4
    assert rows[2] == {
        "variant": "raw, channel.frame_loss_rate = 0", "seed": "1", "metric": "media_delay_ms", "value": "21.0 31.0",
    }  # fmt: skip


def test_the_summary_names_each_variant_with_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And where the results are."""
    status, out, err = called(capsys, *SMALL, "--set", "channel.frame_loss_rate=0.5", "-o", tmp_path)
    assert (status, err) == (0, "")
    first, line, _, written = out.splitlines()
    assert first == "3 seeds, mean and 95 % interval:"
    assert line.startswith("raw-file-transfer: throughput 32 ± ")
    assert "TCP timeouts 2 ± 2.48" in line
    assert written == f"{tmp_path / 'simulate.json'}, {tmp_path / 'simulate.csv'}"


def test_the_seeds_are_the_scenarios_unless_they_are_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their first is 1."""
    (tmp_path / "mine.toml").write_text("seeds = 4\n")
    arguments = (tmp_path / "mine.toml", "--no-report", "--jobs", "1", "--json", "-o", tmp_path / "out")
    assert json.loads(called(capsys, *arguments)[1])["seeds"] == 4
    found = json.loads(called(capsys, *arguments, "--seeds", "2", "--seed", "9")[1])
    assert (found["seeds"], found["first_seed"], found["metrics"]["tcp_timeouts"]["mean"]) == (2, 9, 9.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("which SCENARIO?", "--list")),
        (("raw-file-transfr",), ("there is no scenario 'raw-file-transfr'", "Did you mean raw-file-transfer")),
        (("raw-file-transfer", "--set", "link.rat_bps=1"), ("link.rat_bps", "Did you mean link.rate_bps")),
        (("raw-file-transfer", "--set", "link.rate_bps=0"), ("link.rate_bps = 0", "from 1 to")),
        (("raw-file-transfer", "--set", "link.rate_bps"), ("is not KEY=VALUE",)),
        (("raw-file-transfer", "--vary", "link.rate_bps=1,,2"), ("empty value",)),
        (("raw-file-transfer", "--vary", "link.protocol=raw,srr"), ("link.protocol = srr", "sr")),
        (("raw-file-transfer", "--record", "here", "--seeds", "2"), ("--record takes one run", "2 seeds")),
    ],
)  # fmt: skip
def test_wrong_usage_is_2_and_names_what_was_meant(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In two lines, and nothing is written."""
    status, out, err = called(capsys, *arguments, "-o", tmp_path / "out")
    assert (status, out) == (2, "")
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()


def test_keys_without_effect_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not a mistake where a scenario is used for several protocols, but worth a line."""
    status, _, err = called(capsys, *SMALL, "--set", "link.sr.timeout_s=1", "-o", tmp_path)
    assert (status, err) == (0, "multitracer: without effect in this scenario: link.sr.timeout_s\n")


def test_a_scenario_without_progress_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with 0 all the same."""
    monkeypatch.setattr(simulate, "_runner", lambda: lambda *_: {"throughput_bps": 0, "ended": "all is lost"})
    status, out, err = called(capsys, *SMALL, "--set", "channel.frame_loss_rate=1", "-o", tmp_path)
    assert (status, err) == (0, "multitracer: raw-file-transfer: 3 of 3 runs: all is lost\n")
    assert "throughput 0 ± 0 kbit/s" in out


def told(path: Path) -> list[str]:
    """The runs that were made, as each of them told."""
    return path.read_text().splitlines() if path.exists() else []


def test_what_was_run_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only new seeds and new variants are; a run that fails leaves those before it."""
    monkeypatch.setenv(simulated.TOLD, str(tmp_path / "told"))
    out = tmp_path / "out"
    assert called(capsys, *SMALL, "-o", out)[0] == 0
    before = octets(out)
    assert len(told(tmp_path / "told")) == 15
    assert called(capsys, *SMALL, "-o", out)[0] == 0
    assert len(told(tmp_path / "told")) == 15
    assert octets(out) == before
    assert called(capsys, *SMALL, "-o", out, "--seeds", "4")[0] == 0
    assert len(told(tmp_path / "told")) == 20


def test_a_run_that_fails_leaves_the_result_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the variant and the seed, with the status of its kind."""
    assert called(capsys, *SMALL, "-o", tmp_path)[0] == 0
    before = octets(tmp_path)
    monkeypatch.setattr(simulate, "_runner", lambda: simulated.refused)
    status, _, err = called(capsys, *SMALL, "--set", "link.rate_bps=9", "-o", tmp_path)
    assert (status, octets(tmp_path)) == (2, before)
    assert err.splitlines() == [
        "multitracer: channel.frame_loss_rate = 0, seed 1: channel.frame_loss_rate = 0 cannot be run with 1",
        "  Give another.",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("run", "status", "words"), [
    (simulated.refused, 2, "cannot be run with"),
    (simulated.broken, 1, "defect in MultiTracer, not in your input: Zero"),
    (simulated.fatal, 5, "the process that ran it was ended"),
])  # fmt: skip
def test_what_goes_wrong_in_another_process_is_told_here(
    run: Any, status: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """As if it had been this one; runs that ended before are kept."""
    monkeypatch.setattr(simulate, "_runner", lambda: run)
    found = cli.run(["simulate", "raw-file-transfer", "--seeds", "4", "--jobs", "2", "-o", str(tmp_path)])
    out, err = capfd.readouterr()
    assert (found, out) == (status, "")
    assert words in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 2


@pytest.mark.slow
def test_any_number_of_processes_writes_the_same_octets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files, page, and what is kept of each run."""
    for jobs in ("1", "3"):
        arguments = ["media-contention", "--seeds", "2", "--jobs", jobs, "-o", tmp_path / jobs]
        assert called(capsys, *arguments)[0] == 0
    assert octets(tmp_path / "1") == octets(tmp_path / "3")
    assert "simulate.html" in octets(tmp_path / "1")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_sweep_goes_on(how: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was not done, and to the same octets as one that was never stopped."""
    monkeypatch.setenv(simulated.TOLD, str(tmp_path / "told"))
    monkeypatch.setenv(simulated.SLOW_S, "0.1")
    out, kept = tmp_path / "out", tmp_path / "out" / OURS / KEPT
    with started(*SMALL, "--jobs", "2", "-o", str(out)) as running:
        _until(lambda: lines(kept) >= 3)
        running.send_signal(how)
        running.wait(30)
    done = lines(kept)
    assert 3 <= done < 15
    assert not (out / "simulate.json").exists()
    (tmp_path / "told").unlink()
    monkeypatch.setenv(simulated.SLOW_S, "0")
    assert cli.run(["simulate", *SMALL, "-o", str(out), "-q"]) == 0
    assert len(told(tmp_path / "told")) <= 15 - done + 2
    assert cli.run(["simulate", *SMALL, "-o", str(tmp_path / "other"), "-q"]) == 0
    assert octets(out) == octets(tmp_path / "other")


def lines(path: Path) -> int:
    """How many whole lines a file has, that may not be there yet."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program with runs that cost nothing; it is ended at the end."""
    program = [sys.executable, str(SUPPORT / "simulate_command.py"), "simulate", *arguments, "-q"]
    process = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(SUPPORT)}, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _until(true: Any, limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_a_cluster_writes_the_same_octets_though_a_worker_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the killed worker was at is done by the other one."""
    pytest.importorskip("distributed")
    assert cli.run(["simulate", *SMALL, "-o", str(tmp_path / "here"), "-q"]) == 0
    monkeypatch.setenv(simulated.SLOW_S, "0.2")
    out, kept = tmp_path / "there", tmp_path / "there" / OURS / KEPT
    with cluster(tmp_path) as (address, workers), started(*SMALL, "--cluster", address, "-o", str(out)) as running:
        _until(lambda: lines(kept) >= 2)
        workers[0].kill()
        assert running.wait(120) == 0
    assert octets(out) == octets(tmp_path / "here")

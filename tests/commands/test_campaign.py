"""`analyze --compare`: experiments side by side, and gone on with where they stopped."""

from __future__ import annotations

import json
import operator
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dask_cluster import cluster
from packets import ipv4, tcp

from multitracer import cli
from multitracer.commands.parameters import COMPARED, files_in
from multitracer.commands.workers import on_processors
from multitracer.compute import threads
from multitracer.export.result_directory import OURS
from multitracer.parsers import pcap

NAMES = ("a", "b", "c")


@pytest.fixture
def transfers(tmp_path: Path) -> list[str]:
    """Small captures that differ."""
    for number, name in enumerate(NAMES):
        packets = [ipv4(tcp(seq=1000 + 500 * at, ack=1, payload=bytes(500))) for at in range(20 + number)]
        pcap.write(tmp_path / f"{name}.pcap", [(10**8 * at, one) for at, one in enumerate(packets)], 101)
    return [str(tmp_path / f"{name}.pcap") for name in NAMES]


def compare(inputs: list[str], out: Path, *options: str) -> int:
    """Run a campaign; returns the exit status."""
    return cli.run(["analyze", "--compare", *inputs, "-o", str(out), *options])


def octets(out: Path) -> dict[str, bytes]:
    """Every file of a campaign."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def made(out: Path) -> dict[str, int]:
    """When each experiment's summary was put in its place."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/summary.json")}


@pytest.mark.slow
def test_any_number_of_processes_writes_the_same_octets(transfers: list[str], tmp_path: Path) -> None:
    """Files, pages, and what is kept of each experiment."""
    assert compare(transfers[:2], tmp_path / "one", "--jobs", "1") == 0
    assert compare(transfers[:2], tmp_path / "two", "--jobs", "2") == 0
    assert octets(tmp_path / "one") == octets(tmp_path / "two")


@pytest.mark.slow
def test_what_is_done_is_not_done_again(transfers: list[str], tmp_path: Path) -> None:
    """Unless an input, an option or a file of the result is another one."""
    options = ["--no-report", "--jobs", "1", "-q"]
    assert compare(transfers, tmp_path / "out", *options) == 0
    first, before = made(tmp_path / "out"), octets(tmp_path / "out")
    (tmp_path / "out" / "compare.json").unlink()
    (tmp_path / "out" / "a" / "tables" / "segments.parquet").unlink()
    shutil.copy(transfers[1], tmp_path / "kept.pcap")
    pcap.write(Path(transfers[1]), [(0, ipv4(tcp(seq=1, ack=1, payload=bytes(9))))], 101)
    assert compare(transfers, tmp_path / "out", *options) == 0
    second = made(tmp_path / "out")
    assert (second["a"] > first["a"], second["b"] > first["b"], second["c"] > first["c"]) == (True, True, False)
    shutil.copy(tmp_path / "kept.pcap", transfers[1])
    assert compare(transfers, tmp_path / "out", *options) == 0
    assert octets(tmp_path / "out") == before
    assert compare(transfers, tmp_path / "out", *options, "--link-rate", "9600") == 0
    assert made(tmp_path / "out")["c"] > second["c"]


@pytest.mark.slow
def test_a_bad_experiment_is_reported_and_the_others_are_done(
    transfers: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no recording, and a place that cannot be written to, which alone changes the exit status."""
    (tmp_path / "bad.pcap").write_text("nothing that is read")
    out = tmp_path / "out"
    assert compare([transfers[0], str(tmp_path / "bad.pcap"), transfers[2]], out, "--jobs", "2", "--no-report") == 0
    rows = {row["name"]: row["error"] for row in json.loads((out / "compare.json").read_text())["experiments"]}
    assert (rows["a"], rows["c"]) == (None, None)
    assert "none of the formats" in rows["bad"]
    shutil.rmtree(out / "a")
    (out / "a").write_text("in the way")
    assert compare(transfers[:2], out, "--jobs", "1", "--no-report") == 2
    assert "a: no results can be written there" in capsys.readouterr().err
    assert json.loads((out / "b" / "summary.json").read_text())["connections"]
    assert json.loads((out / "compare.json").read_text())["experiments"][0]["error"]


def children(parent: int) -> list[int]:
    """The processes that a process began, and theirs."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    own = [pid for pid, ppid in pairs if ppid == parent]
    return own + [further for pid in own for further in children(pid)]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_campaign_goes_on_and_its_processes_end(how: int, transfers: list[str], tmp_path: Path) -> None:
    """What was done before is not done again, and nothing of what was not done is in the way."""
    out = tmp_path / "out"
    many = [*transfers, *_copies(transfers[0], 3, tmp_path)]
    command = [sys.executable, "-m", "multitracer", "analyze", "--compare", *many, "-o", str(out), "--jobs", "2"]
    running = subprocess.Popen([*command, "--no-report"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: made(out))
    begun = children(running.pid)
    running.send_signal(how)
    running.wait(30)
    _until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in begun))
    done = made(out)
    assert len(done) < len(many)
    assert compare(many, out, "--no-report", "-q", "--jobs", "1") == 0
    assert {name: when for name, when in made(out).items() if name in done} == done
    assert len(made(out)) == len(many)
    assert not list(out.glob(f"**/{OURS}/work"))


def _copies(path: str, count: int, folder: Path) -> list[str]:
    return [str(shutil.copy(path, folder / f"copy{number}.pcap")) for number in range(count)]


def _until(true: object, limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_process_that_dies_takes_only_its_task_with_it() -> None:
    """The others are done by a new one."""
    tasks = [signal.SIGCHLD, signal.SIGCHLD, signal.SIGKILL, signal.SIGCHLD]  # children's ends are ignored
    ended = dict(on_processors(signal.raise_signal, tasks, 1, lambda task, code: (task, code)))
    assert ended == {0: None, 1: None, 2: (signal.SIGKILL, -signal.SIGKILL), 3: None}


def test_processes_share_the_processors() -> None:
    """Each of as many processes as there are processors uses one thread; one alone would use all."""
    jobs = threads.processors()
    used = on_processors(operator.call, [threads.most] * jobs, jobs, lambda *_: 0)
    assert dict(used) == dict.fromkeys(range(jobs), 1)


def test_a_comparison_in_the_same_folder_is_no_input(transfers: list[str], tmp_path: Path) -> None:
    """Results beside the recordings are passed over when the folder is analysed; other JSON files are not."""
    for of, taken in {"multitracer": 1, "mine": 3}.items():
        recordings = tmp_path / of
        recordings.mkdir()
        shutil.copy(transfers[0], recordings)
        for name in COMPARED:
            (recordings / name).write_text(json.dumps({of: "1"}))
        assert len(files_in([str(recordings)])) == taken


def test_without_dask_it_is_said_what_to_install(
    transfers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The machine lacks it: status 5."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert compare(transfers, tmp_path / "out", "--cluster", "tcp://127.0.0.1:1") == 5
    assert "multitracer[cluster]" in capsys.readouterr().err


@pytest.mark.slow
def test_a_cluster_writes_the_same_octets_though_a_worker_dies(transfers: list[str], tmp_path: Path) -> None:
    """What the killed worker was at is done by the other one."""
    pytest.importorskip("distributed")
    many = [*transfers, *_copies(transfers[1], 1, tmp_path)]
    assert compare(many, tmp_path / "here", "--jobs", "1", "-q", "--no-report") == 0
    out = tmp_path / "there"
    (tmp_path / "elsewhere").mkdir()
    with cluster(tmp_path / "elsewhere") as (address, workers):
        command = [sys.executable, "-m", "multitracer", "analyze", "--compare", *many, "-o", str(out), "--no-report"]
        running = subprocess.Popen([*command, "--cluster", address], stdout=subprocess.DEVNULL)
        _until(lambda: made(out))
        workers[0].kill()
        assert running.wait(120) == 0
    assert octets(out) == octets(tmp_path / "here")

"""Sessions of paper 002 over an emulated link: run, kept, and run again alone where they were late."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import many_connections
import pytest

from multitracer import analyze
from multitracer.commands import emulated_sessions
from multitracer.commands.emulated_sessions import Session, measured, run_sessions
from multitracer.model.errors import MissingCapabilityError
from multitracer.replay.emulate.delivery_order import Cell, cells
from multitracer.replay.simulate.sweep import KeptRuns

CELLS = [replace(one, seeds=(1, 2)) for one in cells("quick")[:2]]


class Runner:
    """Stands in for the processes: notes what is run, and is late whenever several run at once."""

    def __init__(self, *, fails: bool = False) -> None:
        self.ran: list[tuple[int, int]] = []
        self.fails = fails

    def __call__(self, sessions: Sequence[Session], pairs: int) -> Iterator[tuple[int, Any]]:
        """Every session's result, or an error."""
        for place, one in enumerate(sessions):
            self.ran.append((pairs, one.task.seed))
            yield place, MissingCapabilityError("no TUN") if self.fails else {"trusted": pairs == 1, "rtt_ms": 1.0}


def run(directory: Path, pairs: int, cells: Sequence[Cell] = CELLS) -> list[Any]:
    """Run the sessions of some cells."""
    kept = KeptRuns(directory / "runs.jsonl")
    return run_sessions(cells, kept, pairs, "commit", lambda step, share: None)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    """What runs sessions in these tests."""
    made = Runner()
    monkeypatch.setattr(emulated_sessions, "_ended", made)
    return made


def test_late_sessions_are_run_again_alone(tmp_path: Path, runner: Runner) -> None:
    """Until then they are not kept."""
    found = run(tmp_path, 2)
    assert [pairs for pairs, _ in runner.ran] == [2] * 4 + [1] * 4
    assert all(one["trusted"] for of_cell in found for one in of_cell.sessions)


def test_what_was_kept_is_not_run_again(tmp_path: Path, runner: Runner) -> None:
    """Nor of another order; sessions that are new are."""
    run(tmp_path, 1, CELLS[:1])
    runner.ran.clear()
    found = run(tmp_path, 1)
    assert runner.ran == [(1, 1), (1, 2)]
    assert [len(one.sessions) for one in found] == [2, 2]


def test_what_a_machine_lacks_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the error of the session."""
    monkeypatch.setattr(emulated_sessions, "_ended", Runner(fails=True))
    with pytest.raises(MissingCapabilityError, match="no TUN"):
        run(tmp_path, 1)


def test_a_session_is_measured_from_its_capture(tmp_path: Path) -> None:
    """The octets over the time from the SYN to the last acknowledgement, 140 ms; nothing was sent again."""
    found = measured(analyze([many_connections.write(tmp_path / "one.pcap", 1)]))
    octets = many_connections.SEGMENTS * many_connections.size(0)
    assert found["goodput_bps"] == pytest.approx(8 * octets / 0.140)
    assert found["tcp_retransmissions"] == 0
    assert found["rtt_ms"] == pytest.approx(20)


def test_only_the_paper_of_real_kernels_is_emulated(tmp_path: Path) -> None:
    """Others are refused, before anything runs."""
    asked = [sys.executable, "-m", "multitracer", "reproduce", "asr", "--emulate", "-o", str(tmp_path / "out")]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "delivery-order alone" in found.stderr
    assert not (tmp_path / "out").exists()

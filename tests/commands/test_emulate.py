"""What `multitracer emulate` says around a run, which is not run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from multitracer.commands import emulate
from multitracer.replay.emulate import pairs, session

LOST = {"delay_ms": None, "delay_p50_ms": None, "delay_p99_ms": None, "delay_max_ms": None}
ON_TIME: dict[str, Any] = {"missing": []} | {
    f"{name}lateness_{share}_percent": 1.0 for name in ("", "delivery_") for share in ("p99", "max")
}
CAME = {"delay_ms": 32.6, "delay_p50_ms": 32.0, "delay_p99_ms": 40.04, "delay_max_ms": 59.9}


def run(monkeypatch: pytest.MonkeyPatch, output: Path, *arguments: str, **truth: Any) -> Result:
    """The command over a run that gives this truth."""
    monkeypatch.setattr(session, "emulate", lambda *_: {"trusted": True, "exit": 0, **ON_TIME, **truth})
    given = ["gsm-call", "--no-analyze", "-o", str(output), *arguments]
    return CliRunner().invoke(emulate.command, given, catch_exceptions=False)


def test_a_run_that_was_late_is_not_to_be_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command says so and succeeds, also where it is quiet; of one that was on time it says how late it was."""
    late = run(monkeypatch, tmp_path / "a", trusted=False, delivery_lateness_p99_percent=31.0)
    assert late.exit_code == 0
    said = (
        "99 % of slots were late by at most 1.0 % of a frame, the latest by 1 %; 99 % of packets were late by at most "
    )
    assert f"not to be trusted: {said}31.0 % of a frame" in late.stderr
    timely = run(monkeypatch, tmp_path / "b").stderr
    assert f"{said}1.0 % of a frame" in timely
    assert "trusted" not in timely
    for trusted in (False, True):
        quietly = run(monkeypatch, tmp_path / f"quiet-{trusted}", "-q", trusted=trusted).stderr
        assert ("not to be trusted" in quietly) != trusted
        assert trusted == (quietly == "")


def test_what_was_not_recorded_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what would allow it."""
    lack = {"what": "the kernel's clocks of sockets", "needs": "ss: install the package iproute2"}
    said = run(monkeypatch, tmp_path / "a", missing=[lack]).stderr
    assert "not recorded: the kernel's clocks of sockets; it needs ss: install the package iproute2" in said


def test_without_a_folder_its_name_is_of_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As that of a recording."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "emulate", lambda *_: {"trusted": True, "exit": 0, **ON_TIME})
    given = ["gsm-call", "--no-analyze"]
    assert CliRunner().invoke(emulate.command, given, catch_exceptions=False).exit_code == 0
    (made,) = tmp_path.iterdir()
    assert re.fullmatch(r"emulated-\d{8}-\d{6}", made.name)


def test_how_late_a_run_may_be_is_an_option_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same as the key of the scenario."""
    asked = []

    def emulated(_: Any, keys: Any, *__: Any) -> dict[str, Any]:
        asked.append(keys["emulate.max_lateness_percent"])
        return {"trusted": True, "exit": 0, **ON_TIME}

    monkeypatch.setattr(session, "emulate", emulated)
    given = ["gsm-call", "--no-analyze", "-o", str(tmp_path / "a"), "--max-lateness", "2.5"]
    assert CliRunner().invoke(emulate.command, given, catch_exceptions=False).exit_code == 0
    assert asked == [2.5]


def test_a_transfer_that_failed_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With its status; what was recorded of it is there all the same."""
    assert "the transfer ended with status 3" in run(monkeypatch, tmp_path / "a", exit=3).stderr
    assert "status" not in run(monkeypatch, tmp_path / "b").stderr


def test_a_link_is_refused_that_its_window_does_not_fill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the key, the arithmetic, and a window that would; one that is said beside the link is taken."""
    fast = ["--set", "link.rate_bps=40000", "--set", "link.tti_s=0.005"]
    with pytest.raises(emulate.UsageError, match=r"link\.rlp\.window: the link down .*\nNo window fills it") as refused:
        run(monkeypatch, tmp_path / "a", *fast)
    assert refused.value.exit_code == 2
    assert not (tmp_path / "a").exists()
    said = run(monkeypatch, tmp_path / "b", *fast, "--set", "link.rlp.window=61")
    assert said.exit_code == 0
    assert "link.rlp.window: the link down has room for 0.0384 Mbit/s" in said.stderr


def test_a_window_that_does_not_fill_the_link_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With both rates; nothing is said where it does."""
    small = run(monkeypatch, tmp_path / "a", "--set", "link.rlp.window=10")
    assert "link.rlp.window: the link down has room for 0.0096 Mbit/s, and a window of 10 frames" in small.stderr
    assert "window" not in run(monkeypatch, tmp_path / "b").stderr


def test_delays_of_datagrams_are_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And how many were lost; no delay where none came."""
    found = run(monkeypatch, tmp_path / "a", datagrams={"sent": 100, "received": 90, "loss_percent": 10.0, **CAME})
    assert found.stdout.splitlines() == [
        "90 of 100 datagrams came (10.00 % lost)",
        "delay one way: mean 32.6 ms, median 32.0 ms, 99 % below 40.0 ms, longest 59.9 ms",
    ]
    none = run(monkeypatch, tmp_path / "b", datagrams={"sent": 5, "received": 0, "loss_percent": 100.0, **LOST})
    assert none.stdout == "0 of 5 datagrams came (100.00 % lost)\n"


def test_what_a_scenario_varies_runs_as_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """That is said, unless the key is set; one with named variants is refused."""
    assert "as it stands: channel.frame_loss_rate" in run(monkeypatch, tmp_path / "a").stderr
    assert "as it stands" not in run(monkeypatch, tmp_path / "b", "--set", "channel.frame_loss_rate=0").stderr
    with pytest.raises(emulate.UsageError, match="web-browsing has variants"):
        CliRunner().invoke(emulate.command, ["web-browsing", "-o", str(tmp_path / "c")], catch_exceptions=False)


def test_pairs_have_seeds_ports_and_folders_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And otherwise what was asked for, the command included; the status is that of what ran."""
    started: list[list[str]] = []
    monkeypatch.setattr(pairs, "run_all", lambda commands: started.extend(commands) or 7)
    given = ["--set", "emulate.pairs=2", "--set", "kernel.sack=0", "--seed", "5", "--", "true", "x"]
    assert run(monkeypatch, tmp_path / "out", *given).exit_code == 7
    for number, command in enumerate(started):
        assert command[5:8] == [
            "gsm-call", f"--seed={5 + number}", f"--output={tmp_path / 'out' / f'pair-{number + 1}'}"
        ]  # fmt: skip
        assert {"--set=kernel.sack=0", "--set=emulate.pairs=1", f"--set=emulate.port={5001 + number}"} <= set(command)
        assert command[-4:] == ["--no-analyze", "--", "true", "x"]
    assert len(started) == 2

"""What a machine does not let be recorded is said, with what would allow it; the rest is recorded."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from multitracer.commands.record import command
from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.recorder import needs, packet_capture, processes, session
from multitracer.recorder.session import SS, Wanted, record
from multitracer.recorder.settings import settings
from multitracer.recorder.tcp_events import filter_of
from multitracer.recorder.tracefs import TraceFs

which = shutil.which


def without(monkeypatch: pytest.MonkeyPatch, *tools: str, tracing: bool = True) -> None:
    """Let the machine lack some tools, and the trace file system."""
    monkeypatch.setattr(shutil, "which", lambda name: None if name in tools else which(name))
    if not tracing:

        def refused() -> TraceFs:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(TraceFs, "open", refused)


def test_without_a_capture_tool_packets_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages that have one are named."""
    without(monkeypatch, "tcpdump", "dumpcap")
    (lack,) = needs.packets("lo")
    assert (lack.what, "tcpdump" in lack.needs) == ("packets", True)


def test_a_capture_that_fails_says_what_its_tool_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the tool is one that ends at once with an error."""
    monkeypatch.setattr(packet_capture, "tool", lambda: "tcpdump")
    refusing = ["sh", "-c", "echo 'You do not have permission' >&2; exit 1"]
    monkeypatch.setattr(packet_capture, "command", lambda *_: refusing)
    (lack,) = needs.packets("lo")
    assert "You do not have permission" in lack.needs


def test_without_tc_the_queue_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what TCP's packets waited in; the device that stands for all interfaces has none."""
    without(monkeypatch, "tc")
    (lack,) = needs.queue("lo")
    assert ("queue" in lack.what, "iproute2" in lack.needs) == (True, True)
    assert lack in needs.all_missing("lo")
    assert needs.queue("any") == []


def test_the_tick_is_known_without_the_kernels_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose files are of another system: the kernel tells it by itself."""

    def absent(path: Path) -> bytes:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(platform, "release", lambda: "none")
    monkeypatch.setattr(Path, "read_bytes", absent)
    assert settings("lo")["hz"] in {24, 32, 48, 64, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 1024, 1200}


def test_without_tracefs_both_events_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs root of the machine: what the system said stands beside it."""
    without(monkeypatch, tracing=False)
    tracefs, lacks = needs.tracing()
    assert tracefs is None
    assert len(lacks) == 2
    assert all("root" in lack.needs and "Operation not permitted" in lack.needs for lack in lacks)


@pytest.mark.skipif(which("ss") is None, reason="ss is not installed (package iproute2)")
def test_without_tracepoints_ss_is_sampled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And packets are left out where they cannot be captured; machine.json names both."""
    without(monkeypatch, "tcpdump", "dumpcap", tracing=False)
    described = record(Wanted(tmp_path / "rec", "lo", command=("sleep", "0.3")), lambda _: None)
    samples = [line for line in (tmp_path / "rec" / SS).read_text().splitlines() if line.startswith("# ")]
    assert len(samples) >= 10
    assert [one["what"].split()[0] for one in described["missing"]] == ["packets", "TCP's", "what"]
    assert described["tracing"] is described["capture"] is None


def test_where_nothing_can_be_recorded_the_command_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names all that is missing."""
    without(monkeypatch, "tcpdump", "dumpcap", "ss", tracing=False)
    wanted = Wanted(tmp_path / "rec", "lo", command=("touch", str(tmp_path / "run")))
    with pytest.raises(MissingCapabilityError, match="install the package tcpdump"):
        record(wanted, lambda _: None)
    assert not (tmp_path / "run").exists()


def test_a_command_that_does_not_exist_is_said_as_shells_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its status is 127."""
    without(monkeypatch, "tcpdump", "dumpcap", tracing=False)
    if which("ss") is None:
        pytest.skip("ss is not installed (package iproute2)")
    monkeypatch.setattr(session.packet_capture, "SETTLE_S", 0.0)
    assert record(Wanted(tmp_path / "rec", "lo", command=("no-such-command",)), lambda _: None)["exit"] == 127


def test_a_recording_without_tc_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In machine.json, where it has no queueing discipline."""
    if which("ss") is None:
        pytest.skip("ss is not installed (package iproute2)")
    without(monkeypatch, "tcpdump", "dumpcap", "tc", tracing=False)
    monkeypatch.setattr(session.packet_capture, "SETTLE_S", 0.0)
    described = record(Wanted(tmp_path / "rec", "lo", command=("true",)), lambda _: None)
    assert described["qdisc"] is None
    assert "the interface's queueing discipline" in [one["what"] for one in described["missing"]]


def test_the_filter_takes_a_port_at_either_end() -> None:
    """As the kernel's event filters are written; nothing for all of TCP."""
    assert filter_of((80, 443)) == "sport == 80 || dport == 80 || sport == 443 || dport == 443"
    assert filter_of(()) == ""


def test_check_tells_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing and what it needs, for programs."""
    without(monkeypatch, "tcpdump", "dumpcap", tracing=False)
    done = CliRunner().invoke(command, ["--check", "--json", "-i", "lo"])
    missing = json.loads(done.stdout)["missing"]
    assert {tuple(one) for one in missing} == {("what", "needs")}
    assert missing[0]["what"] == "packets"


def test_an_interface_that_does_not_exist_is_refused() -> None:
    """Those that exist are listed."""
    done = CliRunner().invoke(command, ["-i", "no-such-interface", "--", "true"])
    assert isinstance(done.exception, UsageError)
    assert "lo" in str(done.exception)


def test_instances_of_dead_processes_alone_are_removed(tmp_path: Path) -> None:
    """An instance's name has its owner's process and when that began: another process may have the number since."""
    names = ["multitracer-999999999-5-tcp_probe", f"multitracer-{os.getpid()}-1-tcp_probe", "others"]
    from multitracer.recorder.tracefs import started

    ours = f"multitracer-{os.getpid()}-{started(os.getpid())}-tcp_probe"
    for name in [*names, ours]:
        (tmp_path / "instances" / name).mkdir(parents=True)
    tracefs = TraceFs(os.open(tmp_path, os.O_PATH | os.O_DIRECTORY))
    tracefs.remove_dead()
    tracefs.close()
    assert {path.name for path in (tmp_path / "instances").iterdir()} == {"others", ours}


@pytest.mark.parametrize("lacking", [(), ("setpriv",)])
def test_a_capture_ends_with_what_started_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: tuple[str, ...]
) -> None:
    """Also where there is no setpriv: when the process that started it is killed, it is interrupted."""
    without(monkeypatch, *lacking)
    ended = tmp_path / "ended"
    waiting = f"trap 'touch {ended}; exit' INT; echo begun; while :; do sleep 0.05; done"
    tied = processes.ending_with_this_process(["sh", "-c", waiting])
    starter = f"import subprocess; subprocess.run({tied!r})"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.kill()
    end = time.monotonic() + 10
    while not ended.exists():
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.05)


def test_a_capture_that_ends_before_its_time_is_not_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that goes on until it is stopped is."""
    for then, complete in (("exit 0", False), ("exec sleep 60", True)):
        command = ["sh", "-c", f"echo listening on >&2; {then}"]
        monkeypatch.setattr(packet_capture, "command", lambda *_, command=command: command)
        with packet_capture.PacketCapture("lo", (), tmp_path / "capture") as capture:
            time.sleep(0.3)
        assert capture.complete is complete

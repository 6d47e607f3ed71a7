"""Where the kernel has TCP's events and refuses to record them, the rest is recorded, and the reason told."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from multitracer.commands.record import command
from multitracer.recorder import needs, session
from multitracer.recorder.session import SS, Wanted, record
from multitracer.recorder.tcp_events import FILES, TcpEvents
from multitracer.recorder.tracefs import PREFIX, Instance, TraceFs


@pytest.fixture
def tracefs() -> Iterator[TraceFs]:
    """The machine's trace file system, with TCP's events."""
    found, lacks = needs.tracing() if sys.platform == "linux" else (None, [needs.Missing("all", "Linux")])
    if found is None:
        pytest.skip("; ".join(f"{one.what}: needs {one.needs}" for one in lacks))
    with closing(found):
        yield found


def refuse(monkeypatch: pytest.MonkeyPatch, part: str, number: int) -> None:
    """Let the kernel refuse to take what is written to files of such a name."""
    write = Instance._write

    def refusing(instance: Instance, name: str, text: str) -> None:
        if part in name:
            raise OSError(number, os.strerror(number))
        write(instance, name, text)

    monkeypatch.setattr(Instance, "_write", refusing)


def ours(tracefs: TraceFs) -> list[str]:
    """The instances of this process."""
    return [one.name for one in tracefs.path("instances").iterdir() if f"{PREFIX}-{os.getpid()}-" in one.name]


REFUSALS = [
    ("buffer_size_kb", errno.ENOMEM, "a smaller --buffer"),
    ("tcp_retransmit_skb/enable", errno.EPERM, "Operation not permitted"),
]


@pytest.mark.parametrize(("part", "number", "said"), REFUSALS)
def test_where_events_are_refused_ss_is_sampled(
    tracefs: TraceFs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str, number: int, said: str
) -> None:
    """Nothing of them is left, and machine.json has the reason for both."""
    if shutil.which("ss") is None:
        pytest.skip("ss is not installed (package iproute2)")
    refuse(monkeypatch, part, number)
    monkeypatch.setattr(session.packet_capture, "SETTLE_S", 0.0)
    described = record(Wanted(tmp_path / "rec", "lo", command=("sleep", "0.2")), lambda _: None)
    assert (tmp_path / "rec" / SS).exists()
    assert not any((tmp_path / "rec" / name).exists() for name in FILES.values())
    assert described["tracing"] is None
    assert [said in one["needs"] for one in described["missing"] if "tracepoint" in one["what"]] == [True, True]
    assert not ours(tracefs)


def test_where_stacks_are_refused_retransmissions_are_recorded(
    tracefs: TraceFs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a kernel without the trigger: machine.json says that stacks are missing."""
    refuse(monkeypatch, "trigger", errno.EINVAL)
    monkeypatch.setattr(session.packet_capture, "SETTLE_S", 0.0)
    described = record(Wanted(tmp_path / "rec", "lo", command=("true",)), lambda _: None)
    assert described["tracing"]["lost_events"] == 0
    assert "CONFIG_STACKTRACE" in "".join(one["needs"] for one in described["missing"] if "stack" in one["what"])
    assert not ours(tracefs)


@pytest.mark.parametrize(("part", "number", "said"), [*REFUSALS, ("trigger", errno.EINVAL, "CONFIG_STACKTRACE")])
def test_check_tries_what_the_kernel_takes(
    tracefs: TraceFs, monkeypatch: pytest.MonkeyPatch, part: str, number: int, said: str
) -> None:
    """It says what is refused, and leaves no instance."""
    refuse(monkeypatch, part, number)
    done = CliRunner().invoke(command, ["--check", "-i", "lo"])
    assert said in done.stdout
    assert not ours(tracefs)


def test_a_locked_kernel_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There the trace file system is empty: a later release would not help."""
    (tmp_path / "lockdown").write_text("none integrity [confidentiality]\n")
    monkeypatch.setattr(needs, "_LOCKDOWN", tmp_path / "lockdown")
    monkeypatch.setattr(TraceFs, "open", lambda: TraceFs(os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)))
    found, lacks = needs.tracing()
    assert found is None
    assert all("not locked down" in one.needs for one in lacks)


def test_the_buffers_of_many_processors_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Together, unless more is asked for; those of few have the size that is usual."""
    tracefs = TraceFs(os.open(tmp_path, os.O_PATH | os.O_DIRECTORY))
    with closing(tracefs):
        found = []
        for processors in (2, 16, 64, 256, 1024):
            monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
            found.append(TcpEvents(tracefs, tmp_path, ())._buffer_mb)
        assert found == [16, 16, 4, 1, 1]
        assert TcpEvents(tracefs, tmp_path, (), 16)._buffer_mb == 16

"""docs/recording.md: the commands for Linux record what is read, the others say where they are from."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import local_transfer
import pytest
from doc_commands import DOCS, FORBIDDEN, lacking, sections, surroundings

from multitracer import read
from multitracer.recorder import needs

SECTIONS = sections("recording.md")
TRACEPOINTS = Path("/sys/kernel/tracing/events/tcp")
ONE_COMMAND = "Linux, in one command"
EVENTS = "TCP state, at every acknowledgement"
START_S = 3
"""Longer than a program takes to begin, also where other tests load the machine."""


@contextmanager
def recording(command: str, directory: Path, environment: dict[str, str]) -> Iterator[None]:
    """A command that is at work within, and is ended as by Ctrl-C; the test is skipped where it may not record."""
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=directory, env=environment, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(START_S)
        yield
        time.sleep(0.5)
    finally:
        complaint = interrupted(process)
    if FORBIDDEN.search(complaint):
        pytest.skip(complaint.strip().splitlines()[-1])


def interrupted(process: subprocess.Popen[str]) -> str:
    """What a command has said when Ctrl-C has ended it.

    A shell's loop goes on if what ran in it had just ended by itself: a person presses again.
    """
    for _ in range(6):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        try:
            return process.communicate(timeout=5)[1]
        except subprocess.TimeoutExpired:
            continue
    os.killpg(process.pid, signal.SIGKILL)
    raise AssertionError(f"not ended by Ctrl-C: {process.args}")


def transfer(server: socket.socket) -> None:
    """Send two seconds of data to a port of this machine."""
    taken = threading.Thread(target=lambda: _take(server))
    taken.start()
    with socket.create_connection(server.getsockname()) as client:
        for _ in range(40):
            client.sendall(bytes(5_000))
            time.sleep(0.05)
    taken.join()


def _take(server: socket.socket) -> None:
    with server.accept()[0] as end:
        while end.recv(1 << 16):
            pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "first", "needs", "file", "kind", "rows"),
    [
        ("Packets", 0, ("tcpdump",), "snd.pcap", "pcap", "packets"),
        ("TCP state, sampled", 0, ("ss",), "ss.txt", "ss", "tcp_state"),
        (EVENTS, 0, ("perf",), "tcp_probe.txt", "tcp_probe", "tcp_state"),
        (EVENTS, 2, (), "tcp_probe.txt", "tcp_probe", "tcp_state"),
    ],
)
def test_what_the_commands_for_linux_record_is_read(
    section: str, first: int, needs: tuple[str, ...], file: str, kind: str, rows: str, tmp_path: Path
) -> None:
    """A transfer over loopback gives rows of the table; where there are two commands, the second follows Ctrl-C."""
    if why := lacking(*needs) or (section == EVENTS and not TRACEPOINTS.is_dir() and f"no {TRACEPOINTS}"):
        pytest.skip(why)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        blocks = SECTIONS[section].blocks[first : first + 2]
        command, *after = (one.replace("5201", port).replace("eth0", "lo") for one in blocks)
        environment = surroundings(tmp_path)
        try:
            with recording(command, tmp_path, environment):
                transfer(server)
        finally:  # it may turn off what the first has turned on
            for one in after:
                subprocess.run(["bash", "-ec", one], cwd=tmp_path, env=environment, capture_output=True, check=False)
    recorded = read(tmp_path / file).inputs[0].recording
    assert (recorded.format, recorded.skips) == (kind, [])
    assert len(recorded.tables[rows]) >= 3


@pytest.mark.slow
def test_the_one_command_records_and_analyses_a_transfer(tmp_path: Path) -> None:
    """Over loopback, with a transfer in the place of iperf3's: the folder holds the recording and its report."""
    if missing := needs.all_missing("lo"):
        pytest.skip(f"{missing[0].what}: needs {missing[0].needs}")
    (block,) = SECTIONS[ONE_COMMAND].blocks
    port = str(local_transfer.free_port())
    transfer_ = f"-i lo -- {sys.executable} {local_transfer.__file__} 300000 {port}"
    command = block.replace("sudo multitracer", f"{sys.executable} -m multitracer").replace("5201", port)
    command = command.replace("-- iperf3 -c server", transfer_)
    assert transfer_ in command
    subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True, capture_output=True)
    assert {"snd.pcap", "tcp_probe.txt", "machine.json"} <= {path.name for path in (tmp_path / "slow").iterdir()}
    assert (tmp_path / "slow" / "analysis" / "report.html").stat().st_size > 100_000


def test_every_command_that_is_not_run_has_its_source() -> None:
    """With the year and month in which it was read, or the version of the manual."""
    parts = re.split(r"^###? ", (DOCS / "recording.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    linux = {ONE_COMMAND, "Packets", "TCP state, sampled", EVENTS}
    commands = [part for part in parts if re.search(r"^(    \S|```(yaml|ini|python))", part, re.MULTILINE)]
    unrun = [part for part in commands if part.split("\n")[0] not in linux]
    assert len(unrun) >= 6
    for part in (" ".join(one.split()) for one in unrun):
        assert "Not run by the tests" in part, part
        assert re.search(r"read 2\d{3}-\d\d|\(20\d\d\)", part), part

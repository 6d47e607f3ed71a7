"""Ctrl-C, SIGTERM and closed streams, in real processes: the status that shells expect, and never a traceback."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from repository import EXAMPLES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SND = str(EXAMPLES / "loss2" / "snd.pcap")
COMMANDS = {
    "formats": (["formats"], 0.1),
    "standard input": (["analyze", "-"], 1.0),
    "analysis": (["analyze", str(EXAMPLES / "rlp-reset")], 2.0),
}
"""A command, and for how many seconds it may be interrupted."""
TIMES = 2
LONGEST_S = 10


def started(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The program, when it has taken over its signals: before, the interpreter is not under our control."""
    process = subprocess.Popen(
        [sys.executable, "-m", "multitracer", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
    )  # fmt: skip
    while process.poll() is None:
        caught = Path(f"/proc/{process.pid}/status").read_text().partition("SigCgt:\t")[2][:16]
        if caught and int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.005)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment_ends_the_program(name: str, number: signal.Signals, tmp_path: Path) -> None:
    """With 130 or 143, unless all was done before, soon, and in one line; while it imports, reads, works or writes."""
    arguments, longest = COMMANDS[name]
    for _ in range(TIMES):
        process = started(arguments, tmp_path)
        wait = random.uniform(0, longest)
        time.sleep(wait)
        process.send_signal(number)
        before = time.monotonic()
        code = process.wait(LONGEST_S)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()
        assert time.monotonic() - before < LONGEST_S
        assert "Traceback" not in said, (wait, said)
        assert "ignored" not in said, (wait, said)
        assert code in (128 + number, 0), (wait, said)
        if code:
            assert said.splitlines()[-1] == f"multitracer: {'interrupted' if number == signal.SIGINT else 'terminated'}"


LATE = """
import os
from multitracer.commands import stopping
class Last:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, {0})
        print("finalized", flush=True)
last = Last()
stopping.begin()
"""
"""A program that gets signal {0} while the interpreter finalizes its modules."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_after_all_was_done_changes_nothing(number: signal.Signals) -> None:
    """The status is that of the work, though the interpreter puts back the default action of signals as it ends."""
    done = subprocess.run([sys.executable, "-c", LATE.format(int(number))], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "finalized\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "status"),
    [
        ("{0} formats >&-", 0),
        ("{0} formats <&- >/dev/null", 0),
        ("{0} formats 2>&- >/dev/null", 0),
        ("{0} analyze - <&-", 3),
        ("{0} analyze nowhere <&- >&- 2>&-", 3),
        ("{0} analyze {1} --summary-only --json -o out | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}", 0),
        ("{0} --help >/dev/full", 5),
        ("{0} formats >/dev/full", 5),
        ("cat {1} | {0} analyze /dev/stdin --summary-only -o out >/dev/null", 0),
        ("{0} analyze <(cat {1}) --summary-only -o out >/dev/null", 0),
    ],
)  # fmt: skip
def test_closed_streams_and_pipes_are_no_defect(shell: str, status: int, tmp_path: Path) -> None:
    """No traceback, no exception that was ignored, and the status that belongs to the input."""
    command = shell.format(f"{sys.executable} -m multitracer", SND)
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (status, 141 if "head" in shell else status), done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr

"""`multitracer record`: what is in the folder, how it ends, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import local_transfer
import pytest

from multitracer import analyze
from multitracer.recorder import needs
from multitracer.recorder.session import MACHINE, PACKETS, PROBES
from multitracer.recorder.tracefs import PREFIX, TraceFs, now_on_both_clocks

RECORD = [sys.executable, "-m", "multitracer", "record", "-i", "lo", "--no-analyze"]
TRANSFER = [sys.executable, local_transfer.__file__]
WAIT_S = 30


@pytest.fixture(scope="module", autouse=True)
def _everything_can_be_recorded() -> None:
    missing = needs.all_missing("lo") if sys.platform == "linux" else [needs.Missing("all", "Linux")]
    if missing:
        pytest.skip("; ".join(f"{one.what}: needs {one.needs}" for one in missing))


@pytest.fixture
def tracefs() -> Iterator[TraceFs]:
    """The machine's trace file system."""
    opened = TraceFs.open()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a transfer whose command ended with status 3."""
    directory, port = tmp_path_factory.mktemp("recorded") / "rec", str(local_transfer.free_port())
    arguments = ["--port", port, "-o", str(directory), "--", *TRANSFER, "400000", port, "3"]
    subprocess.run([*RECORD, *arguments], check=True, capture_output=True)
    return directory


def settings(directory: Path) -> dict[str, Any]:
    """What machine.json holds."""
    found: dict[str, Any] = json.loads((directory / MACHINE).read_text())
    return found


def instances(tracefs: TraceFs, pid: int) -> list[str]:
    """The names of the instances of a process that are there; other tests may record meanwhile."""
    return [path.name for path in tracefs.path("instances").iterdir() if path.name.startswith(f"{PREFIX}-{pid}-")]


@contextmanager
def begun(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A recording that was started, and runs."""
    with subprocess.Popen([*RECORD, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "recording on lo" in process.stderr.readline()
        yield process


def test_every_file_is_read_and_shows_the_transfer(recorded: Path) -> None:
    """Packets and TCP's state of one connection, on one clock; nothing is skipped."""
    analysis = analyze(recorded)
    summary = analysis.summary()
    assert {one["format"] for one in summary["inputs"]} == {"pcap", "tcp_probe", "machine"}
    assert not [skip for one in analysis.trace.inputs for skip in one.recording.skips]
    (connection,) = summary["connections"]
    assert max(connection["directions"][end]["unique_bytes"] for end in ("client", "server")) == 400_000
    assert len(analysis.tables["tcp_state"]) > 0


def test_machine_json_has_what_the_transfer_ran_under(recorded: Path) -> None:
    """Kernel, interface, offloads and settings, and the command with its status."""
    found = settings(recorded)
    assert found["kernel"] == os.uname().release
    assert (found["interface"], found["mtu"]) == ("lo", int(Path("/sys/class/net/lo/mtu").read_text()))
    assert found["sysctls"]["net.ipv4.tcp_sack"] == Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    assert found["capture"]["snaplen"] == 128
    assert found["capture"]["dropped"] == 0
    assert (found["tracing"]["clock"], found["tracing"]["lost_events"]) == ("mono", 0)
    assert (found["exit"], found["missing"]) == (3, [])


def test_both_clocks_are_those_of_this_machine_at_begin_and_end(tmp_path: Path) -> None:
    """Each pair lies between what is read around the recording; the calendar may be set meanwhile, as it was once."""
    around = [now_on_both_clocks()]
    subprocess.run([*RECORD, "-o", str(tmp_path / "rec"), "--", "true"], check=True, capture_output=True)
    around.append(now_on_both_clocks())
    mono, real = (settings(tmp_path / "rec")["tracing"][name] for name in ("mono_ns", "real_ns"))
    assert around[0]["mono_ns"] < mono[0] < mono[1] < around[1]["mono_ns"]
    offsets = sorted(one["real_ns"] - one["mono_ns"] for one in around)
    for difference in (real[0] - mono[0], real[1] - mono[1]):
        assert offsets[0] - 1_000_000 < difference < offsets[1] + 1_000_000


def test_times_of_the_trace_are_those_of_machine_json(recorded: Path) -> None:
    """What the trace clock tells lies between the begin and the end that machine.json has of it."""
    begin, end = settings(recorded)["tracing"]["mono_ns"]
    times = [float(line.split(": tcp_probe")[0].split()[-1]) for line in (recorded / PROBES).read_text().splitlines()]
    assert begin / 1e9 < min(times) <= max(times) < end / 1e9


def test_only_the_ports_asked_for_are_recorded(tmp_path: Path) -> None:
    """Of a transfer with another port there are neither packets nor events."""
    wanted, other = str(local_transfer.free_port()), str(local_transfer.free_port())
    arguments = ["--port", wanted, "-o", str(tmp_path / "rec"), "--", *TRANSFER, "100000", other]
    subprocess.run([*RECORD, *arguments], check=True, capture_output=True)
    assert (tmp_path / "rec" / PACKETS).stat().st_size == 24  # the file's header alone
    assert not (tmp_path / "rec" / PROBES).exists()


def test_ctrl_c_ends_a_recording_and_keeps_it(tmp_path: Path) -> None:
    """Without a command it goes on until Ctrl-C, and ends as if the command had ended."""
    with begun("-o", str(tmp_path / "rec")) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 0
    assert settings(tmp_path / "rec")["exit"] is None


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    """Nothing is overwritten."""
    (tmp_path / "kept").write_text("kept")
    done = subprocess.run([*RECORD, "-o", str(tmp_path), "--", "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "choose another folder with -o" in done.stderr


def test_nothing_is_left_behind(tracefs: TraceFs, tmp_path: Path) -> None:
    """While it records there are two instances of the trace buffer, and no mount; then neither."""
    with begun("-o", str(tmp_path / "rec")) as process:
        assert len(instances(tracefs, process.pid)) == 2
        assert PREFIX not in Path("/proc/mounts").read_text()
        process.send_signal(signal.SIGINT)
    assert not instances(tracefs, process.pid)


def test_what_a_killed_recording_left_is_removed_by_the_next(tracefs: TraceFs, tmp_path: Path) -> None:
    """The capture ends with the process that is killed; its instances go when something is recorded again."""
    with begun("-o", str(tmp_path / "killed")) as process:
        process.kill()
    wait_until_ended(tmp_path / "killed" / PACKETS)
    subprocess.run([*RECORD, "-o", str(tmp_path / "next"), "--", "true"], check=True, capture_output=True)
    assert not instances(tracefs, process.pid)


def wait_until_ended(written: Path) -> None:
    """Wait until no process has this file open."""
    end = time.monotonic() + WAIT_S
    while any(_has_open(process, written) for process in Path("/proc").glob("[0-9]*")):
        assert time.monotonic() < end, "the capture goes on"
        time.sleep(0.05)


def _has_open(process: Path, file: Path) -> bool:
    try:
        return any(one.resolve() == file for one in (process / "fd").iterdir())
    except OSError:
        return False


def test_the_other_end_is_recorded_too(tmp_path: Path) -> None:
    """What ssh runs there until the transfer has ended comes back into a folder; here "there" is the same machine."""
    environment = {**os.environ, "PATH": f"{fake_ssh(tmp_path)}:{os.environ['PATH']}"}
    port, directory = str(local_transfer.free_port()), tmp_path / "rec"
    arguments = ["--port", port, "--remote", "user@server", "-o", str(directory), "--", *TRANSFER, "100000", port]
    subprocess.run([*RECORD, *arguments], check=True, capture_output=True, env=environment)
    for folder in (directory, directory / "remote"):
        assert (folder / PACKETS).stat().st_size > 1_000
        assert (folder / PROBES).exists()
    assert settings(directory / "remote")["command"] == ["cat"]


def fake_ssh(tmp_path: Path, before: str = "") -> Path:
    """A folder with an ssh that runs what it is given on this machine, on the loopback interface.

    `before` comes before that; what it runs has nothing to do with the terminal, as at another host.
    """
    tools = tmp_path / "bin"
    tools.mkdir()
    _script(tools / "ssh", f'{before}\n[ "$1 $2" = "-- user@server" ] && setsid sh -c "$3"')
    _script(tools / "multitracer", f'shift; exec {sys.executable} -m multitracer record -i lo "$@"')
    return tools


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_an_end_where_nothing_is_recorded_is_an_error(tmp_path: Path) -> None:
    """With what that end said, before the transfer begins."""
    tools = tmp_path / "bin"
    tools.mkdir()
    _script(tools / "ssh", "echo 'sh: multitracer: not found' >&2; exit 127")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    arguments = ["--remote", "user@server", "-o", str(tmp_path / "rec"), "--", "touch", str(tmp_path / "run")]
    done = subprocess.run([*RECORD, *arguments], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 5
    assert "user@server: nothing is recorded there: sh: multitracer: not found" in done.stderr
    assert not (tmp_path / "run").exists()


def test_ssh_asks_in_the_terminal_and_outlives_ctrl_c_there(tmp_path: Path) -> None:
    """A password is asked for in /dev/tty; Ctrl-C reaches all in the terminal's foreground, and both recordings end."""
    asking = "printf 'password: ' >/dev/tty; read -r answer </dev/tty; [ \"$answer\" = secret ] || exit 255"
    environment = {**os.environ, "PATH": f"{fake_ssh(tmp_path, asking)}:{os.environ['PATH']}"}
    directory = tmp_path / "rec"
    with ExitStack() as stack:
        terminal, end = os.openpty()
        stack.callback(os.close, terminal)
        stack.callback(os.close, end)
        # The leader of a session that opens a terminal has it from then on.
        command = ["sh", "-c", f'exec "$@" <{os.ttyname(end)}', "sh", *RECORD, "--remote", "user@server"]
        process = stack.enter_context(subprocess.Popen(
            [*command, "-o", str(directory)], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        ))  # fmt: skip
        stack.callback(process.kill)
        assert process.stderr
        assert select.select([terminal], [], [], WAIT_S)[0], "it did not ask"
        assert os.read(terminal, 100) == b"password: "
        os.write(terminal, b"secret\n")
        assert "recording on lo" in process.stderr.readline()
        os.write(terminal, b"\x03")
        assert process.wait(WAIT_S) == 0
    assert settings(directory)["missing"] == []
    assert settings(directory / "remote")["command"] == ["cat"]


def test_a_connection_that_breaks_leaves_the_recording_of_this_end(tmp_path: Path) -> None:
    """It is complete and analysed, machine.json says what is missing, and the error is told at the end."""
    tools = tmp_path / "bin"
    tools.mkdir()
    _script(tools / "ssh", "echo recording on lo >&2; cat >/dev/null; echo 'Connection reset' >&2; exit 255")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    directory, port = tmp_path / "rec", str(local_transfer.free_port())
    command = [*(word for word in RECORD if word != "--no-analyze"), "--port", port, "--remote", "user@server"]
    command += ["-o", str(directory), "--", *TRANSFER, "100000", port]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 5
    assert "the recording of the other end did not arrive whole" in done.stderr
    (lack,) = settings(directory)["missing"]
    assert lack["what"] == "the recording of the other end"
    assert "user@server (Connection reset)" in lack["needs"]
    assert (settings(directory)["exit"], settings(directory)["capture"]["complete"]) == (0, True)
    assert (directory / "analysis" / "summary.json").exists()


def test_a_recording_that_failed_at_the_other_end_did_not_arrive_whole(tmp_path: Path) -> None:
    """Though what there is of it is sent, and kept."""
    tools = fake_ssh(tmp_path)
    failing = 'while [ "$1" != -o ]; do shift; done; mkdir -p "$2"; echo packets >"$2/snd.pcap"; '
    _script(tools / "multitracer", failing + "echo recording on lo >&2; cat >/dev/null; exit 137")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    directory, port = tmp_path / "rec", str(local_transfer.free_port())
    command = [*RECORD, "--port", port, "--remote", "user@server", "-o", str(directory), "--", *TRANSFER, "1000", port]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 5
    (lack,) = settings(directory)["missing"]
    assert "(it ended with status 137)" in lack["needs"]
    assert (directory / "remote" / "snd.pcap").read_text() == "packets\n"


def test_an_interrupt_of_the_recording_alone_ends_its_command(tmp_path: Path) -> None:
    """As by `kill -INT`: the command is interrupted too, and what was recorded is kept."""
    waiting = "import signal, time; signal.signal(signal.SIGINT, lambda *_: exit(7)); time.sleep(60)"
    with begun("-o", str(tmp_path / "rec"), "--", sys.executable, "-c", waiting) as process:
        time.sleep(0.5)  # until it handles the signal
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 0
    assert settings(tmp_path / "rec")["exit"] == 7


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_stop_that_arrives_as_many_signals_ends_the_recording_in_order(
    tracefs: TraceFs, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """As when a parent with threads dies: the kernel signals for each of them, also while the recording ends."""
    with begun("-o", str(tmp_path / "rec")) as process:
        while not (tmp_path / "rec" / MACHINE).exists() and process.poll() is None:
            process.send_signal(number)
            time.sleep(0.02)
        assert process.wait(WAIT_S) == status
    assert not instances(tracefs, process.pid)
    assert settings(tmp_path / "rec")["capture"]["complete"]


DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"


def test_further_interrupts_end_a_command_that_ignores_the_first(tmp_path: Path) -> None:
    """Each with more force: SIGTERM follows what it ignores."""
    with begun("-o", str(tmp_path / "rec"), "--", sys.executable, "-c", DEAF) as process:
        end = time.monotonic() + WAIT_S
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.8)  # until it ignores the signal; later ones are further stops
            process.send_signal(signal.SIGINT)
    assert settings(tmp_path / "rec")["exit"] == -signal.SIGTERM


def test_one_sigterm_ends_a_command_that_ignores_interrupts(tmp_path: Path) -> None:
    """Who sends it, as a service manager does, sends no other before it kills the recording."""
    with begun("-o", str(tmp_path / "rec"), "--", sys.executable, "-c", DEAF) as process:
        time.sleep(0.5)  # until it ignores the signal
        process.terminate()
        assert process.wait(WAIT_S) == 143
    assert settings(tmp_path / "rec")["exit"] == -signal.SIGTERM


def test_an_interrupt_before_the_command_is_started_ends_the_program_with_130(tracefs: TraceFs, tmp_path: Path) -> None:
    """While the recorders begin: the command does not run, and what follows it in a shell does not either."""
    directory = tmp_path / "rec"
    command = [*RECORD, "-o", str(directory), "--", "touch", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while not directory.exists():
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(WAIT_S) == 130
    assert not (tmp_path / "run").exists()
    assert not instances(tracefs, process.pid)


def test_an_interrupted_recording_of_both_ends_comes_back_whole(tmp_path: Path) -> None:
    """Signals that follow while the other end sends what it recorded are of the same stop."""
    environment = {**os.environ, "PATH": f"{fake_ssh(tmp_path)}:{os.environ['PATH']}"}
    directory = tmp_path / "rec"
    command = [*RECORD, "--remote", "user@server", "-o", str(directory)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr
        assert "recording on lo" in process.stderr.readline()
        for _ in range(5):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        assert process.wait(WAIT_S) == 143
    assert settings(directory)["exit"] is None
    assert settings(directory / "remote")["command"] == ["cat"]

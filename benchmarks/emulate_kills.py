"""Emulated transfers one after the other, a third of them killed: what is left behind, looked for from outside.

    sudo python benchmarks/emulate_kills.py [RUNS] [SEED]

At a random moment a random process of such a run gets SIGINT, SIGTERM or SIGKILL. When the run has ended, none of its
processes, network namespaces, interfaces, trace instances, temporary files or shared memory may be there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from multitracer.recorder.tracefs import PREFIX, TraceFs

SCENARIO = """
[link]
protocol = "raw"
rate_bps = 2000000
delay_s = 0.01
frame_bytes = 1500
queue_frames = 0
hand_down = "lazy"

[workload]
kind = "file-transfer"
file_bytes = 450000
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MARK = "MULTITRACER_KILLS_RUN"
"""An environment variable that all processes of a run have."""
LEFT_S, LONGEST_S, POLL_S = 5.0, 120.0, 0.1
"""What a run leaves may take so long to go."""
MOST_LISTINGS = 20
"""lsns(8) is called so often where other processes of the machine come and go."""
KNOWN = {
    "transfer.json",
    "exchanges.csv",
    "kernel_clocks.txt",
    "lateness.csv",
    "link_packets.csv",
    "truth.json",
    "snd",
    "rcv",
}
SHARED = Path("/dev/shm")


@dataclass
class Run:
    """One transfer, and what was seen of it."""

    scenario: Path
    scratch: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    pids: set[int] = field(default_factory=set)
    spaces: set[str] = field(default_factory=set)
    killed: str = ""

    def start(self) -> subprocess.Popen[bytes]:
        """Begin it."""
        temporary = self.scratch / "tmp"
        temporary.mkdir()
        command = [sys.executable, "-m", "multitracer", "emulate", str(self.scenario), "--no-analyze", "-q", "-o"]
        environment = {**os.environ, MARK: self.mark, "TMPDIR": str(temporary)}
        return subprocess.Popen([*command, str(self.scratch / "out")], env=environment, start_new_session=True)

    def look(self) -> list[int]:
        """Its processes, whose namespaces are noted."""
        found = list(marked(self.mark))
        self.pids |= set(found)
        own = namespace(os.getpid())
        self.spaces |= {space for pid in found if (space := namespace(pid)) not in ("", own)}
        return found

    def left(self, before: set[str], tracefs: TraceFs) -> list[str]:
        """What is still there of it."""
        found = [f"process {name_of(pid)}" for pid in marked(self.mark)]
        held = spaces()
        found += [f"namespace {space}" for space in self.spaces & held.keys() if held[space] in {0, *self.pids}]
        found += [f"interface {name}" for name in interfaces() - before]
        found += [f"trace instance {name}" for name in instances(tracefs, self.pids)]
        found += [f"temporary {path.name}" for path in (self.scratch / "tmp").iterdir()]
        out = self.scratch / "out"
        names = {path.name for path in out.iterdir()} if out.exists() else set[str]()
        return found + [f"output {name}" for name in names - KNOWN if not name.startswith("erasures.")]


def marked(mark: str) -> Iterator[int]:
    """The processes of a run."""
    needle = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (folder / "environ").read_bytes():
                yield int(folder.name)
        except OSError:
            continue


def name_of(pid: int) -> str:
    """What a process was started as."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def namespace(pid: int) -> str:
    """The network namespace of a process."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def listed_spaces() -> str:
    """What lsns(8) prints; it gives up where a process ends while it reads its files."""
    command = ["lsns", "-t", "net", "-n", "-r", "-o", "NS,PID"]
    for _ in range(MOST_LISTINGS):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout
    raise SystemExit(f"lsns failed {MOST_LISTINGS} times in a row: {done.stderr}")


def spaces() -> dict[str, int]:
    """All network namespaces that lsns(8) sees, and a process of each, 0 for none; their numbers are used again."""
    rows = (line.split() for line in listed_spaces().splitlines())
    return {f"net:[{number}]": int(process[0]) if process else 0 for number, *process in rows}


def interfaces() -> set[str]:
    """The machine's interfaces."""
    shown = subprocess.run(["ip", "-j", "link"], capture_output=True, check=True).stdout
    return {one["ifname"] for one in json.loads(shown)}


def instances(tracefs: TraceFs, pids: set[int]) -> set[str]:
    """Trace instances of these processes."""
    found = (folder.name for folder in tracefs.path("instances").iterdir())
    return {name for name in found if name.startswith(f"{PREFIX}-") and int(name.split("-")[1]) in pids}


def carry_out(run: Run, kill_at_s: float | None, chosen: random.Random) -> tuple[int, float]:
    """Let it run to its end, killed on the way if asked; its status, and how long it took."""
    begun = time.monotonic()
    with run.start() as process:
        while process.poll() is None and time.monotonic() < begun + LONGEST_S:
            time.sleep(POLL_S)
            pids = run.look()
            if kill_at_s is not None and not run.killed and time.monotonic() > begun + kill_at_s and pids:
                victim, number = chosen.choice(sorted(pids)), chosen.choice(SIGNALS)
                run.killed = f"{number.name} to {name_of(victim)[-70:]}"
                try:
                    os.kill(victim, number)
                except ProcessLookupError:
                    run.killed = ""
        if process.poll() is None:
            process.kill()
            raise SystemExit(f"a run did not end within {LONGEST_S:g} s after {run.killed}")
    return process.returncode, time.monotonic() - begun


def check(run: Run, before: set[str], tracefs: TraceFs) -> list[str]:
    """What it left, given some time to go."""
    end = time.monotonic() + LEFT_S
    while (left := run.left(before, tracefs)) and time.monotonic() < end:
        time.sleep(POLL_S)
    return left


def main(runs: int, seed: int) -> int:
    """Do the runs; how much they left."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell lets it be ignored
    chosen, outcomes, left = random.Random(seed), Counter[str](), list[str]()
    tracefs, shortest, shared = TraceFs.open(), LONGEST_S, set(SHARED.iterdir())
    with tempfile.TemporaryDirectory() as place:
        scenario = Path(place, "scenario.toml")
        scenario.write_text(SCENARIO)
        for number in range(runs):
            before = interfaces()
            scratch = Path(place, str(number))
            scratch.mkdir()
            run = Run(scenario, scratch)
            is_killed = number % 3 == 2
            status, took = carry_out(run, chosen.uniform(0, shortest) if is_killed else None, chosen)
            shortest = shortest if run.killed else min(shortest, took)
            found = check(run, before, tracefs)
            outcomes[f"{run.killed.partition(' ')[0] or 'not killed'}: {status}"] += 1
            left += [f"run {number} ({run.killed or 'not killed'}, status {status}): {one}" for one in found]
            print(f"{number}: {status} after {took:.1f} s {run.killed} {found or ''}", flush=True)
        left += [f"shared memory {one}" for one in set(SHARED.iterdir()) - shared]
    print(f"{runs} runs; status by signal: {dict(outcomes)}; left behind: {len(left)}", *left, sep="\n")
    return len(left)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("runs", type=int, nargs="?", default=60)
    arguments.add_argument("seed", type=int, nargs="?", default=1)
    given = arguments.parse_args()
    sys.exit(bool(main(given.runs, given.seed)))

"""A campaign of many small transfers: two processes against one, and going on after a kill.

Makes captures of small transfers that differ, compares them with `--jobs 1` and `--jobs 2` in turn, and checks that
both write the same octets. Then it kills a campaign with SIGKILL when a third is done, lets it go on, and counts what
was done twice. With --cluster, the scheduler and two workers of a Dask cluster do it once more, of which one worker is
killed when a third is done. Usage:

    python benchmarks/campaign.py [--transfers 500] [--turns 1] [--no-report] [--cluster]
"""

from __future__ import annotations

import argparse
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from dask_cluster import cluster

RTT_US = 40_000
SEGMENT = 1448


def capture(path: Path, number: int) -> None:
    """Write a transfer of some hundred segments at its sender, every 50th sent again; link type raw IPv4."""
    rows, time_us = [], 10**15 + number * 10**7
    sequence = 1
    for at in range(200 + number % 100):
        for again in (0, 1) if at % 50 == 25 else (0,):
            rows.append((time_us + again * 3 * RTT_US, _packet(0, sequence, 1, SEGMENT, number)))
        rows.append((time_us + RTT_US, _packet(1, 1, sequence + SEGMENT, 0, number)))
        sequence += SEGMENT
        time_us += 2_000
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for when, (packet, length) in sorted(rows, key=lambda row: row[0]):
            file.write(struct.pack("<IIII", when // 10**6, when % 10**6, len(packet), length) + packet)


def _packet(sender: int, sequence: int, acknowledged: int, payload: int, number: int) -> tuple[bytes, int]:
    """The headers of a packet, and its length on the wire."""
    ends = [(bytes([10, 0, 0, 1]), 1024 + number), (bytes([10, 0, 0, 2]), 80)]
    (source, source_port), (target, target_port) = ends[sender], ends[1 - sender]
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0, source, target)
    tcp = struct.pack("!HHIIBBHHH", source_port, target_port, sequence, acknowledged, 0x50, 0x10, 65535, 0, 0)
    return ip + tcp, 40 + payload


def command(inputs: list[str], out: Path, *options: str) -> list[str]:
    """The campaign's command."""
    return [sys.executable, "-m", "multitracer", "analyze", "--compare", *inputs, "-o", str(out), "-q", *options]


def timed(inputs: list[str], out: Path, *options: str) -> float:
    """How many seconds a campaign takes."""
    started = time.monotonic()
    subprocess.run(command(inputs, out, *options), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def octets(out: Path) -> dict[str, bytes]:
    """Every file of a campaign."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def made(out: Path) -> dict[str, int]:
    """When each experiment's summary was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/summary.json")}


def killed(inputs: list[str], out: Path, *options: str) -> dict[str, int]:
    """Kill a campaign when a third of it is done; returns what was done, once its processes have ended."""
    running = subprocess.Popen(command(inputs, out, "--jobs", "2", *options), stdout=subprocess.DEVNULL)
    while len(made(out)) < len(inputs) / 3:
        time.sleep(0.05)
    running.kill()
    running.wait()
    time.sleep(5)
    return made(out)


def on_cluster(inputs: list[str], out: Path, *options: str) -> float:
    """How many seconds a campaign takes over a Dask cluster of which one of two workers is killed."""
    with cluster(out.parent) as (address, workers):
        started = time.monotonic()
        running = subprocess.Popen(command(inputs, out, "--cluster", address, *options), stdout=subprocess.DEVNULL)
        while len(made(out)) < len(inputs) / 3 and running.poll() is None:
            time.sleep(0.05)
        workers[0].kill()
        if running.wait():
            raise subprocess.CalledProcessError(running.returncode, running.args)
        return time.monotonic() - started


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transfers", type=int, default=500)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--cluster", action="store_true")
    asked = parser.parse_args()
    options = ["--no-report"] if asked.no_report else []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        inputs = [str(scratch / f"{number}.pcap") for number in range(asked.transfers)]
        for number, path in enumerate(inputs):
            capture(Path(path), number)
        timed(inputs[:2], scratch / "warm", *options)
        pairs = []
        for turn in range(asked.turns):
            outs = [scratch / f"{turn}-{jobs}" for jobs in (1, 2)]
            pairs.append([timed(inputs, out, "--jobs", str(jobs), *options) for jobs, out in enumerate(outs, 1)])
            one, two = pairs[-1]
            print(f"one process {one:.1f} s, two {two:.1f} s: {one / two:.2f} times as fast")
        print(f"median: {statistics.median(one / two for one, two in pairs):.2f} times as fast with --jobs 2")
        print("the same octets:", octets(outs[0]) == octets(outs[1]))
        done = killed(inputs, scratch / "killed", *options)
        again = timed(inputs, scratch / "killed", "--jobs", "2", *options)
        twice = sum(made(scratch / "killed")[name] != when for name, when in done.items())
        print(f"killed with {len(done)} done, went on in {again:.1f} s, {twice} done twice")
        print("the same octets:", octets(scratch / "killed") == octets(outs[0]))
        if asked.cluster:
            took = on_cluster(inputs, scratch / "cluster", *options)
            print(f"over a cluster, one of two workers killed: {took:.1f} s")
            print("the same octets:", octets(scratch / "cluster") == octets(outs[0]))


if __name__ == "__main__":
    main()

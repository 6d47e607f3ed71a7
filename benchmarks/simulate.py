"""TCP over the link protocols: processor time of a segment with its ACK, beside ns-2, and of a first run.

Before that, links alone: both sides send all the time, SDUs that fill a frame of 250 octets each, without TCP and
without payload.
Transfers of 10 megabytes in segments of 250 octets over the 64 kbit/s link, the same here and in ns-2 (Debian: ns2),
at no loss and at 5.4 % of the frames lost. The time is that of the loop on one core: what is prepared for a run is not
in it, nor is ns-2's start, measured by a transfer of one segment. A first run is the whole process with nothing
compiled. Usage:

    python benchmarks/simulate.py [--transfers 20] [--no-first]
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from multitracer.replay.engine.direction import Direction, RandomErasures
from multitracer.replay.engine.driver import Engine, Protocol
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.rlc import RLC_AM
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.simulation import Simulation

SCRIPT = Path(__file__).with_suffix(".tcl")
FILE_BYTES, SEGMENT_BYTES = 10_000_000, 250
PROTOCOLS = ("raw", "sr", "rlc-am")
NS2 = "ns-2, raw link"
IN_A_ROW = 5
LOSSES = (0.0, 0.054)
ALONE = {"raw": RAW, "sr": SR, "rlc-am": RLC_AM}
ALONE_NS = 20_000 * 10**9
FRAME_BYTES = 250
DATA_FRAMES = ("sent", "first_sendings", "retransmissions")
"""What entities call the frames with data that they sent."""


def scenario(protocol: str, loss: float, file_bytes: int = FILE_BYTES) -> Scenario:
    """A file transfer; RLC hands down when the link is free, as its polls are meant."""
    keys = {"link.protocol": protocol, "tcp.variant": "reno", "workload.file_bytes": file_bytes}
    lossy = {"channel.model": "uniform", "channel.frame_loss_rate": loss} if loss else {}
    lazy = {"link.hand_down": "lazy"} if protocol == "rlc-am" else {}
    return resolve(f"{protocol} at {loss:g}", {"workload.kind": "file-transfer", **keys, **lossy, **lazy})


Transfer: TypeAlias = Callable[[int], tuple[float, int, float]]
"""By a seed: processor time (s), segments that TCP sent, and how long the transfer took (s)."""


def ours(protocol: str, loss: float) -> Transfer:
    """Transfers over one of our links."""
    Simulation(setting(scenario(protocol, loss, 100_000), 1)).run()  # loads the compiled loop

    def transfer(seed: int) -> tuple[float, int, float]:
        simulation = Simulation(setting(scenario(protocol, loss), seed))
        before = time.process_time()
        done = simulation.run()
        spent = time.process_time() - before
        # The wired end sends the file.
        return spent, int(done.setting.tcp.ends["packets"][0]), float(done.source.work.objects["end_ns"].max()) / 1e9

    return transfer


def alone(protocol: Protocol, loss: float) -> float:
    """Frames with data that both sides send in a second of processor time."""
    Engine(*link(protocol, loss)).run(1)  # loads the compiled loop
    engine = Engine(*link(protocol, loss))
    before = time.process_time()
    engine.run(ALONE_NS)
    spent = time.process_time() - before
    counted = [protocol.counters(e) for e in (engine.a, engine.b)]
    return sum(each.get(name, 0) for each in counted for name in DATA_FRAMES) / spent


def link(protocol: Protocol, loss: float) -> tuple[Any, ...]:
    """What an engine is made of: both sides send all the time, without payload."""
    own = protocol.parameters(**({"pdu_bytes": FRAME_BYTES} if protocol is RLC_AM else {}))
    channels = [RandomErasures(np.random.default_rng(seed).random, loss) for seed in (1, 2)]
    forth, back = (Direction(50_000_000, rate_bps=64_000, channel=channel) for channel in channels)
    # An SDU, and what says where it ends, fill a frame.
    room = FRAME_BYTES - (4 if protocol is RLC_AM else own.header_bytes)
    return protocol, (own, own), forth, back, source(saturated=(room, room))


def theirs(loss: float) -> Transfer:
    """Transfers over ns-2's raw link."""

    def transfer(seed: int) -> tuple[float, int, float]:
        starting, _, _ = ns(seed, 1, 0.0)
        took, end, sent = ns(seed, FILE_BYTES // SEGMENT_BYTES, loss)
        return took - starting, sent, end

    return transfer


def compared(loss: float, transfers: int) -> None:
    """Print what a segment costs here and in ns-2; in turn, as machines slow down for minutes."""
    runners = {NS2: theirs(loss)} if shutil.which("ns") else {}
    runners |= {protocol: ours(protocol, loss) for protocol in PROTOCOLS}
    made = {name: np.array(rows) for name, rows in taken_in_turn(runners, transfers).items()}
    cost = {name: 1e6 * rows[:, 0].sum() / rows[:, 1].sum() for name, rows in made.items()}
    for name, rows in made.items():
        ratio = f", {cost[NS2] / cost[name]:.1f} times ns-2's rate" if NS2 in cost and name != NS2 else ""
        lasted = f"{rows[:, 2].mean():.1f} s a transfer"
        print(f"{name}, {100 * loss:g} % lost: {cost[name]:.2f} us a segment{ratio}, {lasted}", flush=True)


def taken_in_turn(runners: dict[str, Transfer], transfers: int) -> dict[str, list[tuple[float, int, float]]]:
    """What each runner gives for each seed, IN_A_ROW at a time, so that most find the caches as they left them."""
    rows: dict[str, list[tuple[float, int, float]]] = {name: [] for name in runners}
    for first in range(1, transfers + 1, IN_A_ROW):
        for name, runner in runners.items():
            rows[name] += [runner(seed) for seed in range(first, min(first + IN_A_ROW, transfers + 1))]
    return rows


def ns(seed: int, segments: int, loss: float) -> tuple[float, float, int]:
    """Processor time (s) of a transfer, and what it prints: when it ended (s), packets sent."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["ns", str(SCRIPT), str(seed), str(segments), f"{loss:g}"]
    end, sent = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, float(end), int(sent)


def first(protocol: str) -> float:
    """Processor time (s) of a process that compiles a protocol's loop and runs a short transfer."""
    with tempfile.TemporaryDirectory() as cache:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [sys.executable, __file__, "--only", protocol]
        subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": cache}, stdout=subprocess.DEVNULL)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transfers", type=int, default=20)
    parser.add_argument("--no-first", action="store_true", help="do not compile the loops anew")
    parser.add_argument("--only", choices=PROTOCOLS, help="run one short transfer, and measure nothing")
    asked = parser.parse_args()
    if asked.only:
        Simulation(setting(scenario(asked.only, 0.054, 100_000), 1)).run()
        return
    for name, loss in itertools.product(ALONE, LOSSES):
        rate = max(alone(ALONE[name], loss) for _ in range(5))
        print(f"{name} alone, {100 * loss:g} % lost: {rate / 1e6:.2f} million frames with data a second", flush=True)
    for loss in LOSSES:
        compared(loss, asked.transfers)
    for protocol in () if asked.no_first else PROTOCOLS:
        print(f"first run of {protocol}: {first(protocol):.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()

"""How fast erasure traces go through link models: blocks a second, and against the straightforward NumPy.

Makes a trace of 500 minutes (1.5 million blocks) of a Gilbert channel with 4.8 % of losses in bursts, and
runs it at 50 frame sizes. Usage:

    python benchmarks/retrace.py [--minutes 500] [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.retrace.ideal import good_groups
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace

SIZES = np.arange(1, 51)


def made(minutes: float, p_bad: float = 0.004, p_good: float = 0.08) -> np.ndarray:
    """An erasure trace of a Gilbert channel, 3000 blocks per minute: bool, True for a lost block."""
    blocks, generator = int(3000 * minutes), np.random.default_rng(1)
    pairs = int(2 * blocks / (1 / p_bad + 1 / p_good)) + 1000
    lengths = np.stack([generator.geometric(p_bad, pairs), generator.geometric(p_good, pairs)], axis=1).ravel()
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)[:blocks]


def by_numpy(erased: np.ndarray) -> list[int]:
    """The number of groups without a lost block for every size, with NumPy."""
    found = []
    for size in SIZES:
        groups = len(erased) // size
        found.append(int((~erased[: groups * size].reshape(groups, size).any(axis=1)).sum()))
    return found


def by_kernel(erased: np.ndarray) -> list[int]:
    """The same with the program's kernel."""
    good, _ = good_groups(erased, SIZES, np.zeros(1, dtype=np.int64))
    return [int(count) for count in good[:, 0]]


def best(function: Callable[[], object], runs: int) -> float:
    """The shortest of several runs, in seconds."""
    took = []
    for _ in range(runs):
        begun = time.perf_counter()
        function()
        took.append(time.perf_counter() - begun)
    return min(took)


def ideal(minutes: float, runs: int) -> None:
    """The model `ideal` against NumPy, for three lengths of the trace."""
    for share in (0.1, 0.5, 1.0):
        erased = made(share * minutes)
        assert by_kernel(erased) == by_numpy(erased)
        ours, theirs = best(lambda e=erased: by_kernel(e), runs), best(lambda e=erased: by_numpy(e), runs)
        print(f"ideal, {len(erased):>9,} blocks, 50 sizes: {1e3 * ours:7.1f} ms; NumPy {1e3 * theirs:7.1f} ms: "
              f"{theirs / ours:.1f} times as fast")  # fmt: skip


def cold() -> None:
    """The whole command with an empty and with a filled compile cache."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "trace.txt"
        path.write_text("".join(map(str, made(500).astype(int))))
        command = [sys.executable, "-m", "multitracer", "retrace", str(path), "-q", "-o", f"{scratch}/out"]
        environment = {**os.environ, "XDG_CACHE_HOME": f"{scratch}/cache"}
        for what in ("cold", "warm"):
            begun = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            print(f"multitracer retrace, ideal, page and all, {what}: {time.perf_counter() - begun:.2f} s")
        shutil.rmtree(f"{scratch}/cache")


def protocols(minutes: float, runs: int) -> None:
    """Every protocol, both ends, with frames of 30 octets: opportunities per second on one core."""
    trace = ErasureTrace("made", made(minutes))
    for model in ("rlp", "rlc-am", "rlc-um", "rlc-tm", "raw", "sr", "asr"):
        took = best(lambda m=model: retrace([trace], Settings(m, (30,), resamples=0)), runs)
        print(f"{model:>7}, {len(trace.erased):,} blocks of 30 octets: {took:6.2f} s, "
              f"{len(trace.erased) / took / 1e6:6.2f} million a second")  # fmt: skip


def cores(minutes: float) -> None:
    """All 50 sizes with one worker, and with one per core."""
    trace = ErasureTrace("made", made(minutes))
    for model in ("rlp", "rlc-am"):
        took = [best(lambda m=model, j=jobs: retrace([trace], Settings(m, resamples=0, jobs=j)), 2)
                for jobs in (1, os.cpu_count() or 1)]  # fmt: skip
        print(f"{model:>7}, 50 sizes: {took[0]:.2f} s by one worker, {took[1]:.2f} s by {os.cpu_count()}")


def main() -> None:
    """Run all benchmarks and print their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=500)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    ideal(asked.minutes, asked.runs)
    cold()
    protocols(asked.minutes, asked.runs)
    cores(asked.minutes)


if __name__ == "__main__":
    main()

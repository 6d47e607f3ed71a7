"""How often the 95 % interval of a throughput holds the true one: retrace's models over made channels.

For each channel, length and model: of so many traces, the share whose interval holds what the model carries over that
channel in the long run (by traces of other seeds, 600 hours in all: 13 times less uncertain than the longest trace).
Aimed at are 93 to 97 % over all cells of a model, and 91 to 98.5 % in each. Traces for which retrace says that there is
no interval are counted apart; a cell in which these are more than half is left out. Usage:

    python benchmarks/interval_coverage.py [--traces 200] [--jobs 2] [--first-seed N]
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.model import Channel
from multitracer.replay.channels.uniform import Uniform
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.retrace import MODEL_NAMES
from multitracer.replay.retrace.result import Retraced
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace

CHANNELS: dict[str, Channel] = {
    "uniform": Uniform(0.02),  # single blocks
    "gilbert": Gilbert(0.0042, 0.08),  # bursts of a quarter of a second, every five seconds: examples/channels/bad.toml
    "slow gilbert": Gilbert(0.0005, 0.01),  # bursts of two seconds, every forty seconds
}
MINUTES = (10, 60, 215)
FRAME_BYTES = 120
BLOCKS_A_MINUTE = 3000
FIRST_SEED, TRUTH_SEED = 40_000, 9_000_000
TRUTH_MINUTES, TRUTH_TRACES = 600, 60
ALL, EACH = (0.93, 0.97), (0.91, 0.985)


class Run(NamedTuple):
    """One trace, to be retraced by every model."""

    channel: str
    minutes: int
    seed: int
    resamples: int


class Found(NamedTuple):
    """What a model carried over one trace, bit/s, and the interval, if there is one."""

    bps: float
    interval: list[float] | None


def of(one: Retraced) -> Found:
    return Found(float(one.exact_bps[0] or 0), one.ci95_bps[0])


def carried(run: Run) -> dict[str, Found]:
    """By model."""
    erased = CHANNELS[run.channel].generate(run.minutes * BLOCKS_A_MINUTE, run.seed)
    sizes = {"frame_bytes": (FRAME_BYTES,), "baseline_bytes": FRAME_BYTES, "resamples": run.resamples}
    return {
        model: of(retrace([ErasureTrace("made", erased)], Settings(model=model, **sizes))[0]) for model in MODEL_NAMES
    }


def truth(pool: ProcessPoolExecutor, channel: str) -> dict[str, float]:
    runs = [Run(channel, TRUTH_MINUTES, TRUTH_SEED + seed, 0) for seed in range(TRUTH_TRACES)]
    found = list(pool.map(carried, runs))
    return {model: float(np.mean([each[model].bps for each in found])) for model in MODEL_NAMES}


def cell(found: list[Found], true_bps: float) -> tuple[float | None, str]:
    """The share of intervals that hold the truth, None if most traces have none; and the cell as text."""
    known = [one.interval for one in found if one.interval]
    without = f"{len(found) - len(known)} without" if len(known) < len(found) else ""
    if 2 * len(known) < len(found):
        return None, f"left out: {without}"
    share = float(np.mean([low <= true_bps <= high for low, high in known]))
    width = float(np.mean([high - low for low, high in known])) / 2 / true_bps
    off = "" if EACH[0] <= share <= EACH[1] else "  MISSED"
    return share, f"{share:6.1%}  +-{width:6.2%}  {without}{off}"


def main(traces: int, jobs: int, first_seed: int) -> None:
    shares: dict[str, list[float]] = {model: [] for model in MODEL_NAMES}
    with ProcessPoolExecutor(jobs) as pool:
        for channel in CHANNELS:
            began = time.perf_counter()
            true = truth(pool, channel)
            print(f"\n{channel}: truth known after {time.perf_counter() - began:.0f} s", flush=True)
            for minutes in MINUTES:
                runs = [Run(channel, minutes, first_seed + minutes * 10_000 + seed, 1000) for seed in range(traces)]
                found = list(pool.map(carried, runs, chunksize=4))
                for model in MODEL_NAMES:
                    share, text = cell([each[model] for each in found], true[model])
                    shares[model] += [] if share is None else [share]
                    print(f"  {minutes:4} min  {model:8}{text}", flush=True)
                print(f"  {time.perf_counter() - began:.0f} s", flush=True)
    print("\nall cells together")
    for model, each in shares.items():
        together = float(np.mean(each)) if each else float("nan")
        print(f"  {model:8}{together:6.1%}  {len(each)} cells" + ("" if ALL[0] <= together <= ALL[1] else "  MISSED"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=200, help="of each channel and length")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="of the traces; others are for trying")
    chosen = parser.parse_args()
    main(chosen.traces, chosen.jobs, chosen.first_seed)

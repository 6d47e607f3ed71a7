"""Files of 10 MB over a raw 64 kbit/s link by the model of ns-2's TCP, beside what ns-2.35 itself gave: is it the same?

The table has a row for each TCP, error model and loss rate: the mean throughput of 30 runs and the half-width of its
95 % interval. ns-2 judged a frame by the state at its end and began in the good state. Prints both, and the difference
as a share of 1.5 times the root of the sum of both half-widths' squares: above 1 they disagree. Usage:

    python benchmarks/ns2_raw_link.py TABLE.csv [--seeds 30] [--jobs 2]
"""

from __future__ import annotations

import argparse
import csv
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from multitracer.replay.simulate.run import run
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.schema import parsed
from multitracer.replay.simulate.statistics import summary

VARIANTS = {"Reno": "reno", "Newreno": "newreno", "Sack1": "sack", "Fack": "fack"}
WIRED = {"10M1": {}, "2M50": {"wired.rate_bps": 2_000_000, "wired.delay_s": 0.05}}
BAD_S = {0.0: 0.0, 0.015: 0.1, 0.025: 0.2, 0.054: 0.5, 0.098: 1.0}
"""Mean length of the bad state for each stated loss rate."""
FACTOR = 1.5


def scenario(row: dict[str, str]) -> Scenario:
    """The scenario of a row."""
    rate = float(row["flr"])
    channels: dict[str, dict[str, Any]] = {
        "none": {},
        "uniform": {"channel.model": "uniform", "channel.frame_loss_rate": rate},
        "two_state": {
            "channel.model": "two-state", "channel.rule": "end", "channel.start": "good", "channel.good_s": 10,
            "channel.good_ber": 1e-6, "channel.bad_ber": 1e-2, "channel.bad_s": BAD_S[rate],
        },
    }  # fmt: skip
    given = {"tcp.variant": VARIANTS[row["tcp"]]} | WIRED[row["wired"]] | channels[row["error_model"]]
    return resolve("", dict(parsed(name, value) for name, value in given.items()))


def throughput(described: Scenario, seed: int) -> float:
    """Of one run, in kbit/s."""
    return float(run(described, seed)["throughput_bps"]) / 1000


def main() -> None:
    """Run every row, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with options.table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    print("TCP     wired  errors      rate   ours kbit/s        ns-2 kbit/s       difference")
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in rows:
            described = scenario(row)
            seeds = range(1, 2 if row["error_model"] == "none" else options.seeds + 1)
            ours = summary(list(pool.map(throughput, [described] * len(seeds), seeds)))
            print(line(row, ours), flush=True)


def line(row: dict[str, str], ours: dict[str, Any]) -> str:
    """A row of what is printed."""
    mean, half = float(row["throughput_kbps_mean"]), float(row["ci95"])
    own = ours["ci95"] or 0.0
    allowed = FACTOR * math.hypot(half, own)
    apart = ours["mean"] - mean
    said = f"{apart:+.3f} = {abs(apart) / allowed:.2f} of {allowed:.3f}" if allowed else f"{apart:+.3f}"
    return (
        f"{row['tcp']:7s} {row['wired']:6s} {row['error_model']:10s} {row['flr']:>6s}   "
        f"{ours['mean']:6.3f} +- {own:.3f}   {mean:6.3f} +- {half:.3f}   {said}"
    )


if __name__ == "__main__":
    main()

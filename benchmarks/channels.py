"""How well channel models are fitted and told apart, and traces described: counted on made traces.

Prints, for each model, how fast it makes traces, how many standard errors its fitted parameters are from
the true ones, and how often it (or a model that is the same process) is recommended; then how often the
confidence interval of the error rate covers the true one, how often a change is seen where there is none,
and how often one that is there. Usage:

    python benchmarks/channels.py [--traces 30] [--repeats 400]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import channel_study

from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.channels.gilbert_elliott import GilbertElliott
from multitracer.replay.channels.model import Channel
from multitracer.replay.channels.recommendation import compare
from multitracer.replay.channels.two_state import TwoState
from multitracer.replay.channels.uniform import Uniform
from multitracer.replay.erasures.description import Description, describe

SPEED_BLOCKS = 1_500_000
STATIONARY: list[Channel] = [
    Uniform(0.001), Uniform(0.01), Uniform(0.1), Gilbert(0.004, 0.08), Gilbert(0.001, 0.08),
    GilbertElliott(0.005, 0.05, 0.002, 0.5), TwoState(10, 0.5, 1e-6, 1e-2), TwoState(10, 1.0, 1e-6, 1e-2),
]  # fmt: skip
BLOCKS = (20_000, 60_000, 600_000)
P_GOOD = {"single blocks": 1.0, "bursts of 3": 1 / 3, "bursts of 12": 1 / 12}


def fits(traces: int) -> None:
    print(f"\n{'model':16}{'s for 1.5 M':>12}{'recommended':>12}{'in 3 errors':>12}{'s per fit':>10}  else recommended")
    for name in channel_study.MODELS:
        began = time.perf_counter()
        channel_study.draw(name, 0)[0].generate(SPEED_BLOCKS, 1)
        made = time.perf_counter() - began
        others, away, elapsed = Counter[str](), [], 0.0
        for seed in range(traces):
            model, count = channel_study.draw(name, seed)
            trace = model.generate(count, seed)
            began = time.perf_counter()
            found = compare(trace)
            elapsed += time.perf_counter() - began
            others[found.recommended if not channel_study.recognised(model, found) else ""] += 1
            away += channel_study.deviations(model, found)
        right, within = others.pop("", 0), f"{np.mean(np.array(away) <= 3):.1%}" if away else "-"
        print(f"{name:16}{made:12.3f}{right:8}/{traces:<3}{within:>12}{elapsed / traces:10.2f}  {dict(others)}")


def covers(found: Description, rate: float) -> bool:
    if found.error_rate_low is None or found.error_rate_high is None:
        return False
    return found.error_rate_low <= rate <= found.error_rate_high


def intervals(repeats: int) -> None:
    print(f"\n{'blocks':>8}{'covered':>9}{'changes seen':>14}{'s':>8}  stationary channel")
    for model in STATIONARY:
        for count in BLOCKS:
            traces = [model.generate(count, seed) for seed in range(repeats)]
            began = time.perf_counter()
            found = [describe(trace) for trace in traces]
            elapsed = (time.perf_counter() - began) / repeats
            covered = np.mean([covers(each, model.error_rate) for each in found])
            cut = np.mean([len(each.stretches) > 1 for each in found])
            print(f"{count:8}{covered:9.1%}{cut:14.1%}{elapsed:8.3f}  {model}", flush=True)


def real_changes(repeats: int) -> None:
    print(f"\n{'blocks':>8}{'found':>8}{'once':>8}{'median miss':>13}  error rate 1 % to 8 % halfway")
    for name, p_good in P_GOOD.items():
        for count in BLOCKS:
            halves = [Gilbert(p_good * rate / (1 - rate), p_good) for rate in (0.01, 0.08)]
            traces = [
                np.concatenate([half.generate(count // 2, 2 * seed + at) for at, half in enumerate(halves)])
                for seed in range(repeats)
            ]
            found = [describe(trace).stretches for trace in traces]
            once = [stretches for stretches in found if len(stretches) == 2]
            miss = np.median([abs(stretches[0].blocks - count // 2) for stretches in once])
            seen = np.mean([len(stretches) > 1 for stretches in found])
            print(f"{count:8}{seen:8.1%}{len(once) / repeats:8.1%}{miss:13.0f}  {name}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=30, help="of each model")
    parser.add_argument("--repeats", type=int, default=400, help="of each stationary channel and length")
    chosen = parser.parse_args()
    fits(chosen.traces)
    intervals(chosen.repeats)
    real_changes(max(chosen.repeats // 4, 1))

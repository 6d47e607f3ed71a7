"""How late three emulated links are, in percent of a slot, and whether they carried every packet as their model did.

    sudo python benchmarks/lateness.py [SECONDS] [RUNS] [FOLDER]

A GSM call over RLP, and RLC AM at 384 kbit/s with 10 % of the frames lost and at 2 Mbit/s with slots of 2 ms: each as
long as that, the best of so many runs. Below 5 % for 99 of 100 slots is asked of a run that is to be trusted. Each
packet that a host sent, by its capture, is in the capture of the other one or was lost by the link's account, in the
model's order.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from carried_packets import differences

CASES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "RLP 9.6 kbit/s": ("gsm-call", 9_600, {"link.rate_bps": 9600, "link.frame_bytes": 24}),
    "RLC AM 384 kbit/s, 10 % lost": ("umts-download", 384_000, {}),
    "RLC AM 2 Mbit/s, slots of 2 ms": ("umts-download", 2_000_000, {
        "link.rate_bps": 2_000_000, "link.tti_s": 0.002, "link.frame_bytes": 500, "link.blocks_per_tti": 1,
        "channel.frame_loss_rate": 0.01,
    }),
}  # fmt: skip
"""Scenario, rate and keys."""
MOST_PERCENT = 5.0
SHARE = 0.8
"""Of the rate, about, is data: a file of so much lasts as long as asked."""


def emulated(name: str, rate_bps: int, keys: dict[str, Any], seconds: float, folder: Path) -> dict[str, Any]:
    """Emulate a case into a new folder; the truth."""
    keys = keys | {"workload.file_bytes": int(SHARE * rate_bps / 8 * seconds)}
    settings = [f"--set={key}={value}" for key, value in keys.items()]
    command = [sys.executable, "-m", "multitracer", "emulate", name, "--no-analyze", "-q", *settings, "-o", str(folder)]
    subprocess.run(command, check=True)
    found: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return found


def main(seconds: float, runs: int, folder: Path) -> int:
    """Print a line for each run; how many cases are too late at their best, or carried packets otherwise."""
    failed = 0
    for number, (title, case) in enumerate(CASES.items()):
        best, wrong = math.inf, list[str]()
        for run in range(runs):
            out = folder / f"{number}-{run}"
            truth = emulated(*case, seconds, out)
            differ = differences(out)
            wrong += differ
            best = min(best, truth["lateness_p99_percent"]) if truth["trusted"] else best
            shown = "; ".join(
                f"{what} {truth[f'{key}_p99_percent']:.2f} %, the latest {truth[f'{key}_max_percent']:.0f} %"
                for what, key in (("slots", "lateness"), ("packets", "delivery_lateness"))
            )
            print(f"{title}: {shown}; trusted: {truth['trusted']}", *differ, sep="\n  ", flush=True)
        failed += best >= MOST_PERCENT or bool(wrong)
    return failed


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("seconds", type=float, nargs="?", default=300)
    arguments.add_argument("runs", type=int, nargs="?", default=3)
    arguments.add_argument("folder", type=Path, nargs="?")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(bool(main(given.seconds, given.runs, given.folder or Path(scratch))))

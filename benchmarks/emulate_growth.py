"""Emulated transfers one after the other in one process, as a campaign's does: its descriptors and its memory.

    sudo python benchmarks/emulate_growth.py [RUNS]

After the first runs, which load and compile what is needed, neither grows.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path

from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.session import emulate
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

KEYS = {
    "link.protocol": "raw", "link.rate_bps": 2_000_000, "link.delay_s": 0.01, "link.frame_bytes": 1500,
    "link.queue_frames": 0, "link.hand_down": "lazy", "workload.kind": "file-transfer", "workload.file_bytes": 100_000,
}  # fmt: skip
LOADING = 40
"""Runs before the first look: until then pandas keeps ever more, up to 500, dead references to each lasting column."""
MOST_GROWTH_KB = 20
"""Of memory a run: less than a packet's record for each of its packets."""


def resident_kb() -> int:
    """What of this process is in memory, garbage collected."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def descriptors() -> int:
    """How many are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def main(runs: int) -> bool:
    """Do the runs, and print what is held after each; whether more was at the end than after the first ones."""
    said = dict(parsed(name, value) for name, value in KEYS.items())
    keys = KernelKeys(said)
    scenario = resolve("growth", {**said, "tcp.segment_bytes": keys["kernel.mtu"]})
    before = (0, 0)
    for number in range(1, LOADING + runs + 1):
        with tempfile.TemporaryDirectory() as name:
            emulate(scenario, keys, number, Path(name), (), lambda: None)
        held = descriptors(), resident_kb()
        print(f"{number}: {held[0]} descriptors, {held[1]:,} kB", flush=True)
        before = held if number == LOADING else before
    grown = held[1] - before[1]
    print(f"over {runs} runs: {held[0] - before[0]:+} descriptors, {grown:+,} kB ({grown / runs:+.1f} kB a run)")
    return held[0] > before[0] or grown > MOST_GROWTH_KB * runs


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("runs", type=int, nargs="?", default=100)
    sys.exit(main(arguments.parse_args().runs))

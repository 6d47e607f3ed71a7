"""`python tests/mutation`: mutated inputs through the whole pipeline, as many as wanted, in several processes."""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import random
import sys
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1] / "support"))

import mutants  # noqa: E402
import pipeline  # noqa: E402

CHUNK = 100


def _chunk(job: tuple[int, int, bool]) -> list[tuple[int, str, str]]:
    seed, first, compiled = job
    pipeline.settle(compiled=compiled)
    return pipeline.faults(seed, range(first, first + CHUNK))


def main() -> None:
    """Run, and print each kind of fault with the first input that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="kernels as plain Python")
    parser.add_argument("--save", type=Path, help="write this one input (--first) to a file, and run nothing")
    asked = parser.parse_args()
    if asked.save:
        asked.save.write_bytes(mutants.mutant(asked.seed, asked.first)[1])
        return
    print(f"seed {asked.seed}", flush=True)
    mutants.seeds()
    started, kinds, done = time.perf_counter(), collections.Counter[str](), 0
    jobs = [(asked.seed, first, not asked.plain) for first in range(asked.first, asked.first + asked.count, CHUNK)]
    with multiprocessing.get_context("fork").Pool(asked.jobs) as pool:
        for found in pool.imap_unordered(_chunk, jobs):
            done += CHUNK
            for number, name, wrong in found:
                kind = "\n".join(wrong.strip().splitlines()[-3:])
                kinds[kind] += 1
                if kinds[kind] == 1:
                    print(f"-- {number} ({name})\n{wrong}", flush=True)
    took = time.perf_counter() - started
    print(f"{done} inputs, {sum(kinds.values())} faults of {len(kinds)} kinds, {done / took:.0f} a second")
    for kind, count in kinds.most_common():
        print(f"{count} times: {kind}")


if __name__ == "__main__":
    main()

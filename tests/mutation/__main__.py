"""`python tests/mutation`: mutated inputs through the whole pipeline, as many as wanted, in several processes.

With `--bounds` an access out of bounds is a fault, also one that counts from an array's end without meaning to.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import random
import sys
import time
from pathlib import Path

import bounds

sys.path.insert(1, str(Path(__file__).parents[1] / "support"))

CHUNK = 50


def _chunk(job: tuple[int, range]) -> tuple[int, list[tuple[int, str, str]]]:
    """The number of inputs tried, and those that are treated wrongly."""
    import pipeline

    return len(job[1]), pipeline.faults(*job)


def _chunks(seed: int, first: int, count: int) -> list[tuple[int, range]]:
    end = first + count
    return [(seed, range(at, min(at + CHUNK, end))) for at in range(first, end, CHUNK)]


def _tell(kinds: collections.Counter[str], which: str, wrong: str) -> None:
    """Print where each fault is, and the whole of the first one of a kind."""
    kind = "\n".join(wrong.strip().splitlines()[-3:])
    kinds[kind] += 1
    print(which + (f"\n{wrong}" if kinds[kind] == 1 else ""), flush=True)


def main() -> None:
    """Run, and print each kind of fault with the first input that shows it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="kernels as plain Python")
    parser.add_argument("--bounds", action="store_true", help="kernels compiled with checks of every index")
    parser.add_argument("--save", type=Path, help="write this one input (--first) to a folder, and run nothing")
    asked = parser.parse_args()
    if asked.bounds:
        bounds.check()
    import mutants  # these have kernels
    import pipeline

    if asked.save:
        pipeline.save(mutants.mutant(asked.seed, asked.first), asked.save)
        return
    print(f"seed {asked.seed}", flush=True)
    pipeline.settle(compiled=not asked.plain)
    pipeline.warm()
    started, kinds, done = time.perf_counter(), collections.Counter[str](), 0
    with multiprocessing.get_context("fork").Pool(asked.jobs) as pool:
        for tried, found in pool.imap_unordered(_chunk, _chunks(asked.seed, asked.first, asked.count)):
            done += tried
            for number, name, wrong in found:
                _tell(kinds, f"-- --seed {asked.seed} --first {number} ({name})", wrong)
            rate = done / (time.perf_counter() - started)
            print(f"seed {asked.seed}: {done} inputs, {rate:.0f} a second", end="\r", file=sys.stderr, flush=True)
    took = time.perf_counter() - started
    print(f"{done} inputs, {sum(kinds.values())} faults of {len(kinds)} kinds, {done / took:.0f} a second")
    for kind, count in kinds.most_common():
        print(f"{count} times: {kind}")


if __name__ == "__main__":
    main()

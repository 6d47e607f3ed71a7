"""Mutated inputs of every format go through the whole pipeline, and only errors of ours come."""

from __future__ import annotations

import multiprocessing
import os

import mutants
import pipeline
import pytest

COUNT = 1000
"""Some 25 ms each on one processor; `python tests/mutation --count N` runs as many as wanted."""
SEED = 14
"""The same mutants each time, so that a change is refused for what it does; the command takes new ones."""


def _warm(_: None) -> None:
    pipeline.settle(compiled=True)
    pipeline.warm()


def _part(job: tuple[int, range]) -> list[tuple[int, str, str]]:
    pipeline.settle(compiled=True)
    return pipeline.faults(*job)


@pytest.mark.compiled
@pytest.mark.slow
def test_mutated_inputs_lose_records_and_nothing_else() -> None:
    """No exception that is not ours, no hang, no memory out of proportion."""
    workers = os.cpu_count() or 1
    mutants.seeds()
    edges = [COUNT * part // workers for part in range(workers + 1)]
    jobs = [(SEED, range(*edges[part : part + 2])) for part in range(workers)]
    forked = multiprocessing.get_context("fork")
    # Where nothing is compiled yet, one process compiles: several would do so at the same time, each for itself.
    with forked.Pool(1) as pool:
        pool.map(_warm, [None])
    with forked.Pool(workers) as pool:
        found = [fault for part in pool.map(_part, jobs, chunksize=1) for fault in part]
    assert not found, f"{len(found)} faults with seed {SEED}, the first: {found[0]}"


@pytest.mark.parametrize("number", range(5))
def test_a_mutant_can_be_made_again(number: int) -> None:
    """From its seed and number."""
    assert mutants.mutant(7, number) == mutants.mutant(7, number)

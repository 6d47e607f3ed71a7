"""Loops bound with a source of their own, a run that its source stops, and the ring of SDUs that ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.compute import kernels
from multitracer.compute.kernels import kernel
from multitracer.replay.arq.raw import machine
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.engine.direction import Direction, RandomErasures
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.ledger import GONE, WHOLE, grown, ledgers, post
from multitracer.replay.engine.loop import bind, to_side
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.source import Source, source
from multitracer.replay.engine.way import DONE, STOPPED

MS = 1_000_000


@pytest.fixture(autouse=True)
def _plain() -> None:
    kernels.choose(0)


def take_offers(link: Any, now: int) -> int:
    """Offer one packet, and another one whenever one ended; stop when five came.

    Uses the fields of the engine's own source: `most` of its only window is how many are wanted.
    """
    source, books = link.upper.source, link.upper.books
    window = source.windows[0]
    while books.ends.taken < books.ends.posted:
        row = books.ended[books.ends.taken & (len(books.ended) - 1)]
        books.ends.taken += 1
        window.under_way -= 1
        window.delivered += int(row.became != GONE)
    if window.delivered < window.most and window.under_way == 0:
        taken = to_side(link, 0, window.octets, 1, window.past, now)
        if taken < 0:
            return -taken
        window.under_way += 1
    source.state.next_ns = 2**62
    return STOPPED if window.delivered >= window.most else DONE


PARTS = {take_offers: kernel}
"""The function has the name by which `run` calls it."""


def asking(most: int, draw: Any, past: int = 0) -> Engine:
    """A raw link under a loop that has this `take_offers` in the place of the engine's own."""
    offered: Source = source(windows=[(0, 100, 1, most, 1, past)])
    loop = bind("raw_asking", machine, parts=PARTS)
    ways = [Direction(10 * MS, rate_bps=80_000, channel=RandomErasures(draw, loss_rate=0.5)) for _ in (0, 1)]
    parameters = RawParameters(header_bytes=0)
    return Engine(replace(RAW, run=loop), (parameters, parameters), *ways, offered, Keep(1000, ledger=4))


def test_a_loop_takes_the_source_that_it_is_bound_with() -> None:
    """Five packets, each offered when the one before ended; then the run stops, though it may go on."""
    engine = asking(5, lambda count: np.full(count, 0.9)).run(10_000 * MS)
    books = engine.link.upper.books
    assert int(books.state[0].offered) == 5
    offered = engine.log.rows[engine.log.rows["event"] == 0]["time_ns"]
    assert (np.diff(offered) == 20 * MS).all()
    last = int(engine.log.rows["time_ns"].max())
    assert last == 100 * MS


def test_a_run_that_was_stopped_does_nothing_more_until_its_source_wants_to() -> None:
    """Asked to run on it stops again at once; with more wanted it goes on at the time that its source says."""
    engine = asking(2, lambda count: np.full(count, 0.9)).run(10_000 * MS)
    lines = len(engine.log.rows)
    engine.run(20_000 * MS)
    assert len(engine.log.rows) == lines
    engine.link.upper.source.windows[0].most = 4
    engine.link.upper.source.state.next_ns = 25_000 * MS
    engine.run(30_000 * MS)
    assert int(engine.link.upper.books.state[0].offered) == 4
    assert int(engine.log.rows["time_ns"][lines]) == 25_000 * MS


def test_a_loop_with_its_own_source_hears_of_losses() -> None:
    """Half of the packets, which go past the entity, are lost: so many more are offered until five came."""
    luck = np.random.default_rng(5)
    engine = asking(5, lambda count: luck.random(count), past=1).run(100_000 * MS)
    state = engine.link.forth.state
    assert int(engine.link.upper.books.state[2].offered) == 5 + int(state.erased)
    assert int(state.erased) > 0


@given(st.lists(st.sampled_from(["post", "take", "grow"]), max_size=80))
def test_the_ring_of_ended_sdus_gives_each_once_and_in_order(steps: list[str]) -> None:
    """While it is read and grows in between; it holds eight for each row of the ledger."""
    books, posted, taken = ledgers(2), 0, []
    for step in steps:
        if step == "post" and posted - len(taken) < len(books.ended):
            post(books, posted % 4, posted, 7, WHOLE if posted % 3 else GONE)
            posted += 1
        elif step == "take" and books.ends.taken < books.ends.posted:
            row = books.ended[books.ends.taken & (len(books.ended) - 1)]
            taken.append((int(row.kind), int(row.number), int(row.flow), int(row.became)))
            books.ends.taken += 1
        elif step == "grow" and len(books.ended) < 512:
            books = grown(books)
            assert len(books.ended) == 8 * books.rows.shape[1]
    expected = [(k % 4, k, 7, int(WHOLE if k % 3 else GONE)) for k in range(len(taken))]
    assert taken == expected
    assert int(books.ends.posted) == posted

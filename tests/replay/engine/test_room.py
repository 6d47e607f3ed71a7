"""The room that a link begins with has no effect on what happens on it: a run that gets more goes on exactly there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.replay.engine import way
from multitracer.replay.engine.direction import Direction, RandomErasures
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import kinds

MS = 1_000_000
UNTIL_NS = 1000 * MS
HASTY: dict[str, dict[str, Any]] = {
    "rlp": {"n2": 2, "t1_ns": 100 * MS, "persistent": True},
    "sr": {"max_retransmissions": 1},
    "rlc-am": {"discard": "timer", "discard_ns": 150 * MS},
    "rlc-am out of sequence": {"discard": "timer", "discard_ns": 150 * MS, "in_sequence": False},
    "rlc-am at MaxDAT": {"discard": "max_dat", "max_dat": 2},
    "rlc-um": {"discard_ns": 100 * MS},
}
"""Parameters by which a link gives up much, some of which comes after all."""
LINKS = sorted({*kinds(), *HASTY})


def run(link: str, air: dict[str, Any], loss: float, given_: Any, *, rows: int, frames: int, block: int) -> Engine:
    """Room for so many SDUs and frames at first, and so many of the channel's numbers at a time; all is logged."""
    known = kinds()[link.split(" ")[0]]
    parameters = known.parameters(**HASTY.get(link, {}))
    draws = [np.random.default_rng(seed).random for seed in (1, 2)]
    ways = [Direction(45 * MS, channel=RandomErasures(draw, loss, block=block), **air) for draw in draws]
    made = Engine(known.protocol, (parameters, parameters), *ways, given_, Keep(15_000, ledger=rows))
    forth, back = (roomy(made, each, frames) for each in (made.link.forth, made.link.back))
    made.link = made.link._replace(forth=forth, back=back)
    return made.run(UNTIL_NS)


def roomy(made: Engine, short: way.Way, frames: int) -> way.Way:
    """The way with room for so many frames."""
    while len(short.air) < frames:
        short = way.grown(short, made._frames(2 * len(short.air)))
    return short


def happened(made: Engine) -> dict[str, Any]:
    """All events, and what the source and the entities counted."""
    assert made.link.upper.log.state.noted == len(made.log.rows) > 0
    return {
        "events": made.log.rows.tolist(),
        "windows": made.link.upper.source.windows.tolist(),
        "counters": [made.protocol.counters(e) for e in (made.a, made.b)],
    }


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    link=st.sampled_from(LINKS), eager=st.booleans(), slotted=st.booleans(), loss=st.sampled_from([0.0, 0.1, 0.4]),
    most=st.integers(1, 60), octets=st.integers(1, 90), queue=st.integers(3, 20), endless=st.integers(0, 60),
)  # fmt: skip
def test_a_run_does_not_depend_on_the_room_that_it_begins_with(
    link: str, eager: bool, slotted: bool, loss: float, most: int, octets: int, queue: int, endless: int
) -> None:  # fmt: skip
    """For SDUs, frames and the channel's numbers; windows through and past the entity, and a source without end."""
    air: dict[str, Any] = {"slot_ns": 10 * MS, "per_slot": 2} if slotted else {"rate_bps": 60_000}
    air |= {"eager": eager, "queue_frames": queue, "late": ((5, 90 * MS), (31, 400 * MS))}
    windows = [(0, octets, 1, most, 80), (0, 30, 2, most, 60, 1), (1, 40, 3, 5, 60)]
    offers = [(k * 7 * MS, k % 2, 40, 4, int(k % 3 == 0)) for k in range(90)]
    runs = [
        happened(run(link, air, loss, source(offers, windows, (0, endless)), rows=rows, frames=frames, block=block))
        for rows, frames, block in ((1, 1, 10), (4096, 1024, 4096))
    ]
    assert runs[0] == runs[1]

"""The room for packets on the link that a simulation begins with has no effect on what happens in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulations import NS, scenario

from multitracer.compute import kernels
from multitracer.replay.simulate import run as runs
from multitracer.replay.simulate import simulation
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Simulation

LINKS: dict[str, dict[str, Any]] = {
    "raw": {"link__protocol": "raw"},
    "sr": {"link__protocol": "sr", "link__sr__timeout_s": 0.4},
    "rlc-am": {"link__protocol": "rlc-am", "link__frame_bytes": 254},
    "rlp": {"link__protocol": "rlp", "link__ppp": False, "link__frame_bytes": 100},
}
MEDIA: dict[str, dict[str, Any]] = {
    "none": {},
    "past": {"contention__enabled": True, "contention__direction": "both"},
    "carried": {"contention__enabled": True, "contention__direction": "both", "link__media_past_arq": False},
}


def happened(described: Scenario, packets: int, until_s: float = 60) -> tuple[Any, ...]:
    """What was counted, and every event, of a run with room for so many packets at first."""
    kernels.choose(0)
    setting = replace(runs.setting(described, 1), until_ns=round(until_s * NS))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(simulation, "PACKETS", packets)
        done = Simulation(setting, rows=60_000).run()
    source, log, kept = done.source, done.engine.log, done.source.journal
    assert kept.state.noted == kept.state.rows > 0
    assert log.state.noted == log.state.rows > 0
    tables = source.totals, source.tcp.ends, source.work.objects, source.wired.hops, source.traffic, source.media
    journal = [[tuple(row) for row in rows[: kept.state.rows].tolist()] for rows in (kept.rows, kept.packets)]
    return [str(table.tolist()) for table in tables], log.rows.tolist(), str(journal)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("window", [4, 200])
def test_a_transfer_does_not_depend_on_the_room_that_it_begins_with(link: str, window: int) -> None:
    """A window that fits into the room, and one for which more is made while packets are on the link."""
    file = scenario(**LINKS[link], workload__segments=60, tcp__window_segments=window, tcp__initial_window=window)
    assert happened(file, 8) == happened(file, 512)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    link=st.sampled_from(sorted(LINKS)), media=st.sampled_from(sorted(MEDIA)),
    direction=st.sampled_from(["down", "up"]), window=st.integers(2, 60), loss=st.sampled_from([0.0, 0.1]),
    queues=st.tuples(st.integers(1, 50), st.integers(0, 4)), eager=st.booleans(), packets=st.sampled_from([1, 2, 8]),
)  # fmt: skip
def test_no_choice_makes_a_run_depend_on_its_room(
    link: str, media: str, direction: str, window: int, loss: float, queues: tuple[int, int], eager: bool, packets: int
) -> None:  # fmt: skip
    """Whatever waits where, is lost, or goes past the link protocol."""
    described = scenario(
        **LINKS[link], **MEDIA[media], workload__segments=40, workload__direction=direction,
        tcp__window_segments=window, channel__model="uniform", channel__frame_loss_rate=loss,
        link__hand_down="eager" if eager else "lazy", link__queue_frames=queues[0],
        tcp__interface_queue_packets=queues[1], tcp__local_drop="loss",
    )  # fmt: skip
    assert happened(described, packets, 15) == happened(described, 512, 15)

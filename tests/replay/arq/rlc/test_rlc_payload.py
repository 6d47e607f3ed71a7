"""RLC without payload does what RLC with octets does, event for event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlc_run import MS, Run
from rlc_settings import LIVELY, settings_of_any_kind

from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.arq.rlc.um import UmParameters
from multitracer.replay.engine.rlc import RLC_AM, RLC_AM_OCTETS, RLC_UM, RLC_UM_OCTETS

pytestmark = pytest.mark.slow

OPPORTUNITIES = 150
NOT_KEPT = ("octets", "kept")
"""Fields of a frame in which the two differ."""

offers = st.lists(st.tuples(st.integers(0, 900), st.integers(8, 120)), max_size=40).map(sorted)
losses = st.lists(st.booleans(), max_size=150)


def events(run: Run) -> list[Any]:
    """All that a run logged, handed over, gave up and counted; of each PDU its header and what it carries."""
    engine = run.carry(OPPORTUNITIES).engine
    log, frames = engine.log, engine.log.frames
    fields = [name for name in frames.dtype.names if name not in NOT_KEPT]
    pdus = [tuple(int(frame[name]) for name in fields) for frame in frames]
    tables = [table.tolist() for table in (log.rows, engine.handed, engine.lost, engine.sdus, engine.gone)]
    return [*tables, pdus, engine.protocol.counters(run.a), engine.protocol.counters(run.b)]


def heads(run: Run, li_octets: int) -> list[bytes]:
    """The header and length indicators of each data PDU, and all of each control PDU."""
    found = []
    for row, frame in zip(run.engine.log.rows, run.engine.log.frames, strict=True):
        octets, at = frame.octets[: frame.kept].tobytes(), int(row.octets)
        if len(octets) and octets[0] & 0x80:
            at, more = 2, octets[1] & 3 == 1
            while more:
                at += li_octets
                more = octets[at - 1] & 1
        found.append(octets[:at])
    return found


def compared(p: Any, protocols: tuple[Any, Any], offered: list[tuple[int, int]], lost: list[bool], delay: int) -> Run:
    """Both runs are equal; gives the one without payload."""
    times, sizes = [time * MS for time, _ in offered], [size for _, size in offered]
    both = [
        Run(
            p, protocol=protocol, offers=((times, sizes), (times[:6], sizes[:6])), per_frame=(2, 1),
            delay_ns=delay * MS, erased=(np.array(lost, np.uint8), np.array(lost[::-1], np.uint8)),
            log_rows=1500, sdus=400,
        )
        for protocol in protocols
    ]  # fmt: skip
    bare, whole = both
    assert events(bare) == events(whole)
    assert protocols[0] is not RLC_AM or heads(bare, p.li_octets) == heads(whole, p.li_octets)
    return bare


@given(
    settings_of_any_kind, offers, losses, st.sampled_from((1, 25, 60)),
    st.sampled_from(("no_discard", "max_dat", "timer")), st.integers(2, 5), st.booleans(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_acknowledged_mode_without_payload(
    parameters: dict[str, Any], offered: list[tuple[int, int]], lost: list[bool], delay: int, discard: str,
    max_dat: int, all_lost: bool,
) -> None:  # fmt: skip
    """PDU sizes, headers, polls, reports, discards, resets, and what is handed over and when, over any losses."""
    given_up = {"discard": discard, "max_dat": max_dat, "discard_ns": 150 * MS, "max_rst": 60}
    p = replace(Parameters(**{**LIVELY, **parameters, **given_up}), reset_discards_all=all_lost)
    run = compared(p, (RLC_AM, RLC_AM_OCTETS), offered, lost, delay)
    assert run.counts(1)["garbled"] == run.counts(0)["garbled"] == 0


@given(
    st.sampled_from((8, 20, 40, 130)), st.booleans(), st.sampled_from((0, 70 * MS)), offers, losses,
    st.sampled_from((1, 25)),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_unacknowledged_mode_without_payload(
    pdu_bytes: int, marks_start: bool, discard_ns: int, offered: list[tuple[int, int]], lost: list[bool], delay: int
) -> None:
    """PDUs, discards, and what is handed over and when."""
    p = UmParameters(pdu_bytes=pdu_bytes, marks_start=marks_start, discard_ns=discard_ns)
    run = compared(p, (RLC_UM, RLC_UM_OCTETS), offered, lost, delay)
    assert run.engine.protocol.counters(run.b)["wrong"] == 0


def test_all_that_is_offered_arrives_in_stretches_without_gaps() -> None:
    """At 5 and 10 % loss both ways: octets handed over are octets offered, each piece with when it came first."""
    for share in (0.05, 0.1):
        lost = [np.random.default_rng(seed).random(4000) < share for seed in (1, 2)]
        p = Parameters(max_dat=0, poll_when_unacknowledged=True)
        times, sizes = [20 * MS * k for k in range(150)], [40 + 10 * (k % 60) for k in range(150)]
        run = Run(p, offers=((times, sizes), (times, sizes)), erased=(lost[0], lost[1]), sdus=400, per_frame=(2, 2))
        engine = run.carry(2000).engine
        for side in (0, 1):
            pieces = engine.handed[engine.handed["side"] == side]
            assert pieces["start"].tolist() == [0, *pieces["end"][:-1].tolist()]
            assert pieces["end"][-1] == sum(sizes)
            assert (pieces["first_ns"] <= pieces["time_ns"]).all()
            assert (engine.sdus["side"] == side).sum() == 150
        assert len(engine.gone) == 0

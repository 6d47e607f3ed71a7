"""RLC AM as a whole: what holds over any losses, and what parameters are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlc_run
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from rlc_run import A, B, Run, with_octets
from rlc_scene import MS, Scene
from rlc_settings import LIVELY, settings_of_any_kind

from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import SENT
from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import (
    PAPER_001,
    PAPER_002,
    PAPER_TWO_STATE,
    PAPER_UNIFORM,
    Parameters,
    check_queue,
)
from multitracer.replay.retrace.models import Air, named
from multitracer.replay.retrace.rlc import Acknowledged
from multitracer.wire import rlc_umts as codec

OPPORTUNITIES = 250


delays = st.sampled_from((0, 2, 5))
losses = st.lists(st.booleans(), max_size=120)
sizes = st.lists(st.integers(1, 120), min_size=1, max_size=30)


CUT_AND_ACKNOWLEDGED = {
    "pdu_bytes": 21, "li_bits": 0, "special_he": True, "piggyback": True, "status_format": "rlist", "in_sequence": True,
    "tx_window": 8, "poll_pdu": 0, "poll_sdu": 2, "poll_window_percent": 50, "poll_prohibit_ns": 0,
    "poll_periodic_ns": 0, "status_prohibit_ns": 0, "status_periodic_ns": 0, "epc_ns": 0, "send_mrw": False,
    "missing_pdu_indication": False, "whole_reports": True, "rx_window": 64,
}  # fmt: skip
"""Under these an SDU cut short is acknowledged, as far as it was sent, before its MRW."""


def run(parameters: dict[str, Any], lengths: list[int], lost: list[bool], delay: int) -> Scene:
    """Both sides send SDUs of those lengths; the PDUs sent first are lost as told, later none."""
    left = iter(lost)
    p = Parameters(**{**LIVELY, **parameters})
    scene = Scene(p, lose=lambda side, line: next(left, False), per_frame=2, delay=delay)
    scene.offer(*_sdus("A", lengths)).offer(*_sdus("B", lengths[:5]), side="B")
    scene.run(OPPORTUNITIES)
    return scene


def _sdus(side: str, lengths: list[int]) -> list[bytes]:
    """SDUs that differ, where their length allows it."""
    return [(f"{side}{i:03d}".encode() * 30)[:n] for i, n in enumerate(lengths)]


@pytest.mark.slow
@given(settings_of_any_kind, sizes, losses, delays)
@settings(max_examples=50, deadline=None)
def test_without_discard_every_sdu_arrives_once(
    parameters: dict[str, Any], lengths: list[int], lost: list[bool], delay: int
) -> None:
    """No limit of transmissions: all SDUs of both sides, intact, and in order where order was asked for."""
    scene = run(parameters, lengths, lost, delay)
    expected = {"B": _sdus("A", lengths), "A": _sdus("B", lengths[:5])}
    while scene.at < 10 * OPPORTUNITIES and any(len(scene.received[side]) < len(expected[side]) for side in "AB"):
        scene.run(100)  # a window of three PDUs and a poll each 100 ms take long
    for side in "AB":
        got = scene.received[side]
        assert sorted(got) == sorted(expected[side])
        assert got == expected[side] or not parameters["in_sequence"]
        assert scene.ends[side].counts["invalid"] == scene.ends[side].counts["malformed"] == 0


@pytest.mark.slow
@given(
    settings_of_any_kind, sizes, losses, delays, st.sampled_from(("max_dat", "timer", "no_discard")), st.integers(2, 4)
)
@example(CUT_AND_ACKNOWLEDGED, [40, 81, 69], [bool(int(bit)) for bit in "1101010111"], 2, "max_dat", 4)
@settings(max_examples=50, deadline=None, phases=(Phase.explicit, Phase.generate))
def test_with_discard_or_reset_sdus_arrive_at_most_once(
    parameters: dict[str, Any], lengths: list[int], lost: list[bool], delay: int, discard: str, max_dat: int
) -> None:
    """Whatever is given up, what arrives is intact and not doubled, and the link works again afterwards."""
    given_up = {"discard": discard, "max_dat": max_dat, "discard_ns": 150 * MS, "max_rst": 60}
    scene = run({**parameters, **given_up}, lengths, lost, delay)
    expected = {"B": _sdus("A", lengths), "A": _sdus("B", lengths[:5])}
    for side in "AB":
        rest = iter(expected[side])
        got = scene.received[side]
        assert not parameters["in_sequence"] or all(sdu in rest for sdu in got)
        assert all(got.count(sdu) <= expected[side].count(sdu) for sdu in got)
        assert scene.ends[side].counts["malformed"] == 0
    scene.lose = lambda side, line: False
    before = len(scene.received["B"])
    scene.offer(b"again!")
    scene.run(2 * OPPORTUNITIES)
    assert scene.received["B"][before:][-1:] == [b"again!"]


def test_sequence_numbers_wrap() -> None:
    """The largest window, begun shortly before 4095, each eighth PDU lost: all goes on after 0."""
    p = Parameters(pdu_bytes=16, tx_window=2047, rx_window=2047, max_dat=0)
    erased = np.arange(8 * 400) % 8 == 3
    link = Run(p, saturated_bytes=20, per_frame=(8, 4), erased=(erased, ()))
    link.a.v.vt_s = link.a.v.vt_a = link.b.v.vr_r = link.b.v.vr_h = 3900
    counts = link.carry(120).counts(B)
    assert link.a.v.vt_a > 4096 + 200
    assert counts["delivered"] > 250
    assert counts["garbled"] == counts["misordered"] == counts["malformed"] == 0


@pytest.mark.slow
def test_the_log_holds_every_octet_sent() -> None:
    """Each PDU in the log decodes and encodes to itself; the run in pieces logs what the run in one does."""
    logs = []
    for cuts in ((0, 200), (0, 1, 77, 200)):
        erased = np.arange(800) % 7 == 2
        link = with_octets(Parameters(), saturated_bytes=100, per_frame=(4, 1), erased=(erased, ()), log_rows=3000)
        for last in cuts[1:]:
            link.carry(last)
        rows = link.engine.log.rows
        frames = [link.octets(at) for at in np.flatnonzero(rows["event"] == SENT)]
        assert all(codec.encode(codec.decode(frame)) == frame for frame in frames)
        assert len(frames) == link.counts(A)["frames"] + link.counts(B)["frames"]
        logs.append((rows.tolist(), frames))
    assert logs[0] == logs[1]


def test_if_all_frames_are_lost_the_link_ends() -> None:
    """MaxDAT, then MaxRST: the counters say that the link was given up."""
    p = Parameters(max_dat=3, max_rst=3, poll_ns=50 * MS)
    link = Run(p, saturated_bytes=50, erased=(np.ones(2000), np.ones(2000))).carry(2000)
    assert link.counts(A)["ended"] == 1
    assert link.counts(B)["delivered"] == 0
    assert link.counts(A)["resets"] == 2


@pytest.mark.parametrize("p", [PAPER_UNIFORM, PAPER_TWO_STATE, PAPER_001, PAPER_002])
def test_the_papers_settings_carry_data(p: Parameters) -> None:
    """Each paper's settings, 200 SDUs at 5 % loss: all arrive."""
    erased = np.arange(4000) % 20 == 7
    offers = (([0] * 200, [78] * 200), ((), ()))
    link = Run(p, offers=offers, erased=(erased, ()), delay_ns=20 * MS).carry(2000)
    assert link.counts(B)["delivered"] == 200
    assert link.counts(B)["misordered"] == 0


def test_paper_001_counts_its_timers_in_ttis_of_20_ms() -> None:
    """Its Table III: Timer_Poll 2 TTIs, periodic 54, prohibit 1, MRW 4; a periodic poll for 85 % of the window."""
    p = PAPER_001
    timers = (p.poll_ns, p.poll_periodic_ns, p.poll_prohibit_ns, p.mrw_ns)
    assert [timer / p.tti_ns for timer in timers] == [2, 54, 1, 4]
    assert (p.tti_ns, p.poll_last_new, p.poll_last_retransmission) == (20 * MS, True, True)
    assert 54 * p.pdus_per_tti * 100 // p.tx_window == p.poll_pdu * 100 // p.tx_window == 84


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pdu_bytes", 3), ("tx_window", 0), ("tx_window", 4096), ("rx_window", 2048), ("li_bits", 8),
        ("status_format", "map"), ("discard", "never"), ("poll_window_percent", 101), ("max_dat", 1), ("max_dat", -1),
        ("mrw_ns", 0), ("rst_ns", 0), ("max_rst", 0), ("max_mrw", -1), ("poll_ns", -1), ("control_pdu_bytes", 99),
        ("control_pdu_bytes", 3), ("tti_ns", 0), ("queue_sdus", 0), ("max_sdu_bytes", 0), ("poll_sdu", 65),
        ("after_max_rst", "hang-up"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(name: str, value: Any) -> None:
    """The message names the parameter and its value."""
    with pytest.raises(UsageError, match=name) as refused:
        Parameters(**{name: value})
    assert str(value) in str(refused.value)


def test_combinations_that_make_no_sense_are_refused() -> None:
    """Seven bits for a long PDU; discards without a limit; sides that do not fit; SDUs nobody could count."""
    for wrong in ({"pdu_bytes": 200, "li_bits": 7}, {"discard": "timer"}, {"discard": "max_dat", "max_dat": 0}):
        with pytest.raises(UsageError):
            Parameters(**wrong)
    with pytest.raises(UsageError, match="pdu_bytes"):
        Run(Parameters(), Parameters(pdu_bytes=41))
    with pytest.raises(UsageError, match="tx_window is 16; with rx_window 8 it must be from 1 to 8"):
        Parameters(tx_window=16, rx_window=8)
    large, small = Parameters(), Parameters(tx_window=8, rx_window=8)
    for a, b in ((large, small), (small, large)):
        with pytest.raises(UsageError, match="tx_window is 512; with rx_window 8 it must be from 1 to 8"):
            Run(a, b)
    with pytest.raises(UsageError, match="queue_bytes is 1599; it must be from 1600 to"):
        Parameters(queue_bytes=1599)
    with pytest.raises(UsageError, match="queue_bytes is 1639; it must be from 1640 to"):
        check_queue(1024, 1639, 40, 800)
    with pytest.raises(UsageError, match="queue_sdus is 6; it must be from 7 to"):
        check_queue(6, 1 << 18, 40, 8)
    with pytest.raises(UsageError, match="length is 0"):
        RlcAm().offer(b"")


def test_small_sdus_fill_large_pdus() -> None:
    """SDUs of ten octets in PDUs of 1500 use all room but the header and the length indicators."""
    link = Run(Parameters(pdu_bytes=1500, in_sequence=False), saturated_bytes=10, delay_ns=20 * MS).carry(7)
    assert link.counts(B)["delivered"] == 5 * 1498 // 12


def test_every_end_of_a_large_pdu_is_handed_over_once_out_of_sequence() -> None:
    """PDU 0 comes last; 100 SDUs end in each of those after it."""
    p = Parameters(pdu_bytes=1500, in_sequence=False, max_dat=0, poll_ns=50 * MS)
    offers = (([0] * 700, [13] * 700), ((), ()))
    link = Run(p, offers=offers, erased=([1], ()), delay_ns=20 * MS, sdus=800)
    ahead = link.carry(6).counts(B)["delivered"]
    counts = link.carry(60).counts(B)
    assert ahead > 290
    assert counts["delivered"] == 700
    assert counts["garbled"] == 0
    assert sorted(link.engine.sdus["sdu"].tolist()) == list(range(700))


@pytest.mark.parametrize("model", ["rlc-am", "rlc-um"])
def test_retrace_refuses_what_would_carry_nothing(model: str) -> None:
    """SDUs longer than allowed, and queues that do not hold what waits; a longer SDU alone is taken."""
    for given_text, said in (
        ({"sdu_bytes": "900", "max_sdu_bytes": "800"}, "sdu_bytes 900 must be 8 to max_sdu_bytes, which is 800"),
        ({"queue_bytes": "100"}, "queue_bytes is 100; it must be from 1600"),
        ({"queue_bytes": "2000"}, "queue_bytes is 2000; it must be from 3030"),
        ({"queue_sdus": "1"}, "queue_sdus is 1; it must be from 2"),
    ):
        with pytest.raises(UsageError, match=said):
            named(model, given_text).carry(clean_air(30), np.array([0, 50]))
    assert named(model, {"sdu_bytes": "5000"}).parameters["max_sdu_bytes"] == 5000


def clean_air(frame_bytes: int) -> Air:
    return Air(np.zeros(400, np.uint8), np.zeros(400, np.uint8), frame_bytes, 20 * MS, frame_bytes // 30, 400 * MS)


def test_timer_discard_does_not_grow_with_the_frame() -> None:
    """Timers that wait for an answer do."""
    model = named("rlc-am", {"discard": "timer", "discard_ms": "900", "mrw_ms": "500"})
    assert isinstance(model, Acknowledged)
    a = model.engine(clean_air(60)).a
    assert a.p.discard_ns == 900 * MS
    assert a.p.mrw_ns == 580 * MS


def test_a_full_queue_refuses() -> None:
    """By number of SDUs and by octets."""
    end = RlcAm(Parameters(queue_sdus=2))
    assert [end.offer(b"x") for _ in range(3)] == [True, True, False]
    end = RlcAm(Parameters(queue_bytes=20, max_sdu_bytes=20))
    assert [end.offer(b"x" * 10) for _ in range(3)] == [True, True, False]


LIFE = f"""
import hashlib, json, sys
import numpy as np
sys.path.insert(0, {str(Path(rlc_run.__file__).parent)!r})
from rlc_run import with_octets
from multitracer.replay.arq.rlc.parameters import Parameters
found = []
for form in ("list", "bitmap", "rlist"):
    for discard in ("no_discard", "max_dat", "timer"):
        p = Parameters(status_format=form, discard=discard, max_dat=3, discard_ns=300_000_000, piggyback=True,
                       in_sequence=form == "list", epc_ns=60_000_000, poll_window_percent=50, send_mrw=True)
        erased = (np.random.default_rng(5).random(1600) < 0.25, np.random.default_rng(6).random(400) < 0.1)
        link = with_octets(p, per_frame=(4, 1), saturated_bytes=90, erased=erased, log_rows=8000, sdus=900,
                           offers=(((), ()), ([k * 30_000_000 for k in range(100)], [12] * 100))).carry(400)
        log = link.engine.log
        seen = log.rows.tobytes() + log.frames.tobytes() + link.engine.sdus.tobytes() + link.engine.gone.tobytes()
        found.append([hashlib.sha256(seen).hexdigest(), link.counts(0), link.counts(1)])
print(json.dumps(found))
"""


@pytest.mark.compiled
def test_compiled_and_plain_log_the_same() -> None:
    """Every octet and nanosecond, over all report formats and discard modes."""
    found = []
    for plain in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": plain}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", LIFE], capture_output=True, text=True, env=environment, check=True
        )
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert sum(one[2]["delivered"] for one in found[0]) > 1000

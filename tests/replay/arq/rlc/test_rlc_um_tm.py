"""Unacknowledged and transparent mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlc_run import Run

from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc.octets import RlcTm, RlcUm
from multitracer.replay.arq.rlc.tm import TmParameters
from multitracer.replay.arq.rlc.um import UmParameters
from multitracer.replay.engine.rlc import RLC_TM, RLC_UM, RLC_UM_OCTETS
from multitracer.replay.retrace.models import Air, named
from multitracer.wire import rlc_umts as codec


def carried(parameters: UmParameters, sdus: list[bytes], lost: set[int]) -> list[bytes]:
    """What arrives of `sdus` when the PDUs of those places are lost; every PDU is one for the codec too."""
    a, b = RlcUm(parameters), RlcUm(parameters)
    for sdu in sdus:
        assert a.offer(sdu)
    place = 0
    while frame := a.next_frame(0):
        pdu = codec.decode_um(frame, 8 * parameters.li_octets - 1)
        assert codec.encode(pdu) == frame
        assert pdu.sn == place % 128
        if place not in lost:
            b.receive(frame, 0)
        place += 1
    assert b.counts["malformed"] == 0
    return [each.octets for each in b.delivered()]


um = st.builds(
    UmParameters,
    pdu_bytes=st.sampled_from((8, 20, 40, 130)),
    li_bits=st.sampled_from((0, 15)),
    marks_start=st.booleans(),
)


@given(um, st.lists(st.binary(min_size=1, max_size=100), max_size=25))
@settings(max_examples=40, deadline=None)
def test_without_loss_all_sdus_arrive(parameters: UmParameters, sdus: list[bytes]) -> None:
    """In order, with either size of length indicator."""
    assert carried(parameters, sdus, set()) == sdus


@pytest.mark.slow
@given(um, st.integers(1, 40), st.sets(st.integers(0, 150), max_size=30))
@settings(max_examples=40, deadline=None)
def test_an_sdu_with_a_missing_pdu_is_dropped(parameters: UmParameters, size: int, lost: set[int]) -> None:
    """What arrives is whole, once and in order."""
    sdus = [bytes([i]) * size for i in range(60)]
    rest = iter(sdus)
    assert all(sdu in rest for sdu in carried(parameters, sdus, lost))


def test_a_marked_start_saves_the_sdu_behind_a_loss() -> None:
    """SDU b fills PDUs of its own: with the mark it is known to begin there, without it is dropped too."""
    sdus = [b"a" * 18, b"b" * 17, b"c" * 17]
    marked = carried(UmParameters(pdu_bytes=20), sdus, {0})
    unmarked = carried(UmParameters(pdu_bytes=20, marks_start=False), [b"a" * 18, b"b" * 18, b"c" * 18], {0})
    assert marked[-1] == b"c" * 17
    assert unmarked == [b"c" * 18]


def test_timer_discard_drops_what_waits() -> None:
    """After 50 ms an SDU not begun is discarded; the one begun is finished."""
    end = RlcUm(UmParameters(pdu_bytes=20, discard_ns=50))
    end.offer(b"a" * 10, 0)
    end.offer(b"b" * 10, 100)
    assert end.next_timer() == 50
    end.expire(60)
    assert end.counts["discarded"] == 1
    assert end.next_timer() == 150


def test_timer_discard_drops_what_waits_behind_an_sdu_begun() -> None:
    """a is begun and finished, b and c, too old, which follow it, are dropped; there is room again, and d follows a."""
    end = RlcUm(UmParameters(pdu_bytes=20, discard_ns=50, queue_sdus=3, queue_bytes=50, max_sdu_bytes=40))
    other = RlcUm(end.parameters)
    for sdu in (b"a" * 30, b"b" * 4, b"c" * 5):
        assert end.offer(sdu, 0)
    other.receive(end.next_frame(0) or b"", 0)
    assert end.next_timer() == 50
    end.expire(50)
    assert end.counts["discarded"] == 2
    assert end.next_timer() is None
    assert end.offer(b"d" * 13, 60)
    while frame := end.next_frame(60):
        other.receive(frame, 60)
    assert [each.octets for each in other.delivered()] == [b"a" * 30, b"d" * 13]
    assert [(lost.start, lost.end) for lost in end.flushed()] == [(30, 34), (34, 39)]


@given(um, st.lists(st.tuples(st.integers(1, 60), st.integers(0, 30)), max_size=60), st.integers(1, 90))
@settings(max_examples=60, deadline=None)
def test_what_is_discarded_leaves_the_rest_whole(
    parameters: UmParameters, offers: list[tuple[int, int]], patience: int
) -> None:
    """SDUs come faster than PDUs go out: what is not discarded arrives, in order, and nothing else."""
    p = replace(parameters, discard_ns=patience, queue_sdus=6, queue_bytes=200, max_sdu_bytes=60)
    a, b, now, taken = RlcUm(p), RlcUm(p), 0, []
    for number, (size, pause) in enumerate(offers):
        now += pause
        a.expire(now)
        sdu = bytes([number]) * size
        if a.offer(sdu, now):
            taken.append(sdu)
        if number % 2:
            b.receive(a.next_frame(now) or b"", now)
    while frame := a.next_frame(now):
        b.receive(frame, now)
    got, rest = [each.octets for each in b.delivered()], iter(taken)
    assert all(sdu in rest for sdu in got)
    assert len(got) + a.counts["discarded"] == len(taken)


def test_small_sdus_fill_large_pdus() -> None:
    """100 SDUs of two octets share one PDU, with a length indicator each."""
    sdus = [bytes([i]) * 2 for i in range(100)]
    parameters = UmParameters(pdu_bytes=410)
    assert carried(parameters, sdus, {1, 2, 3}) == sdus


def test_retrace_discards_what_waits_too_long() -> None:
    """A PDU holds three SDUs and a part: what waits after those is 20 ms old when the next PDU goes out."""
    air = Air(np.zeros(50, np.uint8), np.zeros(50, np.uint8), 30, 20_000_000, 1, 400_000_000)
    counts = [
        named("rlc-um", {"sdu_bytes": "8", "discard_ms": given}).carry(air, np.array([0, 50])).counts
        for given in ("0", "20", "30")
    ]
    assert [each["sender"]["discarded"] > 0 for each in counts] == [False, True, False]
    assert all(each["receiver"]["wrong"] == 0 for each in counts)
    assert all(each["receiver"]["delivered"] > 140 for each in counts)


def test_the_drivers_count_what_arrives() -> None:
    """UM: SDUs of two PDUs each, each tenth PDU lost. TM: the SDUs of the opportunities not erased."""
    erased = np.arange(400) % 10 == 9
    for protocol in (RLC_UM, RLC_UM_OCTETS):
        run = Run(UmParameters(), saturated_bytes=60, erased=(erased, ()), delay_ns=1, protocol=protocol).carry(401)
        offered, counted = run.a.queue.v.tail, run.engine.protocol.counters(run.b)
        assert 0.5 * offered < counted["delivered"] < 0.9 * offered
        assert counted["wrong"] == 0
    run = Run(TmParameters(), saturated_bytes=60, erased=(erased, ()), delay_ns=1, protocol=RLC_TM).carry(401)
    assert run.engine.protocol.counters(run.b)["delivered"] == 360


def test_transparent_mode_adds_and_takes_nothing() -> None:
    """A PDU is its SDU; those that wait too long are discarded."""
    a, b = RlcTm(TmParameters(100, discard_ns=50)), RlcTm(TmParameters(100))
    for sdu in (b"one", b"two", b"three"):
        a.offer(sdu, 0)
    frame = a.next_frame(10)
    assert frame == b"one"
    b.receive(frame, 20)
    assert [each.octets for each in b.delivered()] == [b"one"]
    assert a.next_timer() == 50
    a.expire(50)
    assert a.next_frame(60) is None
    assert a.next_timer() is None


def test_nonsense_is_refused() -> None:
    """Sizes that hold nothing, indicators that do not fit."""
    for wrong in ({"pdu_bytes": 4}, {"li_bits": 9}, {"pdu_bytes": 126, "li_bits": 7}, {"max_sdu_bytes": 0}):
        with pytest.raises(UsageError):
            UmParameters(**wrong)
    with pytest.raises(UsageError, match="max_sdu_bytes is 0"):
        TmParameters(0)
    with pytest.raises(UsageError, match="length is 101"):
        RlcTm(TmParameters(100)).offer(bytes(101))

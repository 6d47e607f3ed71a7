"""SR: what it delivers, and how it recovers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from arq_links import Wires, counters, delivered, link, log_lines, rows, run, scene
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.replay.arq.fields import record
from multitracer.replay.arq.sr import machine
from multitracer.replay.arq.sr.frames import ACK, DATA, FRAME, NACK
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import MS, NACKS, SrParameters
from multitracer.replay.arq.sr.state import Entity, entity

QUICK = SrParameters(timeout_ms=200, ack_delay_ms=40)
WORTH_NOTING = ("RECEIVED", "DELIVERED", "ACK_TIMEOUT")
ERASURES = st.tuples(*[st.lists(st.booleans(), max_size=60)] * 2)
OFFERS = st.tuples(*[st.lists(st.integers(0, 300), max_size=20)] * 2)


def test_lost_frame_is_reported_and_repaired() -> None:
    """The next frame shows the gap; a NACK leaves at once, the resend echoes it, and all after it is handed up."""
    assert log_lines(scene(QUICK, offers=([0] * 4, []), lost=({1}, set()))) == [
        "0 A SENT DATA 0 echo 0",
        "10 A ERASED DATA 1 echo 0",
        "15 B DELIVERED 0",
        "20 A SENT DATA 2 echo 0",
        "30 A SENT DATA 3 echo 0",
        "40 B SENT NACK 1 id 1",
        "55 B ACK_TIMEOUT",
        "60 A SENT DATA 1 echo 1",
        "60 B SENT ACK nr 1",
        "75 B DELIVERED 1",
        "75 B DELIVERED 2",
        "75 B DELIVERED 3",
        "115 B ACK_TIMEOUT",
        "120 B SENT ACK nr 4",
    ]


def test_lost_resend_is_reported_again_through_the_echo() -> None:
    """A frame after the lost resend echoes its NACK: the receiver reports the gap a second time."""
    lines = log_lines(scene(QUICK, offers=([0, 0, 0, 70], []), lost=({1, 6}, set())), WORTH_NOTING)
    assert lines[3:] == [
        "40 B SENT NACK 1 id 1",
        "60 A ERASED DATA 1 echo 1",
        "60 B SENT ACK nr 1",
        "70 A SENT DATA 3 echo 1",
        "90 B SENT NACK 1 id 2",
        "110 A SENT DATA 1 echo 2",
        "170 B SENT ACK nr 4",
    ]


def test_lost_nack_is_repeated_when_a_later_one_is_echoed() -> None:
    """An answer to the second NACK tells that the first was lost, before any timer does."""
    lines = log_lines(scene(QUICK, offers=([0] * 5, []), lost=({1, 3}, {4})), WORTH_NOTING)
    assert lines[5:] == [
        "40 B ERASED NACK 1 id 1",
        "60 B SENT NACK 3 id 2",
        "70 B SENT ACK nr 1",
        "80 A SENT DATA 3 echo 2",
        "100 B SENT NACK 1 id 3",
        "120 A SENT DATA 1 echo 3",
        "180 B SENT ACK nr 5",
    ]


@pytest.mark.parametrize("renack", ["echo", "none"])
def test_lost_nack_is_repaired_by_the_timer(renack: str) -> None:
    """When nothing follows, each frame is sent again a timeout after it was, under either rule."""
    parameters = SrParameters(timeout_ms=200, ack_delay_ms=40, renack=renack)
    lines = log_lines(scene(parameters, offers=([0] * 3, []), lost=({1}, {4})), WORTH_NOTING)
    assert lines[3:] == [
        "40 B ERASED NACK 1 id 1",
        "60 B SENT ACK nr 1",
        "210 A TIMEOUT 1",
        "210 A SENT DATA 1 echo 0",
        "220 A TIMEOUT 2",
        "220 A SENT DATA 2 echo 0",
        "270 B SENT ACK nr 3",
    ]


def test_one_nack_each_without_renack() -> None:
    """Under `none` the lost resend waits for its timer, whatever is echoed."""
    parameters = SrParameters(timeout_ms=200, ack_delay_ms=40, renack="none")
    lines = log_lines(scene(parameters, offers=([0, 0, 0, 70], []), lost=({1, 6}, set())), WORTH_NOTING)
    assert [line for line in lines if "NACK" in line or "DATA 1" in line] == [
        "10 A ERASED DATA 1 echo 0",
        "40 B SENT NACK 1 id 1",
        "60 A ERASED DATA 1 echo 1",
        "260 A SENT DATA 1 echo 1",
    ]


def scene_of(nack: str, *, back: frozenset[int] = frozenset(), resend_lost: bool = False) -> list[str]:
    """What concerns frames 1 and 3 of six, both lost: their NACKs, sendings, timers, and what is handed up."""
    parameters = SrParameters(timeout_ms=200, ack_delay_ms=40, nack=nack)
    lost = {1, 3, 6} if resend_lost else {1, 3}
    driven = scene(parameters, offers=([0] * 5 + [70], []), lost=(lost, set(back)))
    lines = log_lines(driven, ("RECEIVED", "ACK_TIMEOUT"))
    return [line for line in lines if re.search(r"NACK|DATA [13] |TIMEOUT [13]|DELIVERED [134]", line)]


def test_second_nack_waits_for_what_the_first_asked_for() -> None:
    """With one outstanding NACK frame 3 is reported when frame 1 has come, else as soon as it is missing."""
    lost = ["10 A ERASED DATA 1 echo 0", "30 A ERASED DATA 3 echo 0", "40 B SENT NACK 1 id 1"]
    first = ["60 A SENT DATA 1 echo 1", "75 B DELIVERED 1"]
    second = ["60 B SENT NACK 3 id 2", "80 A SENT DATA 3 echo 2", "95 B DELIVERED 3", "95 B DELIVERED 4"]
    assert scene_of("multireject") == [*lost, first[0], second[0], first[1], *second[1:]]
    assert scene_of("one-per-frame") == scene_of("multireject")
    later = ["80 B SENT NACK 3 id 2", "100 A SENT DATA 3 echo 2", "115 B DELIVERED 3", "115 B DELIVERED 4"]
    assert scene_of("one-outstanding") == [*lost, *first, *later]


def test_lost_nack_keeps_the_next_back_until_the_timer_has_repaired_the_frame() -> None:
    """The only outstanding NACK is lost: frame 3 is not reported before frame 1 was sent again by its timer."""
    lines = scene_of("one-outstanding", back=frozenset({4}))
    assert lines[2:] == [
        "40 B ERASED NACK 1 id 1",
        "210 A TIMEOUT 1",
        "210 A SENT DATA 1 echo 0",
        "225 B DELIVERED 1",
        "230 A TIMEOUT 3",
        "230 A SENT DATA 3 echo 0",
        "230 B SENT NACK 3 id 2",
        "245 B DELIVERED 3",
        "245 B DELIVERED 4",
        "250 A SENT DATA 3 echo 2",
    ]


def test_lost_resend_is_reported_again_by_multireject_only() -> None:
    """Frame 5 echoes the NACK whose answer was lost; the simpler variants leave frame 1 to its timer."""
    again = {
        nack: [line for line in scene_of(nack, resend_lost=True) if "NACK 1" in line or "TIMEOUT 1" in line]
        for nack in NACKS
    }
    assert again["multireject"] == ["40 B SENT NACK 1 id 1", "90 B SENT NACK 1 id 3"]
    assert again["one-per-frame"] == ["40 B SENT NACK 1 id 1", "260 A TIMEOUT 1"]
    assert again["one-outstanding"] == ["40 B SENT NACK 1 id 1", "260 A TIMEOUT 1"]


@settings(max_examples=40, deadline=None)
@given(erasures=ERASURES, offers=OFFERS, window=st.sampled_from([3, 127]))
def test_at_most_one_nack_is_outstanding(
    erasures: tuple[list[bool], list[bool]], offers: tuple[list[int], list[int]], window: int
) -> None:
    """Between two NACKs of a side the frame that the first asked for arrives; none is asked for twice."""
    parameters = SrParameters(window=window, timeout_ms=60, ack_delay_ms=30, nack="one-outstanding")
    lost = [{i for i, erased in enumerate(each) if erased} for each in erasures]
    times = sorted(offers[0]), sorted(offers[1])
    driven = scene(parameters, offers=times, lost=(lost[0], lost[1]), opportunities=300)
    asked: list[set[int]] = [set(), set()]
    missing = [-1, -1]
    for row in rows(driven):
        ns = int(row.frame.ns)
        if row.event == "RECEIVED" and row.frame.kind == DATA and ns == missing[row.side]:
            missing[row.side] = -1
        if row.event in ("SENT", "ERASED") and row.frame.kind == NACK:
            assert missing[row.side] == -1
            assert ns not in asked[row.side]
            missing[row.side] = ns
            asked[row.side].add(ns)


@pytest.mark.parametrize("erased", [0.05, 0.2])
def test_simpler_variants_carry_less(erased: float) -> None:
    """Under load and with erasures both ways multireject delivers most, and one outstanding NACK least."""
    lost = np.random.default_rng(7).random((2, 20_000)) < erased
    octets = {}
    for nack in NACKS:
        driven = link(SrParameters(nack=nack), saturated=(250, 0), lost=(lost[0], lost[1]))
        octets[nack] = counters(run(driven, 20_000))[1]["delivered_octets"]
    assert octets["multireject"] > octets["one-per-frame"] > octets["one-outstanding"] > 0


def test_lost_ack_is_sent_again_for_a_duplicate() -> None:
    """The frame comes a second time, is not handed up again, and is acknowledged once more."""
    assert log_lines(scene(QUICK, offers=([0], []), lost=(set(), {6}))) == [
        "0 A SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "55 B ACK_TIMEOUT",
        "60 B ERASED ACK nr 1",
        "200 A TIMEOUT 0",
        "200 A SENT DATA 0 echo 0",
        "255 B ACK_TIMEOUT",
        "260 B SENT ACK nr 1",
    ]


def test_ack_travels_with_data_or_alone_after_half_a_second() -> None:
    """Data within the delay carries the ACK; else it leaves in the first opportunity after 0.5 s."""
    assert log_lines(scene(SrParameters(), offers=([0, 600], [300]), opportunities=125)) == [
        "0 A SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "300 B SENT DATA 0 nr 1 echo 0",
        "315 A DELIVERED 0",
        "600 A SENT DATA 1 nr 1 echo 0",
        "615 B DELIVERED 1",
        "1115 B ACK_TIMEOUT",
        "1120 B SENT ACK nr 2",
    ]


def test_each_of_several_missing_frames_has_its_nack() -> None:
    """NACKs leave one an opportunity before the ACK that is due, and the answers follow their order."""
    assert log_lines(scene(QUICK, offers=([0] * 6, []), lost=({1, 2, 4}, set())), WORTH_NOTING)[5:] == [
        "50 A SENT DATA 5 echo 0",
        "50 B SENT NACK 1 id 1",
        "60 B SENT NACK 2 id 2",
        "70 A SENT DATA 1 echo 1",
        "70 B SENT NACK 4 id 3",
        "80 A SENT DATA 2 echo 2",
        "80 B SENT ACK nr 1",
        "90 A SENT DATA 4 echo 3",
        "130 B SENT ACK nr 6",
    ]


RULES = st.builds(
    SrParameters,
    window=st.sampled_from([1, 2, 3, 8, 127, 128]),
    timeout_ms=st.sampled_from([20, 60, 150]),
    ack_delay_ms=st.sampled_from([0, 30]),
    nack=st.sampled_from(NACKS),
    renack=st.sampled_from(["echo", "none"]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(parameters=RULES, erasures=ERASURES, offers=st.tuples(*[st.lists(st.integers(0, 300), max_size=20)] * 2))
def test_everything_arrives_once_and_in_order(
    parameters: SrParameters, erasures: tuple[list[bool], list[bool]], offers: tuple[list[int], list[int]]
) -> None:
    """Whatever is erased in both directions, if not for ever: each SDU is handed up once, in order, whole."""
    lost = [{i for i, erased in enumerate(each) if erased} for each in erasures]
    times = sorted(offers[0]), sorted(offers[1])
    driven = scene(parameters, offers=times, lost=(lost[0], lost[1]), opportunities=300)
    at_a, at_b = delivered(driven)
    assert at_b == [(k, 100) for k in range(len(offers[0]))]
    assert at_a == [(k, 100) for k in range(len(offers[1]))]
    assert [(side["waiting"], side["unacknowledged"]) for side in counters(driven)] == [(0, 0), (0, 0)]


def within_window(wires: Wires, window: int) -> bool:
    """Whether neither side has more frames outstanding than the window, as the sender and the receiver see it."""
    (vs_a, va_a, vr_a), (vs_b, va_b, vr_b) = (
        (int(state.vs), int(state.va), int(state.vr)) for state in (each.entity.state for each in wires.sides)
    )
    return va_a <= vr_b <= vs_a <= va_a + window and va_b <= vr_a <= vs_b <= va_b + window


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 5, 128]), ERASURES, st.lists(st.binary(min_size=1, max_size=9), max_size=40))
def test_octets_arrive_and_the_window_is_kept(
    window: int, erasures: tuple[list[bool], list[bool]], sdus: list[bytes]
) -> None:
    """The same in real octets in both directions, V(S) never more than the window ahead of V(A)."""
    parameters = SrParameters(window=window, timeout_ms=60, ack_delay_ms=20)
    wires = Wires(Sr(parameters), Sr(parameters))
    for sdu in sdus:
        wires.sides[0].offer(sdu)
        wires.sides[1].offer(sdu[::-1])
    for i in range(300):
        wires.step(i * 10)
        for side in (0, 1):
            wires.send(side, erasures[side][i : i + 1] == [True])
            assert within_window(wires, window)
    assert [sdu.octets for sdu in wires.sides[1].delivered()] == sdus
    assert [sdu.octets for sdu in wires.sides[0].delivered()] == [sdu[::-1] for sdu in sdus]
    assert wires.sides[0].next_timer() is None


@pytest.mark.slow
def test_entity_fills_a_queue_below_at_once() -> None:
    """Asked until it has nothing, a side hands down its whole window; every timer then runs from that moment."""
    parameters = SrParameters(ack_delay_ms=0)
    wires = Wires(Sr(parameters), Sr(parameters))
    sdus = [bytes([k % 251, 1]) for k in range(400)]
    for sdu in sdus:
        wires.sides[0].offer(sdu)
    counted = 0
    while wires.send(0, erased=counted == 3):
        counted += 1
    assert (counted, wires.sides[0].next_timer()) == (127, 1100 * MS)
    for now in range(0, 1000, 5):
        wires.step(now)
        while wires.send(0, erased=False) or wires.send(1, erased=False):
            pass
    assert [sdu.octets for sdu in wires.sides[1].delivered()] == sdus
    counts = wires.sides[0].entity.counts
    assert (counts.retransmissions, counts.timeouts) == (1, 0)


def test_delivery_says_when_an_sdu_came_and_when_it_was_handed_over() -> None:
    """After a lost frame the others come long before they are handed over; numbers and octets are the sender's."""
    wires = Wires(Sr(QUICK), Sr(QUICK))
    for sdu in (b"one", b"two", b"three"):
        wires.sides[0].offer(sdu)
    for now in (0, 10, 20):
        wires.step(now)
        wires.send(0, erased=now == 10)
    for now in range(30, 120, 10):
        wires.step(now)
        for side in (0, 1):
            wires.send(side, erased=False)
    found = wires.sides[1].delivered()
    assert [(each.sdu, each.octets, each.first_ns // MS) for each in found] == [
        (0, b"one", 15), (1, b"two", 75), (2, b"three", 35),
    ]  # fmt: skip
    assert [each.time_ns // MS for each in found] == [15, 75, 75]
    assert wires.sides[0].flushed() == []


def frame_sent_after(side: Entity, kind: int, **fields: int) -> list[int]:
    """The header of the next frame after a control frame with these fields, at 0."""
    frame = record(FRAME)
    frame.kind = kind
    for name, value in fields.items():
        frame[name] = value
    machine.receive(side, frame, 6, 0)
    for name in FRAME.names:
        frame[name] = -1
    return list(frame.tolist()[:5]) if machine.next_frame(side, frame, 0) else []


def test_echo_goes_round_with_the_numbers_of_nacks() -> None:
    """After NACK 255 comes NACK 0, and is echoed; new frames go on echoing the last that was answered."""
    side = entity(SrParameters(window=3))
    machine.offer(side, 0, 0, 100, 0)
    assert frame_sent_after(side, ACK) == [DATA, 0, 0, 0, 0]
    assert frame_sent_after(side, NACK, ns=0, id=255) == [DATA, 0, 0, 0, 255]
    assert frame_sent_after(side, NACK, ns=0, id=0) == [DATA, 0, 0, 0, 0]


def test_nack_of_what_is_not_outstanding_is_ignored() -> None:
    """Neither a frame not sent yet nor one acknowledged, even while its resend waits, is sent or echoed."""
    side = entity(SrParameters(window=1))
    for n in range(130):
        machine.offer(side, n, 100 * n, 100, 0)
        assert frame_sent_after(side, ACK, has_nr=1, nr=n) == [DATA, n, 0, 0, 0]
        assert frame_sent_after(side, NACK, ns=n + 1, id=9) == []
        answering = record(FRAME)
        answering.kind, answering.ns, answering.id = NACK, n, 7
        machine.receive(side, answering, 6, 0)
    assert frame_sent_after(side, ACK, has_nr=1, nr=130) == []
    assert frame_sent_after(side, NACK, ns=129, id=8) == []
    assert side.counts.retransmissions == 0

"""ASR: how its timeout follows the round trips."""

from __future__ import annotations

from typing import Any

import pytest
from arq_links import counters, delivered, log_lines, scene
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import record
from multitracer.replay.arq.sr import machine
from multitracer.replay.arq.sr.asr import AsrParameters, estimate, learn
from multitracer.replay.arq.sr.frames import ACK, FRAME
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import MS
from multitracer.replay.arq.sr.state import SLOTS, TIMERS, Entity, entity

TICK_NS = 10 * MS


@pytest.mark.parametrize(
    ("alpha", "beta", "first", "timeouts"),
    [
        (1, 4, 110, [134, 147, 146, 155, 165]),
        (3, 2, 330, [332, 331, 328, 325, 335]),
        (4, 0, 440, [424, 412, 408, 396, 404]),
    ],
)
def test_arithmetic_is_tcps_in_whole_ticks(alpha: int, beta: int, first: int, timeouts: list[int]) -> None:
    """Five round trips from 1.1 s on, worked out by hand: srtt times 8, variation times 4, and the timeout."""
    rules = AsrParameters(alpha=alpha, beta=beta).rules()
    found = estimate(rules)
    assert found.tolist() == (880, 0, first * TICK_NS, first * TICK_NS)
    steps = []
    for ticks in (80, 85, 90, 78, 120):
        learn(found, rules, ticks * TICK_NS + 9_999_999)
        steps.append(found.copy())
    assert [step.srtt8 for step in steps] == [850, 829, 816, 792, 813]
    assert [step.var4 for step in steps] == [30, 44, 46, 59, 66]
    assert [step.rtxto_ns // TICK_NS for step in steps] == timeouts


def test_variation_can_take_the_new_srtt() -> None:
    """From 110 to a sample of 80 the new srtt is 850 >> 3 = 106: the variation grows by 26 instead of 30."""
    rules = AsrParameters(var_uses_new_srtt=True).rules()
    found = estimate(rules)
    learn(found, rules, 80 * TICK_NS)
    assert (found.srtt8, found.var4) == (850, 26)


def test_timeout_is_a_tick_at_least() -> None:
    """Round trips below a tick do not make a timer that expires at once."""
    rules = AsrParameters(alpha=1, beta=0, initial_srtt_ms=10).rules()
    found = estimate(rules)
    for _ in range(40):
        learn(found, rules, 0)
    assert found.rtxto_ns == TICK_NS


def ack(nr: int) -> Any:
    """An ACK frame."""
    frame = record(FRAME)
    frame.kind, frame.has_nr, frame.nr = ACK, 1, nr
    return frame


def acknowledged(parameters: AsrParameters, frames: int, nr: int, resend: bool = False) -> list[int]:
    """The estimate after frames sent at 0, 100, ... ms and an ACK for `nr` of them at 1000 ms."""
    side, frame = entity(parameters), record(FRAME)
    for k in range(frames):
        machine.offer(side, k, 100 * k, 100, k * 100 * MS)
        machine.next_frame(side, frame, k * 100 * MS)
    if resend:
        machine.expire(side, 950 * MS)
        machine.next_frame(side, frame, 950 * MS)
    for _ in range(2):
        machine.receive(side, ack(nr), 6, 1000 * MS)
    return [int(side.estimate.srtt8), int(side.estimate.var4)]


def test_only_the_highest_frame_of_an_ack_is_sampled_and_once() -> None:
    """Three frames acknowledged at once: the sample is the third's 80 ticks, and the duplicate ACK gives none."""
    assert acknowledged(AsrParameters(), 3, 3) == [850, 30]


def test_ack_of_nothing_new_gives_no_sample() -> None:
    """N(R) at the oldest frame, or beyond the newest, changes nothing."""
    assert acknowledged(AsrParameters(), 3, 0) == acknowledged(AsrParameters(), 3, 4) == [880, 0]


def test_resent_frame_is_sampled_from_its_last_sending_unless_karn() -> None:
    """Sent again at 950 ms: 5 ticks, as the paper has it; with `karn` the frame says nothing."""
    quick = {"initial_srtt_ms": 300, "alpha": 3, "beta": 0}
    assert acknowledged(AsrParameters(**quick), 1, 1, resend=True) == [240 + 5 - 30, 25]
    assert acknowledged(AsrParameters(**quick, karn=True), 1, 1, resend=True) == [240, 0]


def test_timer_never_expires_before_one_set_earlier() -> None:
    """Frame 1 is sent at 30 with 300 ms; the ACK at 35 shortens that to 260, yet frame 2, sent at 40, waits to 330."""
    parameters = AsrParameters(alpha=1, beta=0, initial_srtt_ms=300, ack_delay_ms=0)
    lines = log_lines(scene(parameters, offers=([0, 30, 40], []), lost=({3, 4}, set())), ("RECEIVED", "DELIVERED"))
    assert lines[3:8] == [
        "30 A ERASED DATA 1 echo 0",
        "40 A ERASED DATA 2 echo 0",
        "330 A TIMEOUT 1",
        "330 A TIMEOUT 2",
        "330 A SENT DATA 1 echo 0",
    ]


def test_timeout_settles_at_the_links_round_trip() -> None:
    """A steady 40 ms of round trip: alpha times 4 ticks, after 3.3 s at first."""
    driven = scene(AsrParameters(ack_delay_ms=0), offers=(list(range(0, 6000, 60)), []), opportunities=700)
    assert int(driven.a.estimate.srtt8) >> 3 in (3, 4)
    assert 3 * 3 * TICK_NS <= driven.a.estimate.rtxto_ns <= (3 * 4 + 2) * TICK_NS


@pytest.mark.slow
def test_policy_of_tcp_times_out_without_errors() -> None:
    """1 + 4 learns from the freshest frame of a delayed ACK and resends the oldest in vain; 4 + 0 does so less."""
    timeouts = []
    for alpha, beta in ((1, 4), (4, 0)):
        parameters = AsrParameters(alpha=alpha, beta=beta)
        driven = scene(parameters, offers=([0] * 2000, []), opportunities=3000)
        a, b = counters(driven)
        assert (b["delivered_sdus"], b["nacks"]) == (2000, 0)
        timeouts.append(a["timeouts"])
    assert timeouts[0] > timeouts[1]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.sampled_from([(1, 4), (3, 2), (4, 0)]), st.booleans(), st.tuples(*[st.lists(st.booleans(), max_size=60)] * 2))
def test_everything_arrives_once_and_in_order(
    policy: tuple[int, int], karn: bool, erasures: tuple[list[bool], list[bool]]
) -> None:
    """Whatever is erased, if not for ever, and however the timeout moves; its timers expire in order."""
    parameters = AsrParameters(alpha=policy[0], beta=policy[1], karn=karn, initial_srtt_ms=50, ack_delay_ms=30)
    lost = [{i for i, erased in enumerate(each) if erased} for each in erasures]
    offers = list(range(0, 300, 15)), list(range(0, 300, 40))
    driven = scene(parameters, offers=offers, lost=(lost[0], lost[1]), opportunities=600)
    assert delivered(driven) == ([(k, 100) for k in range(8)], [(k, 100) for k in range(20)])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3)), max_size=60))
def test_chain_of_timers_is_in_order_of_expiry(steps: list[tuple[int, int]]) -> None:
    """After any transmissions, ACKs and expiries the pending timers are in the order in which they expire."""
    side, frame, now = entity(AsrParameters(alpha=1, beta=4, initial_srtt_ms=60)), record(FRAME), 0
    for k, (later, what) in enumerate(steps):
        now += later * MS
        machine.offer(side, k, 9 * k, 9, now)
        if what == 3:
            machine.receive(side, ack((int(side.state.va) + 1) % 256), 6, now)
        elif what == 2:
            machine.expire(side, now)
        else:
            machine.next_frame(side, frame, now)
        expiries = pending(side)
        assert expiries == sorted(expiries)


def pending(side: Entity) -> list[int]:
    """The expiries in the order of the chain."""
    found, place = [], int(side.sent[TIMERS].next)
    while place < SLOTS:
        found.append(int(side.sent[place].expiry_ns))
        place = int(side.sent[place].next)
    return found


def test_class_takes_either_kind_of_parameters() -> None:
    """Sr with AsrParameters is an ASR side: its first timer is alpha times 1.1 s."""
    side = Sr(AsrParameters(alpha=4, beta=0))
    side.offer(b"sdu")
    assert side.next_frame(5) == bytes.fromhex("000000000000") + b"sdu"
    assert side.next_timer() == 4400 * MS + 5


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [("alpha", 0, "1 to 16"), ("beta", -1, "0 to 16"), ("tick_ms", 0, "1 to 1000"), ("initial_srtt_ms", 9, "10 to"),
     ("karn", 1, "True or False"), ("var_uses_new_srtt", "no", "True or False"), ("window", 129, "1 to 128")],
)  # fmt: skip
def test_nonsense_is_refused_with_its_range(name: str, value: object, bounds: str) -> None:
    """A parameter out of range is named with its value and what it may be."""
    with pytest.raises(UsageError, match=rf"{name} '?{value}'? must be .*{bounds}"):
        AsrParameters(**{name: value})  # type: ignore[arg-type]

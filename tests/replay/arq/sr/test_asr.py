"""ASR: how its timeout follows the round trips."""

from __future__ import annotations

import numpy as np
import pytest
from arq_links import delivered, scene, told
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.sr import entity, link
from multitracer.replay.arq.sr.asr import RTXTO_NS, SRTT8, VAR4, AsrParameters, estimate, learn
from multitracer.replay.arq.sr.entity import EXPIRY_NS, SLOTS, TIMERS, Sr
from multitracer.replay.arq.sr.frames import ACK, FIELDS, HAS_NR, KIND, NR
from multitracer.replay.arq.sr.parameters import MS

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
    believed = estimate(rules)
    assert believed.tolist() == [880, 0, first * TICK_NS]
    steps = []
    for ticks in (80, 85, 90, 78, 120):
        learn(believed, rules, ticks * TICK_NS + 9_999_999)
        steps.append(believed.tolist())
    assert [step[SRTT8] for step in steps] == [850, 829, 816, 792, 813]
    assert [step[VAR4] for step in steps] == [30, 44, 46, 59, 66]
    assert [step[RTXTO_NS] // TICK_NS for step in steps] == timeouts


def test_variation_can_take_the_new_srtt() -> None:
    """From 110 to a sample of 80 the new srtt is 850 >> 3 = 106: the variation grows by 26 instead of 30."""
    rules = AsrParameters(var_uses_new_srtt=True).rules()
    believed = estimate(rules)
    learn(believed, rules, 80 * TICK_NS)
    assert believed[[SRTT8, VAR4]].tolist() == [850, 26]


def test_timeout_is_a_tick_at_least() -> None:
    """Round trips below a tick do not make a timer that expires at once."""
    rules = AsrParameters(alpha=1, beta=0, initial_srtt_ms=10).rules()
    believed = estimate(rules)
    for _ in range(40):
        learn(believed, rules, 0)
    assert believed[RTXTO_NS] == TICK_NS


def acknowledged(parameters: AsrParameters, frames: int, nr: int, resend: bool = False) -> list[int]:
    """The estimate after frames sent at 0, 100, ... ms and an ACK for `nr` of them at 1000 ms."""
    side, frame = entity.entity(parameters), np.zeros(FIELDS, dtype=np.int64)
    for k in range(frames):
        entity.offer(side, k, 100)
        entity.next_frame(side, k * 100 * MS, frame)
    if resend:
        entity.expire(side, 950 * MS)
        entity.next_frame(side, 950 * MS, frame)
    frame[:] = 0
    frame[[KIND, HAS_NR, NR]] = ACK, 1, nr
    for _ in range(2):
        entity.receive(side, frame, 1000 * MS)
    return side.believed.tolist()[:RTXTO_NS]


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
    lines = told(scene(parameters, offers=([0, 30, 40], []), lost=({3, 4}, set())), ("RECEIVED", "DELIVERED"))
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
    assert int(driven.a.believed[SRTT8]) >> 3 in (3, 4)
    assert 3 * 3 * TICK_NS <= driven.a.believed[RTXTO_NS] <= (3 * 4 + 2) * TICK_NS


def test_policy_of_tcp_times_out_without_errors() -> None:
    """1 + 4 learns from the freshest frame of a delayed ACK and resends the oldest in vain; 4 + 0 does so less."""
    timeouts = []
    for alpha, beta in ((1, 4), (4, 0)):
        parameters = AsrParameters(alpha=alpha, beta=beta)
        driven = scene(parameters, offers=([0] * 2000, []), opportunities=3000)
        a, b = link.counters(driven)
        assert (b["delivered_sdus"], b["nacks"]) == (2000, 0)
        timeouts.append(a["timeouts"])
    assert timeouts[0] > timeouts[1]


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([(1, 4), (3, 2), (4, 0)]), st.booleans(), st.tuples(*[st.lists(st.booleans(), max_size=60)] * 2)
)
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
    """After any sendings, ACKs and expiries the pending timers stand in the order in which they expire."""
    side, frame, now = entity.entity(AsrParameters(alpha=1, beta=4, initial_srtt_ms=60)), np.zeros(FIELDS, np.int64), 0
    for k, (later, what) in enumerate(steps):
        now += later * MS
        entity.offer(side, k, 9)
        if what == 3:
            frame[:] = 0
            frame[[KIND, HAS_NR, NR]] = ACK, 1, (int(side.state[entity.VA]) + 1) % 256
            entity.receive(side, frame, now)
        elif what == 2:
            entity.expire(side, now)
        else:
            entity.next_frame(side, now, frame)
        expiries = pending(side)
        assert expiries == sorted(expiries)


def pending(side: entity.Entity) -> list[int]:
    """The expiries in the order of the chain."""
    found, place = [], int(side.sent_links[TIMERS, 1])
    while place < SLOTS:
        found.append(int(side.sent[place, EXPIRY_NS]))
        place = int(side.sent_links[place, 1])
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

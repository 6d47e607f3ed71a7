"""What the air does to frames: which it can lose, what it loses at once, what comes late; and the queue before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import DELIVERED, ERASED, RECEIVED, SENT
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sr.frames import DATA
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.direction import Direction, Erased, TwoStates
from multitracer.replay.engine.driver import Engine, Keep, Protocol
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR
from multitracer.replay.engine.way import is_lost

MS = 1_000_000
RATE_BPS, DELAY_NS = 80_000, 50 * MS
"""10 octets a millisecond."""


@pytest.fixture(autouse=True)
def _plain() -> None:
    kernels.choose(0)


def run(protocol: Protocol, parameters: Any, forth: Direction, offers: list[tuple[int, ...]]) -> Engine:
    """Both ends, what A is offered, and a way back without losses."""
    back = Direction(DELAY_NS, rate_bps=RATE_BPS)
    return Engine(protocol, (parameters, parameters), forth, back, source(offers), Keep(5000, ledger=64)).run(5000 * MS)


def rows(engine: Engine, event: int, side: int) -> Any:
    """Rows of the log."""
    found = engine.log.rows
    return found[(found["event"] == event) & (found["side"] == side)]


def test_a_late_frame_is_overtaken_by_those_after_it() -> None:
    """Of five frames 10 ms apart the second comes 25 ms later: after the third and the fourth."""
    forth = Direction(DELAY_NS, rate_bps=RATE_BPS, late=((1, 25 * MS),))
    engine = run(RAW, RawParameters(header_bytes=0), forth, [(0, 0, 100)] * 5)
    came = rows(engine, DELIVERED, 1)
    assert came["number"].tolist() == [0, 2, 3, 1, 4]
    assert (came["time_ns"] // MS).tolist() == [60, 80, 90, 95, 100]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.integers(0, 19), st.integers(0, 200), max_size=8), st.sets(st.integers(0, 19), max_size=5))
def test_every_frame_comes_at_its_time_whatever_is_late(late: dict[int, int], lost: set[int]) -> None:
    """As a sum of times, ties in the order of sending; time never goes back; each has its own octets."""
    channel = Erased(np.isin(np.arange(20), sorted(lost)))
    forth = Direction(DELAY_NS, rate_bps=RATE_BPS, late=tuple((k, by * MS) for k, by in late.items()), channel=channel)
    engine = run(RAW, RawParameters(header_bytes=0), forth, [(0, 0, 10 + k) for k in range(20)])
    ends = np.cumsum([10 + k for k in range(20)]) * MS // 10
    expected = sorted((int(end) + DELAY_NS + late.get(k, 0) * MS, k) for k, end in enumerate(ends) if k not in lost)
    assert [(int(row["time_ns"]), int(row["number"])) for row in rows(engine, DELIVERED, 1)] == expected
    assert [int(row["octets"]) for row in rows(engine, DELIVERED, 1)] == [10 + k for _, k in expected]
    assert (np.diff(engine.log.rows["time_ns"]) >= 0).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 39), max_size=25), st.integers(1, 4))
def test_a_slot_is_lost_whole_by_the_luck_of_its_first_frame(lost: set[int], per_slot: int) -> None:
    """All frames of an opportunity or none, whatever the trace says of the others."""
    channel = Erased(np.isin(np.arange(40), sorted(lost)))
    forth = Direction(DELAY_NS, slot_ns=20 * MS, per_slot=per_slot, whole_slots=True, channel=channel)
    engine = run(RAW, RawParameters(), forth, [(0, 0, 100)] * 12)
    sent = rows(engine, SENT, 0)["time_ns"] // (20 * MS)
    gone = rows(engine, ERASED, 1)["time_ns"] - DELAY_NS
    expected = [int(slot) for slot in sent if slot * per_slot in lost]
    assert (gone // (20 * MS)).tolist() == expected


def test_whole_slots_need_slots() -> None:
    """A link serialised by octets has none."""
    with pytest.raises(UsageError, match="whole_slots needs slot_ns"):
        Direction(DELAY_NS, rate_bps=RATE_BPS, whole_slots=True)


@pytest.mark.parametrize("hits_control", [True, False])
def test_control_frames_and_packets_past_the_entity_can_be_spared(hits_control: bool) -> None:
    """Where the air loses everything: all frames, or data frames alone, as often as they are sent."""
    channel = Erased(np.ones(500, dtype=np.uint8))
    forth = Direction(DELAY_NS, rate_bps=RATE_BPS, hits_control=hits_control, channel=channel)
    offers = [(k * MS * 10, 0, 100, 1, 1) for k in range(3)] + [(0, 0, 100), (0, 1, 100)]
    engine = run(SR, SrParameters(ack_delay_ms=10), forth, offers)
    log = engine.log
    came = [
        int(frame["kind"]) for row, frame in zip(log.rows, log.frames, strict=True)
        if row["event"] == RECEIVED and row["side"] == 1 and row["what"] == 0
    ]  # fmt: skip
    past = rows(engine, DELIVERED, 1)
    assert (len(came) > 0, len(past)) == ((False, 0) if hits_control else (True, 3))
    assert int(DATA) not in came
    assert len(rows(engine, DELIVERED, 0)) == 1


def test_control_frames_pass_what_waits() -> None:
    """An ACK that falls due behind ten data frames and media is sent next, or at the end of the queue."""
    at = []
    for first in (True, False):
        forth = Direction(DELAY_NS, rate_bps=RATE_BPS, eager=True, control_first=first)
        offers = [(55 * MS, 0, 94)] * 5 + [(55 * MS, 0, 100, 1, 1)] * 5 + [(0, 1, 94)]
        engine = run(SR, SrParameters(ack_delay_ms=50), forth, offers)
        log = engine.log
        acks = [
            int(row["time_ns"]) // MS for row, frame in zip(log.rows, log.frames, strict=True)
            if row["event"] == SENT and row["side"] == 0 and row["what"] == 0 and frame["kind"] != DATA
        ]  # fmt: skip
        at.append(acks[0])
        assert len(rows(engine, DELIVERED, 1)) == 10
    assert at == [115, 155]


BORDERS = st.lists(st.integers(1, 30), min_size=2, max_size=10).filter(lambda steps: len(steps) % 2 == 0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(BORDERS, st.integers(0, 200), st.integers(1, 60), st.sampled_from(["product", "touch", "end"]))
def test_a_frame_of_two_states_is_lost_by_the_bits_that_it_has_in_each(
    steps: list[int], start: int, length: int, rule: str
) -> None:
    """Also where it begins or ends on a border: its chance is the product over its instants (10 octets in each)."""
    good, bad, numbers = 1e-5, 3e-3, np.linspace(0, 1, 200, endpoint=False)
    pairs = np.array(steps, dtype=np.int64).reshape(-1, 2)
    far = np.array([[10**14, 1]], dtype=np.int64)
    channel = TwoStates(
        lambda _: numbers, bit_error_rate=good, bad_bit_error_rate=bad, rule=rule,
        sojourns=lambda _: np.concatenate([pairs, far]),
    )  # fmt: skip
    direction = Direction(DELAY_NS, rate_bps=RATE_BPS, channel=channel)
    made = direction.channel.cover(direction.way(0, lambda size: np.zeros(size)), 0)
    lost = 0
    for number in range(200):
        made.state.sent, made.state.sojourn = number, 0
        lost += is_lost(made, number, start, start + length, 10 * length)
    borders = np.cumsum(steps)
    inside = [bool(np.searchsorted(borders, at, side="right") % 2) for at in range(start, start + length)]
    share = {"product": sum(inside) / length, "touch": float(any(inside)), "end": float(inside[-1])}[rule]
    chance = 1 - (1 - bad) ** (80 * length * share) * (1 - good) ** (80 * length * (1 - share))
    assert lost == pytest.approx(200 * chance, abs=1.01)


def test_a_link_of_two_states_may_start_in_the_bad_one() -> None:
    """Then the first good time is left out: nothing comes up to the end of the first bad one."""
    for starts_bad in (False, True):
        channel = TwoStates(
            lambda count: np.full(count, 0.5), bit_error_rate=0.0, bad_bit_error_rate=1 - 1e-12, starts_bad=starts_bad,
            sojourns=lambda count: np.tile(np.array([[10**13, 100 * MS]], dtype=np.int64), (count, 1)),
        )  # fmt: skip
        forth = Direction(DELAY_NS, rate_bps=RATE_BPS, channel=channel)
        engine = run(RAW, RawParameters(header_bytes=0), forth, [(k * 20 * MS, 0, 100) for k in range(10)])
        assert rows(engine, DELIVERED, 1)["number"].tolist() == list(range(5 if starts_bad else 0, 10))

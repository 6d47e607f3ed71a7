"""When acknowledgements would have come had nothing held them, as far as their timestamps tell."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limiting import found, milliseconds
from sending import ack, data

from multitracer.accounting.answer_times import (
    LEAST_HELD_NS,
    LEAST_STAMPS,
    SURE_SHARE,
    TICKS_NS,
    note_answers,
)
from multitracer.accounting.room import room_for
from multitracer.accounting.sending_state import CLEAN, DATED, HEARD
from multitracer.compute import kernels
from multitracer.model.schema import OPTION_TIMESTAMPS

MS = 1_000_000
START = 1_700_000_000 * 10**9
WAY, TRIP = 60 * MS, 1_000 * MS


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def noted(sent, held, stamps, *, stamped=True):
    """Of acknowledgements sent at these times (ns), and held: when each counts as sent, which are dated, if all are."""
    sent, count = np.asarray(sent, dtype=np.int64), len(sent)
    room = room_for(np.array([count]))
    room.events.delivered_ns[:] = np.maximum.accumulate(START + sent + WAY + held)
    room.events.delivered_row[:] = room.events.delivered_upto[:] = np.arange(count)
    room.events.sent_ns[:], room.events.delivered_flag[:] = START + sent + WAY - TRIP, CLEAN
    options = np.full(count, OPTION_TIMESTAMPS if stamped else 0, dtype=np.uint8)
    room.state[HEARD] = count
    capture = SimpleNamespace(tsval=(np.asarray(stamps) & 0xFFFFFFFF).astype(np.uint32), options=options)
    told = note_answers(capture, room.events, room.state, room.samples)
    dated = room.events.delivered_flag & DATED != 0
    return room.events.delivered_ns - START - WAY, dated, told


def ticks(sent, tick_ns=MS, first=5):
    """The timestamps of a clock that counts up each `tick_ns`."""
    return first + (np.asarray(sent) // tick_ns).astype(np.int64)


def evenly(count, every_ms, held_ms=None):
    """Times in ns, one after another, and how long each of those in `held_ms` is held, by number."""
    held = np.zeros(count, dtype=np.int64)
    for number, ms in (held_ms or {}).items():
        held[number] = ms * MS
    return np.arange(count) * every_ms * MS, held


GAPS = st.lists(st.integers(5 * MS, 300 * MS), min_size=60, max_size=90)
HELD = st.lists(st.sampled_from([0, 0, 3 * MS, 2_000 * MS]), min_size=90, max_size=90)


@given(GAPS, HELD, st.sampled_from(TICKS_NS), st.integers(0, 2**32 - 1))
def test_a_held_acknowledgement_counts_as_sent_a_little_later_than_it_was(gaps, held, tick_ns, first) -> None:
    """Where some before and after it were not held; the clock may begin anywhere, and go over its end."""
    sent = np.cumsum([*gaps, 2_000 * MS, *gaps[:4]])
    held = np.array([0] * 4 + held[4 : len(gaps)] + [0] * 5)
    stamps = ticks(sent, tick_ns, first)
    came, dated, told = noted(sent, held, stamps)
    held_before = np.maximum.accumulate(sent + held) - sent
    assert ((came == sent + held_before) | dated).all()
    steps = np.diff(stamps)
    late = max(tick_ns * (steps[steps > 0].min() + 1), LEAST_HELD_NS)
    assert dated[held_before > late + tick_ns].all()
    assert told == (late <= SURE_SHARE * TRIP)
    assert (came >= sent).all()
    assert (came - sent <= np.minimum(held_before, late + tick_ns)).all()  # none need have been sent just at a tick


def test_an_acknowledgement_that_was_not_held_keeps_its_time() -> None:
    """To the nanosecond, though the clock of the timestamps has ticks of 10 ms."""
    sent = np.cumsum(np.random.default_rng(1).integers(20 * MS, 50 * MS, 200))
    came, dated, told = noted(sent, 0 * sent, ticks(sent, 10 * MS))
    assert told
    assert not dated.any()
    assert (came == sent).all()


def late_clock(sent, stop_ms, at_ms):
    """A clock that stood still for a while, as that of a host asleep; or was set anew, if `stop_ms` is negative."""
    return ticks(np.where(sent < at_ms * MS, sent, sent - stop_ms * MS))


EVERY_FIFTIETH = dict.fromkeys(range(25, 1000, 50), 400)
STOPS = [(late_clock, (stop, at), False) for stop in (150, 3_000, -150) for at in (1_000, 50_000, 99_000)]
DRIFTS = [(lambda sent, rate: ticks(sent * rate), (1 + n / 1e6,), abs(n) < 100) for n in (-3_000, -50, 50, 3_000)]
COARSE = [(lambda sent, step: ticks(sent // step * step), (step,), True) for step in (10 * MS, 15_600_000)]


@pytest.mark.parametrize(("clock", "values", "sure"), [*STOPS, *DRIFTS, *COARSE])
def test_whatever_a_clock_does_only_what_was_held_is_dated(clock, values, sure) -> None:
    """A clock that stops, is set anew, drifts, or is read rarely makes no acknowledgement earlier than it was sent.

    By one that does not keep its pace others may have been held, too.
    """
    sent, held = evenly(1000, 100, EVERY_FIFTIETH)
    sent = sent + np.random.default_rng(2).integers(0, 40 * MS, 1000)
    came, dated, told = noted(sent, held, clock(sent, *values))
    assert dated.any()
    assert told == sure
    assert (dated <= (np.maximum.accumulate(sent + held) > sent)).all()
    assert (came >= sent - MS).all()


@pytest.mark.parametrize(
    "stamps",
    [
        lambda sent: ticks(sent, 2.4e6),
        lambda sent: ticks(sent, 500 * MS),
        lambda sent: 0 * ticks(sent),
        lambda sent: ticks(sent // (700 * MS) * (700 * MS)),
    ],
)
def test_a_clock_of_an_unknown_unit_or_one_that_is_hardly_ever_read_tells_nothing(stamps) -> None:
    """All times are as they were; rarely is more than half a round trip."""
    sent, held = evenly(100, 100, {50: 400})
    came, dated, told = noted(sent, held, stamps(sent))
    assert not told
    assert not dated.any()
    assert came.tolist() == np.maximum.accumulate(sent + held).tolist()


def test_timestamps_tell_nothing_if_few_acknowledgements_have_them() -> None:
    """All must have one, and all of a few may have been held."""
    sent, held = evenly(LEAST_STAMPS - 1, 100)
    assert not noted(sent, held, ticks(sent))[2]
    sent, held = evenly(100, 100)
    assert not noted(sent, held, ticks(sent), stamped=False)[2]


def test_what_comes_sooner_than_any_other_by_its_timestamp_contradicts_the_clock() -> None:
    """One acknowledgement dated 900 ms early would have come within 110 ms of its data; others took a second."""
    sent, held = evenly(100, 100, {50: 900})
    stamps = ticks(sent)
    stamps[50:59] = stamps[41]
    assert not noted(sent, held, stamps)[2]


def followed_by_single_packets(stamp, held_ms) -> dict[str, float]:
    """What limited a sender: forty packets at once show the path's rate, then each of twenty waits for an answer.

    `held_ms` says for how long each of these is held, and `stamp` makes the timestamp of an answer sent at a ms.
    """
    script = [ack(-1, 1)._replace(stamp=stamp(0)), *(data(0, 1 + 960 * n, 961 + 960 * n) for n in range(40))]
    script += [ack(110 + 10 * n, 961 + 960 * n)._replace(stamp=stamp(60 + 10 * n)) for n in range(40)]
    now = 500
    for n in range(40, 60):
        answered = now + 110 + held_ms(n)
        script.append(data(now, 1 + 960 * n, 961 + 960 * n))
        script.append(ack(answered, 961 + 960 * n)._replace(stamp=stamp(now + 60)))
        now = answered
    return milliseconds(found(*script))


def five_of_twenty(number):
    """How long acknowledgements are held: those of every fourth packet, but for the last."""
    return 800 if number % 4 == 0 and number < 57 else 0


def test_a_bottleneck_is_not_busy_while_an_acknowledgement_is_held() -> None:
    """Its data had come, so the sender waited for it with a full window; without timestamps that is not known."""
    spent = followed_by_single_packets(lambda ms: 7 + ms, five_of_twenty)
    assert spent == {"path_rate": 400 + 20 * 10, "sender_window": 20 * 100 + 5 * 800, "application": 100}
    spent = followed_by_single_packets(lambda ms: 0, five_of_twenty)
    assert spent["path_stall"] > 3600
    assert spent["path_rate"] + spent["sender_window"] + spent["path_stall"] == 400 + 20 * 110 + 5 * 800
    assert spent["path_rate"] > 400 + 20 * 10


def test_what_is_held_for_no_longer_than_a_clock_tells_is_open() -> None:
    """Of acknowledgements that come once a second none shows how often the receiver's clock is read."""
    sent, held = evenly(200, 1000, {50: 400})
    _, dated, told = noted(sent, held, ticks(sent // (109 * MS) * (109 * MS)))
    assert not told
    assert not dated.any()


def test_what_is_held_until_the_end_is_as_open_as_without_timestamps() -> None:
    """The receiver's clock may have stopped, or a queue stood on the way back since, or on the way forth."""
    for held_ms in (300, 800):
        stamped, plain = (
            followed_by_single_packets(stamp, lambda number, ms=held_ms: ms if number > 50 else 0)
            for stamp in (lambda ms: 7 + ms, lambda ms: 0)
        )
        assert stamped == plain

"""When acknowledgements would have come had nothing held them, as far as their timestamps tell."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limiting import found, milliseconds
from sending import ack, data

from multitracer.accounting.answer_times import LEAST_STAMPS, TICKS_NS, note_answers
from multitracer.accounting.room import room_for
from multitracer.accounting.sending_events import HEARD
from multitracer.compute import kernels
from multitracer.model.schema import OPTION_TIMESTAMPS

MS = 1_000_000
START = 1_700_000_000 * 10**9
WAY = 60 * MS


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def noted(sent, held, *, tick_ns=1e6, first=5, stamped=True):
    """Of acknowledgements sent at these times (ns) and held for so long: when each counts as come; if stamps tell."""
    sent, held = np.asarray(sent, dtype=np.int64), np.asarray(held, dtype=np.int64)
    count = len(sent)
    room = room_for(np.array([count]))
    room.events.delivered_ns[:] = np.maximum.accumulate(START + sent + WAY + held)
    room.events.delivered_row[:] = np.arange(count)
    stamps = (first + (sent // tick_ns).astype(np.int64)) & 0xFFFFFFFF
    options = np.full(count, OPTION_TIMESTAMPS if stamped else 0, dtype=np.uint8)
    room.state[HEARD] = count
    capture = SimpleNamespace(tsval=stamps.astype(np.uint32), options=options)
    told = note_answers(capture, room.events, room.state, room.samples)
    return room.events.delivered_ns - START - WAY, told


def evenly(count, every_ms, held_ms=None):
    """Times in ns, one after another, and how long each of those in `held_ms` is held, by number."""
    held = np.zeros(count, dtype=np.int64)
    for number, ms in (held_ms or {}).items():
        held[number] = ms * MS
    return np.arange(count) * every_ms * MS, held


GAPS = st.lists(st.integers(5 * MS, 300 * MS), min_size=60, max_size=90)
HELD = st.lists(st.sampled_from([0, 0, 3 * MS, 2_000 * MS]), min_size=90, max_size=90)


@given(GAPS, HELD, st.sampled_from(TICKS_NS), st.integers(0, 2**32 - 1))
def test_a_held_acknowledgement_counts_as_come_at_most_a_tick_late(gaps, held, tick_ns, first) -> None:
    """Where some at both ends of the transfer were not held; the clock may begin anywhere, and go over its end."""
    sent = np.cumsum([*gaps, 2_000 * MS, *gaps[:4]])
    held = np.array([0] * 4 + held[4 : len(gaps)] + [0] * 5)
    came, told = noted(sent, held, tick_ns=tick_ns, first=first)
    held_before = np.maximum.accumulate(sent + held) - sent
    assert told
    assert (came <= sent + held_before).all()
    assert (came - sent <= np.minimum(held_before, 2 * tick_ns)).all()  # none need have been sent just at a tick
    assert (came >= sent).all()


def test_an_acknowledgement_that_was_not_held_keeps_its_time() -> None:
    """To the nanosecond, though the clock of the timestamps has ticks of 10 ms."""
    sent = np.cumsum(np.random.default_rng(1).integers(20 * MS, 50 * MS, 200))
    came, told = noted(sent, 0 * sent, tick_ns=1e7)
    assert told
    assert (came == sent).all()


def test_a_clock_that_drifts_holds_nothing() -> None:
    """100 ppm over 100 s are 10 ms, which is not taken for time on the way."""
    sent, held = evenly(1000, 100, {500: 400})
    came, told = noted(sent, held, tick_ns=1e6 * (1 + 1e-4))
    assert told
    assert np.abs(came - sent).max() <= 2 * MS


@pytest.mark.parametrize(
    "changed",
    [
        {"stamped": False},
        {"tick_ns": 2.4e6},
        {"tick_ns": 1e6 / 1.024},
        {"tick_ns": 5e8},
    ],
)
def test_no_timestamps_or_a_clock_of_unknown_ticks_tell_nothing(changed) -> None:
    """All times are as they were."""
    sent, held = evenly(100, 100, {50: 400})
    came, told = noted(sent, held, **changed)
    assert not told
    assert came.tolist() == np.maximum.accumulate(sent + held).tolist()


def test_few_acknowledgements_tell_nothing() -> None:
    """Of so few, all may have been held."""
    assert not noted(*evenly(LEAST_STAMPS - 1, 100))[1]


def test_where_all_at_one_end_are_held_timestamps_tell_nothing() -> None:
    """A queue that only grows looks like a clock of other ticks."""
    sent, _ = evenly(100, 100)
    held = np.maximum(0, sent // 20 - 20 * MS)
    assert not noted(sent, held)[1]


def followed_by_single_packets(stamp) -> dict[str, float]:
    """What limited a sender: forty packets at once show the path's rate, then each of twenty waits for an answer.

    Five of these take 800 ms more. `stamp` makes the timestamp of an answer sent at a time in ms.
    """
    script = [ack(-1, 1)._replace(stamp=stamp(0)), *(data(0, 1 + 960 * n, 961 + 960 * n) for n in range(40))]
    script += [ack(110 + 10 * n, 961 + 960 * n)._replace(stamp=stamp(60 + 10 * n)) for n in range(40)]
    now = 500
    for n in range(40, 60):
        answered = now + 110 + (800 if n % 4 == 0 and n < 57 else 0)
        script.append(data(now, 1 + 960 * n, 961 + 960 * n))
        script.append(ack(answered, 961 + 960 * n)._replace(stamp=stamp(now + 60)))
        now = answered
    return milliseconds(found(*script))


def test_a_bottleneck_is_not_busy_while_an_acknowledgement_is_held() -> None:
    """Its data had come, so the sender waited for it with a full window; without timestamps the path held either."""
    spent = followed_by_single_packets(lambda ms: 7 + ms)
    assert spent == {"path_rate": 400 + 20 * 10, "sender_window": 20 * 100 + 5 * 800, "application": 100}
    spent = followed_by_single_packets(lambda ms: 0)
    assert spent["path_stall"] > 3600
    assert spent["unknown"] == 300

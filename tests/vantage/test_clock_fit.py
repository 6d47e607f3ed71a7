"""Offset between two clocks, by the delays of packets that both recorded: within the stated error of the truth."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.vantage.clock_fit import OneWayDelays, fit, floor

MS = 1e6
WAY_NS, BYTE_NS = 225 * MS, 122_000.0
"""Propagation, and the serialisation time of a byte at some 64 kbit/s."""
SYN, SEGMENT, ACK = 44, 1000, 40


def through_link(
    sizes: list[int], sent_ns: list[float], held_ns: list[float], clock_ns: float, *, is_reverse: bool = False
) -> OneWayDelays:
    """Packets that a link serialises one after the other; it holds some up besides.

    `clock_ns` is the receiving clock less the sending one.
    """
    size, sent = np.array(sizes, dtype=np.float64), np.array(sent_ns)
    lasts = size * BYTE_NS
    begins = accumulate(zip(sent, lasts, strict=True), lambda end, one: max(end, one[0]) + one[1], initial=0.0)
    delay = np.array(list(begins)[1:]) - sent + WAY_NS + np.array(held_ns)
    near = sent + delay if is_reverse else sent
    return OneWayDelays(near / 1e9, delay + clock_ns, size, np.arange(len(size)), is_reverse)


@pytest.mark.parametrize("syn_held_ms", [0, 415])
@given(seed=st.integers(0, 1000), offset_ms=st.integers(-2000, 2000))
def test_the_error_holds_though_the_only_small_packet_was_held_up(syn_held_ms: int, seed: int, offset_ms: int) -> None:
    """A SYN that the link had to send again is slower than full segments: it does not tell what a byte takes."""
    draw, pairs = np.random.default_rng(seed), 60
    times = [600 * MS * (1 + number) for number in range(pairs)]
    data = [time for time in times for _ in range(2)]
    forward = through_link(
        [SYN, *[SEGMENT] * len(data)], [0.0, *data], [syn_held_ms * MS, *[0.0] * len(data)], offset_ms * MS
    )
    late = (MS * draw.random(len(data))).tolist()
    reverse = through_link([ACK] * len(data), data, late, -offset_ms * MS, is_reverse=True)
    found = fit(forward, reverse)
    assert found is not None
    assert abs(found.offset_ns + found.rate * 1e9 * 18 - offset_ms * MS) <= found.error_ns <= found.worst_ns


@given(small=st.integers(501, 660), held_ms=st.integers(100, 2000))
def test_few_packets_of_similar_sizes_do_not_deny_the_serialisation(small: int, held_ms: int) -> None:
    """Where the link held up the smallest of five packets until after larger ones, a byte still takes its time."""
    sent = [300 * MS * number for number in range(5)]
    found = floor(through_link([small, *[SEGMENT] * 4], sent, [held_ms * MS, 0.0, 0.0, 0.0, 0.0], 0.0), 0.0)
    assert found.least_byte_ns <= BYTE_NS <= found.most_byte_ns


@pytest.mark.parametrize("comes_back", [False, True])
@given(seed=st.integers(0, 1000), share=st.floats(0.2, 0.7), offset_ms=st.integers(-2000, 2000))
def test_what_a_link_holds_up_and_lets_go_at_once_does_not_make_it_faster(
    comes_back: bool, seed: int, share: float, offset_ms: int
) -> None:
    """A link that delivers in order and repeats a lost frame delivers all that waited behind it in one instant."""
    draw = np.random.default_rng(seed)
    sent = np.cumsum(np.where(draw.random(120) < 0.8, 130 * MS, 2000 * MS))
    repeated = np.where(draw.random(120) < share, 1500 * MS, 0.0).tolist()
    free = through_link([SYN, *[SEGMENT] * 119], sent.tolist(), [2000 * MS, *repeated[1:]], 0.0)
    came = np.array(list(accumulate(sent + free.delay_ns, lambda last, time: max(time, last + MS / 5))))
    clock_ns = -offset_ms * MS if comes_back else offset_ms * MS
    near = came if comes_back else sent
    data = OneWayDelays(near / 1e9, came - sent + clock_ns, free.size, free.far_row, comes_back)
    late = (MS * draw.random(120)).tolist()
    acks = through_link([ACK] * 120, came.tolist(), late, -clock_ns, is_reverse=not comes_back)
    found = fit(acks, data) if comes_back else fit(data, acks)
    assert found is not None
    assert abs(found.offset_ns + found.rate * sent[60] - offset_ms * MS) <= found.error_ns


def test_the_error_grows_with_the_time_that_the_packets_do_not_span() -> None:
    """Packets of 0.1 s say little of the drift, and nothing of an hour later."""
    time = np.linspace(0, 0.1, 20)
    both = [OneWayDelays(time, np.full(20, 5e6), np.full(20, 100.0), np.arange(20), one) for one in (False, True)]
    near, far = fit(*both), fit(*both, (0.0, 3600.0))
    assert near is not None
    assert far is not None
    assert near.error_ns < 10e6
    assert far.error_ns > 1e9

"""The wired hop: a queue of limited length, a line, and a delay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.wired import enter, leave, next_arrival, room, wired

DELAY = 1_000
PACKETS = st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 1500)), min_size=1, max_size=40)


@given(packets=PACKETS, limit=st.integers(0, 5), rate=st.sampled_from([0, 8_000_000, 2_000_000_000]))
def test_packets_arrive_in_order_after_their_time_on_the_line(
    packets: list[tuple[int, int]], limit: int, rate: int
) -> None:
    """As a list of departures says; what finds `limit` packets waiting is dropped, and nothing else."""
    hop, now, line, dropped = wired([(rate, DELAY, limit, 0), (0, 0, 0, 0)]), 0, [], 0
    for gap, octets in packets:
        now += gap
        waiting = sum(start > now for start, _ in line)
        begins = max([now, *(end for _, end in line)])
        if limit and waiting >= limit:
            dropped += 1
            assert enter(hop, 0, octets, now) == -1
        else:
            line.append((begins, begins + (-(-octets * 8_000_000_000 // rate) if rate else 0)))
            assert enter(hop, 0, octets, now) >= 0
    assert hop.hops[0].dropped == dropped
    line_end = max(end for _, end in line)
    assert room(hop, 0, 1, line_end) >= 1  # an idle line takes one at once
    assert hop.hops[0].waiting == 0
    for _, end in line:
        assert next_arrival(hop, 0) == end + DELAY
        leave(hop, 0)
    assert next_arrival(hop, 0) == next_arrival(hop, 1) == NEVER


@pytest.mark.parametrize("way", [0, 1])
def test_each_direction_has_a_queue_of_its_own(way: int) -> None:
    """A full one drops nothing of the other."""
    hop = wired([(1000, DELAY, 1, 0)] * 2)
    assert [enter(hop, way, 100, 0) >= 0 for _ in range(3)] == [True, True, False]
    assert enter(hop, 1 - way, 100, 0) >= 0


def test_a_queue_of_octets_takes_packets_while_they_fit() -> None:
    """Beside the one on the wire; what it would take is known before."""
    hop = wired([(8_000, DELAY, 0, 1000), (0, 0, 0, 0)])
    assert room(hop, 0, 400, 0) == 3
    assert [enter(hop, 0, 400, 0) >= 0 for _ in range(4)] == [True, True, True, False]
    assert (room(hop, 0, 200, 0), room(hop, 0, 201, 0)) == (1, 0)
    assert (int(hop.hops[0].waiting), int(hop.hops[0].most), int(hop.hops[0].dropped_octets)) == (800, 2, 400)
    assert room(hop, 0, 400, 400_000_000) == 1  # the second one is on the wire now

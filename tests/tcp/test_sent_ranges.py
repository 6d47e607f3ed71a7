"""How often an end sent each byte: exact for every byte, and no node of the pool is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.tcp import sent_ranges
from multitracer.tcp.measures import STATE_FIELDS, _begin, _set_apart

SPARE = 200
TRANSMISSIONS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 12)), max_size=40)


def before_first_packet(count: int) -> sent_ranges.Ints:
    """The states of so many ends of one part."""
    ends = np.empty((count, STATE_FIELDS), dtype=np.int64)
    _begin(ends)
    return ends


def free_nodes(nodes: sent_ranges.Ints, first: int) -> list[int]:
    """The nodes of a free list that begins with `first`."""
    found = []
    while first != sent_ranges.NO_NODE:
        found.append(int(first))
        first = nodes[first, sent_ranges.ABOVE]
    return found


def ranges_of(nodes: sent_ranges.Ints, ends: sent_ranges.Ints, end: int) -> list[tuple[int, int, int]]:
    """An end's ranges from the bottom up: first, end, copies."""
    found, node = [], ends[end, sent_ranges.RANGES + sent_ranges.BOTTOM]
    while node != sent_ranges.NO_NODE:
        found.append(tuple(nodes[node, [sent_ranges.FIRST, sent_ranges.END, sent_ranges.VALUE]].tolist()))
        node = nodes[node, sent_ranges.ABOVE]
    assert len(found) == ends[end, sent_ranges.RANGES + sent_ranges.LENGTH]
    return found


@given(TRANSMISSIONS)
def test_every_byte_is_counted_as_often_as_it_was_sent(made: list[tuple[int, int, int]]) -> None:
    """Counts and ranges equal a count per byte, for four ends that share a pool."""
    ends, nodes = before_first_packet(4), sent_ranges.new_pool(SPARE, 4)
    times: dict[tuple[int, int], int] = {}
    for end, first, length in made:
        numbers = [(end, number) for number in range(first, first + length)]
        before = [times.get(number, 0) for number in numbers]
        new, first_copies, last_copies, run = sent_ranges.note_sent(nodes, ends, end, first, first + length)
        assert (new, first_copies, last_copies) == (before.count(0), before[0], before[-1])
        if not before[-1]:
            assert run == first + max((place + 1 for place, count in enumerate(before) if count), default=0)
        times |= {number: times.get(number, 0) + 1 for number in numbers}
    for end in range(4):
        ranges = ranges_of(nodes, ends, end)
        assert ranges == sorted(ranges)
        assert all(times.get((end, number), 0) == copies for a, b, copies in ranges for number in range(a, b))


@given(TRANSMISSIONS)
def test_nodes_return_to_their_home_or_the_shared_list(made: list[tuple[int, int, int]]) -> None:
    """An end uses its own nodes first and no other end's; when all ranges are dropped, all nodes are free again."""
    ends, nodes = before_first_packet(4), sent_ranges.new_pool(SPARE, 4)
    homes = [free_nodes(nodes, ends[end, sent_ranges.FREE]) for end in range(4)]
    assert sorted(node for mine in homes for node in mine) == list(range(1, 1 + 4 * sent_ranges.HOME_NODES))
    for end, first, length in made:
        sent_ranges.note_sent(nodes, ends, end, first, first + length)
        used = int(ends[end, sent_ranges.RANGES + sent_ranges.LENGTH])
        assert len(free_nodes(nodes, ends[end, sent_ranges.FREE])) >= sent_ranges.HOME_NODES - used
    for end in range(4):
        while (node := int(ends[end, sent_ranges.RANGES])) != sent_ranges.NO_NODE:
            sent_ranges.drop_node(nodes, ends, end, sent_ranges.RANGES, node)
        assert sorted(free_nodes(nodes, ends[end, sent_ranges.FREE])) == homes[end]
    assert len(free_nodes(nodes, nodes[0, sent_ranges.ABOVE])) == nodes[0, sent_ranges.VALUE] == SPARE


@given(TRANSMISSIONS)
def test_growing_the_pool_changes_no_list(made: list[tuple[int, int, int]]) -> None:
    """A pool that grows before every transmission gives the same results and lists."""
    ends, grown = before_first_packet(4), before_first_packet(4)
    nodes, more = sent_ranges.new_pool(SPARE, 4), sent_ranges.new_pool(8, 4)
    for end, first, length in made:
        more = sent_ranges.grow_pool(more, 8)
        assert len(free_nodes(more, more[0, sent_ranges.ABOVE])) == more[0, sent_ranges.VALUE]
        times = sent_ranges.note_sent(nodes, ends, end, first, first + length)
        assert times == sent_ranges.note_sent(more, grown, end, first, first + length)
        assert ranges_of(nodes, ends, end) == ranges_of(more, grown, end)


def test_slots_of_a_part_are_one_after_another() -> None:
    """In turn the slots go to one part and the other; none is lost, unknown ones stay unknown."""
    slot_of = np.array([0, -1, 1, 2, 3, -1, 4], dtype=np.int32)
    assert _set_apart(slot_of, 5, 2) == 3
    assert slot_of.tolist() == [0, -1, 3, 1, 4, -1, 2]


def test_each_end_of_a_part_has_a_home_of_its_own() -> None:
    """The homes are numbered from the first of the part's pool, and no two of its ends share one."""
    homes = before_first_packet(6)[:, sent_ranges.FREE]
    assert homes.tolist() == [1 + sent_ranges.HOME_NODES * number for number in range(6)]


def test_ends_beyond_the_last_home_use_shared_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end without a home uses shared nodes, and its ranges are as exact."""
    monkeypatch.setattr(sent_ranges, "MOST_HOMES", 2)
    ends, nodes = before_first_packet(4), sent_ranges.new_pool(SPARE, 4)
    free = [1, 1 + sent_ranges.HOME_NODES, sent_ranges.NO_NODE, sent_ranges.NO_NODE]
    assert ends[:, sent_ranges.FREE].tolist() == free
    assert nodes[0, sent_ranges.FIRST] == 1 + 2 * sent_ranges.HOME_NODES
    for first in (0, 20):
        sent_ranges.note_sent(nodes, ends, 3, first, first + 10)
    assert ranges_of(nodes, ends, 3) == [(10, 20, 0)]

"""What the applications do next: pages, objects, connections that close, answers that take time."""

from __future__ import annotations

import pytest

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.work import (
    ANSWERING,
    BEGUN,
    CLOSING,
    IDLE,
    LINGERING,
    Manner,
    Work,
    due_slot,
    end_object,
    idle_slot,
    may_start,
    next_due,
    take_next,
    work,
)

THREE = [(0, [(100, 1000), (200, 2000), (300, 3000)])]


def begin(made: Work, now: int) -> int:
    """Begin the next object on the first idle connection; its number."""
    slot, number = idle_slot(made), take_next(made, now)
    made.slots[slot].object, made.slots[slot].phase = number, BEGUN
    return int(number)


def begun(made: Work, now: int) -> list[int]:
    """Begin all that may; their numbers."""
    numbers = []
    while may_start(made, now):
        numbers.append(begin(made, now))
    return numbers


def test_as_many_objects_go_at_a_time_as_there_may_be_connections() -> None:
    """The next begins when one ends, on its connection."""
    made = work(THREE, Manner(1, parallel=2, acknowledged=False))
    assert begun(made, 5) == [0, 1]
    end_object(made, 1, 9)
    assert begun(made, 9) == [2]
    assert made.objects["begin_ns"].tolist() == [5, 5, 9]
    assert int(made.slots[1].object) == 2


def test_the_first_object_of_a_page_may_go_alone() -> None:
    """The others wait for its end."""
    made = work(THREE, Manner(1, parallel=4, primary=True))
    assert begun(made, 0) == [0]
    end_object(made, 0, 7)
    assert begun(made, 7) == [1, 2]


def test_a_page_begins_after_its_pause() -> None:
    """The first one too; the time of a page runs from its first object's beginning to its last one's end."""
    made = work([(50, [(0, 10)]), (30, [(0, 20)])], Manner(1))
    assert (begun(made, 0), next_due(made, 0)) == ([], 50)
    assert begun(made, 50) == [0]
    end_object(made, 0, 60)
    assert (begun(made, 60), next_due(made, 60)) == ([], 90)
    assert begun(made, 90) == [1]
    assert made.state.finished_ns == NEVER
    end_object(made, 0, 95)
    assert [(page.begin_ns, page.end_ns) for page in made.pages] == [(50, 60), (90, 95)]
    assert (made.state.finished_ns, next_due(made, 95)) == (95, NEVER)


def test_without_pages_nothing_is_ever_due() -> None:
    """And nothing ends."""
    made = work([], Manner(1))
    assert (may_start(made, 0), next_due(made, 0), int(made.state.finished_ns)) == (False, NEVER, NEVER)


@pytest.mark.parametrize("first", [0, 1])
def test_an_object_beside_the_pages_begins_at_its_time(first: int) -> None:
    """On a connection of its own; all is done when it and the pages are."""
    made = work([(0, [(0, 10)])], Manner(0), second=(40, 77))
    assert (begun(made, 0), next_due(made, 0)) == ([0], 40)
    assert begun(made, 40) == [1]
    assert (int(made.objects[1].reply), int(made.objects[1].begin_ns)) == (77, 40)
    end_object(made, first, 50)
    assert made.state.finished_ns == NEVER
    end_object(made, 1 - first, 60)
    assert made.state.finished_ns == 60


def test_a_connection_that_closes_carries_nothing_else_yet() -> None:
    """The next object begins on another one; when all of them are closing, it waits."""
    made = work([(0, [(0, 1)] * 9)], Manner(1, closes=True))
    assert len(made.slots) == 1 + LINGERING
    for number in range(1 + LINGERING):
        assert begun(made, number) == [number]
        end_object(made, number, number)
        assert made.slots[number].phase == CLOSING
    assert begun(made, 10) == []
    made.slots[2].phase = IDLE
    assert begun(made, 10) == [4]
    assert int(made.slots[2].object) == 4


def test_an_answer_is_due_at_its_time() -> None:
    """Of the connections the first one whose answer is."""
    made = work(THREE, Manner(1, parallel=3, server_ns=20))
    begun(made, 0)
    made.slots[1].due_ns = 20
    assert (due_slot(made, 19), due_slot(made, 20), next_due(made, 5)) == (-1, 1, 20)
    made.slots[1].due_ns, made.slots[1].phase = NEVER, ANSWERING
    assert due_slot(made, 20) == -1

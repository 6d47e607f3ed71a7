"""Kernels that run plain: what they are given in place of NumPy's records, and what is copied back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from multitracer.compute.kernels import Kernel
from multitracer.compute.records import PlainArguments

TIMER = np.dtype([("at", "i8")])
ENTITY = np.dtype([("sent", "i8"), ("p", [("limit", "i8"), ("timer", TIMER)]), ("slots", TIMER, (2, 3))])


class Ends(NamedTuple):
    """An argument of several tables."""

    entities: Any
    room: Any


def entities() -> Any:
    """Two entities, all fields 0."""
    return np.zeros(2, dtype=ENTITY).view(np.recarray)


def count(whole: Any, part: Any) -> Any:
    """A kernel that writes through a part and then reads and writes through the whole."""
    part.at += 1
    whole.p.timer.at *= 10
    part.at += 1
    return whole.p.timer.at


@pytest.mark.compiled
@pytest.mark.parametrize("plain", ["0", "1"])
def test_a_part_of_another_argument_is_the_same_object(plain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written through one is read through the other, plain and compiled alike."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", plain)
    monkeypatch.setattr(Kernel, "_place", None)  # not written to the cache
    table = entities()
    assert Kernel(count)(table[1], table[1].p.timer) == 11
    assert (table[1].p.timer.at, table[0].p.timer.at) == (11, 0)


def test_a_part_is_found_in_rows_and_tables_in_any_order_of_the_arguments() -> None:
    """A row of a table, a record in it, a cell of a table in it; also in a named tuple. Other rows are apart."""
    table, room = entities(), np.zeros(3)
    cell, timer, row, ends, other, array = PlainArguments(
        [table[1].slots[1, 2], table[1].p.timer, table[1], Ends(table, room), entities()[1], room]
    ).arguments
    assert ends.entities[1] is row
    assert row.p.timer is timer
    assert row.slots[1, 2] is cell
    assert other is not row
    assert array is ends.room is room


def test_what_a_part_was_given_is_copied_back() -> None:
    """Together with what was written through the whole."""
    table = entities()
    made = PlainArguments([table[0].p.timer, table])
    timer, whole = made.arguments
    timer.at, whole[1].sent = 5, 7
    made.write_back()
    assert (table[0].p.timer.at, table[1].sent) == (5, 7)


def test_empty_tables_overlap_nothing() -> None:
    """An empty part of a table that is passed too is no error."""
    table = entities()
    whole, empty = PlainArguments([table, table[:0]]).arguments
    assert (len(whole), len(empty)) == (2, 0)


def test_arguments_that_overlap_otherwise_are_an_error() -> None:
    """Two slices with a common row would each have their own copy of it."""
    table = np.zeros(3, dtype=ENTITY)
    with pytest.raises(ValueError, match="two arguments of a kernel overlap"):
        PlainArguments([table[:2], table[1:]])
    with pytest.raises(ValueError, match="two arguments of a kernel overlap"):
        PlainArguments([table, table[1:]])

"""State in named fields."""

from __future__ import annotations

import pytest

from multitracer.replay.arq.fields import codes, joined, numbers, record, table


def test_rows_of_a_table_are_records() -> None:
    """Fields are read and written as attributes; a row is a view of its table."""
    rows = table(3, joined(numbers("first second"), tables=[("slots", "i8", (4,))]))
    row = rows[1]
    row.first, row.second = 5, 6
    row.slots[2] = 7
    assert rows["slots"].tolist() == [[0] * 4, [0, 0, 7, 0], [0] * 4]
    assert rows["first"].tolist() == [0, 5, 0]
    assert record(numbers("only")).only == 0


@pytest.mark.parametrize("name", ["size", "data", "T", "item"])
def test_a_field_that_records_hide_is_refused(name: str) -> None:
    """Compiled and plain code would mean different things by it."""
    with pytest.raises(ValueError, match=f"called {name}"):
        numbers("first", name)


def test_codes_count_on_from_the_first() -> None:
    """They are numbers of a fixed width."""
    assert [int(code) for code in codes(3, 16)] == [16, 17, 18]
    assert {code.dtype.str for code in codes(2)} == {"<i8"}

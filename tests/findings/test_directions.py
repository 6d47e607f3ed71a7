"""The directions of all connections as columns."""

from __future__ import annotations

import numpy as np

from multitracer.findings.directions import Direction, Directions

GIVEN = [Direction(0, 0, 0, 1, 10, 20, 500), Direction(0, 1, 1, 0, 10, 20, 0), Direction(2, 1, -1, 1, 0, -1, 500)]


def test_columns_give_the_directions_that_they_were_made_of() -> None:
    """In their order, with Python's integers."""
    assert list(Directions.of(GIVEN)) == GIVEN
    assert all(type(value) is int for one in Directions.of(GIVEN) for value in one)


def test_a_direction_is_found_by_connection_and_sender() -> None:
    """Ends that sent nothing, or that there are none of, have none."""
    found = Directions.of(GIVEN)
    assert found.find(2, 1) == GIVEN[2]
    for absent in ((0, 2), (1, 0), (1, -1), (2, 0), (3, 0), (-1, 1)):
        assert found.find(*absent) is None


def test_the_main_direction_is_the_first_of_those_with_most_data() -> None:
    """Without data there is none."""
    assert Directions.of(GIVEN).main == GIVEN[0]
    assert Directions.of([GIVEN[1]]).main is None
    assert Directions.of([]).main is None


def test_directions_are_chosen_by_where_they_were_captured() -> None:
    """Beside the sender, with a round trip; and beside both."""
    found = Directions.of(GIVEN)
    np.testing.assert_array_equal(found.beside_sender, [True, True, False])
    np.testing.assert_array_equal(found.beside_both, [True, True, False])

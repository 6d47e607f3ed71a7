"""Packets that are equal octet by octet: as many segments are left for those behind as there are."""

from __future__ import annotations

import pytest

from multitracer.correlation.candidates import Fields
from multitracer.correlation.headers import Header
from multitracer.correlation.matching import Offer, match

ENDS = ("10.0.0.1", 1000, "10.0.0.2", 80)
MS = 1_000_000


def matched(carried_ms: list[float], captured_ms: list[float], error_ms: float) -> list[int]:
    """The segments of packets carried at these times, all equal, as a reset's are."""
    head = Header(*ENDS, 40, 0, 226, 0, 0, 4, 77)
    offers = [Offer(head, round(at * MS), round(at * MS), False) for at in carried_ms]
    count = len(captured_ms)
    equal = ([one] * count for one in (226, 226, 0, 0, 4, 0, 77, 40, 0, round(error_ms * MS)))
    fields = Fields(list(range(count)), [0] * count, [round(at * MS) for at in captured_ms], *equal, [True] * count)
    return match(offers, fields, {ENDS: [0]})


@pytest.mark.parametrize("error_ms", [1, 40])
def test_equal_packets_are_matched_in_their_order(error_ms: float) -> None:
    """Though within the clock's error the first one might be the second segment, which would have waited less."""
    assert matched([105.6, 115.6], [97.5, 105.4], error_ms) == [0, 1]


def test_of_more_segments_the_one_that_waited_least_was_carried() -> None:
    """The others never reached the link."""
    assert matched([105.6], [97.5, 105.4], 1) == [1]
    assert matched([105.6, 125.6], [97.5, 105.4, 125.4], 1) == [1, 2]

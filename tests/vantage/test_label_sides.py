"""Which labels of one connection are one place: those that have none of one another's packets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitracer.vantage.flow_labels import Families, _Joined
from multitracer.vantage.label_directions import _most_frequent

FLOWS = 9


def shared(pairs: set[tuple[int, int]]) -> list[int]:
    """The place of each of some flows, of which `pairs` have the same packets; one connection."""
    members = np.arange(FLOWS)
    families = Families(members, np.array([0, FLOWS]), np.zeros(FLOWS, np.int64), np.zeros(FLOWS, np.bool_))
    joined = _Joined(families, [("", "")] * FLOWS)
    joined.flow = [0] * FLOWS
    joined.join_same(frozenset(pairs))
    return joined.labels(frozenset()).side.tolist()


def by_comparing_all(pairs: set[tuple[int, int]]) -> list[int]:
    """The same, in small steps: two sides become one unless any two of their flows have the same packets."""
    side = list(range(FLOWS))
    for one, other in combinations(range(FLOWS), 2):
        ours, theirs = ([m for m in range(FLOWS) if side[m] == side[end]] for end in (one, other))
        if side[one] != side[other] and not any((min(a, b), max(a, b)) in pairs for a in ours for b in theirs):
            for member in ours + theirs:
                side[member] = min(ours + theirs)
    return side


@given(st.sets(st.tuples(st.integers(0, FLOWS - 1), st.integers(0, FLOWS - 1)).filter(lambda pair: pair[0] < pair[1])))
def test_labels_share_a_place_unless_they_have_the_same_packets(pairs: set[tuple[int, int]]) -> None:
    """Whatever has the same packets as what."""
    assert shared(pairs) == (by_comparing_all(pairs) if pairs else list(range(FLOWS)))


def test_of_many_flows_that_fit_one_the_most_frequent_are_tried() -> None:
    """Thirty-two of forty; each of these fits that one alone."""
    pairs = np.column_stack([np.zeros(40, np.int64), np.arange(1, 41)])
    assert np.flatnonzero(_most_frequent(pairs, np.arange(40))).tolist() == list(range(8, 40))

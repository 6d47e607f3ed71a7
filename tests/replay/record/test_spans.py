"""Sets of instants as sorted spans, against sets of whole numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.record.spans import Spans, both, charged, joined, within, without

MOST = 30
SPANS = st.lists(st.tuples(st.integers(0, MOST), st.integers(0, MOST)), max_size=8).map(joined)


def instants(spans: Spans) -> set[int]:
    """The numbers in some spans; none of them twice, and none before those of the span before."""
    found = [at for start, end in spans for at in range(start, end)]
    assert found == sorted(set(found))
    return set(found)


@given(SPANS, SPANS)
def test_what_spans_have_in_common_and_what_is_left(one: Spans, other: Spans) -> None:
    """The same as of sets, whichever has more spans."""
    assert instants(both(one, other)) == instants(one) & instants(other)
    assert instants(without(one, other)) == instants(one) - instants(other)


@given(SPANS, st.integers(0, MOST), st.integers(0, MOST))
def test_what_lies_between_two_times(spans: Spans, start: int, end: int) -> None:
    """Of each span the part that does."""
    assert instants(within(spans, start, end)) == instants(spans) & set(range(start, end))


@given(st.lists(st.tuples(st.sampled_from("ab"), SPANS), max_size=4))
def test_every_instant_is_charged_to_its_first_cause(causes: list[tuple[str, Spans]]) -> None:
    """In order of time, also where a cause is named twice."""
    left = set(range(MOST))
    expected: dict[str, set[int]] = {}
    for name, spans in causes:
        expected[name] = expected.get(name, set()) | (left & instants(spans))
        left -= instants(spans)
    assert {name: instants(spans) for name, spans in charged((0, MOST), causes).items()} == expected


@pytest.mark.parametrize(("cut", "left"), [((3, 4), [(0, 3), (4, 9)]), ((0, 9), []), ((9, 12), [(0, 9)])])
def test_what_is_cut_out_of_one_span(cut: tuple[int, int], left: Spans) -> None:
    """Its beginning, its end, or both remain."""
    assert without([(0, 9)], [cut]) == left


def test_what_one_cause_has_in_two_parts_is_one_span_where_they_touch() -> None:
    """Two transfers that one after the other left a link idle for the same reason left it idle for once."""
    parts: list[tuple[str, Spans]] = [("a", [(2, 4)]), ("b", [(6, 7)]), ("a", [(4, 6)])]
    assert charged((0, 9), parts) == {"a": [(2, 6)], "b": [(6, 7)]}

"""Findings as columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitracer.findings import KINDS
from multitracer.findings.finding import Finding
from multitracer.findings.finding_columns import FindingColumns
from multitracer.model.schema import VERDICTS, build

FINDING = st.builds(
    Finding, st.sampled_from(KINDS), st.just("link"), st.integers(-1, 3), st.integers(0, 2), st.integers(3, 5),
    st.sampled_from(VERDICTS), st.text(max_size=2), st.dictionaries(st.just("count"), st.integers(), max_size=1),
    st.lists(st.integers(0, 9), max_size=2), st.lists(st.integers(0, 9), max_size=2), st.integers(-1, 1),
)  # fmt: skip
LISTS = st.lists(FINDING, max_size=6)


@given(LISTS)
def test_columns_give_back_the_findings_that_they_are_made_of(found: list[Finding]) -> None:
    """Also lists of equal length among their fields, and none at all."""
    assert list(FindingColumns.of(found)) == found


def test_rows_that_a_finding_is_about_may_be_arrays() -> None:
    """Each stays whole, also where all are of one length."""
    rows = [np.array([1, 2]), np.array([3, 4])]
    found = [Finding("timeout", "link", 0, 0, 1, "likely", "", {}, segments=one) for one in rows]
    assert [one.tolist() for one in FindingColumns.of(found).segments] == [[1, 2], [3, 4]]


@given(LISTS, LISTS)
def test_joined_findings_are_in_the_order_of_time_and_kind(some: list[Finding], more: list[Finding]) -> None:
    """Those of one time and kind stay in the order in which they were found."""
    joined = FindingColumns.joined([FindingColumns.of(some), FindingColumns.of(more)])
    assert list(joined.in_order()) == sorted([*some, *more], key=lambda one: (one.start_ns, one.kind))


@given(LISTS, st.sets(st.sampled_from(KINDS)), st.sampled_from(VERDICTS))
def test_findings_are_picked_by_kind_and_by_verdict(found: list[Finding], kinds: set[str], verdict: str) -> None:
    """A mask for each, from their codes."""
    columns = FindingColumns.of(found)
    assert columns.are(*kinds).tolist() == [one.kind in kinds for one in found]
    assert columns.have_verdict(verdict).tolist() == [one.verdict == verdict for one in found]


def test_a_table_takes_an_array_of_sentences_as_it_is() -> None:
    """A hundred thousand are not copied; a list becomes an array."""
    given = np.array(["one", "two"], dtype=object)
    plain = {"kind": ["timeout"] * 2, "layer": ["link"] * 2, "start_ns": [0, 1], "end_ns": [2, 3]}
    table = build("findings", {**plain, "verdict": ["likely"] * 2, "because": given, "evidence": [{}, {}]})
    assert np.shares_memory(table["because"].to_numpy(), given)
    assert table["layer"].tolist() == ["link", "link"]

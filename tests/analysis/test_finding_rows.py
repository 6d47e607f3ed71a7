"""The findings as a page lists them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multitracer.analysis.finding_rows import Row, rows


def finding(caused_by: int | None = None, lost_s: float | None = None, length_s: float = 0.0) -> dict[str, Any]:
    """A finding, as far as its place in the list goes."""
    return {"caused_by": caused_by, "lost_s": lost_s, "start_s": 1.0, "end_s": 1.0 + length_s}


def everything(listed: list[Row]) -> list[Row]:
    """All rows, with those below them."""
    return [row for root in listed for row in (root, *everything(root.effects))]


@st.composite
def forests(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Findings, each a root or set off by an earlier one."""
    causes = [
        draw(st.none() | st.integers(0, place - 1)) if place else None for place in range(draw(st.integers(0, 30)))
    ]
    return [finding(cause, draw(st.floats(0, 9))) for cause in causes]


@given(forests(), st.integers(2, 40))
def test_no_more_than_the_most_are_listed_each_below_its_cause(findings: list[dict[str, Any]], most: int) -> None:
    """And all of them, where there are no more."""
    listed = everything(rows(findings, most))
    assert len(listed) <= most
    assert len({row.index for row in listed}) == len(listed)
    for row in listed:
        assert all(one.finding["caused_by"] == row.index for one in row.effects)
        assert row.members == len(everything([row]))
    if 2 * len(findings) <= most:
        assert len(listed) == len(findings)


def test_the_dearest_root_comes_first_and_then_the_longest() -> None:
    """What nothing is known to have cost comes by its length."""
    findings = [finding(length_s=1), finding(lost_s=2), finding(length_s=3), finding(lost_s=5)]
    assert [row.index for row in rows(findings, 10)] == [3, 1, 2, 0]


def test_a_chain_that_is_too_long_leaves_room_for_the_others() -> None:
    """Of a root that set off thousands, the first are listed."""
    findings = [finding(lost_s=9), *(finding(caused_by=0) for _ in range(5000)), finding(lost_s=1)]
    listed = rows(findings, 200)
    assert [row.index for row in listed] == [0, 5001]
    assert [row.index for row in listed[0].effects] == list(range(1, 100))

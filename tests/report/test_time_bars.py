"""The bars of what the time of several transfers went to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.vocabulary import LIMIT_NAMES
from multitracer.report import colours
from multitracer.report.time_bars import time_bars

SECONDS = st.floats(0, 1000)
CAUSES = ("new_data", "link_overhead", "link-outage", "idle-link", "unexplained")


def row(name: str, **spent: dict[str, float] | None) -> dict[str, Any]:
    """What compare.json has of a transfer, as far as its bar shows it."""
    spent_s = {"accounting": None, "blame": None, "limits": None} | spent
    return {"name": name, "report": None, "spent_s": spent_s, "layers": {"link-outage": "link"}}


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(CAUSES, SECONDS)), min_size=1, max_size=5))
def test_a_bar_adds_up_and_all_are_on_one_scale(every: list[dict[str, float]]) -> None:
    """The parts are the seconds of the row; the longest bar is 1 long, the others in proportion."""
    found = time_bars([row(str(number), blame=one) for number, one in enumerate(every)])
    longest = max(sum(one.values()) for one in every)
    for bar, one in zip(found.bars, every, strict=True):
        assert {part.name: part.seconds for part in bar.segments} == {k: v for k, v in one.items() if v > 0}
        assert bar.seconds == pytest.approx(sum(one.values()))
        assert sum(part.share for part in bar.segments) == pytest.approx(1 if bar.seconds else 0)
        assert bar.of_longest == pytest.approx(bar.seconds / longest if longest else 0)


def test_parts_stand_in_the_same_order_in_all_bars() -> None:
    """What carried data first, then what took most of all transfers together."""
    one = {"new_data": 3.0, "link_overhead": 1.0, "idle-link": 2.0, "link-outage": 0.1}
    two = {"link-outage": 9.0, "new_data": 3.0, "idle-link": 1.0}
    bars = time_bars([row("a", blame=one), row("b", blame=two)]).bars
    assert [part.name for part in bars[0].segments] == ["new_data", "link_overhead", "link-outage", "idle-link"]
    assert [part.name for part in bars[1].segments] == ["new_data", "link-outage", "idle-link"]
    assert bars[1].segments[1].colour == colours.LAYERS["link"]


def test_limits_are_shown_where_not_all_have_a_blame() -> None:
    """A transfer with neither is named; one that could not be analysed has no bar."""
    limits = {"path_rate": 4.0, "unknown": 1.0}
    rows = [row("a", blame={"new_data": 5.0}, limits=limits), row("b", limits=limits), row("c", accounting={})]
    found = time_bars([*rows, row("d") | {"spent_s": None}])
    assert found.by == "limits"
    assert [bar.name for bar in found.bars] == ["a", "b"]
    assert [part.label for part in found.bars[0].segments] == [LIMIT_NAMES["path_rate"], LIMIT_NAMES["unknown"]]
    assert found.unknown == ["c", "d"]

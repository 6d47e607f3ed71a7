"""Scripts that read values out of series: totals, the value at a time, the nearest record, causes."""

from __future__ import annotations

from typing import Any

import pytest
from browsing import Scripts
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.browser

BARS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(0, 9)), max_size=30).map(sorted)
SERIES = "MT.series.create('s', kind, columns)"


def columns(bars: list[tuple[int, int, int]]) -> dict[str, list[int]]:
    """Bars as columns: time, lower end, upper end."""
    return {"x": [x for x, _, _ in bars], "y": [y for _, y, _ in bars], "top": [y + size for _, y, size in bars]}


ARRIVED, DAMAGED, UNHEARD, UNTOLD = 1, 2, 0, -1


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([ARRIVED], "it arrived"),
        ([DAMAGED], "it came damaged"),
        ([UNHEARD], "it is not in the receiver's log"),
        ([UNTOLD], "no log tells whether it arrived"),
        ([ARRIVED] * 3, "all arrived"),
        ([DAMAGED] * 2, "all came damaged"),
        ([UNHEARD] * 2, "none is in the receiver's log"),
        ([UNTOLD] * 2, "no log tells whether they arrived"),
        ([UNTOLD, UNTOLD, ARRIVED], "1 arrived, of 2 no log tells"),
        ([UNHEARD, DAMAGED], "1 came damaged, 1 is not in the receiver's log"),
        ([UNHEARD, ARRIVED, UNHEARD], "1 arrived, 2 are not in the receiver's log"),
    ],
)
def test_what_became_of_frames_is_told_in_full_phrases(scripts: Scripts, outcomes: list[int], told: str) -> None:
    """Of the only one, of several, and of several with one outcome."""
    frames = [{"outcome": one} for one in outcomes]
    assert scripts.call("frames => MT.segmentFrames.outcomesText(frames)", frames) == told


@given(BARS, st.integers(-2, 32), st.integers(0, 35))
def test_a_part_is_counted_with_both_its_ends(
    scripts: Scripts, bars: list[tuple[int, int, int]], start: int, width: int
) -> None:
    """Records, the heights of their bars, and the values in force before and at the end."""
    found = scripts.call(
        f"(kind, columns, start, end) => MT.totals.totalOf({SERIES}, start, end)",
        "beam", columns(bars), start, start + width,
    )  # fmt: skip
    inside = [bar for bar in bars if start <= bar[0] <= start + width]
    before = [bar for bar in bars if bar[0] < start]
    last = (before + inside)[-1:]
    assert found == {
        "records": len(inside), "total": sum(size for _, _, size in inside),
        "before": before[-1][1] if before else None, "last": last[0][1] if last else None,
    }  # fmt: skip


@given(BARS, st.integers(1, 12))
def test_bins_add_up_to_all(scripts: Scripts, bars: list[tuple[int, int, int]], bins: int) -> None:
    """Every bar in the axis is in one bin; of a thinned series each stands for as many as it was thinned by."""
    found = scripts.call(
        "(columns, bins) => Array.from(MT.totals.binned([MT.series.create('s', 'beam', columns, 3)], 0, 31, bins))",
        columns(bars), bins,
    )  # fmt: skip
    assert len(found) == bins
    assert sum(found) == 3 * sum(size for _, _, size in bars)


@given(st.sampled_from(["line", "cloud"]), BARS, st.integers(-3, 34))
def test_the_record_read_at_a_time(scripts: Scripts, kind: str, bars: list[tuple[int, int, int]], time: int) -> None:
    """Of a line the last one not after it, of other series one that no other is nearer than."""
    found = scripts.call(f"(kind, columns, t) => MT.values.indexAt({SERIES}, t)", kind, columns(bars), time)
    times = [bar[0] for bar in bars]
    if kind == "line":
        assert found == sum(x <= time for x in times) - 1
    elif times:
        assert abs(times[found] - time) == min(abs(x - time) for x in times)
    else:
        assert found == -1


@given(BARS, st.integers(0, 30), st.integers(0, 30))
def test_the_record_under_the_pointer(scripts: Scripts, bars: list[tuple[int, int, int]], x: int, y: int) -> None:
    """The nearest within reach, by pixels: two for a second, three for a byte; a bar is hit anywhere on it."""
    found = scripts.call(
        f"(kind, columns, x, y) => MT.nearest.inSeries({SERIES}, x, y, 2, 3, 12)", "beam", columns(bars), x, y
    )

    def distance(bar: tuple[int, int, int]) -> int:
        dy = max(bar[1] - y, y - bar[1] - bar[2], 0)
        return (2 * (bar[0] - x)) ** 2 + (3 * dy) ** 2

    least = min((distance(bar) for bar in bars), default=144)
    if least >= 144:
        assert found is None
    else:
        assert found["distance"] == least == distance(bars[found["i"]])


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 2)), min_size=1, max_size=40), st.data())
def test_parts_are_drawn_by_the_cause_that_took_most(
    scripts: Scripts, lengths: list[tuple[int, int]], data: Any
) -> None:
    """Of stretches without gaps the bars cover the view; one that fills the view is drawn as itself."""
    edges = [0]
    for length, _ in lengths:
        edges.append(edges[-1] + length)
    stretches = {"left": edges[:-1], "right": edges[1:], "cause": [cause for _, cause in lengths]}
    found = scripts.call("MT.stretches.largestCauses", stretches, 0, len(lengths), 0, edges[-1], 3)
    covered = sum(right - left for left, right in zip(found["left"], found["right"], strict=True))
    assert covered == pytest.approx(edges[-1])
    assert all(one != other for one, other in zip(found["cause"], found["cause"][1:], strict=False))
    place = data.draw(st.integers(0, len(lengths) - 1))
    zoomed = scripts.call("MT.stretches.largestCauses", stretches, 0, len(lengths), edges[place], edges[place + 1], 3)
    assert zoomed["cause"] == [lengths[place][1]]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).map(sorted), st.data())
def test_retransmissions_are_stepped_through_in_a_circle(scripts: Scripts, times: list[int], data: Any) -> None:
    """From the one that is chosen, also to one at the same time; else to the first or the last in view, if any is."""
    records = [{"x": time, "place": place} for place, time in enumerate(times)]
    place, start = data.draw(st.integers(-1, len(times) - 1)), data.draw(st.integers(-5, 55))
    found = [
        scripts.call("MT.retransmissions.neighbour", records, place, start, start + 9, step)["place"]
        for step in (1, -1)
    ]
    if place >= 0:
        assert found == [(place + 1) % len(times), (place - 1) % len(times)]
    else:
        inside = [i for i, time in enumerate(times) if start <= time <= start + 9] or range(len(times))
        assert found == [inside[0], inside[-1]]


def test_a_retransmission_is_explained_by_the_finding_of_its_trigger_that_holds_it(scripts: Scripts) -> None:
    """Of several the last to begin; one of another trigger, or that does not hold its time, is not about it."""
    findings = [
        {"index": 0, "kind": "timeout", "start": 1, "end": 9}, {"index": 1, "kind": "timeout", "start": 4, "end": 6},
        {"index": 2, "kind": "probe", "start": 5, "end": 5}, {"index": 3, "kind": "link-reset", "start": 5, "end": 6},
    ]  # fmt: skip
    asked = [(5, "timeout"), (8, "timeout"), (5, "probe"), (5, "fast"), (5, "recovery"), (0.5, "timeout")]
    found = [scripts.call("MT.retransmissions.explaining", findings, *one) for one in asked]
    assert [one and one["index"] for one in found] == [1, 0, 2, None, 2, None]


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=300), st.integers(2, 50))
def test_a_spike_does_not_flatten_the_overview(scripts: Scripts, usual: list[int], times: int) -> None:
    """Without one the highest bar fits; a bar in a hundred that stands far above is left out of the axis."""
    end = scripts.call("MT.overview.axisEnd", usual)
    assert max(usual) == end or sum(top > end for top in usual) <= len(usual) * 0.01
    spiked = scripts.call("MT.overview.axisEnd", [*usual, *usual[:1] * 100, max(usual) * 2 * times])
    assert spiked <= max(usual) * 1.1

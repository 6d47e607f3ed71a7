"""Scripts that decide what is in view: windows of series, axes, views and the address, without a report around them."""

from __future__ import annotations

import pytest
from browsing import Scripts
from hypothesis import assume, given
from hypothesis import strategies as st

pytestmark = pytest.mark.browser

TIMES = st.lists(st.integers(0, 30), max_size=30).map(sorted)
IN_VIEW = "(kind, x, start, end) => MT.layout.inView(MT.series.create('s', kind, {x, y: x}), start, end)"
VALUE = st.floats(-1e12, 1e12)


@given(st.sampled_from(["line", "cloud", "beam", "event"]), TIMES, st.integers(-5, 35), st.integers(0, 40))
def test_a_window_holds_just_the_records_in_view(
    scripts: Scripts, kind: str, x: list[int], start: int, width: int
) -> None:
    """Both ends of the view belong to it; a line also has the record before and the one after."""
    end = start + width
    found = scripts.call(IN_VIEW, kind, x, start, end)
    inside = [i for i, time in enumerate(x) if start <= time <= end]
    before = sum(time < start for time in x)
    assert found["inside"] == len(inside)
    assert found["seen"] == before + len(inside)
    more = 1 if kind == "line" else 0
    assert found["from"] == max(0, before - more)
    assert found["to"] == min(len(x), found["seen"] + more)


STRETCHES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=12)
NESTED = "(all) => { const over = MT.lanes.nested(all); return all.map((one) => over.has(one)); }"


@given(STRETCHES)
def test_findings_drawn_beside_each_other_share_little_time(scripts: Scripts, stretches: list[tuple[int, int]]) -> None:
    """Of the shorter of two at most a tenth; one that lies over another shares more with it."""
    findings = [{"start": start, "end": start + length} for start, length in stretches]
    over = scripts.call(NESTED, findings)

    def shared(one: dict[str, int], other: dict[str, int]) -> float:
        both = min(one["end"], other["end"]) - max(one["start"], other["start"])
        length = one["end"] - one["start"]
        return 0.0 if both < 0 else (both / length if length else 1.0)

    beside = [one for one, is_over in zip(findings, over, strict=True) if not is_over]
    for place, one in enumerate(beside):
        for other in beside[place + 1 :]:
            shorter, longer = sorted((one, other), key=lambda each: each["end"] - each["start"])
            equal = shorter["end"] - shorter["start"] == longer["end"] - longer["start"]
            assert shared(shorter, longer) <= 0.1 or (equal and shared(longer, shorter) <= 0.1)
    for one, is_over in zip(findings, over, strict=True):
        if is_over:
            assert any(shared(one, each) > 0.1 for each in beside)


@given(VALUE, VALUE)
def test_an_axis_has_room_around_its_values(scripts: Scripts, one: float, other: float) -> None:
    """On both sides alike, and also around a single value that is not zero."""
    assume(one or other)
    low, high = min(one, other), max(one, other)
    start, end = scripts.call("MT.layout.withMargin", low, high)
    assert start < low <= high < end
    assert low - start == pytest.approx(end - high, rel=1e-3, abs=1e-3)


def test_an_axis_of_zeros_shows_them_at_its_lower_end(scripts: Scripts) -> None:
    """As what the panels show is never negative."""
    start, end = scripts.call("MT.layout.withMargin", 0, 0)
    assert start < 0 < end
    assert end > 10 * -start


@given(st.lists(st.sampled_from(["line", "cloud", "beam", "event"])))
def test_rare_kinds_are_painted_over_dense_ones(scripts: Scripts, kinds: list[str]) -> None:
    """Clouds first, then lines, bars and events."""
    found = scripts.call("kinds => kinds.sort(MT.layout.comparePainting)", kinds)
    assert found == sorted(kinds, key=["cloud", "line", "beam", "event"].index)


def test_events_are_drawn_as_a_picture_at_a_smaller_number_than_points(scripts: Scripts) -> None:
    """Because their marks are larger."""
    few = "(kind, inside) => MT.layout.isFew(kind, inside, 100)"
    assert [scripts.call(few, "cloud", count) for count in (0, 100, 101)] == [True, True, False]
    assert [scripts.call(few, "event", count) for count in (0, 20, 21)] == [True, True, False]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e3, 1e3), st.floats(1e-2, 1e3))
def test_a_view_stays_within_the_trace(scripts: Scripts, start: float, end: float, first: float, full: float) -> None:
    """Never narrower than allowed, and never beyond the data."""
    found = scripts.call("MT.views.clamped", start, end, [first, first + full], 1e-6)
    if not end > start:
        assert found is None
        return
    assert 1e-7 < found[1] - found[0] <= full * (1 + 1e-9) + 1e-9
    assert first - 1e-9 <= found[0]
    assert found[1] <= first + full + 1e-9


@given(st.floats(0, 50), st.floats(0, 50))
def test_a_view_within_the_trace_is_shown_as_asked(scripts: Scripts, one: float, other: float) -> None:
    """To the last bit."""
    start, end = min(one, other), max(one, other)
    assume(end - start > 1e-6)
    assert scripts.call("MT.views.clamped", start, end, [0, 50], 1e-6) == [start, end]


@given(
    st.integers(-(10**12), 10**12), st.integers(1, 10**12), st.sampled_from(["light", "dark"]),
    st.lists(st.sampled_from(["acks", "window", "lost 0"]), unique=True),
    st.sampled_from(["", "-sequence,frames:2.50,+time"]), st.sampled_from([0, 1]),
    st.sampled_from(["", "17"]), st.sampled_from(["", "start", "delivered 0.5"]),
)  # fmt: skip
def test_an_address_is_read_as_it_was_written(
    scripts: Scripts,
    start_ns: int,
    width_ns: int,
    theme: str,
    hidden: list[str],
    panels: str,
    direction: int,
    connection: str,
    aligned: str,
) -> None:
    """View, theme, hidden series, panels, connection, direction and what transfers are aligned at."""
    view = [start_ns / 1e9, (start_ns + width_ns) / 1e9]
    shown = {"connection": connection, "direction": direction, "aligned": aligned}
    written = scripts.call("MT.address.format", *view, theme, hidden, panels, shown)
    found = scripts.call("MT.address.parse", written)
    assert found == {
        "view": pytest.approx(view, abs=1e-9), "theme": theme, "hidden": hidden, "panels": panels, "pins": [],
        **shown, "damaged": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "damaged"),
    [
        ("", []), ("#", []), ("#t=", ["t="]), ("#t=1", ["t=1"]), ("#t=,2", ["t=,2"]), ("#t=2,1", ["t=2,1"]),
        ("#t=1,2,3", ["t=1,2,3"]), ("#t=a,b&theme=pink", ["t=a,b", "theme=pink"]), ("#%25", ["%="]), ("#a=1", ["a=1"]),
        ("#dir=2", ["dir=2"]), ("#dir=", ["dir="]), ("#dir=back", ["dir=back"]), ("#dir=0", []),
    ],
)  # fmt: skip
def test_a_damaged_address_is_ignored(scripts: Scripts, asked: str, damaged: list[str]) -> None:
    """It sets neither a view nor a theme, and what it asks for is named."""
    found = scripts.call("MT.address.parse", asked)
    assert found == {"view": None, "theme": None, "hidden": [], "panels": "", "pins": [], "connection": "",
                     "direction": 0, "aligned": "", "damaged": damaged}  # fmt: skip


@pytest.mark.parametrize(
    ("exact", "thinned", "begins"), [(True, False, "exact"), (False, True, "thinned"), (False, False, "overview")]
)
def test_the_status_says_how_exact_the_drawing_is(scripts: Scripts, exact: bool, thinned: bool, begins: str) -> None:
    """With the number of records and the part of the time."""
    text = scripts.call("MT.status.statusText", exact, thinned, 12345, 1.5, 3)
    assert text.startswith(begins)
    assert text.endswith("12,345 records, 1.500000 s to 3.000000 s (1.500 s)")


def test_the_status_says_where_events_are_drawn_as_counts(scripts: Scripts) -> None:
    """As these do not stand at their values."""
    text = scripts.call("MT.status.statusText", False, False, 12345, 1.5, 3, True)
    assert text.endswith(" (1.500 s), events as counts at the bottom")


FIT = """(room, folded) => MT.fitting.heights(
  ["time", "sequence", "windows", "frames"].map((name) => {
    const [least, tight] = name === "time" ? [130, 96] : [96, 96];
    return {name, least, tight, weight: MT.fitting.usualWeight(name), isFolded: folded.includes(name) || null};
  }), room)"""


def test_lanes_are_lower_where_three_panels_have_room_only_so(scripts: Scripts) -> None:
    """As the first screen shows three; no panel is below 96 pixels, and all of them fit."""
    for room in range(288, 330):
        found = scripts.call(FIT, room, [])
        assert set(found) == {"time", "sequence", "frames"}
        assert found["time"] == (96 if room < 130 + 2 * 96 else 130)
        assert min(found.values()) >= 96
        assert sum(found.values()) <= room


def test_lanes_keep_their_height_beside_panels_that_the_reader_folded(scripts: Scripts) -> None:
    """There is room enough for the others."""
    found = scripts.call(FIT, 302, ["windows", "frames"])
    assert set(found) == {"time", "sequence"}
    assert found["time"] == 130

"""The report's search: what it understands, what it finds, and the keys that go there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import EXAMPLE, Opened, Scripts
from hypothesis import given
from hypothesis import strategies as st

from multitracer import Analysis, analyze

pytestmark = pytest.mark.browser

FIND = """(function_, bars, number) => {
  const columns = {x: bars.map(b => b[0]), y: bars.map(b => b[1]), top: bars.map(b => b[1] + b[2])};
  const engine = new Map([['segments', MT.series.create('segments', 'beam', columns)],
                          ['frames_new', MT.series.create('frames_new', 'cloud', columns)]]);
  return MT.lookup[function_]({series: engine}, number);
}"""
BARS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(1, 9)), max_size=80).map(sorted)
CHOSEN = "Bokeh.documents[0].get_model_by_name('chosen segments').data.y"


@pytest.mark.parametrize(
    ("text", "number", "only", "time", "interval"),
    [
        ("461", 461, None, None, None), (" 14,761 ", 14761, None, None, None), ("byte 461", 461, "byte", None, None),
        ("Frame 12", 12, "frame", None, None), ("records 3", 3, "record", None, None),
        ("port 5201", 5201, "port", None, None), ("12.5 s", None, None, 12.5, None), ("12s", None, None, 12, None),
        ("12.5", None, None, 12.5, None), ("10.9.0.1", None, None, None, None), ("link-reset", None, None, None, None),
        ("", None, None, None, None), ("1,2", None, None, None, None), ("1e5", None, None, None, None),
        ("9" * 40, None, None, None, None), ("12.5-14 s", None, None, None, [12.5, 14]),
        ("12.5..14", None, None, None, [12.5, 14]), ("14 s to 12s", None, None, None, [12, 14]),
        ("-0.5-1 s", None, None, None, [-0.5, 1]), ("-2 to -1", None, None, None, [-2, -1]),
        ("-0.5 s", None, None, -0.5, None), ("1,000-2,000.5 s", None, None, None, [1000, 2000.5]),
        ("12.5\u201314", None, None, None, [12.5, 14]), ("12-14-16", None, None, None, None),
    ],
)  # fmt: skip
def test_numbers_and_times_are_understood(
    scripts: Scripts,
    text: str,
    number: int | None,
    only: str | None,
    time: float | None,
    interval: list[float] | None,
) -> None:
    """A whole number may be a byte, frame or record; a fraction, or a number of seconds, is a time, two are a part."""
    found = scripts.call("MT.lookup.parse", text)
    assert found == {"number": number, "only": only, "time": time, "interval": interval, "words": text.lower().split()}


@given(st.text(max_size=60))
def test_any_text_is_looked_for(scripts: Scripts, text: str) -> None:
    """Nothing that is typed breaks the search; each of its words counts."""
    assert isinstance(scripts.call("MT.lookup.parse", text)["words"], list)
    assert scripts.call("(text, words) => MT.lookup.hasAll(text, words)", "any", []) is True


@given(BARS, st.integers(-1, 20))
def test_segments_are_found_by_the_bytes_they_hold(
    scripts: Scripts, bars: list[tuple[int, int, int]], number: int
) -> None:
    """The first byte belongs to a segment, the one behind its last does not; all are counted, fifty are kept."""
    found = scripts.call(FIND, "segmentsWith", bars, number)
    places = [i for i, (_, first, size) in enumerate(bars) if first <= number < first + size]
    assert found["count"] == len(places)
    assert [hit["i"] for hit in found["hits"]] == places[:50]


@given(BARS, st.integers(0, 10))
def test_frames_are_found_by_their_number(scripts: Scripts, bars: list[tuple[int, int, int]], number: int) -> None:
    """Every frame with it, the earliest first."""
    found = scripts.call(FIND, "framesWith", bars, number)
    assert found["count"] == sum(frame == number for _, frame, _ in bars)
    assert [hit["time"] for hit in found["hits"]] == [time for time, frame, _ in bars if frame == number][:50]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Fast-Retransmit at 3.2 s, confirmed", ["retrans", "confirmed"], True),
        ("10.9.0.1:43714 to 10.9.0.2:5201", ["5201"], True), ("10.9.0.1:43714 to 10.9.0.2:5201", ["520"], False),
        ("10.9.0.1:43714 to 10.9.0.2:5201", ["10.9.0.2"], True), ("338 erased frames", ["8"], False),
        ("338 erased frames", ["erased", "good"], False), ("any", [], True),
    ],
)  # fmt: skip
def test_words_are_found_within_words_and_numbers_only_whole(
    scripts: Scripts, text: str, words: list[str], expected: bool
) -> None:
    """All words have to be there, in any case."""
    assert scripts.call("MT.lookup.hasAll", text, words) is expected


@given(st.lists(st.integers(0, 200), max_size=6), st.integers(0, 60))
def test_the_room_of_the_list_is_shared(scripts: Scripts, counts: list[int], most: int) -> None:
    """No sort gets more than it has, all that fits is given, and none with hits is left out while another gets two."""
    given_ = scripts.call("MT.lookup.shares", counts, most)
    assert sum(given_) == min(most, sum(counts))
    assert all(0 <= got <= has for got, has in zip(given_, counts, strict=True))
    if most >= len(counts):
        assert all(got for got, has in zip(given_, counts, strict=True) if has)


def search(opened: Opened, text: str) -> list[str]:
    """The hits of a text that is typed after `/`."""
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.insert_text(text)
    page.keyboard.press("ArrowDown")  # searches at once, and chooses the first hit
    found: list[str] = page.locator("#mt-hits [role=option]").all_inner_texts()
    return found


def test_a_byte_leads_to_its_segment(opened: Opened, report: Path) -> None:
    """Enter goes to the first hit: the segment is in view, and chosen; the page has its keys again."""
    page = opened.open(report)
    assert search(opened, "byte 1")[0].startswith("sent at ")
    page.keyboard.press("Enter")
    assert page.evaluate(f"Array.from({CHOSEN})") == [1]
    assert "bytes 1 to" in page.locator("#mt-chosen").inner_text()
    start, end = opened.view()
    time = page.evaluate("Bokeh.documents[0].get_model_by_name('chosen segments').data.x[0]")
    assert start < time < end
    assert end - start < 3
    page.keyboard.press("0")
    assert opened.view()[1] - opened.view()[0] > 50


def test_a_frame_is_shown_in_its_panel(opened: Opened, report: Path) -> None:
    """Also where the panel was folded."""
    page = opened.open(report)
    page.click('[data-mt-panel="frames"] .fold')
    assert len(search(opened, "frame 461")) == 2
    page.keyboard.press("Enter")
    assert "frame 461" in page.locator("#mt-chosen").inner_text()
    assert page.locator('[data-mt-panel="frames"] .canvas').is_visible()


def test_a_finding_is_found_by_its_words(opened: Opened, report: Path) -> None:
    """Kind, layer and verdict; a click chooses it."""
    page = opened.open(report)
    hits = search(opened, "link-reset link confirmed")
    assert len(hits) == 1
    page.click("#mt-hits [role=option]")
    assert page.locator("#mt-findings [aria-selected=true] .kind").first.inner_text() == "link-reset"
    assert not page.locator("#mt-hits-box").is_visible()


def test_an_empty_search_lists_the_kinds_of_findings(opened: Opened, report: Path, analysis: Analysis) -> None:
    """With how many there are; the first choice leads to the earliest of its kind, the next to the one after it."""
    page = opened.open(report)
    kinds = analysis.tables["findings"]["kind"].value_counts()
    assert sorted(search(opened, "")) == sorted(f"{kind}: {count}" for kind, count in kinds.items())
    page.keyboard.press("Escape")
    starts = analysis.tables["findings"].query("kind == 'burst-loss'")["start_ns"].sort_values()
    for start_ns in starts.to_list()[:2]:
        page.keyboard.press("/")
        page.keyboard.insert_text("burst-loss")
        page.keyboard.press("Enter")
        at = float(page.locator("#mt-cursor-time").inner_text().removesuffix(" s"))
        assert at == pytest.approx((start_ns - analysis.origin_ns) / 1e9, abs=1e-6)


def test_a_time_is_shown_with_the_cursor_at_it(opened: Opened, report: Path) -> None:
    """In the middle of the view."""
    page = opened.open(report)
    search(opened, "12.5 s")
    page.keyboard.press("Enter")
    assert sum(opened.view()) / 2 == pytest.approx(12.5)
    assert page.locator("#mt-cursor-time").inner_text() == "12.500000000 s"


def test_many_hits_are_counted(opened: Opened, report: Path) -> None:
    """Fifty are listed, of the others it is said how many there are."""
    page = opened.open(report)
    page.evaluate(
        "MT.engine.put('segments', 'beam', {x: Array.from({length: 70}, (_, i) => i / 2), y: Array(70).fill(1),"
        " top: Array(70).fill(9), record: Array(70).fill(0), row: Array(70).fill(0)})"
    )
    assert len(search(opened, "byte 5")) == 50
    assert "20 more" in page.locator("#mt-hits").inner_text()
    assert page.locator("#mt-hits-told").inner_text() == "70 found."


def test_escape_gives_the_focus_back(opened: Opened, report: Path) -> None:
    """To the button that had it; the list closes, and nothing has moved."""
    page = opened.open(report)
    before = opened.view()
    page.focus("#mt-theme")
    assert search(opened, "no such thing at all") == []
    assert page.locator("#mt-hits-told").inner_text() == "Nothing found. No kind of finding is named so."
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "mt-theme"
    assert not page.locator("#mt-hits-box").is_visible()
    assert opened.view() == before


def test_the_chosen_hit_is_told_to_readers_of_the_screen(opened: Opened, report: Path) -> None:
    """The field names it as its active descendant, and says that the list is open."""
    page = opened.open(report)
    search(opened, "link")
    field = page.locator("#mt-search")
    assert field.get_attribute("aria-expanded") == "true"
    active = field.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowUp")
    assert field.get_attribute("aria-activedescendant") != active


def test_a_port_leads_to_its_connection(opened: Opened, tmp_path: Path) -> None:
    """Which is then shown."""
    made: Any = analyze(sorted((EXAMPLE.parent / "loss2").iterdir()))
    made.report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    select = page.locator("#mt-connection")
    shown = select.input_value()
    assert len(search(opened, "port 43710")) == 1
    page.keyboard.press("Enter")
    opened.until(f"document.getElementById('mt-connection').value !== '{shown}'")
    opened.until(f"document.documentElement.dataset.mtConnection === '{select.input_value()}'")

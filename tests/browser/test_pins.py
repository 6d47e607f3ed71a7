"""Pins and their notes, the part that is selected, and addresses that are damaged."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, Scripts
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.browser

WHOLE = [-1, 100]
PINS = st.lists(
    st.fixed_dictionaries({
        "time": st.integers(-(10**9), 10**11).map(lambda time_ns: time_ns / 1e9),
        "note": st.text(st.characters(codec="utf-8"), max_size=30).map(
            lambda text: "".join(text.split())  # a note has no blanks at its ends
        ),
    }),
    max_size=8,
)  # fmt: skip
READ = """(pins, room) => {
  const address = '#t=1,2' + MT.pinTexts.toAddress(pins, room).text;
  return MT.pinTexts.fromAddress(MT.address.parse(address).pins, [-1, 100]);
}"""


@given(PINS)
def test_pins_are_read_from_an_address_as_they_were_written(scripts: Scripts, pins: list[dict[str, Any]]) -> None:
    """Times to the nanosecond, and notes of any characters."""
    found = scripts.call(READ, pins, 10**6)
    assert found["damaged"] == []
    assert [pin["note"].strip() for pin in found["pins"]] == [pin["note"].strip("\ufeff") for pin in pins]
    assert [pin["time"] for pin in found["pins"]] == pytest.approx([pin["time"] for pin in pins], abs=1e-9)


@given(PINS, st.integers(-50, 300))
def test_an_address_holds_what_fits(scripts: Scripts, pins: list[dict[str, Any]], room: int) -> None:
    """It is never longer than it may be, and it is said how many pins it does not hold."""
    made = scripts.call("MT.pinTexts.toAddress", pins, room)
    assert len(made["text"]) <= max(room, 0)
    assert made["text"].count("&pins=") + made["left"] == len(pins)


@pytest.mark.parametrize("text", ["", "a", "1e3", "NaN_x", "1000", "-2_early", "1.2.3", "_note", "1,2", "Infinity"])
def test_a_damaged_pin_of_an_address_is_ignored(scripts: Scripts, text: str) -> None:
    """And named; the others are taken."""
    found = scripts.call("MT.pinTexts.fromAddress", [text, "5_here"], WHOLE)
    assert found == {"pins": [{"time": 5, "note": "here"}], "damaged": [text]}


@given(PINS)
def test_pins_are_read_from_a_file_as_they_were_written(scripts: Scripts, pins: list[dict[str, Any]]) -> None:
    """A file is JSON, with times in seconds."""
    text = scripts.call("MT.pinTexts.toFile", pins)
    assert json.loads(text)["pins"] == [{"time_s": pin["time"], "note": pin["note"]} for pin in pins]
    found = scripts.call("MT.pinTexts.fromFile", text, WHOLE)
    assert found["left"] == 0
    assert [pin["time"] for pin in found["pins"]] == [pin["time"] for pin in pins]


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(max_size=5),
       lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["format", "pins", "time_s"]),
                                                                    inner, max_size=3)).map(json.dumps))  # fmt: skip
def test_a_damaged_file_is_no_file_of_pins(scripts: Scripts, text: str) -> None:
    """Whatever is in it."""
    assert scripts.call("MT.pinTexts.fromFile", text, WHOLE) is None


def test_damaged_entries_of_a_file_are_counted(scripts: Scripts) -> None:
    """Times that are none or outside of the trace, notes that are none; the others are read."""
    entries = [None, 3, {}, {"time_s": "3"}, {"time_s": 300}, {"time_s": 3, "note": 5}, {"time_s": 3}]
    text = json.dumps({"format": "multitracer pins", "pins": entries})
    assert scripts.call("MT.pinTexts.fromFile", text, WHOLE) == {"pins": [{"time": 3, "note": ""}], "left": 6}


@given(st.lists(st.integers(-20, 20) | st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_the_median_is_the_middle_of_the_numbers(scripts: Scripts, values: list[float]) -> None:
    """Of an even count the mean of both in the middle."""
    assert scripts.call("values => MT.spread.medianOf(Float64Array.from(values))", values) == statistics.median(values)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(0, 9)), max_size=40).map(sorted),
       st.booleans(), st.integers(-2, 32), st.integers(0, 35))  # fmt: skip
def test_a_selected_part_tells_sum_least_median_and_most(
    scripts: Scripts, bars: list[tuple[int, int, int]], has_top: bool, start: int, width: int
) -> None:
    """Of bars their heights, of others their values, with both ends of the part."""
    columns = {"x": [bar[0] for bar in bars], "y": [bar[1] for bar in bars]}
    if has_top:
        columns["top"] = [bar[1] + bar[2] for bar in bars]
    found = scripts.call(
        "(columns, start, end) => MT.spread.spreadOf(MT.series.create('s', 'beam', columns), start, end)",
        columns, start, start + width,
    )  # fmt: skip
    inside = [bar[2] if has_top else bar[1] for bar in bars if start <= bar[0] <= start + width]
    if not inside:
        assert set(found.values()) == {None}
    else:
        assert found == {
            "sum": sum(inside), "least": min(inside), "median": statistics.median(inside), "most": max(inside),
        }  # fmt: skip


def test_the_median_of_millions_is_left_out(scripts: Scripts) -> None:
    """It takes a sort; that of a million is found."""
    median, sorted_ = scripts.call(
        "() => { const x = Float64Array.from({length: 5e6}, (_, i) => i), y = x.map(i => (i * 7919) % 100003);"
        " const series = {name: 's', x, y, top: y, columns: {x, y}};"
        " const all = MT.spread.spreadOf(series, 0, 5e6), some = MT.spread.spreadOf(series, 0, 999999);"
        " return [all.median === undefined, some.median]; }"
    )
    assert median is True
    assert 49_000 < sorted_ < 51_000


def pin(opened: Opened, time: float, note: str) -> None:
    """Set a pin at a time by keyboard."""
    opened.page.evaluate("time => MT.engine.timeRange.setv({start: time - 1, end: time + 1})", time)
    opened.page.keyboard.press("k")
    opened.page.keyboard.insert_text(note)
    opened.page.keyboard.press("Enter")


def test_pins_are_marked_listed_and_told_apart(opened: Opened, report: Path) -> None:
    """Each has a numbered flag, its note and its distance from the one before, in order of time."""
    page = opened.open(report)
    pin(opened, 20, "later")
    pin(opened, 18.5, "earlier")
    entries = page.locator("#mt-pin-list li").all_inner_texts()
    assert "18.500000 s earlier" in entries[0]
    assert "20.000000 s later" in entries[1]
    assert "1.5 s after pin 1" in entries[1]
    assert page.locator("[data-mt-pin]").all_inner_texts() == ["1", "2"]
    page.keyboard.press("0")
    opened.until("Array.from(document.querySelectorAll('.pin')).every(line => !line.hidden)")
    opened.look(30, 32)
    page.locator("#mt-pin-list [data-go]").nth(1).click()
    assert opened.view() == pytest.approx((19, 21))
    page.locator("#mt-pin-list [data-remove]").first.click()
    assert page.locator("[data-mt-pin]").count() == 1
    assert "later" in page.locator("#mt-pin-list").inner_text()


def test_escape_drops_a_pin(opened: Opened, report: Path) -> None:
    """The focus goes back, and the keys work again."""
    page = opened.open(report)
    page.focus("#mt-theme")
    page.keyboard.press("k")
    assert page.locator(".pin.draft").count() == 1
    page.keyboard.insert_text("not this")
    page.keyboard.press("Escape")
    assert page.locator(".pin").count() == 0
    assert not page.locator("#mt-pin-form").is_visible()
    assert page.evaluate("document.activeElement.id") == "mt-theme"


def test_a_pin_is_set_at_the_cursor(opened: Opened, report: Path) -> None:
    """At its very time."""
    page = opened.open(report)
    page.keyboard.press("ArrowRight")
    time = page.evaluate("Number.parseFloat(document.getElementById('mt-cursor-time').textContent)")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    assert page.locator("#mt-pin-list").inner_text().startswith(f"{time:.6f} s")


def test_a_note_that_is_being_written_stays(opened: Opened, report: Path) -> None:
    """Asked for a pin again, its field takes the focus, with what it holds."""
    page = opened.open(report)
    page.keyboard.press("k")
    page.keyboard.insert_text("half a no")
    page.click("#mt-pin-set")
    page.keyboard.insert_text("te")
    page.keyboard.press("Enter")
    assert "half a note" in page.locator("#mt-pin-list").inner_text()


def test_no_pin_goes_for_another(opened: Opened, report: Path, tmp_path: Path) -> None:
    """Where there are as many as there can be, a further one is refused, and its note stays in the field."""
    page = opened.open(report)
    many = [{"time_s": place / 10, "note": f"pin {place}"} for place in range(200)]
    (tmp_path / "many.json").write_text(json.dumps({"format": "multitracer pins", "pins": many}))
    page.set_input_files("#mt-pins-file", tmp_path / "many.json")
    opened.until("document.querySelectorAll('[data-mt-pin]').length === 200")
    page.keyboard.press("k")
    page.keyboard.insert_text("mine")
    page.keyboard.press("Enter")
    assert "200 pins, which is the most" in page.locator("#mt-status").inner_text()
    assert page.locator("#mt-pin-note").input_value() == "mine"
    assert "pin 199" in page.locator("#mt-pin-list").inner_text()


def test_the_address_keeps_pins(opened: Opened, report: Path) -> None:
    """Opened again, they are there; one that a report does not know is said."""
    page = opened.open(report)
    pin(opened, 20, "a, b & c_d=e#f <b>")
    opened.until("location.hash.includes('pins=')")
    fragment = page.evaluate("location.hash")
    page.goto("about:blank")
    opened.requests.clear()
    page = opened.open(report, fragment)
    assert "20.000000 s a, b & c_d=e#f <b>" in page.locator("#mt-pin-list").inner_text()
    assert not page.locator("#mt-status.notice").count()


def test_an_address_that_is_full_says_so(opened: Opened, report: Path) -> None:
    """It has at most 2,000 characters; the pins stay in the page."""
    page = opened.open(report)
    for time in range(1, 8):
        pin(opened, time, "x" * 490)
    opened.until("document.getElementById('mt-pins-told').textContent.includes('not in the address')")
    assert page.evaluate("location.href.length") <= 2000
    assert page.locator("[data-mt-pin]").count() == 7


def test_pins_are_saved_and_read_again(opened: Opened, report: Path, tmp_path: Path) -> None:
    """By a file; a damaged one changes nothing, and the status line says so."""
    page = opened.open(report)
    pin(opened, 20, "kept")
    with page.expect_download() as download:
        page.click("#mt-pins-save")
    download.value.save_as(tmp_path / "pins.json")
    assert json.loads((tmp_path / "pins.json").read_text())["pins"] == [{"time_s": 20, "note": "kept"}]
    page.locator("#mt-pin-list [data-remove]").click()
    page.set_input_files("#mt-pins-file", tmp_path / "pins.json")
    opened.until("document.querySelectorAll('[data-mt-pin]').length === 1")
    assert "1 pins read" in page.locator("#mt-status").inner_text()
    (tmp_path / "damaged.json").write_text('{"format": "multitracer pins", "pins"')
    page.set_input_files("#mt-pins-file", tmp_path / "damaged.json")
    opened.until("document.getElementById('mt-status').textContent.includes('damaged')")
    assert page.locator("[data-mt-pin]").count() == 1


def test_pins_that_are_there_are_not_read_twice(opened: Opened, report: Path, tmp_path: Path) -> None:
    """Wherever they were set: a pin's time is a whole number of nanoseconds from the beginning."""
    page = opened.open(report)
    for third in (10, 40):
        pin(opened, third / 3, "")
    listed = page.locator("#mt-pin-list").inner_text()
    with page.expect_download() as download:
        page.click("#mt-pins-save")
    download.value.save_as(tmp_path / "pins.json")
    page.set_input_files("#mt-pins-file", tmp_path / "pins.json")
    opened.until("document.getElementById('mt-status').textContent.includes('pins read')")
    assert "0 pins read" in page.locator("#mt-status").inner_text()
    assert page.locator("#mt-pin-list").inner_text() == listed


@pytest.mark.parametrize(
    "asked",
    ["t=NaN,1", "t=5,1", "theme=pink", "foo=1", "hide=nothing", "panels=-nothing", "pins=zz", "pins=5000", "%25"],
)
def test_what_an_address_asks_in_vain_is_said(opened: Opened, report: Path, asked: str) -> None:
    """In the status line, until the view moves."""
    page = opened.open(report, f"#{asked}")
    status = page.locator("#mt-status")
    assert status.inner_text().startswith("Not understood in the address")
    assert asked.split("=")[0].replace("%25", "%") in status.inner_text()
    page.keyboard.press("w")
    opened.until("document.getElementById('mt-status').textContent.startsWith('exact')")


def test_panels_do_not_move_when_something_is_said_or_searched(opened: Opened, report: Path) -> None:
    """Neither the notice nor the list of hits nor a pin takes room from them."""
    page = opened.open(report)
    places = "Array.from(document.querySelectorAll('.canvas'), c => JSON.stringify(c.getBoundingClientRect())).join()"
    before = page.evaluate(places)
    pin(opened, 20, "note")
    page.keyboard.press("0")
    page.keyboard.press("/")
    page.keyboard.insert_text("link")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(places) == before
    page.keyboard.press("Escape")
    other = opened.open(report, "#foo=" + "x" * 90)
    assert other.evaluate(places) == before

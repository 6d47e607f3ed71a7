"""The comparison in a browser: a difference as a story, every transfer on one axis, the same event in each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from axe_rules import violations
from browsing import Opened, page_of
from first_screens import shows_the_story, small_texts
from reading_pages import Reader, sees
from repository import EXAMPLES

from multitracer import analyze, cli
from multitracer.report import compare_page, kept_experiments
from multitracer.report.comparison import Experiment

pytestmark = pytest.mark.browser

NAMES = ("rlp-reset", "loss2")
ROWS = "Array.from(document.querySelectorAll('#mt-same tbody tr'), row => Array.from(row.cells, c => c.textContent))"


class Event(NamedTuple):
    """A finding, counted from the tables: seconds from the first packet of data, and octets acknowledged by then."""

    at_s: float
    octets: int


def events(name: str, kind: str) -> list[Event]:
    """The findings of a kind of an example."""
    found = analyze(sorted((EXAMPLES / name).iterdir()))
    number = int(found.tables["segments"].groupby("connection")["payload_bytes"].sum().idxmax())
    sender = int(found.ends.main[number])
    segments = found.tables["segments"]
    own = segments[(segments["connection"] == number) & (segments["point"] == found.paths.seen_at[number, sender])]
    data = own[(own["sender"] == sender) & (own["payload_bytes"] > 0)]
    acks = own[(own["sender"] != sender) & (own["ack"] >= 0)]
    table = found.tables["findings"]
    starts = table[(table["kind"] == kind) & table["connection"].isin([number, -1])]["start_ns"]
    made = []
    for start in sorted(starts):
        before = acks[acks["time_ns"] <= start]["ack"]
        made.append(Event((start - data["time_ns"].min()) / 1e9, max(0, int(before.max()) - 1) if len(before) else 0))
    return made


@pytest.fixture
def small(window: Any, compared: Path) -> Iterator[Opened]:
    """The comparison in a window of the smallest common size."""
    page = page_of(window)
    opened = Opened(page)
    opened.open(compared)
    yield opened
    page.close()
    assert opened.complaints == []


def many(compared: Path, count: int) -> list[Experiment]:
    """As many transfers as asked: the two that were compared, again and again under other names."""
    kept = [(kept_experiments.load(folder), folder) for folder in (compared.parent / name for name in NAMES)]
    made = [kept_experiments.experiment(*kept[number % 2]) for number in range(count)]
    return [replace(one, row=one.row | {"name": f"{one.row['name']}-{place}"}) for place, one in enumerate(made)]


def first(opened: Opened, series: str) -> float:
    """The first time of a line, as it is drawn."""
    found: float = opened.page.evaluate("name => MT.engine.series.get(name).x[0]", series)
    return found


def test_the_story_is_the_difference(small: Opened, compared: Path) -> None:
    """Its sentence is that of the terminal, and says how badly the links were used."""
    (found,) = json.loads((compared.parent / "compare.json").read_text())["differences"]
    page = small.page
    story = page.locator(".story li").inner_text()
    assert story.startswith(f"loss2: {abs(found['seconds']):.1f} s shorter than rlp-reset: ")
    assert "1 of 2" in page.locator(".verdict").inner_text()
    row = page.locator("#mt-transfers tbody tr").nth(1).inner_text()
    assert f"{found['seconds']:+.1f}" in row


def test_the_first_screen_shows_story_bars_and_panels(small: Opened) -> None:
    """At the usual sizes of a window, without scrolling."""
    shows_the_story(small.page)


def test_the_bars_are_seconds_on_one_scale(small: Opened, compared: Path) -> None:
    """A pixel is as many seconds in each bar, but for the narrowest parts; each part tells its seconds as text."""
    rows = json.loads((compared.parent / "compare.json").read_text())["experiments"]
    pixels = small.page.evaluate(
        "Array.from(document.querySelectorAll('#mt-bars .bar'), bar => Array.from(bar.querySelectorAll('button'),"
        " part => [part.dataset.part, part.parentElement.getBoundingClientRect().width, part.textContent.trim()]))"
    )
    scales = []
    for row, parts in zip(rows, pixels, strict=True):
        spent = row["spent_s"]["blame"]
        assert {name for name, *_ in parts} == {name for name, seconds in spent.items() if seconds > 0}
        assert all(re.search(r"[\d.]+ (s|ms|us) +\d+%$", text) for *_, text in parts)
        scales += [width / spent[name] for name, width, _ in parts if width > 40]
    assert max(scales) / min(scales) < 1.05
    assert len(scales) >= 4


def test_a_part_of_a_bar_is_told_beside_those_of_the_others(small: Opened) -> None:
    """With the dearest finding of its kind, where there is one."""
    reader = Reader(small)
    reader.click("#mt-bars [data-part=new_data]")
    told = small.page.locator("#mt-chosen").inner_text()
    assert re.fullmatch(r"rlp-reset: new data .* s \d+%; loss2: new data .* s \d+%\.", told)
    reader.click("#mt-bars [data-part=link-outage]")
    assert sees(small.page, "#mt-same h3", "link-outage")
    assert small.page.locator("#mt-same > p").inner_text() == "No other transfer that is shown has a link-outage."


def test_transfers_are_laid_over_one_another_from_their_first_data(opened: Opened, compared: Path) -> None:
    """Each line begins soon after 0, and the page says what 0 is; each transfer has a lane with named slices."""
    page = opened.open(compared)
    assert 0 <= first(opened, "acks 0") < 3
    assert 0 <= first(opened, "acks 1") < 3
    assert "first packet of data" in page.locator("#mt-align option:checked").inner_text()
    assert page.locator(".lane .name").all_inner_texts() == list(NAMES)
    slices = page.locator("[data-lane='0'] .slice.named").all_inner_texts()
    assert "idle-link" in slices
    assert page.locator("#mt-transfers tbody tr").count() == 2
    assert page.locator("#mt-transfers tr.below td").first.inner_text() == "rlp-reset"


def test_they_are_aligned_at_a_finding(opened: Opened, compared: Path) -> None:
    """What both had is at 0, in lines and lanes; a transfer without it is left out."""
    page = opened.open(compared)
    before = first(opened, "acks 0")
    page.select_option("#mt-align", "link-reset")
    page.wait_for_selector('html[data-mt-aligned="link-reset"]')
    assert first(opened, "acks 0") < before - 15
    assert not page.evaluate("MT.engine.series.has('acks 1')")
    assert page.locator("[data-lane='1'] .slice").count() == 0
    reset = page.locator("#mt-findings [data-kind=link-reset]")
    assert float(reset.get_attribute("data-start")) == 0
    page.select_option("#mt-align", "start")
    page.wait_for_selector('html[data-mt-aligned="start"]')
    assert first(opened, "acks 0") == before
    assert page.evaluate("MT.engine.series.has('acks 1')")


@pytest.mark.parametrize("by_keyboard", [True, False], ids=["keyboard", "pointer"])
def test_the_same_event_in_the_second_is_found_in_four_actions(small: Opened, *, by_keyboard: bool) -> None:
    """The finding of the same kind nearest in octets delivered, by the tables; the page says both."""
    reader, page = Reader(small), small.page
    if by_keyboard:
        reader.press("x")
    else:
        reader.click("#mt-findings > li", "excessive-queueing")
    chosen, *others = page.evaluate(ROWS)
    assert len(others) == 1
    if by_keyboard:
        reader.press("x")
    else:
        reader.click("#mt-same tr:nth-child(2) button")
    assert reader.actions <= 4
    kind = page.locator("#mt-same h3").inner_text()
    told = [Event(float(row[1]), int(row[2].replace(",", ""))) for row in (chosen, others[0])]
    name, other_name = (re.match(r"[\w-]+", row[0]).group() for row in (chosen, others[0]))
    own = min(events(name, kind), key=lambda one: abs(one.at_s - told[0].at_s))
    nearest = min(events(other_name, kind), key=lambda one: abs(one.octets - own.octets))
    assert told[0] == (pytest.approx(own.at_s, abs=0.006), own.octets)
    assert told[1] == (pytest.approx(nearest.at_s, abs=0.006), nearest.octets)
    assert sees(page, "#mt-same [aria-current=true]", other_name)
    assert sees(page, "#mt-findings [aria-selected=true] > .row", other_name)
    assert page.locator(".slice.current").count() == 2
    assert all(re.fullmatch(r"[\d.,]+ (s|ms|us)( long)?", row[3]) for row in (chosen, others[0]))
    page.keyboard.press("x")
    assert sees(page, "#mt-same [aria-current=true]", name)


def test_octets_decide_which_event_is_the_same(scripts: Any) -> None:
    """Not the time; of two as near the earlier; without octets there is none."""

    def one(index: int, transfer: int, start: float, octets: int | None, kind: str = "timeout") -> dict[str, Any]:
        return {"index": index, "transfer": transfer, "start": start, "octets": octets, "kind": kind}

    every = [
        one(0, 0, 5, 1000), one(1, 1, 5, 4000), one(2, 1, 90, 1300), one(3, 1, 80, 700), one(4, 2, 5, 1000, "reset"),
        one(5, 3, 5, None), one(6, 0, 5, 1001),
    ]  # fmt: skip
    same = "(all, one) => MT.sameEvent.sameEvents(all, one).map(each => each.index)"
    assert scripts.call(same, every, every[0]) == [3]
    assert scripts.call(same, every, every[5]) == []


def test_the_keys_of_the_report_work_here(small: Opened) -> None:
    """Zoom, pan, all, back; the cursor with values; Ctrl and the wheel zoom, the wheel alone does not."""
    page, whole = small.page, small.view()
    page.keyboard.press("w")
    assert small.view()[1] - small.view()[0] == pytest.approx((whole[1] - whole[0]) / 2)
    page.keyboard.press("0")
    assert small.view() == pytest.approx(whole)
    page.keyboard.press("ArrowRight")
    assert page.locator("#mt-crosshair").is_visible()
    assert page.locator("[data-mt-value='acks 0']").inner_text() != "-"
    page.mouse.move(*small.place("sequence", sum(whole) / 2, 1000))
    page.mouse.wheel(0, -100)
    page.wait_for_timeout(100)
    assert small.view() == pytest.approx(whole)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    small.until(f"MT.engine.timeRange.end < {whole[1]}")
    page.click('[data-mt-panel="goodput"] .fold')
    assert page.locator('[data-mt-panel="goodput"] .canvas').is_hidden()


def settling_ms() -> int:
    """How long a view has not moved when the page keeps it, by the page's script."""
    script = (Path(compare_page.__file__).parent / "assets" / "scripts" / "page.js").read_text(encoding="utf-8")
    said = re.search(r"^const SETTLE_MS = (\d+);", script, re.MULTILINE)
    assert said is not None
    return int(said[1])


def test_all_of_the_time_is_shown_first_however_long_the_page_loads(window: Any, compared: Path) -> None:
    """The view, which is kept once it has not moved for a while, is not kept before the page has shown one."""
    opened, settling = Opened(page_of(window)), settling_ms()
    opened.page.add_init_script(
        f"const set = window.setTimeout; window.setTimeout = (done, ms) => set(done, ms === {settling} ? 0 : ms);"
    )
    opened.open(compared)
    shown = opened.view()
    opened.page.keyboard.press("0")
    assert opened.view() == shown
    opened.page.close()


def test_axe_finds_nothing_while_it_is_read(window: Any, compared: Path) -> None:
    """With a finding, the same in the other, and a part of a bar chosen, in both themes."""
    for theme in ("light", "dark"):
        page = page_of(window, theme=theme)
        Opened(page).open(compared)
        for key in "nnx":
            page.keyboard.press(key)
        assert violations(page) == []
        page.click("#mt-bars [data-part=new_data]")
        assert violations(page) == []
        page.close()


@pytest.mark.parametrize("width", [360, 800, 1279])
def test_a_narrow_window_has_one_column(window: Any, compared: Path, width: int) -> None:
    """Nothing scrolls sideways, no text is below 12 pixels, and every panel is unfolded."""
    page = page_of(window, width, 700)
    Opened(page).open(compared)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert small_texts(page) == []
    assert page.locator(".canvas:not([hidden])").count() == page.locator("[data-mt-panel]").count() == 3
    page.close()


def test_a_dark_comparison_is_printed_light_with_its_panels(small: Opened) -> None:
    """As pictures, and every part of the bars as text."""
    page = small.page
    page.keyboard.press("t")
    page.emulate_media(media="print")
    small.until("document.getElementById('mt-printed') !== null")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    panels = page.evaluate("Array.from(document.querySelectorAll('[data-mt-printed]'), one => one.dataset.mtPrinted)")
    assert panels == ["time", "sequence", "goodput"]
    assert "first packet of data" in page.locator("[data-mt-printed=sequence]").inner_html()
    assert page.locator("#mt-bars .bar:not(.strip) [data-part=link-outage]").is_visible()
    page.emulate_media(media="screen")
    small.until("document.getElementById('mt-printed') === null")


def test_of_three_hundred_transfers_the_first_are_drawn_and_all_are_listed(
    window: Any, compared: Path, tmp_path: Path
) -> None:
    """The first screen holds, the lanes are scrolled, and the table has a row for each."""
    compare_page.write(many(compared, 300), tmp_path / "compare.html", "1")
    page = page_of(window)
    opened = Opened(page)
    opened.open(tmp_path / "compare.html")
    assert page.locator("#mt-transfers tbody tr").count() == 300
    assert page.locator("#mt-bars .bar").count() == page.locator(".lane").count() == compare_page.MOST_OVERLAID
    assert np.isfinite(first(opened, f"acks {compare_page.MOST_OVERLAID - 1}"))
    assert "276 more" in page.locator(".story").inner_text()
    shows_the_story(page)
    assert violations(page) == []
    page.close()
    assert opened.complaints == []


def test_a_transfers_name_links_to_its_report(opened: Opened, compared: Path) -> None:
    """The report is beside the page, on the disk."""
    page = opened.open(compared)
    page.click("#mt-transfers a >> nth=0")
    page.wait_for_url("**/rlp-reset/report.html*")
    page.wait_for_selector('html[data-mt-ready="1"]')
    assert page.locator("#mt-findings").count() == 1
    opened.requests[:] = opened.requests[:1]


def test_an_event_is_opened_in_its_transfers_report(opened: Opened, compared: Path) -> None:
    """At the time when it was, by the clock of that report."""
    page = opened.open(compared)
    page.keyboard.press("n")
    begin = float(page.locator("#mt-findings [aria-selected=true]").get_attribute("data-begin"))
    page.click("#mt-same [aria-current=true] a")
    page.wait_for_url("**/rlp-reset/report.html*")
    page.wait_for_selector('html[data-mt-ready="1"]')
    start, end = opened.view()
    assert start < begin < end
    opened.requests[:] = opened.requests[:1]


def test_a_click_on_a_transfers_point_opens_its_report(opened: Opened, compared: Path) -> None:
    """The points are those of how well each transfer used its link; the pointer over one is told of it."""
    page = opened.open(compared)
    x, y = page.evaluate(
        "(() => { const figure = Array.from(Bokeh.documents[0].all_models).find(m => m.name === 'campaign');"
        " const view = Bokeh.index.find_one(figure); view.el.scrollIntoView({block: 'center'});"
        " const at = view.el.getBoundingClientRect(), d = Bokeh.documents[0].get_model_by_name('campaign badly').data;"
        " return [at.left + view.frame.x_scale.compute(d.x[0]), at.top + view.frame.y_scale.compute(d.y[0])]; })()"
    )
    page.mouse.move(x + 2, y)
    assert page.locator("#mt-tooltip").inner_text().startswith("rlp-reset")
    page.mouse.click(x, y)
    page.wait_for_url("**/rlp-reset/report.html*")
    page.wait_for_selector('html[data-mt-ready="1"]')
    opened.requests[:] = opened.requests[:1]


def test_link_logs_without_captures_can_be_compared(opened: Opened, tmp_path: Path) -> None:
    """Without a TCP transfer there are no curves to compare: the page says so, and works."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rlpdump.txt").write_bytes((EXAMPLES / "rlp-reset" / "rlpdump.mobile.txt").read_bytes())
    out = tmp_path / "out"
    assert cli.run(["analyze", "--compare", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(out), "-v"]) == 0
    page = opened.open(out / "compare.html")
    assert page.locator("#mt-transfers tbody tr").count() == 2
    assert "No transfer's acknowledgements" in page.locator("[data-mt-panel=sequence]").inner_text()
    page.keyboard.press("n")
    assert "How many octets" in page.locator("#mt-same > p").inner_text()
    page.keyboard.press("?")
    assert page.locator("#mt-help").is_visible()

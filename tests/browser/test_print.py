"""A printed report: whole, light, and with every panel on one page."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened

from multitracer import Analysis

pytestmark = pytest.mark.browser

TITLES = {
    "time": "Time and findings", "sequence": "Sequence numbers", "windows": "Windows of the sender",
    "delays": "Delays", "frames": "Link frames", "goodput": "Goodput",
}  # fmt: skip
AXIS = "seconds since the start of the trace"


def pages_of(opened: Opened) -> list[str]:
    """The text of every page of the PDF on A4, as it is read: words with one space between."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    made = pypdf.PdfReader(io.BytesIO(opened.page.pdf(format="A4")))
    for page in made.pages:
        assert (page.mediabox.width, page.mediabox.height) == pytest.approx((595, 842), abs=1.5)
    return [words(page.extract_text()) for page in made.pages]


def words(text: str) -> str:
    """A text with one space for every gap."""
    return " ".join(text.split())


def dense(text: str) -> str:
    """A text without its gaps: a PDF breaks lines, and texts of one line into pieces."""
    return re.sub(r"\s+", "", text)


@pytest.fixture(scope="module")
def printed(browser: Any, report: Path) -> list[str]:
    """The pages of the example's report."""
    opened = Opened(browser.new_page(viewport={"width": 1280, "height": 1400}))
    opened.open(report, "#theme=dark")
    pages = pages_of(opened)
    opened.page.close()
    assert opened.complaints == []
    return pages


def test_every_finding_is_printed_with_all_of_its_texts(printed: list[str], analysis: Analysis) -> None:
    """What it is, why, what it cost, what set it off, and its evidence."""
    text = dense(" ".join(printed))
    summary = analysis.summary()
    for finding in summary["findings"]:
        assert dense(f"{finding['kind']} {finding['verdict']} {finding['because']}") in text
        assert dense(f"{finding['start_s']:.3f} to {finding['end_s']:.3f} s") in text
        if finding["caused_by"] is not None:
            cause = summary["findings"][finding["caused_by"]]
            assert dense(f"Set off by {cause['kind']} at {cause['start_s']:.1f} s") in text or "thatby" in text
    assert text.count("Itcost") == sum(one["lost_s"] is not None for one in summary["findings"])
    assert dense("erased 338, sent 54") in text
    assert "Setoffbylink-resetat21.5s,thatbylink-outageat18.1s" in text
    assert "frame.numberin{49,52,55,58,61}" in text


def test_story_and_bar_are_printed_whole(printed: list[str], analysis: Analysis) -> None:
    """Every sentence, and every part of the bar with its seconds and its share."""
    first = dense(printed[0])
    for sentence in analysis.verdict.splitlines():
        assert dense(sentence) in first
    for one in analysis.summary()["blame"]:
        where = f" ({one['layer']})" if one["layer"] != "unknown" else ""
        assert dense(one["cause"] + where) in first
        assert dense(f"{one['share']:.0%}") in first


@pytest.mark.parametrize("name", TITLES)
def test_a_panel_is_on_one_page(printed: list[str], name: str) -> None:
    """Its title, the last tick of its time axis and what that is called, in this order."""
    (page,) = [page for page in printed if re.search(rf"(^|\W){TITLES[name]}", page) and AXIS in page]
    panel = page[page.index(TITLES[name]) :]
    panel = panel[: panel.index(AXIS)]
    assert not [title for title in TITLES.values() if title in panel[1:] and title != TITLES[name]]
    assert re.search(r"\b0 10 20 30 40 50\b", panel), panel


def test_a_folded_panel_is_printed_unfolded(opened: Opened, report: Path) -> None:
    """With the marks that it would have on the screen, which it is left without."""
    page = opened.open(report, "#panels=-sequence,time")
    assert page.locator('[data-mt-panel="sequence"] .canvas').is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    drawn = page.evaluate("document.querySelector('[data-mt-printed=sequence]').innerHTML")
    assert drawn.count('stroke="rgb(0,114,178)"') > 10
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator('[data-mt-panel="sequence"] .canvas').is_hidden()


def test_a_dark_page_is_printed_light_and_is_dark_afterwards(opened: Opened, report: Path) -> None:
    """On paper text is dark on white, in panels too; the page on the screen is as it was."""
    page = opened.open(report, "#theme=dark&t=10,30")
    page.wait_for_timeout(400)
    state = (
        "JSON.stringify([getComputedStyle(document.body).backgroundColor,"
        " Array.from(document.querySelectorAll('.canvas'), e => [e.hidden, e.clientWidth, e.clientHeight]),"
        " MT.engine.figures.map(f => [f.background_fill_color, f.inner_width, f.inner_height, f.below[0].visible])])"
    )
    before = json.loads(page.evaluate(state))
    page.emulate_media(media="print")
    opened.until("document.getElementById('mt-printed') !== null")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    texts = page.evaluate("Array.from(document.querySelectorAll('#mt-printed text'), e => e.getAttribute('fill'))")
    assert not {"#e6e9ec", "rgb(230, 233, 236)"} & set(texts)
    page.emulate_media(media="screen")
    opened.until("document.getElementById('mt-printed') === null")
    opened.until(f"{state} === {json.dumps(json.dumps(before, separators=(',', ':')))}")
    assert opened.view() == (10, 30)


def test_nothing_to_press_is_printed(opened: Opened, report: Path) -> None:
    """Neither the buttons of the page nor those of panels and findings."""
    page = opened.open(report)
    page.emulate_media(media="print")
    opened.until("document.getElementById('mt-printed') !== null")
    shown: list[Any] = page.evaluate(
        "Array.from(document.querySelectorAll('button'), e => [e.textContent, e.className, e.getClientRects().length])"
    )
    left = [(text, name) for text, name, boxes in shown if boxes and name != "link" and "%" not in text]
    assert left == []
    page.emulate_media(media="screen")


def test_a_page_is_printed_twice_alike(opened: Opened, report: Path) -> None:
    """What was added for the first print is gone at the second."""
    opened.open(report)
    assert pages_of(opened) == pages_of(opened)
    assert opened.page.locator("#mt-printed").count() == 0

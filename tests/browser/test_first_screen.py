"""The first screen of a report: story, bar, panels and findings without scrolling, and what keys and clicks change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, page_of
from first_screens import shows_the_story, small_texts
from reading_pages import sees
from shared_data import LINUX

from multitracer import Analysis

pytestmark = pytest.mark.browser


@pytest.fixture
def screen(window: Any) -> Iterator[Opened]:
    """A window of the smallest common size."""
    page = page_of(window)
    yield Opened(page)
    page.close()


def test_the_first_screen_tells_the_story(screen: Opened, report: Path) -> None:
    """Of the example."""
    shows_the_story(screen.open(report))


@pytest.mark.data
@pytest.mark.parametrize("folder", LINUX)
def test_the_first_screen_of_recordings_tells_their_story(
    screen: Opened, folder: str, recording: Callable[[str], tuple[Path, Analysis]]
) -> None:
    """Of every folder of recordings from Linux."""
    shows_the_story(screen.open(recording(folder)[0]))


def test_panels_that_unfold_by_themselves_fit_the_window(screen: Opened, report: Path) -> None:
    """At whatever height of it: of those that the page unfolds, none has to be scrolled to."""
    page = screen.open(report)
    stack = "document.getElementById('mt-stack')"
    for height in range(730, 1030, 7):
        page.set_viewport_size({"width": 1280, "height": height})
        page.wait_for_timeout(60)
        assert page.evaluate(f"{stack}.scrollHeight - {stack}.clientHeight") == 0, height


def test_forty_findings_and_a_long_story_fit_the_first_screen(screen: Opened, crowded: Path) -> None:
    """The list scrolls by itself."""
    page = screen.open(crowded)
    assert page.locator("#mt-findings > li").count() == 40
    assert len(page.locator('[data-mt-part="story"]').inner_text()) > 600
    shows_the_story(page)


@pytest.mark.parametrize("width", [360, 800, 1279])
def test_a_narrow_window_has_one_column(window: Any, report: Path, width: int) -> None:
    """Nothing is cut and nothing scrolls sideways; every panel is unfolded, no text is below 12 pixels."""
    page = page_of(window, width, 700)
    Opened(page).open(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".canvas:not([hidden])").count() == page.locator("[data-mt-panel]").count()
    assert small_texts(page) == []
    page.close()


def test_panels_are_folded_moved_and_resized_by_keyboard_and_kept_in_the_address(screen: Opened, report: Path) -> None:
    """Opened at that address the panels stand as they were left; an address that is damaged is ignored."""
    page = screen.open(report)
    names = "Array.from(document.querySelectorAll('[data-mt-panel]'), one => one.dataset.mtPanel).join()"
    assert page.evaluate(names) == "time,sequence,windows,delays,frames,goodput"
    page.focus('[data-mt-panel="frames"] .up')
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.evaluate(names) == "time,sequence,frames,windows,delays,goodput"
    page.focus('[data-mt-panel="time"] .fold')
    page.keyboard.press("Enter")
    assert page.locator('[data-mt-panel="time"] .canvas').is_hidden()
    before = page.evaluate("document.querySelector('[data-mt-panel=frames] .canvas').offsetHeight")
    page.focus('[data-mt-panel="frames"] .sizer')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    taller = page.evaluate("document.querySelector('[data-mt-panel=frames] .canvas').offsetHeight")
    assert taller > before
    screen.until("location.hash.includes('panels=')")
    screen.open(report, "#" + page.url.partition("#")[2])
    assert page.evaluate(names) == "time,sequence,frames,windows,delays,goodput"
    assert page.locator('[data-mt-panel="time"] .canvas').is_hidden()
    assert page.evaluate("document.querySelector('[data-mt-panel=frames] .canvas').offsetHeight") == taller
    page.goto("about:blank")
    screen.open(report, "#panels=-nothing,time:9999")
    assert page.evaluate(names) == "time,sequence,windows,delays,frames,goodput"


def test_the_crosshair_stays_whole_when_the_panels_scroll(screen: Opened, report: Path) -> None:
    """Where the reader unfolds more of them than there is room for."""
    page = screen.open(report)
    folded = page.locator(".fold[aria-expanded=false]")
    while folded.count():
        folded.first.click()
    stack = "document.getElementById('mt-stack')"
    assert page.evaluate(f"{stack}.scrollTop = 9999, {stack}.scrollTop") > 0
    page.keyboard.press("ArrowRight")
    assert sees(page, "#mt-crosshair")
    height = "document.getElementById('{}').offsetHeight"
    assert page.evaluate(height.format("mt-crosshair")) == page.evaluate(height.format("mt-stack"))

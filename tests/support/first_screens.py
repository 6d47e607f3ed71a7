"""What the first screen of a page with a story shows, at the usual sizes of a window."""

from __future__ import annotations

from typing import Any

SIZES = [(1280, 800), (1440, 900), (1920, 1080)]


def inside(page: Any, selector: str, most: int = 99) -> int:
    """How many of the first `most` elements lie wholly in the window and are not empty."""
    found: int = page.evaluate(
        "([selector, most]) => Array.from(document.querySelectorAll(selector)).slice(0, most).filter(one => {"
        " const at = one.getBoundingClientRect(), [x, y] = [at.left + at.width / 2, at.top + at.height / 2];"
        " const seen = document.elementFromPoint(x, y);"
        " return at.width > 0 && at.height > 0 && at.left >= 0 && at.top >= 0 && at.right <= innerWidth + 0.5 &&"
        " at.bottom <= innerHeight + 0.5 && seen && (one.contains(seen) || seen.contains(one)); }).length",
        [selector, most],
    )
    return found


def shows_the_story(page: Any) -> None:
    """Story, bar, three panels and the first five findings lie wholly inside the window; nothing scrolls sideways."""
    findings = page.locator("#mt-findings > li").count()
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(200)
        assert inside(page, '[data-mt-part="story"]') == 1
        assert inside(page, '[data-mt-part="time"]') == 1
        open_panels = "[data-mt-panel]:has(.canvas:not([hidden]))"
        assert inside(page, open_panels) >= min(3, page.locator("[data-mt-panel]").count())
        assert inside(page, "#mt-findings > li > .row", 5) == min(5, findings)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        open_ones = "Array.from(document.querySelectorAll('.canvas:not([hidden])'), one => one.offsetHeight)"
        assert min(page.evaluate(open_ones)) >= 96


def small_texts(page: Any) -> list[str]:
    """The elements whose text is below 12 pixels."""
    found: list[str] = page.evaluate(
        "Array.from(document.querySelectorAll('body *')).filter(one => one.childNodes.length"
        " && Array.from(one.childNodes).some(node => node.nodeType === 3 && node.textContent.trim())"
        " && !['SCRIPT', 'STYLE'].includes(one.tagName) && parseFloat(getComputedStyle(one).fontSize) < 12)"
        ".map(one => one.tagName + one.className)"
    )
    return found

"""What each key and each control of a report changes lies wholly in the window: of every key that the help lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest
from browsing import Opened
from reading_pages import Reader, keys_in_help, sees

pytestmark = pytest.mark.browser

REPORTS = [
    "example", "crowded", *(pytest.param(folder, marks=pytest.mark.data) for folder in ("overflow", "rlc-outseq"))
]  # fmt: skip
"""One of each shape: with a link's log and without, a short story and a long one; all fit the same first screen."""
WINDOW = "[MT.engine.timeRange.start, MT.engine.timeRange.end].join()"
CURSOR = "document.getElementById('mt-cursor-time').textContent"
THEME = "document.documentElement.dataset.theme"
NOTICE = "#mt-status.notice"
ROW = "#mt-findings [aria-selected=true] > .row"
DETAIL = "#mt-details article:not([hidden]) h3"
CAUSE = ("#mt-chosen", ".bar [aria-current]")
SELECTED = ("#mt-selection-time", "#mt-selection tr:nth-child(3) td:nth-child(3)")
TURNED = (f"#mt-turn[aria-pressed=true], {NOTICE}",)
SEARCH = ("#mt-search:focus", "#mt-hits [role=option]")
NOTE = ("#mt-pin-note:focus", "#mt-pin-form button[type=submit]")


class Change(NamedTuple):
    """What a key or a click changes."""

    seen: Sequence[str] = ()
    """Selectors, each of something that lies wholly in the window afterwards."""
    differs: str = ""
    """An expression whose value is another one afterwards."""
    before: str = ""
    """The keys that lead to where there is something to do."""


KEYS = {
    "w": Change(["#mt-status", "#mt-figure-0"], WINDOW),
    "s": Change(["#mt-status", "#mt-figure-0"], WINDOW, before="w"),
    "a": Change(["#mt-status", "#mt-figure-0"], WINDOW, before="w"),
    "d": Change(["#mt-status", "#mt-figure-0"], WINDOW, before="w"),
    "0": Change(["#mt-status", "#mt-figure-0"], WINDOW, before="w"),
    "u": Change(["#mt-status", "#mt-figure-0"], WINDOW, before="w"),
    "ArrowLeft": Change(["#mt-crosshair", "#mt-cursor-time"], CURSOR),
    "ArrowRight": Change(["#mt-crosshair", "#mt-cursor-time"], CURSOR),
    "c": Change(CAUSE),
    "n": Change([ROW, DETAIL, "#mt-crosshair"]),
    "p": Change([ROW, DETAIL, "#mt-crosshair"]),
    "r": Change([f"#mt-chosen, {NOTICE}"]),
    "R": Change([f"#mt-chosen, {NOTICE}"]),
    "e": Change([f"{ROW}, {NOTICE}", f"{DETAIL}, {NOTICE}"], before="r"),
    "D": Change(TURNED),
    "/": Change(SEARCH),
    "k": Change(NOTE),
    "m": Change(SELECTED),
    "Escape": Change(["#mt-nothing"], before="n"),
    "t": Change(["#mt-theme"], THEME),
    "?": Change(["#mt-help", "#mt-help button"]),
}
"""By key."""
CLICKS = {
    "#mt-findings > li > .row .kind": Change([ROW, DETAIL, "#mt-crosshair"]),
    "#mt-findings > li > .row .more": Change([
        "[aria-expanded=false] > .row [data-clicked],"
        " [aria-expanded=true]:has(> .row [data-clicked]) > ul > li:first-child > .row",
    ]),
    ".bar [data-cost]": Change(CAUSE),
    "[data-key=c]": Change(CAUSE),
    "[data-key=n]": Change([ROW, DETAIL, "#mt-crosshair"]),
    "[data-key=r]": Change([f"#mt-chosen, {NOTICE}"]),
    "#mt-turn": Change(TURNED),
    "#mt-select": Change(["#mt-select[aria-pressed]"], "document.querySelector('#mt-select').ariaPressed"),
    "button.entry[data-series]": Change(["[data-clicked]"], "document.querySelector('[data-clicked]').ariaPressed"),
    "button.entry[data-cause]": Change(["#mt-status", "#mt-figure-0"], WINDOW),
    "[data-mt-panel] .fold": Change([
        "[data-clicked][aria-expanded=false], [data-mt-panel]:has([data-clicked][aria-expanded=true]) .canvas",
        "[data-clicked]",
    ], "document.querySelector('[data-clicked]').ariaExpanded"),
    "#mt-search": Change(SEARCH),
    "#mt-pin-set": Change(NOTE),
    "#mt-theme": Change(["#mt-theme"], THEME),
    "#mt-help-button": Change(["#mt-help", "#mt-help button"]),
}  # fmt: skip
"""By control of the first screen."""
REVERSED = ("#mt-turn", "#mt-select", "button.entry[data-series]", "[data-mt-panel] .fold")
"""Controls of which a second click restores what was before."""


def unseen(page: Any, change: Change, act: Callable[[], None]) -> list[str]:
    """What an action leaves out of sight or as it was, within a second."""
    old = page.evaluate(change.differs) if change.differs else None
    act()
    for _ in range(40):
        missing = [selector for selector in change.seen if not sees(page, selector)]
        if change.differs and page.evaluate(change.differs) == old:
            missing.append(f"{change.differs} is as it was")
        if not missing:
            return []
        page.wait_for_timeout(25)
    return missing


def test_every_key_of_the_help_has_an_expectation(open_report: Callable[[str], Opened]) -> None:
    """And is listed once."""
    assert sorted(keys_in_help(open_report("example").page)) == sorted(KEYS)


@pytest.mark.parametrize("folder", REPORTS)
def test_what_a_key_changes_is_in_the_window(open_report: Callable[[str], Opened], folder: str) -> None:
    """Also where the story is long and the findings are many."""
    reader = Reader(open_report(folder))
    failed = {}
    for key in reader.keys:
        reader.begin()
        for before in KEYS[key].before:
            reader.press(before)
        failed[key] = unseen(reader.page, KEYS[key], lambda key=key: reader.press(key))
    reader.begin()
    assert {key: left for key, left in failed.items() if left} == {}


@pytest.mark.parametrize("folder", REPORTS)
def test_what_a_click_changes_is_in_the_window(open_report: Callable[[str], Opened], folder: str) -> None:
    """On the first and on the last control of each sort that is in the window itself."""
    reader = Reader(open_report(folder))
    failed = {}
    for selector, change in CLICKS.items():
        for place in ends(reader, selector):
            found = unseen(reader.page, change, lambda: reader.click("[data-clicked]"))
            failed[f"{selector} {place}"] = found
            if selector in REVERSED:
                reader.click("[data-clicked]")
    reader.begin()
    assert folder != "example" or all(any(one.startswith(control) for one in failed) for control in CLICKS)
    assert {control: left for control, left in failed.items() if left} == {}


def ends(reader: Reader, selector: str) -> Any:
    """The places of the first and the last of some elements in the window, each while it is marked `data-clicked`."""
    count = reader.page.locator(selector).count()
    marked = (
        "([selector, i]) => { document.querySelector('[data-clicked]')?.removeAttribute('data-clicked');"
        " document.querySelectorAll(selector)[i].dataset.clicked = ''; }"
    )
    for places in (range(count), range(count - 1, 0, -1)):
        for place in places:
            reader.begin()
            reader.page.evaluate(marked, [selector, place])
            if sees(reader.page, "[data-clicked]"):
                yield place
                break

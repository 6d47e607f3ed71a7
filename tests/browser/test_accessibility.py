"""What axe finds on each page, in both themes, with nothing chosen and with its parts in use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_rules import violations
from browsing import Opened, page_of

pytestmark = pytest.mark.browser


@pytest.fixture(params=["light", "dark"])
def opened_page(window: Any, request: pytest.FixtureRequest, page_file: Path) -> Iterator[Any]:
    """A page in one theme."""
    page = page_of(window, theme=request.param)
    opened = Opened(page)
    yield opened.open(page_file)
    page.close()
    assert opened.complaints == []


def test_axe_finds_nothing(opened_page: Any) -> None:
    """On the page as it opens, and with the list of its keys open."""
    assert violations(opened_page) == []
    opened_page.keyboard.press("?")
    assert opened_page.locator("#mt-help").is_visible()
    assert violations(opened_page) == []


@pytest.fixture(params=["light", "dark"])
def read(window: Any, report: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A report in one theme."""
    page = page_of(window, theme=request.param)
    Opened(page).open(report)
    yield page
    page.close()


def test_axe_finds_nothing_while_a_report_is_read(read: Any) -> None:
    """With a cause, a finding, a retransmission and a part of the time chosen; and while the next drag selects."""
    for keys in ("c", "n", "re", "m"):
        for key in keys:
            read.keyboard.press(key)
        assert violations(read) == []
    read.click("#mt-select")
    assert violations(read) == []


def test_axe_finds_nothing_in_the_hits_of_a_search(read: Any) -> None:
    """With one of them active, and where nothing is found."""
    for text in ("", "link", "1", "12.5-14 s", "no such thing"):
        read.keyboard.press("/")
        read.keyboard.insert_text(text)
        read.keyboard.press("ArrowDown")
        assert read.locator("#mt-hits-box").is_visible()
        assert read.input_value("#mt-search") == text
        assert violations(read) == []
        read.keyboard.press("Escape")
        assert read.locator("#mt-hits-box").is_hidden()


def test_axe_finds_nothing_in_the_notes_of_pins(read: Any, tmp_path: Path) -> None:
    """While a note is written, with pins in the list, and after a file of pins was read, or was none."""
    read.keyboard.press("k")
    assert read.locator("#mt-pin-note").is_visible()
    assert violations(read) == []
    read.keyboard.insert_text("here")
    read.keyboard.press("Enter")
    assert violations(read) == []
    pins = [{"time_s": 5, "note": "kept"}, {"time_s": 7, "note": ""}]
    (tmp_path / "pins.json").write_text(json.dumps({"format": "multitracer pins", "pins": pins}))
    (tmp_path / "none.json").write_text("no pins")
    for name in ("pins.json", "none.json"):
        read.set_input_files("#mt-pins-file", tmp_path / name)
        read.wait_for_selector("#mt-status.notice")
        assert violations(read) == []
    assert read.locator("#mt-pin-list li").count() == 3

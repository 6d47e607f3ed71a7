"""What axe finds on each page, in both themes, with nothing chosen and with its parts in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser


@pytest.fixture(params=["light", "dark"])
def opened_page(browser: Any, request: pytest.FixtureRequest, page_file: Path) -> Iterator[Any]:
    """A page in one theme."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=request.param)
    opened = Opened(page)
    yield opened.open(page_file)
    page.close()
    assert opened.complaints == []


def violations(page: Any) -> list[str]:
    """What axe finds, of any impact: the rule, and the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [f"{one['id']} ({one['impact']}): {one['nodes'][0]['html'][:120]}" for one in found]


def test_axe_finds_nothing(opened_page: Any) -> None:
    """On the page as it opens, and with the list of its keys open."""
    assert violations(opened_page) == []
    opened_page.keyboard.press("?")
    assert opened_page.locator("#mt-help").is_visible()
    assert violations(opened_page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_while_a_report_is_read(browser: Any, report: Path, theme: str) -> None:
    """With a finding, a retransmission and a part of the time chosen."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=theme)
    Opened(page).open(report)
    for keys in ("n", "re", "m"):
        for key in keys:
            page.keyboard.press(key)
        assert violations(page) == []
    page.close()

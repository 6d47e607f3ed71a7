"""The table of all connections in a page: made a part at a time, sorted, searched; a row opens its connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_rules
import many_connections
import pytest
from browsing import Opened

from multitracer import analyze
from multitracer.report import directions

pytestmark = pytest.mark.browser

COUNT = 260
PART = 100
ROWS = "#mt-connections tbody tr"
SHOWN = "document.documentElement.dataset.mtConnection"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of many connections, of which each later one sends more."""
    folder = tmp_path_factory.mktemp("crowd")
    analyze([many_connections.write(folder / "many.pcap", COUNT)]).report(folder / "report.html")
    return folder / "report.html"


def numbers(page: Any) -> list[int]:
    """The connections of the rows that are made."""
    return [int(text) for text in page.locator(f"{ROWS} td:first-child").all_inner_texts()]


def test_rows_are_made_a_part_at_a_time(opened: Opened, crowd: Path) -> None:
    """The largest connections first; the button makes more until all are there."""
    page = opened.open(crowd)
    assert numbers(page) == list(reversed(range(COUNT - PART, COUNT)))
    more = page.locator("#mt-connections-more")
    assert more.inner_text() == f"show {PART} more of {COUNT - PART}"
    more.click()
    more.click()
    assert numbers(page) == list(reversed(range(COUNT)))
    assert not more.is_visible()


def test_a_heading_sorts_all_rows(opened: Opened, crowd: Path) -> None:
    """Not only those that are made; a second time in the other direction."""
    page = opened.open(crowd)
    heading = page.get_by_role("button", name="unique bytes")
    heading.click()
    assert numbers(page) == list(range(PART))
    heading.click()
    assert numbers(page) == list(reversed(range(COUNT - PART, COUNT)))


def test_words_choose_rows(opened: Opened, crowd: Path) -> None:
    """By address, limit or finding; how many are left is said."""
    page = opened.open(crowd)
    page.fill("#mt-connections-asked", many_connections.client(7))
    assert numbers(page) == [7]
    assert page.inner_text("#mt-connections-shown") == f"1 of {2 * COUNT} ends"
    page.fill("#mt-connections-asked", "17")
    assert 17 in numbers(page)
    page.fill("#mt-connections-asked", f"{many_connections.SERVER} application")
    assert page.inner_text("#mt-connections-shown") == f"{COUNT} of {2 * COUNT} ends; the first {PART} are listed"
    page.fill("#mt-connections-asked", "nobody")
    assert numbers(page) == []


def test_ends_that_sent_no_data_are_shown_when_asked_for(opened: Opened, crowd: Path) -> None:
    """They have rows of their own."""
    page = opened.open(crowd)
    assert numbers(page)[:2] == [COUNT - 1, COUNT - 2]
    page.check("#mt-connections-both")
    assert numbers(page)[:2] == [COUNT - 1, COUNT - 1]


def test_a_row_opens_its_connection(opened: Opened, crowd: Path) -> None:
    """In the panels, which come into the window; the row is marked, and the address keeps it."""
    page = opened.open(crowd)
    page.locator(f"{ROWS}[data-connection='200'] button").click()
    opened.until(f"{SHOWN} === '200'")
    assert page.input_value("#mt-connection") == "200"
    assert page.locator(f"{ROWS}.current").evaluate_all("all => all.map(row => row.dataset.connection)") == ["200"]
    assert page.evaluate("document.getElementById('mt-first').getBoundingClientRect().top") == 0
    assert page.evaluate("Array.from(MT.engine.series.get('segments').columns.y)") == [
        1 + place * many_connections.size(200) for place in range(many_connections.SEGMENTS)
    ]
    opened.until("location.hash.includes('con=200')")


def test_a_short_connection_comes_into_view(opened: Opened, tmp_path: Path) -> None:
    """One of a quarter of a second, in a capture that lasts two: the others stay out of it, until one goes back."""
    analyze([many_connections.write(tmp_path / "many.pcap", 100, apart_ms=20)]).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    before = opened.view()
    page.fill("#mt-connections-asked", many_connections.client(15))
    page.locator(f"{ROWS} button").click()
    opened.until(f"{SHOWN} === '15'")
    start, end = opened.view()
    assert 0.2 < start < 0.3
    assert 0.42 < end < 0.6
    page.keyboard.press("u")
    assert opened.view() == pytest.approx(before)


def test_only_what_is_shown_is_decoded(opened: Opened, crowd: Path) -> None:
    """Columns of other connections stay text until one is opened."""
    page = opened.open(crowd)
    left = "document.querySelectorAll('script.mt-columns[data-group=\"200\"]').length"
    assert page.evaluate(left) == 1
    page.select_option("#mt-connection", "200")
    opened.until(f"{left} === 0")


def test_a_connection_that_is_not_drawn_is_listed(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a button; the page says how many are not."""
    monkeypatch.setattr(directions, "SHOWN_CONNECTIONS", 3)
    analyze([many_connections.write(tmp_path / "many.pcap", 5)]).report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    assert page.locator(f"{ROWS} button").all_inner_texts() == ["4", "3", "2"]
    assert numbers(page) == [4, 3, 2, 1, 0]
    assert page.get_by_text("2 smaller connections are listed, but not drawn").is_visible()


def test_axe_finds_nothing(opened: Opened, crowd: Path) -> None:
    """While the table is sorted, searched and a row is marked."""
    page = opened.open(crowd)
    page.get_by_role("button", name="goodput").first.click()
    page.fill("#mt-connections-asked", "10.0.1")
    assert axe_rules.violations(page) == []

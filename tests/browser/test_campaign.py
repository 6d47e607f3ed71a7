"""The page of several transfers: what its address keeps, and its figures of all of them, on paper too."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser

FIGURES = ".campaign"


def test_the_address_keeps_what_the_transfers_are_aligned_at(opened: Opened, compared: Path) -> None:
    """Opened again it is aligned alike, with the same part in view; the first choice is not in the address."""
    page = opened.open(compared)
    page.select_option("#mt-align", "link-reset")
    opened.until("location.hash.includes('&at=link-reset')")
    opened.look(-5.0, 10.0)
    opened.until("location.hash.includes('t=-5.000000000,10.000000000')")
    address = page.evaluate("location.hash")
    page.goto("about:blank")
    page = opened.open(compared, address)
    assert page.evaluate("document.documentElement.dataset.mtAligned") == "link-reset"
    assert page.locator("#mt-align").input_value() == "link-reset"
    assert opened.view() == pytest.approx((-5.0, 10.0))
    page.select_option("#mt-align", "start")
    opened.until("!location.hash.includes('at=')")
    opened.requests[:] = opened.requests[:1]


def test_an_alignment_that_there_is_not_is_told(opened: Opened, compared: Path) -> None:
    """And the transfers are aligned at their starts."""
    page = opened.open(compared, "#at=no-such-event")
    assert "at=no-such-event" in page.locator("#mt-status").inner_text()
    assert page.evaluate("document.documentElement.dataset.mtAligned") == "start"


def test_figures_of_all_transfers_are_printed(opened: Opened, compared: Path) -> None:
    """They take room on paper, as on the screen."""
    page = opened.open(compared)
    count = page.locator(FIGURES).count()
    assert count >= 1
    page.emulate_media(media="print")
    assert page.locator(FIGURES).evaluate_all("all => all.filter(one => one.offsetHeight > 200).length") == count
    page.emulate_media(media="screen")

"""The page of several transfers: what its address keeps, and its figures of all of them, on paper too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_rules import violations
from browsing import Opened, page_of
from first_screens import small_texts

from multitracer.report import compare_page, kept_experiments

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


@pytest.fixture(scope="session")
def campaign(compared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The page of a campaign of so many transfers in groups, each with a rate and an utilization of its own."""
    folder = tmp_path_factory.mktemp("campaign")
    every = [(kept_experiments.load(one), one) for one in (compared.parent / name for name in ("rlp-reset", "loss2"))]

    def made(count: int) -> Path:
        path = folder / f"{count}.html"
        if not path.exists():
            experiments = [kept_experiments.experiment(*every[at % 2]) for at in range(count)]
            several = [replace(one, row=one.row | of_campaign(at)) for at, one in enumerate(experiments)]
            compare_page.write(several, path, "1", re.compile("^g[0-9]+"))
        return path

    return made


def of_campaign(at: int) -> dict[str, Any]:
    """What the transfer at a place has of its own: every fifth is not known to use its link in any way."""
    sent = {"link": "rlp 9.6 kbit/s", "octets": 9_000 + 1_100 * at, "session_s": 10.0 + at, "not_stopped_s": 9.0 + at}
    used = {"percent": 90 + at % 10, "session_s": 10.0 + at, "flow_controlled_s": 1.0}
    known = {"utilization": used, "link_data": sent} if at % 5 else {"utilization": None, "link_data": None}
    return {"name": f"g{at % 4}-{at}", "throughput_bps": 7_000 + 10.0 * at, "report": f"g{at % 4}-{at}.html", **known}


def point(page: Any, figure: str, renderer: int, number: int) -> tuple[float, float]:
    """Where a point of a figure of all transfers is in the window, once the figure is scrolled into it."""
    x, y = page.evaluate(
        "([name, renderer, number]) => { const figure = Bokeh.documents[0].get_model_by_name(name);"
        " const view = Bokeh.index.find_one(figure); view.el.scrollIntoView({block: 'center'});"
        " const at = view.el.getBoundingClientRect(), d = figure.renderers[renderer].data_source.data;"
        " const { x_scale, y_scale } = view.frame;"
        " return [at.left + x_scale.compute(d.x[number]), at.top + y_scale.compute(d.y[number])]; }",
        [figure, renderer, number],
    )
    return float(x), float(y)


def test_a_point_of_link_data_tells_its_transfer(opened: Opened, campaign: Callable[[int], Path]) -> None:
    """Its name, octets and seconds; what the legend hides is not told any more."""
    page = opened.open(campaign(13))
    page.mouse.move(*point(page, "link-data", 0, 4))
    told = page.locator("#mt-tooltip").inner_text().split("\n")
    assert [line for line in told if line] == [
        "g2-6", "15,600 octets of data in 15.0 s (not stopped)", "over rlp 9.6 kbit/s"
    ]  # fmt: skip
    entry = page.locator('[data-mt-part="link-data"] .entry').first
    entry.click()
    assert entry.get_attribute("aria-pressed") == "false"
    page.mouse.move(*point(page, "link-data", 0, 4))
    assert not page.locator("#mt-tooltip").is_visible()
    entry.click()
    page.mouse.move(*point(page, "link-data", 0, 4))
    assert page.locator("#mt-tooltip").is_visible()


@pytest.mark.parametrize(("count", "theme"), [(13, "light"), (60, "dark")])
def test_axe_finds_nothing_on_a_campaign(
    window: Any, campaign: Callable[[int], Path], count: int, theme: str
) -> None:  # fmt: skip
    """With its groups and all of its figures, nor with a group hidden."""
    page = page_of(window, theme=theme)
    opened = Opened(page)
    opened.open(campaign(count))
    parts = page.eval_on_selector_all("[data-mt-part]", "all => all.map(one => one.dataset.mtPart)")
    assert {"campaign", "distribution", "link-data", "groups", "transfers"} <= set(parts)
    assert violations(page) == []
    page.locator('[data-mt-part="distribution"] .entry').last.click()
    assert violations(page) == []
    page.close()
    assert opened.complaints == []


@pytest.mark.parametrize("width", [390, 640])
def test_a_campaign_fits_a_narrow_window(window: Any, campaign: Callable[[int], Path], width: int) -> None:
    """Also one that is zoomed to 200 %: nothing scrolls sideways, and no text is below 12 pixels."""
    page = page_of(window, width, 400)
    Opened(page).open(campaign(60))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert small_texts(page) == []
    page.close()


def test_figures_of_a_dark_page_are_printed_light(opened: Opened, campaign: Callable[[int], Path]) -> None:
    """As pictures that take room, with dark letters; on the screen they are as before."""
    page = opened.open(campaign(13))
    page.keyboard.press("t")
    ground = "Bokeh.documents[0].get_model_by_name('distribution').background_fill_color"
    assert page.evaluate(ground) == "#15191e"
    count = page.locator(FIGURES).count()
    assert count == 3
    page.emulate_media(media="print")
    opened.until(f"document.querySelectorAll('.printed').length === {count}")
    assert page.locator(".printed").evaluate_all("all => all.filter(one => one.offsetHeight > 200).length") == count
    assert page.locator(FIGURES).evaluate_all("all => all.every(one => !one.offsetHeight)")
    for drawn in page.locator(".printed svg").evaluate_all("all => all.map(one => one.outerHTML)"):
        assert "#15191e" not in drawn
        assert "21,25,30" not in drawn.replace(" ", "")
    assert not page.locator("#mt-same").is_visible()
    page.emulate_media(media="screen")
    opened.until("document.querySelectorAll('.printed').length === 0")
    assert page.evaluate(ground) == "#15191e"

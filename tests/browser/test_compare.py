"""The comparison in a browser: every transfer on one axis, aligned as asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened
from repository import EXAMPLES

from multitracer import cli

pytestmark = pytest.mark.browser


def first(opened: Opened, series: str) -> float:
    """The first time of a line, as it is drawn."""
    found: float = opened.page.evaluate("name => MT.engine.series.get(name).x[0]", series)
    return found


def test_transfers_are_laid_over_one_another(opened: Opened, compared: Path) -> None:
    """Both lines, from their start; the table names them, and the one that used its link badly."""
    page = opened.open(compared)
    assert abs(first(opened, "acks 0")) < 3
    assert abs(first(opened, "acks 1")) < 3
    assert page.locator("#mt-transfers tbody tr").count() == 2
    assert page.locator("#mt-transfers tr.below td").first.inner_text() == "rlp-reset"
    assert "1 of 2" in page.locator(".verdict").inner_text()


def test_they_are_aligned_at_a_finding(opened: Opened, compared: Path) -> None:
    """What both had is at 0; a transfer without it is left out."""
    page = opened.open(compared)
    before = first(opened, "acks 0")
    page.select_option("#mt-align", "link-reset")
    page.wait_for_selector('html[data-mt-aligned="link-reset"]')
    assert first(opened, "acks 0") < before - 15
    assert not page.evaluate("MT.engine.series.has('acks 1')")
    page.select_option("#mt-align", "start")
    page.wait_for_selector('html[data-mt-aligned="start"]')
    assert first(opened, "acks 0") == before
    assert page.evaluate("MT.engine.series.has('acks 1')")


def test_a_transfers_name_links_to_its_report(opened: Opened, compared: Path) -> None:
    """The report is beside the page, on the disk."""
    page = opened.open(compared)
    page.click("#mt-transfers a >> nth=0")
    page.wait_for_url("**/rlp-reset/report.html*")
    page.wait_for_selector('html[data-mt-ready="1"]')
    assert page.locator("#mt-findings").count() == 1
    opened.requests[:] = opened.requests[:1]


def test_a_click_on_a_transfers_point_opens_its_report(opened: Opened, compared: Path) -> None:
    """The points are those of how well each transfer used its link."""
    page = opened.open(compared)
    x, y = page.evaluate(
        "(() => { const figure = Array.from(Bokeh.documents[0].all_models).find(m => m.name === 'campaign');"
        " const view = Bokeh.index.find_one(figure); view.el.scrollIntoView({block: 'center'});"
        " const at = view.el.getBoundingClientRect(), d = Bokeh.documents[0].get_model_by_name('campaign badly').data;"
        " return [at.left + view.frame.x_scale.compute(d.x[0]), at.top + view.frame.y_scale.compute(d.y[0])]; })()"
    )
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
    page.keyboard.press("?")
    assert page.locator("#mt-help").is_visible()

"""The pages of retrace and of erasure traces in a browser: what they draw is what the tables and files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browsing import Opened

from multitracer import cli

pytestmark = pytest.mark.browser


def test_each_minutes_best_size_is_drawn(opened: Opened, retraced: Path) -> None:
    """A staircase equal to the file's sizes, a minute a step."""
    page = opened.open(retraced / "retrace.html")
    wanted = json.loads((retraced / "retrace.json").read_text())["traces"][0]["each_minute"]["optimal_frame_bytes"]
    assert page.evaluate("Array.from(MT.engine.series.get('best 0').y)") == [*wanted, wanted[-1]]
    assert page.evaluate("Array.from(MT.engine.series.get('best 0').x)") == [60.0 * minute for minute in range(11)]


def test_the_curve_and_the_table_have_every_size(opened: Opened, retraced: Path) -> None:
    """Throughput in kbit/s, and its interval."""
    page = opened.open(retraced / "retrace.html")
    row = json.loads((retraced / "retrace.json").read_text())["traces"][0]
    drawn = page.evaluate(
        "(d => ({y: Array.from(d.y), low: Array.from(d.low)}))(Bokeh.documents[0].get_model_by_name('curve 0').data)"
    )
    assert drawn["y"] == pytest.approx([bps / 1000 for bps in row["throughput_bps"].values()])
    assert drawn["low"] == pytest.approx([low / 1000 for low, _ in row["ci95_bps"].values()])
    assert page.locator("#mt-sizes tbody tr").count() == 100
    assert page.locator("#mt-traces tbody tr").count() == 2
    assert str(row["optimal_frame_bytes"]) in page.locator(".verdict").inner_text()


def test_a_zoom_on_the_time_axis_moves_all_panels(opened: Opened, retraced: Path) -> None:
    """Keys zoom; the address keeps the view; marks are exact when few are in view."""
    page = opened.open(retraced / "retrace.html")
    before = page.evaluate("MT.engine.timeRange.end - MT.engine.timeRange.start")
    for _ in range(4):
        page.keyboard.press("w")
    opened.until("MT.engine.timeRange.end - MT.engine.timeRange.start < 100")
    assert before > 600
    opened.until("location.hash.includes('t=')")
    assert page.evaluate("MT.isExact")


def test_a_described_trace_shows_its_bursts(opened: Opened, retraced: Path) -> None:
    """As many marks as the file counts bursts, and a row for each stretch."""
    page = opened.open(retraced / "describe.html")
    row = json.loads((retraced / "describe.json").read_text())["traces"][0]
    assert page.evaluate("MT.engine.series.get('burst 0').n") == row["bursts"]["count"]
    lengths = page.evaluate("Array.from(MT.engine.series.get('burst 0').y)")
    assert sum(lengths) == row["erased_blocks"]
    assert page.locator("#mt-stretches tbody tr").count() == len(row["stretches"])
    page.keyboard.press("t")
    opened.until("document.documentElement.dataset.theme === 'dark'")


def test_a_traces_name_never_becomes_markup(opened: Opened, tmp_path: Path) -> None:
    """Also not in tooltips."""
    name = "<img src=x onerror=alert(1)> @x"
    (tmp_path / "t.txt").write_text(f"# name: {name}\n" + "0000000001" * 300 + "\n")
    assert cli.run(["retrace", str(tmp_path / "t.txt"), "-o", str(tmp_path), "-q", "--bootstrap", "0"]) == 0
    page = opened.open(tmp_path / "retrace.html")
    found = page.evaluate(
        "(() => { const figure = Bokeh.documents[0].get_model_by_name('curves'), view = Bokeh.index.find_one(figure);"
        " view.el.scrollIntoView({block: 'center'}); const at = view.el.getBoundingClientRect();"
        " const d = Bokeh.documents[0].get_model_by_name('curve 0').data;"
        " return [at.left + view.frame.x_scale.compute(d.x[10]), at.top + view.frame.y_scale.compute(d.y[10])]; })()"
    )
    page.mouse.move(found[0] - 3, found[1])
    page.mouse.move(*found)
    page.wait_for_timeout(300)
    shown = page.evaluate(
        "(function all(root) { return Array.from(root.querySelectorAll('*')).flatMap("
        "e => [e.tagName, ...(e.shadowRoot ? all(e.shadowRoot) : [])]); })(document)"
    )
    assert "IMG" not in shown
    assert "<img src=x" in page.locator("h1").inner_text()


def test_many_results_stay_within_the_window(opened: Opened, retraced: Path, tmp_path: Path) -> None:
    """Legends go on in the next row; nothing scrolls sideways at 1280 pixels."""
    models = [word for model in ("ideal", "raw", "rlc-tm") for word in ("--model", model)]
    arguments = [str(retraced / "bad-0.txt"), "--even", *models, "--bootstrap", "0", "-q", "-o", str(tmp_path)]
    assert cli.run(["retrace", *arguments]) == 0
    page = opened.open(tmp_path / "retrace.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280

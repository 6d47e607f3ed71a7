"""The pointer over the panels of a report: the wheel, drags and fingers."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser


def test_ctrl_and_the_wheel_zoom_and_a_drag_moves_the_time_axis(opened: Opened, report: Path) -> None:
    """The wheel zooms at the pointer with Ctrl alone, a drag takes the axis along; all panels share it."""
    page = opened.open(report)
    start, end = opened.view()
    page.mouse.move(*opened.place("sequence", 30, 20_000))
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    assert opened.view() == (start, end)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    opened.until(f"MT.engine.timeRange.end - MT.engine.timeRange.start < {(end - start) * 0.95}")
    left, right = opened.view()
    assert left < 30 < right
    x, y = opened.place("sequence", 30, 20_000)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y)
    page.mouse.move(x + 80, y)
    page.mouse.up()
    opened.until(f"MT.engine.timeRange.start < {left}")
    assert opened.view()[1] - opened.view()[0] == pytest.approx(right - left)


def test_two_fingers_zoom_about_the_times_that_they_lie_on(opened: Opened, report: Path) -> None:
    """Each finger stays on its time while they move apart; one finger moves the time axis."""
    page = opened.open(report)
    cdp = page.context.new_cdp_session(page)

    def touch(kind: str, *times: float, at: list[tuple[float, float]] | None = None) -> None:
        points = at or [opened.place("sequence", time, 20_000) for time in times]
        given = [{"x": x, "y": points[0][1], "id": finger} for finger, (x, _) in enumerate(points)]
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})

    start, end = opened.view()
    ends = [opened.place("sequence", time, 20_000) for time in (10, 40)]
    touch("touchStart", 20, 30)
    touch("touchMove", at=ends)
    touch("touchEnd", at=[])
    opened.until(f"Bokeh.documents[0].get_model_by_name('xr').end < {end}")
    found = opened.view()
    assert found[1] - found[0] == pytest.approx((end - start) / 3, rel=0.01)
    assert (found[0] - 20) / (found[0] - 30) == pytest.approx((start - 10) / (start - 40), rel=0.02)
    touch("touchStart", 25)
    touch("touchMove", 23)
    touch("touchEnd", at=[])
    opened.until(f"Bokeh.documents[0].get_model_by_name('xr').start > {found[0]}")
    assert opened.view() == pytest.approx((found[0] + 2, found[1] + 2), abs=0.1)


def test_ten_steps_in_and_ten_out_end_where_they_began(opened: Opened, report: Path) -> None:
    """To the bit, by keys and by the wheel, also where the narrowest view stops the steps in."""
    page = opened.open(report, "#t=20.000123,20.000523")
    before = opened.view()
    for keys in ("w" * 10 + "s" * 10,):
        for key in keys:
            page.keyboard.press(key)
    assert opened.view() == before
    page.mouse.move(*opened.place("sequence", 20.0002, 0))
    page.keyboard.down("Control")
    for turn in [-100] * 10 + [100] * 10:
        page.mouse.wheel(0, turn)
    page.keyboard.up("Control")
    page.wait_for_timeout(200)
    assert opened.view() == before


def test_a_selection_ends_where_the_trace_does(opened: Opened, report: Path) -> None:
    """Dragged beyond the axis, it begins and ends within the time that was recorded."""
    page = opened.open(report)
    start, end = opened.view()
    opened.select("sequence", start - 3, end + 3)
    chosen = page.locator("#mt-selection-time").inner_text().split()
    assert float(chosen[0]) >= start - 1e-9
    assert float(chosen[3]) <= end + 1e-9


def test_a_press_on_a_panel_takes_the_focus_from_the_search(opened: Opened, report: Path) -> None:
    """The keys act on the panels again, and the hits are gone."""
    page = opened.open(report)
    page.keyboard.press("/")
    page.keyboard.insert_text("timeout")
    opened.until("!document.getElementById('mt-hits-box').hidden")
    page.mouse.click(*opened.place("sequence", 50, 5_000))
    before = opened.view()
    page.keyboard.press("w")
    opened.until(f"MT.engine.timeRange.start > {before[0]}")
    assert page.locator("#mt-search").input_value() == "timeout"
    assert not page.locator("#mt-hits").is_visible()

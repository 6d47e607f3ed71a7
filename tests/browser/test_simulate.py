"""The page of a simulation in a browser: what it draws is what the runs gave."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser

POINTS = """(name) => Object.fromEntries(["x", "y"].map((column) =>
  [column, Array.from(Bokeh.documents[0].get_model_by_name(name).get_column(column))]))"""


def test_a_metric_is_drawn_against_the_key_that_is_varied(opened: Opened, simulated_page: Path) -> None:
    """A line for each of the named variants, in kbit/s."""
    page = opened.open(simulated_page)
    for place in range(3):
        points = page.evaluate(POINTS, f"throughput_bps {place}")
        assert points["x"] == [0, 0.015, 0.025, 0.054, 0.098]
        assert points["y"] == pytest.approx([64 * (1 - loss) for loss in points["x"]], abs=0.001)


def test_the_tables_have_every_variant_difference_and_key(opened: Opened, simulated_page: Path) -> None:
    """15 variants, whose 105 pairs differ in three metrics."""
    page = opened.open(simulated_page)
    assert page.locator("#mt-variants tbody tr").count() == 15
    assert page.locator("#mt-pairs tbody tr").count() == 105 * 3
    assert "raw | sr | rlc-am" in page.locator("#mt-keys").inner_text()


def test_keys_move_all_figures(opened: Opened, simulated_page: Path) -> None:
    """They share one axis."""
    page = opened.open(simulated_page)
    axis = "() => { const r = Bokeh.documents[0].get_model_by_name('xr'); return r.end - r.start; }"
    before = page.evaluate(axis)
    page.keyboard.press("w")
    assert page.evaluate(axis) == pytest.approx(before / 2)

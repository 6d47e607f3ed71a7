"""The page of reproduced papers in a browser: the table of statements is sorted and filtered, figures are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import Opened

pytestmark = pytest.mark.browser

ROWS = "#mt-statements tbody tr:visible"
FIGURES = """() => Array.from(Bokeh.documents[0].all_models || Bokeh.documents[0]._all_models.values())
  .filter((one) => one.type === "Figure" && one.visible).map((one) => one.tags[0])"""


def test_a_heading_sorts_the_statements_by_number(opened: Opened, reproduced_page: Path) -> None:
    """Up, then down; rows without a number come last both times."""
    page = opened.open(reproduced_page)
    for direction in ("ascending", "descending"):
        page.locator("#mt-statements th button", has_text="ours").click()
        assert page.locator("#mt-statements th[aria-sort]").get_attribute("aria-sort") == direction
        keys = page.locator("#mt-statements td:nth-child(5)").evaluate_all("all => all.map(one => one.dataset.key)")
        known = [float(key) for key in keys if key is not None]
        assert known == sorted(known, reverse=direction == "descending")
        assert keys[: len(known)].count(None) == 0


def test_lists_choose_statements_and_figures(opened: Opened, reproduced_page: Path) -> None:
    """Results alone at first; of one paper its rows and its figures."""
    page = opened.open(reproduced_page)
    assert page.locator(ROWS).count() == 62 + 16
    assert set(page.evaluate(FIGURES)) == {"rlc-sack", "multitracer"}
    page.select_option("#mt-paper", "multitracer")
    page.select_option("#mt-verdict", "reproduced")
    assert page.locator(f"{ROWS} td:first-child").all_inner_texts() == ["P004-006"]
    assert set(page.evaluate(FIGURES)) <= {"multitracer"}
    assert page.locator("#mt-shown").inner_text().startswith("1 of ")


def test_curves_are_the_means_of_the_runs(opened: Opened, reproduced_page: Path) -> None:
    """SACK alone by file transfer over Uniform losses, in kbit/s."""
    page = opened.open(reproduced_page)
    columns = page.evaluate("""(name) => ["x", "y"].map((column) => Array.from(
      Bokeh.documents[0].get_model_by_name(name).get_column(column)))""",
      "rlc-sack: file transfer, Uniform, no media 0")  # fmt: skip
    assert columns[0] == [0, 1.5, 2.5, 5.4, 9.8]
    assert columns[1] == pytest.approx([9.6 * (1 - loss / 100) - 0.003 for loss in columns[0]])

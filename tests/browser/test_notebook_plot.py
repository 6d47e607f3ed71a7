"""The panels of `Analysis.plot()` in a browser, as a notebook shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bokeh.embed import file_html
from bokeh.resources import INLINE
from browsing import Opened

from multitracer import Analysis

pytestmark = pytest.mark.browser

SEQUENCE_RANGE = (
    "(() => { const all = [...Bokeh.documents[0]._all_models.values()];"
    " const panel = all.find(each => each.type === 'Figure' && each.title.text === 'Sequence numbers');"
    " return [panel.y_range.start, panel.y_range.end]; })()"
)


def test_the_y_axis_follows_the_time_in_view(analysis: Analysis, opened: Opened, tmp_path: Path) -> None:
    """Zoomed to the recovery, the sequence numbers of the start are out of view; no script complains."""
    path = tmp_path / "plot.html"
    path.write_text(file_html(analysis.plot(), INLINE, "plot"))
    page = opened.page
    page.goto(path.as_uri())
    page.wait_for_function("window.Bokeh && Bokeh.documents.length === 1 && Bokeh.documents[0].is_idle")
    least, most = page.evaluate(SEQUENCE_RANGE)
    assert least < 1 < 40_000 < most
    page.evaluate("void Bokeh.documents[0].get_model_by_name('xr').setv({start: 35, end: 45})")
    page.wait_for_function(f"{SEQUENCE_RANGE}[0] > 10_000")

"""A report of many records: each is marked where it can be, the rest painted, and the page says which."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from browsing import Opened, figure

from multitracer import Analysis
from multitracer.report import connection_data, panel_data

pytestmark = pytest.mark.browser


def test_the_page_says_whether_every_record_has_its_own_mark(opened: Opened, report: Path) -> None:
    """With few records in view it is exact; with more than a panel draws it is an overview."""
    page = opened.open(report)
    assert page.locator("#mt-status").inner_text().startswith("exact")
    page.evaluate("MT.engine.exactLimit = 20")
    page.keyboard.press("w")
    opened.until("document.getElementById('mt-status').dataset.exact === 'false'")
    assert page.locator("#mt-status").inner_text().startswith("overview")
    opened.look(20, 20.5)
    opened.until("document.getElementById('mt-status').dataset.exact === 'true'")


def values_of(opened: Opened, series: str) -> list[float]:
    """All times of a series, as the page's engine holds them."""
    found: list[float] = opened.page.evaluate("name => Array.from(MT.engine.series.get(name).x)", series)
    return found


def test_what_is_drawn_by_marks_are_the_records_in_view(opened: Opened, report: Path, analysis: Analysis) -> None:
    """Forty windows: each series that is drawn exactly holds just the records of the window."""
    page = opened.open(report)
    page.evaluate("MT.engine.exactLimit = 30")
    whole = {name: values_of(opened, name) for name in ("segments", "again_no", "frames_new", "rtt")}
    times = (analysis.tables["segments"]["time_ns"].to_numpy() - analysis.origin_ns) / 1e9
    assert set(whole["segments"]) <= set(times.tolist())
    random = np.random.default_rng(7)
    exact = 0
    for _ in range(40):
        start, width = random.uniform(0, 50), 10 ** random.uniform(-1, 1.5)
        opened.look(start, start + width)
        for name, series in whole.items():
            inside = [x for x in series if start <= x <= start + width]
            if 0 < len(inside) <= (6 if name == "again_no" else 30):
                assert opened.values(name, "x") == inside
                exact += 1
            else:
                assert np.isnan(opened.values(name, "x")).all()
    assert exact > 20


def test_many_records_are_drawn_as_a_picture(opened: Opened, report: Path) -> None:
    """In the overview the panel is an image; hiding a series removes it from the image."""
    page = opened.open(report)
    page.evaluate("MT.engine.exactLimit = 20")
    page.keyboard.press("w")
    painted = (
        f"{figure('frames')}.renderers[0].data_source.data.image[0].reduce((sum, pixel) => sum + (pixel !== 0), 0)"
    )
    opened.until(f"{painted} > 500")
    page.evaluate(
        f"{figure('frames')}.renderers.filter(r => r.data_source.name && !r.data_source.name.startsWith('image'))"
        ".forEach(r => { r.visible = false; })"
    )
    opened.until(f"{painted} === 0")


def transfer(count: int) -> panel_data.PanelData:
    """A made transfer: `count` segments, half as many acknowledgements, one resend in a hundred."""
    chance = np.random.default_rng(3)
    times = np.cumsum(chance.integers(1, 60_000, count)) * 1000
    rows = np.arange(count, dtype=np.int64)
    seq = 1 + 1448 * rows
    sent = {"x": times, "y": seq, "top": seq + 1448, "record": rows + 1, "row": rows}
    again = {name: values[::100] for name, values in sent.items()} | {
        "middle": seq[::100] + 724,
        "trigger": np.full(len(rows[::100]), "fast", dtype=object),
        "shape": np.full(len(rows[::100]), "inverted_triangle", dtype=object),
        "because": np.full(len(rows[::100]), "made", dtype=object),
    }
    acks = {"x": times[::2] + 500, "y": seq[::2], "record": rows[::2] + 1}
    return panel_data.PanelData({"segments": sent, "acks": acks, "again_no": again})


def test_a_million_records_are_drawn_at_once_and_exactly(
    opened: Opened, analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overview and every zoom; what is marked one by one is the table's, to the last bit."""
    made = transfer(700_000)
    monkeypatch.setattr(connection_data, "connection", lambda *_: made)
    monkeypatch.setattr(panel_data, "extent", lambda _: (0.0, float(made.sources["segments"]["x"][-1]) / 1e9))
    analysis.report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    assert page.locator("#mt-status").inner_text().startswith("overview")
    segments = made.sources["segments"]
    times, random = segments["x"] / 1e9, np.random.default_rng(5)
    for _ in range(20):
        width = 10 ** random.uniform(-3, 4)
        start = random.uniform(0, times[-1] - width)
        opened.look(start, start + width)
        inside = (times >= start) & (times <= start + width)
        if 0 < inside.sum() <= 2500:
            assert opened.values("segments", "x") == times[inside].tolist()
            assert opened.values("segments", "top") == segments["top"][inside].tolist()
        else:
            assert np.isnan(opened.values("segments", "x")).all()
        assert page.evaluate("MT.drawnMs") < 500
    assert (tmp_path / "report.html").stat().st_size < 12_000_000


def test_beyond_what_a_page_holds_it_thins_and_says_so(
    opened: Opened, analysis: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every n-th record of each series, and how to see all."""
    monkeypatch.setattr(panel_data, "MOST_RECORDS", 500)
    analysis.report(tmp_path / "report.html")
    page = opened.open(tmp_path / "report.html")
    assert "--from and --to" in page.locator("main").inner_text()
    assert len(opened.values("segments", "x")) < 90
    assert page.locator("#mt-status").inner_text().startswith("thinned")
    assert not page.evaluate("MT.isExact")
    page.keyboard.press("m")
    counted = page.locator("#mt-selection tbody tr").all_inner_texts()
    assert next(row for row in counted if row.startswith("sent")).split("\t")[1] == "not counted: thinned"


def test_many_stretches_are_drawn_by_the_largest_cause_of_each_part(opened: Opened, report: Path) -> None:
    """The view is then not called exact; a few stretches are drawn one by one. All of the session is in colour."""
    page = opened.open(report)
    page.evaluate("MT.engine.stretchLimit = 100")
    opened.look(0, 50)
    assert not page.evaluate("MT.isExact")
    painted = page.evaluate(
        "(canvas => { const {width, height} = canvas;"
        " const row = canvas.getContext('2d').getImageData(0, height / 2, width, 1).data;"
        " return row.filter((value, i) => i % 4 === 3 && value > 0).length / width; })"
        "(document.querySelector('[data-lane=time] canvas'))"
    )
    assert painted > 0.95
    opened.look(20, 20.5)
    assert page.evaluate("MT.isExact")

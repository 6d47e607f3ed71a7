"""What became of segments, in the page: marks of their fates, arrivals, and lines between the layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browsing import Opened, Scripts

from multitracer import Analysis
from multitracer.model.schema import FATES

pytestmark = pytest.mark.browser

LINES = "(canvas => canvas.hidden ? 0 : Number(canvas.dataset.lines))(document.getElementById('mt-journeys'))"


def own(analysis: Analysis) -> Any:
    """The data that the client sent, as captured beside it."""
    segments = analysis.tables["segments"]
    mine = (segments["point"] == analysis.paths.sender_point[0, 0]) & (segments["sender"] == 0)
    return segments[mine & (segments["payload_bytes"] > 0)]


def test_the_scripts_know_the_tables_fates_in_their_order(scripts: Scripts) -> None:
    """The page holds their codes."""
    assert scripts.call("() => MT.fates.FATES") == list(FATES)


def test_every_segment_not_simply_delivered_is_marked(opened: Opened, report: Path, analysis: Analysis) -> None:
    """As many marks of each fate as the table has segments of it, and a bar for each that arrived."""
    page = opened.open(report)
    opened.until("document.documentElement.dataset.mtFates === '0'")
    counts = own(analysis)["fate"].value_counts()
    shown = {
        fate: page.evaluate("name => MT.engine.series.get(name)?.n ?? 0", f"fate_{fate}")
        for fate in ("dropped", "flushed", "lost", "repeated", "unknown")
    }
    assert shown == {fate: int(counts[fate]) for fate in shown}
    assert shown["dropped"] > 0
    assert shown["flushed"] > 0
    arrived = sum(int(counts[fate]) for fate in ("delivered", "repeated", "needless"))
    assert page.evaluate("MT.engine.series.get('arrived').n") == arrived


def test_a_retransmission_tells_what_became_of_it_and_what_explains_it(opened: Opened, report: Path) -> None:
    """By two keys: r chooses the first, with its frames and its fate, e the finding about it."""
    page = opened.open(report)
    opened.until("document.documentElement.dataset.mtFates === '0'")
    page.keyboard.press("r")
    told = page.locator("#mt-chosen").inner_text()
    assert "no frame that was logged carried it. The link flushed it." in told
    page.keyboard.press("e")
    kind = page.locator("#mt-findings [aria-selected=true] .kind").first.inner_text()
    assert kind in told
    assert page.locator("#mt-details article:not([hidden])").count() == 1


def test_lines_join_segments_frames_and_arrivals_while_few_are_in_view(
    opened: Opened, report: Path, analysis: Analysis
) -> None:
    """One to the first frame and one from the last to the arrival; none where the segments are hidden, or many."""
    page = opened.open(report)
    opened.until("document.documentElement.dataset.mtFates === '0'")
    opened.look(3, 9)
    sent = own(analysis)
    times = (sent["time_ns"] - analysis.origin_ns) / 1e9
    fates = sent["fate"][(times >= 3) & (times <= 9)]
    carried, came = (fates != "dropped").sum(), fates.isin(["delivered", "repeated", "needless"]).sum()
    assert page.evaluate(LINES) == carried + came > 10
    page.evaluate("document.querySelector('.entry[data-series=segments]').click()")
    opened.look(3, 8)
    assert page.evaluate(LINES) == 0


def test_the_frames_of_a_segment_are_the_first_and_the_last_of_the_map(scripts: Scripts) -> None:
    """Of a row without frames there are none."""
    found = scripts.call(
        "row => { const { first, last } = MT.journeys.ends({ row }); return [Array.from(first), Array.from(last)]; }",
        [2, 0, 2, 2, 0, 4],
    )
    assert found == [[1, -1, 0, -1, 5], [4, -1, 3, -1, 5]]

"""The page that lays transfers beside one another."""

from __future__ import annotations

from multitracer.report.campaign_figure import campaign_figure


def test_the_legend_hides_no_transfer() -> None:
    """It stands below the plot of utilization: within, it would lie where fast and badly used links are."""
    row = {"name": "a", "throughput_bps": 1e6, "utilization": {"percent": 16.0}, "report": "a.html", "causes": []}
    made = campaign_figure([row])
    assert made.legend[0] in made.below

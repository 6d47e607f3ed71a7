"""The page that lays transfers beside one another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from multitracer.report.campaign_figures import campaign_figures
from multitracer.report.groups import fully_used
from multitracer.report.link_data_sent import link_data, slopes


def test_the_legend_hides_no_transfer() -> None:
    """It stands below the plot of utilization: within, it would lie where fast and badly used links are."""
    (made,) = campaign_figures(compared([row("a", 16.0)]))
    assert made.figure.legend[0] in made.figure.below


def row(
    name: str, percent: float | None = None, octets: int = 0, session_s: float = 0.0, stopped_s: float = 0.0
) -> dict[str, Any]:
    """A row of compare.json."""
    sent = {"link": "rlp 9.6 kbit/s", "octets": octets, "session_s": session_s, "not_stopped_s": session_s - stopped_s}
    return {
        "name": name, "throughput_bps": 1e6, "report": "a.html", "causes": [], "error": None,
        "utilization": None if percent is None else {"percent": percent}, "link_data": sent if octets else None,
    }  # fmt: skip


def compared(rows: list[dict[str, Any]], groups: Any = None) -> dict[str, Any]:
    """What compare.json says of all of them."""
    return {"experiments": rows, "groups": groups, "utilization": fully_used(rows), "link_data": slopes(rows)}


def test_the_distribution_tells_the_share_at_98_percent() -> None:
    """It rises by one transfer's share at each one's utilization, and says in words what the dashed line divides."""
    rows = [row(str(at), percent) for at, percent in enumerate((90.0, 98.0, 99.0, 99.0))]
    figures = {one.described.name: one for one in campaign_figures(compared(rows))}
    drawn = figures["distribution"].figure.renderers[0].data_source.data
    assert list(drawn["x"])[1:-1] == [90.0, 98.0, 99.0, 99.0]
    assert list(drawn["y"]) == [0.0, 25.0, 50.0, 75.0, 100.0, 100.0]
    assert figures["distribution"].described.sentence.startswith("75 % of 4 transfers used their link at 98 % or more")


def test_each_group_has_a_line_of_its_own() -> None:
    """Named as the group is."""
    rows = [row("a", 90.0), row("b", 99.0), row("c", 97.0)]
    groups = [{"name": "x", "transfers": ["a", "b"]}, {"name": None, "transfers": ["c"]}]
    figures = {one.described.name: one for one in campaign_figures(compared(rows, groups))}
    assert [item.label.value for item in figures["distribution"].figure.legend[0].items] == ["x", "others"]


def test_slopes_are_the_rates_that_the_transfers_were_made_with() -> None:
    """1,200 octets/s while the sender is not stopped, 960 over all of the time; a perfect line has no uncertainty."""
    rows = [row(str(at), 99.0, 1200 * at, 1.25 * at, 0.25 * at) for at in (10, 20, 40)]
    (kind,) = slopes(rows)
    assert (kind["link"], kind["transfers"]) == ("rlp 9.6 kbit/s", 3)
    assert kind["not_stopped_s"]["octets_per_s"] == pytest.approx(1200)
    assert kind["session_s"]["octets_per_s"] == pytest.approx(960)
    assert kind["session_s"]["ci95"] == pytest.approx(0, abs=1e-6)
    assert kind["session_s"]["r2"] == pytest.approx(1)


def test_a_slopes_interval_is_that_of_least_squares() -> None:
    """Against numpy's fit with its covariance, and Student's t of 8 degrees of freedom at 97.5 %: 2.306."""
    draw = random.Random(1)
    rows = [row(str(at), 99.0, round(960 * at + draw.gauss(0, 300)), float(at)) for at in range(10, 110, 10)]
    (kind,) = slopes(rows)
    known = [one["link_data"] for one in rows]
    fit, covariance = np.polyfit([one["session_s"] for one in known], [one["octets"] for one in known], 1, cov=True)
    assert kind["session_s"]["octets_per_s"] == pytest.approx(fit[0])
    assert kind["session_s"]["intercept_octets"] == pytest.approx(fit[1])
    assert kind["session_s"]["ci95"] == pytest.approx(2.306 * covariance[0, 0] ** 0.5, rel=1e-3)


def test_links_of_different_rates_have_no_line_in_common() -> None:
    """And two transfers have none at all; the page says so."""
    others = [row(f"b{at}", 99.0, at, float(at)) for at in (5, 6)]
    for one in others:
        one["link_data"]["link"] = "rlc-umts 122 kbit/s"
    rows = [row(str(at), 99.0, 1200 * at, float(at)) for at in (10, 20, 40)] + others
    first, second = slopes(rows)
    assert first["session_s"]["octets_per_s"] == pytest.approx(1200)
    assert second["session_s"] is None
    told = [one.described.sentence for one in campaign_figures(compared(others))]
    assert any("too few for a line" in sentence for sentence in told)


def test_what_a_link_carried_is_that_of_its_sender() -> None:
    """Of the link that is asked for; nothing without its log."""
    summary = {
        "utilization": {"session_s": 50.0, "flow_controlled_s": 10.0},
        "links": [{"id": 3, "protocol": "rlp", "rate_bps": 9600.0, "payload_bytes": 48_000}],
    }  # fmt: skip
    expected = {"link": "rlp 9.6 kbit/s", "octets": 48_000, "session_s": 50.0, "not_stopped_s": 40.0}
    assert link_data(summary, 3) == expected
    assert link_data(summary, None) is None

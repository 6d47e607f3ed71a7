"""The page that lays transfers beside one another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from multitracer.report import compare_page
from multitracer.report.campaign_figure import CampaignFigure
from multitracer.report.campaign_figures import MOST_LINES, campaign_figures
from multitracer.report.comparison import Experiment
from multitracer.report.groups import fully_used
from multitracer.report.link_data_sent import link_data, slopes

COMPLETE = {"path": "", "duration_s": None, "layers": {}, "findings": {}, "align_s": {"start": 0.0}} | dict.fromkeys(
    ("throughput_bps", "goodput_bps", "spent_s", "accounting", "verdict", "connection")
)
"""What a row of compare.json has beside what figures read."""


def test_the_legend_is_the_pages() -> None:
    """Below the plot of utilization: within, it would lie where fast and badly used links are."""
    (made,) = campaign_figures(compared([row("a", 16.0)]))
    assert not made.figure.legend
    assert [(one.label, one.shape) for one in made.described.entries] == [("95 % and less", "triangle")]


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


def figures_of(rows: list[dict[str, Any]], groups: Any = None) -> dict[str, CampaignFigure]:
    """The figures by name."""
    return {one.described.name: one for one in campaign_figures(compared(rows, groups))}


def labels(made: CampaignFigure) -> list[str]:
    """What the legend names."""
    return [one.label for one in made.described.entries]


def test_the_distribution_tells_the_share_at_98_percent() -> None:
    """It rises by one transfer's share at each one's utilization, and says in words what is shaded."""
    made = figures_of([row(str(at), percent) for at, percent in enumerate((90.0, 98.0, 99.0, 99.0, None))])
    drawn = made["distribution"].figure.renderers[0].data_source.data
    assert list(drawn["x"])[1:-1] == [90.0, 98.0, 99.0, 99.0]
    assert list(drawn["y"]) == [0.0, 25.0, 50.0, 75.0, 100.0, 100.0]
    told = "75 % of 4 transfers used their link at 98 % or more (shaded); of 1 more the utilization is not known."
    assert list(made["distribution"].described.sentences) == [told]


def test_two_transfers_have_no_distribution() -> None:
    """Three have."""
    rows = [row(str(at), 90.0 + at) for at in range(3)]
    assert "distribution" in figures_of(rows)
    assert "distribution" not in figures_of(rows[:2])


def grouped(sizes: dict[str | None, int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows, and groups of so many of them."""
    groups = [{"name": name, "transfers": [f"{name}{at}" for at in range(size)]} for name, size in sizes.items()]
    return [row(name, 90.0 + at) for group in groups for at, name in enumerate(group["transfers"])], groups


def test_each_group_of_three_has_a_line_of_its_own() -> None:
    """Named as the group is; how many are too small for one is said."""
    made = figures_of(*grouped({"x": 3, "y": 2, None: 4}))["distribution"]
    assert labels(made) == ["x", "others"]
    assert made.described.sentences[1:] == ["1 group has no line: with utilization known of fewer than 3 transfers."]


def test_groups_that_are_all_small_are_one_line() -> None:
    """That of all transfers."""
    made = figures_of(*grouped({"x": 2, "y": 2}))["distribution"]
    assert labels(made) == ["all transfers"]
    assert made.described.sentences[1].startswith("No group has 3 transfers")


def test_of_many_groups_the_largest_are_drawn_each_in_a_look_of_its_own() -> None:
    """In the order of the groups; the rest are counted."""
    made = figures_of(*grouped({f"g{at:02}": 3 + (at > 5) for at in range(30)}))["distribution"]
    assert labels(made) == [f"g{at:02}" for at in range(6, 30)]
    assert len({(one.colour, one.dash) for one in made.described.entries}) == MOST_LINES == 24
    assert made.described.sentences[1:] == ["6 groups have no line: beyond the 24 of most transfers."]


def test_the_verdict_counts_transfers_whose_utilization_is_known() -> None:
    """And says of how many it is not."""
    rows = [row(str(at), percent) | COMPLETE for at, percent in enumerate((90.0, 98.0, None))]
    made = compare_page.html([Experiment(one, {}, []) for one in rows], "1")
    assert "1 of 2 transfers used their link at 95 % or less; of 1 more the utilization is not known." in made


def test_findings_of_transfers_that_are_not_drawn_are_counted() -> None:
    """Those that were kept of them, and those that were not."""
    finding = {"kind": "timeout", "layer": "link", "verdict": "confirmed", "start_s": 1.0, "end_s": 2.0, "lost_s": 1.0,
               "caused_by": None, "delivered_bytes": 5, "transfer": 0}  # fmt: skip
    rows = [row(str(at)) | COMPLETE for at in range(compare_page.MOST_OVERLAID + 3)]
    made = compare_page.html([Experiment(one, {}, [finding], left_out=2) for one in rows], "1")
    assert "Not listed are 9 findings of the 3 transfers that are not drawn." in made
    assert "48 more are in the transfers&#39; own reports." in made


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
    others = [over("rlc-umts 122 kbit/s", row(f"b{at}", 99.0, at, float(at))) for at in (5, 6)]
    rows = [row(str(at), 99.0, 1200 * at, float(at)) for at in (10, 20, 40)] + others
    first, second = slopes(rows)
    assert first["session_s"]["octets_per_s"] == pytest.approx(1200)
    assert second["session_s"]["octets_per_s"] is None
    made = figures_of([*rows, row("c", 99.0)])["link-data"]
    assert labels(made) == ["rlp 9.6 kbit/s, all of the time", "rlc-umts 122 kbit/s, all of the time"]
    assert list(made.described.sentences) == [
        "3 transfers over rlp 9.6 kbit/s: 1,200 \N{PLUS-MINUS SIGN} 0 octets/s (95 %, R\N{SUPERSCRIPT TWO} 1.000) "
        "over all of the time; no sender was stopped.",
        "2 transfers over rlc-umts 122 kbit/s: no slope can be told, as a line takes 3 transfers; "
        "no sender was stopped.",
        "Of 1 transfer no log tells what the link carried.",
    ]


def over(link: str, made: dict[str, Any]) -> dict[str, Any]:
    """A row whose link is another one."""
    made["link_data"]["link"] = link
    return made


def lines(made: CampaignFigure) -> list[Any]:
    """The lines of a figure, by their points."""
    return [one.data_source.data for one in made.figure.renderers if type(one.glyph).__name__ == "Line"]


def test_a_slope_that_can_be_0_is_not_drawn() -> None:
    """The reason is told, with the interval that holds 0; the points stay, over an axis that begins at 0."""
    sizes = ((30.0, 48_300), (31.0, 47_900), (32.0, 48_800), (33.0, 48_000), (34.0, 48_500))
    rows = [row(str(at), 99.0, octets, session_s) for at, (session_s, octets) in enumerate(sizes)]
    (kind,) = slopes(rows)
    found = kind["session_s"]
    assert abs(found["octets_per_s"]) < found["ci95"]
    assert found["why_no_slope"] == "its 95 % interval holds 0"
    made = figures_of(rows)["link-data"]
    assert lines(made) == []
    assert made.figure.y_range.start == made.figure.x_range.start == 0
    (sentence,) = made.described.sentences
    assert "no slope can be told over all of the time, as its 95 % interval holds 0 (50 \N{PLUS-MINUS SIGN}" in sentence


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (((5.0, 100), (5.0, 200), (5.0, 300)), "all are equally long"),
        (((5.0, 100), (6.0, 100), (7.0, 100)), "all carried equally much"),
        (((5.0, 300), (6.0, 200), (7.0, 100)), "the longer a transfer took, the less it carried"),
    ],
)
def test_what_is_no_rate_is_told(sent: tuple[tuple[float, int], ...], why: str) -> None:
    """Each with its reason."""
    (kind,) = slopes([row(str(at), 99.0, octets, session_s) for at, (session_s, octets) in enumerate(sent)])
    assert kind["session_s"]["why_no_slope"] == why


def test_both_times_have_a_line_where_senders_were_stopped() -> None:
    """Points of each tell the transfer, its octets and its seconds."""
    rows = [row(str(at), 99.0, 1200 * at, 1.25 * at, 0.25 * at) for at in (10, 20, 40)]
    made = figures_of(rows)["link-data"]
    assert len(lines(made)) == 2
    assert all(max(one["y"]) < made.figure.y_range.end for one in lines(made))
    assert labels(made) == ["rlp 9.6 kbit/s, not stopped", "rlp 9.6 kbit/s, all of the time"]
    data = made.figure.renderers[0].data_source.data
    assert (data["name"][0], data["told"][0]) == (
        "10", "12,000 octets of data in 10.0 s (not stopped)\nover rlp 9.6 kbit/s"
    )  # fmt: skip


def test_kinds_of_link_that_are_not_drawn_are_named() -> None:
    """The four commonest are drawn."""
    rows = [over(f"rlp {at}", row(f"{at}-{place}", 99.0, 5, 5.0)) for at in range(6) for place in range(8 - at)]
    made = figures_of(rows)["link-data"]
    assert len(labels(made)) == 4
    assert made.described.sentences[-1].endswith(": 4 transfers over rlp 4, 3 transfers over rlp 5.")


def test_what_a_link_carried_is_that_of_its_sender() -> None:
    """Of the link that is asked for; nothing without its log."""
    summary = {
        "utilization": {"session_s": 50.0, "flow_controlled_s": 10.0},
        "links": [{"id": 3, "protocol": "rlp", "rate_bps": 9600.0, "payload_bytes": 48_000}],
    }  # fmt: skip
    expected = {"link": "rlp 9.6 kbit/s", "octets": 48_000, "session_s": 50.0, "not_stopped_s": 40.0}
    assert link_data(summary, 3) == expected
    assert link_data(summary, None) is None
    unknown = {"session_s": 50.0, "flow_controlled_s": None}
    assert link_data(summary | {"utilization": unknown}, 3) == expected | {"not_stopped_s": None}

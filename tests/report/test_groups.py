"""Groups of a campaign's transfers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from repository import EXAMPLES

from multitracer import cli
from multitracer.report.groups import fully_used, groups


def row(name: str, percent: float | None, throughput_bps: float | None = None) -> dict[str, Any]:
    """What compare.json has of a transfer, as far as groups read it."""
    used = None if percent is None else {"percent": percent}
    return {"name": name, "utilization": used, "throughput_bps": throughput_bps, "goodput_bps": None}


def test_transfers_are_grouped_by_the_first_group_of_the_pattern() -> None:
    """Or by all that it matches; those that it does not match come last, without a name."""
    rows = [row(name, 50.0) for name in ("walk-b-1", "walk-a-1", "still-a-2", "walk-b-3")]
    by_place = groups(rows, re.compile(r"walk-(\w)"))
    assert [(one["name"], one["transfers"]) for one in by_place] == [
        ("a", ["walk-a-1"]), ("b", ["walk-b-1", "walk-b-3"]), (None, ["still-a-2"])
    ]  # fmt: skip
    assert [one["name"] for one in groups(rows, re.compile(r"^\w+"))] == ["still", "walk"]


def test_a_group_has_mean_deviation_and_interval() -> None:
    """Student's t of two degrees of freedom is 4.303; one sample has no interval, and none no mean."""
    rows = [row("a1", 90.0, 1e4), row("a2", 92.0), row("a3", 94.0), row("b", None)]
    first, second = groups(rows, re.compile("[ab]"))
    assert first["utilization_percent"] == {
        "mean": 92.0, "std": 2.0, "ci95": pytest.approx(4.3027 * 2 / 3**0.5, abs=1e-3), "samples": 3
    }  # fmt: skip
    assert first["throughput_bps"] == {"mean": 1e4, "std": None, "ci95": None, "samples": 1}
    assert first["goodput_bps"] is second["utilization_percent"] is None


def test_full_use_is_a_share_of_what_is_known() -> None:
    """At 98 % and above."""
    assert fully_used([row("a", 98.0), row("b", 97.9), row("c", None), row("d", 99.5)]) == {
        "known": 3, "unknown": 1, "at_or_above_98_percent": pytest.approx(2 / 3)
    }  # fmt: skip
    assert fully_used([row("c", None)]) == {"known": 0, "unknown": 1, "at_or_above_98_percent": None}


def test_each_group_has_the_share_of_its_own_transfers() -> None:
    """And how many of them it does not know."""
    rows = [row("a1", 99.0), row("a2", 97.0), row("a3", None), row("b", 98.0)]
    assert [one["utilization"] for one in groups(rows, re.compile("[ab]"))] == [
        {"known": 2, "unknown": 1, "at_or_above_98_percent": 0.5},
        {"known": 1, "unknown": 0, "at_or_above_98_percent": 1.0},
    ]


@pytest.mark.slow
def test_a_campaign_is_grouped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In compare.json, on the terminal and in the page; without --compare, or by what is no pattern, it is refused."""
    inputs = [str(EXAMPLES / "rlp-reset"), str(EXAMPLES / "loss2")]
    assert cli.run(["analyze", "--compare", *inputs, "--group", "^[a-z]+", "-o", str(tmp_path), "-q"]) == 0
    assert "rlp: 1 transfers, utilization 74.7 %, throughput 5.7 kbit/s" in capsys.readouterr().out
    told = json.loads((tmp_path / "compare.json").read_text())
    assert [one["name"] for one in told["groups"]] == ["loss", "rlp"]
    assert 'id="mt-groups"' in (tmp_path / "compare.html").read_text()
    assert cli.run(["analyze", inputs[0], "--group", "a", "-o", str(tmp_path / "one")]) == 2
    assert cli.run(["analyze", "--compare", *inputs, "--group", "(", "-o", str(tmp_path / "two")]) == 2
    assert "no regular expression" in capsys.readouterr().err

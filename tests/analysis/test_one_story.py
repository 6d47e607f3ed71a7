"""The example told from one capture, from both, and from everything: each knows more, and none contradicts another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repository import EXAMPLES

from multitracer import AnalyzeOptions, analyze

pytestmark = pytest.mark.slow

EXAMPLE = EXAMPLES / "rlp-reset"
RECORDINGS: dict[str, tuple[list[Path], AnalyzeOptions]] = {
    "sender's capture and rate": ([EXAMPLE / "snd.pcap"], AnalyzeOptions(link_rate_bps=9600)),
    "sender's capture": ([EXAMPLE / "snd.pcap"], AnalyzeOptions()),
    "both captures": ([EXAMPLE / "snd.pcap", EXAMPLE / "rcv.pcap"], AnalyzeOptions()),
    "everything": ([EXAMPLE], AnalyzeOptions()),
}
ALLOWED = dict(zip(RECORDINGS, ("unknown", "unknown", "path", "link"), strict=True))


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    """The summaries of the example by what was recorded."""
    return {name: analyze(list(map(str, paths)), options).summary() for name, (paths, options) in RECORDINGS.items()}


def test_the_dearest_cause_costs_the_same_however_much_is_known(told: dict[str, dict[str, Any]]) -> None:
    """The dead link, known only as a timeout from one capture, costs the same seconds within 2 % of the session."""
    costs = {name: summary["blame"][0]["seconds"] for name, summary in told.items()}
    session = told["everything"]["utilization"]["session_s"]
    assert max(costs.values()) - min(costs.values()) <= 0.02 * session, costs


def test_the_layer_is_told_as_closely_as_the_recordings_show(told: dict[str, dict[str, Any]]) -> None:
    """Unknown from one capture, the path between two, the link from its log: never a layer that had no part in it."""
    assert {name: summary["blame"][0]["layer"] for name, summary in told.items()} == ALLOWED


def test_every_recording_has_the_timeout_in_the_dearest_chain(told: dict[str, dict[str, Any]]) -> None:
    """What one capture shows of the chain is in each of the others."""
    for summary in told.values():
        findings = summary["findings"]
        number = next(n for n, one in enumerate(findings) if one["kind"] == "timeout")
        while findings[number]["caused_by"] is not None:
            number = findings[number]["caused_by"]
        assert number in summary["blame"][0]["findings"]


def test_what_was_carried_agrees(told: dict[str, dict[str, Any]]) -> None:
    """Without a log headers cannot be told from data: together they take the same share, within two points."""
    carried = [one["accounting"]["new_data"] + one["accounting"]["link_overhead"] for one in told.values()]
    assert max(carried) - min(carried) <= 0.02


def test_the_readme_quotes_the_story(told: dict[str, dict[str, Any]]) -> None:
    """Its first two sentences, word for word."""
    readme = " ".join((EXAMPLES.parent / "README.md").read_text("utf-8").split())
    for sentence in told["everything"]["story"].splitlines()[:2]:
        assert sentence in readme

"""Display filters: tshark shows with them the packets of a finding."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from repository import EXAMPLES

from multitracer import Analysis, AnalyzeOptions, analyze
from multitracer.analysis.display_filters import DisplayFilters

CAPTURE = EXAMPLES / "loss2" / "snd.pcap"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """The analysis of a capture with two connections."""
    return analyze(CAPTURE)


def shown(path: str, text: str) -> list[int]:
    """The numbers of the packets that tshark shows with a filter."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-n", "-r", path, "-Y", text, "-T", "fields", "-e", "frame.number"]
    return [int(line) for line in subprocess.run(command, capture_output=True, check=True).stdout.split()]


@pytest.mark.slow
def test_a_filter_shows_the_records_that_a_finding_names(analysis: Analysis) -> None:
    """Exactly those."""
    filters = DisplayFilters(analysis)
    finding = next(one for one in analysis.summary()["findings"] if len(one["evidence"].get("records", ())) > 2)
    [(path, text)] = filters.of(finding)
    assert path == str(CAPTURE)
    assert shown(path, text) == sorted(one["record"] for one in finding["evidence"]["records"])


@pytest.mark.slow
def test_a_filter_shows_the_packets_of_a_connection_in_an_interval(analysis: Analysis) -> None:
    """Where a finding names no records: its connection's packets from its start to its end."""
    finding = next(one for one in analysis.summary()["findings"] if "records" not in one["evidence"])
    [(path, text)] = DisplayFilters(analysis).of(finding)
    table = analysis.frame("segments")
    mine = table[(table["connection"] == finding["connection"]) & table["time_s"].between(
        finding["start_s"] - 1e-6, finding["end_s"] + 1e-6)]  # fmt: skip
    assert shown(path, text) == sorted(mine["record"].tolist())


def test_made_up_addresses_are_not_filtered_by() -> None:
    """No packet has them: ports and numbers only."""
    analysis = analyze(CAPTURE, AnalyzeOptions(anonymize=True))
    filters = DisplayFilters(analysis)
    texts = [text for finding in analysis.summary()["findings"] for _, text in filters.of(finding)]
    assert texts
    assert not [text for text in texts if "addr" in text]
    assert any("tcp.port" in text for text in texts)


def test_a_finding_of_a_time_without_packets_has_no_filter(analysis: Analysis) -> None:
    """An empty list."""
    nothing = {"evidence": {}, "start_s": -5.0, "end_s": -4.0, "connection": 0}
    assert DisplayFilters(analysis).of(nothing) == []

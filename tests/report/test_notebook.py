"""What a notebook user holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import EXAMPLES

from multitracer import Analysis, AnalyzeOptions, analyze, read
from multitracer.model.analysis import Analysis as Concluded

CAPTURE = EXAMPLES / "loss2" / "snd.pcap"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """The analysis of one end's capture."""
    return analyze(CAPTURE)


@pytest.mark.slow
def test_a_trace_a_path_and_several_paths_give_the_same(analysis: Analysis) -> None:
    """`analyze` reads paths itself, as str or Path."""
    for source in (read(CAPTURE), str(CAPTURE), [CAPTURE], (str(CAPTURE),)):
        assert analyze(source).summary() == analysis.summary()


@pytest.mark.slow
def test_options_are_the_second_argument() -> None:
    """As with a Trace, so with a path."""
    assert [one["id"] for one in analyze(CAPTURE, AnalyzeOptions(connections=(1,))).summary()["connections"]] == [1]


def test_it_is_the_conclusions_and_shows_the_verdict(analysis: Analysis) -> None:
    """`repr` names the input, counts, and ends with the verdict; in a notebook the findings follow."""
    assert isinstance(analysis, Concluded)
    first, second = repr(analysis).splitlines()
    found = len(analysis.tables["findings"])
    assert first == f"Analysis of snd.pcap: 2 connections, 0 link directions, {found} findings"
    assert second == analysis.verdict
    assert analysis.verdict.startswith("TCP sent")
    html = analysis._repr_html_()
    assert analysis.verdict in html
    assert html.count("<tr>") == 1 + len({(one["kind"], one["verdict"]) for one in analysis.summary()["findings"]})


def test_text_from_the_inputs_is_no_markup(tmp_path: Path) -> None:
    """A file's name may hold anything."""
    path = tmp_path / "<b>.pcap"
    path.write_bytes(CAPTURE.read_bytes())
    assert "<b>" not in analyze(path)._repr_html_()


@pytest.mark.slow
def test_the_report_is_written_where_it_is_asked_for(analysis: Analysis, tmp_path: Path) -> None:
    """A str or a Path names the file."""
    analysis.report(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text().startswith("<!")

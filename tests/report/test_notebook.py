"""What a notebook user holds."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from bokeh.embed import json_item
from bokeh.models import DataRange1d, Div, Plot
from repository import EXAMPLES

from multitracer import Analysis, AnalyzeOptions, Trace, UsageError, analyze, read
from multitracer.analysis.summary import summarize
from multitracer.model.analysis import Analysis as Concluded
from multitracer.model.schema import SCHEMA
from multitracer.model.short_texts import Document
from multitracer.model.vocabulary import LIMIT_NAMES
from multitracer.report import colours, connection_data, notebook_panels, notebook_texts, panel_data, seconds

CAPTURE = EXAMPLES / "loss2" / "snd.pcap"
LINK_LOG = EXAMPLES / "rlp-reset" / "rlpdump.mobile.txt"


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """The analysis of one end's capture."""
    return analyze(CAPTURE)


def plots(layout: Any) -> list[Any]:
    """The figures of a layout, from top to bottom."""
    grid = layout.children[1]
    return [child for child, *_ in grid.children]


def heading(layout: Any) -> str:
    """The text above the figures."""
    [found] = layout.select({"type": Div})
    text: str = found.text
    return text


def drawn(layout: Any, name: str) -> dict[str, Any]:
    """The data of the series of that name."""
    data: dict[str, Any] = layout.select_one({"name": name}).data
    return data


@pytest.mark.slow
def test_a_trace_a_path_and_several_paths_give_the_same(analysis: Analysis) -> None:
    """`analyze` reads paths itself, as str or Path."""
    for source in (read(CAPTURE), str(CAPTURE), [CAPTURE], (str(CAPTURE),)):
        assert analyze(source).summary() == analysis.summary()


@pytest.mark.slow
def test_options_are_the_second_argument() -> None:
    """`analyze` takes options with a path as it does with a Trace."""
    assert [one["id"] for one in analyze(CAPTURE, AnalyzeOptions(connections=(1,))).summary()["connections"]] == [1]


@pytest.mark.slow
def test_several_paths_can_be_given_one_by_one(analysis: Analysis) -> None:
    """Also before options; a Trace stands alone."""
    receiver = EXAMPLES / "loss2" / "rcv.pcap"
    both = analyze([CAPTURE, receiver]).summary()
    assert analyze(str(CAPTURE), receiver).summary() == both
    options = AnalyzeOptions(roles={CAPTURE: "sender"})  # type: ignore[dict-item]
    assert analyze(CAPTURE, receiver, options).summary()["inputs"][0]["role"] == "sender"
    with pytest.raises(UsageError, match="not both"):
        analyze(analysis.trace, receiver)


def test_read_takes_a_list_as_well() -> None:
    """As `analyze` does."""
    assert len(read([CAPTURE, str(EXAMPLES / "loss2" / "rcv.pcap")]).inputs) == 2


def test_the_verdict_is_the_story(analysis: Analysis) -> None:
    """As in summary.json; its first line says it all."""
    assert isinstance(analysis, Concluded)
    assert analysis.verdict == analysis.summary()["story"]
    assert analysis.verdict.startswith("Of 20.9 s new data took 78 %")


def test_shown_by_itself_it_is_a_few_lines(analysis: Analysis) -> None:
    """`repr` names the input, counts, and tells the story."""
    first, *told = repr(analysis).splitlines()
    found = len(analysis.tables["findings"])
    assert first == f"Analysis of snd.pcap: 2 connections, 0 link directions, {found} findings"
    assert "\n".join(told) == analysis.verdict


def test_printed_the_bar_and_the_findings_follow(analysis: Analysis) -> None:
    """The bar has the proportions of what is to blame; each kind of finding has a line of at most 160 characters."""
    printed = str(analysis)
    assert printed.startswith(repr(analysis))
    lines = printed.removeprefix(repr(analysis)).splitlines()
    bar = next(line for line in lines if line.startswith("#"))
    assert abs(bar.count("#") - notebook_texts.BAR_CELLS * analysis.summary()["accounting"]["new_data"]) <= 1
    assert max(map(len, lines)) <= 160
    kinds = {one["kind"] for one in analysis.summary()["findings"]}
    assert kinds == {kind for kind in kinds if kind in printed}


def test_a_notebook_shows_story_bar_and_findings(analysis: Analysis) -> None:
    """A paragraph a line, the bar as long as all of the time, a row for each kind and verdict; below 100 kB."""
    html = analysis._repr_html_()
    assert all(f"<p>{escape(line)}</p>" in html for line in analysis.verdict.splitlines())
    shares = [float(share) for share in re.findall(r"flex:([0-9.]+) 0 0", html)]
    assert sum(shares) == pytest.approx(1, abs=0.005)
    assert html.count("<tr>") == 1 + len({(one["kind"], one["verdict"]) for one in analysis.summary()["findings"]})
    assert len(html) < 100_000


def test_without_an_accounting_the_bar_shows_what_limited_the_transfer(analysis: Analysis) -> None:
    """The largest share first, by its name for people."""
    summary = analysis.summary() | {"blame": None}
    drawn = notebook_texts.parts(summary)
    assert drawn[0].share == max(summary["limits"].values())
    assert drawn[0].name == LIMIT_NAMES[max(summary["limits"], key=summary["limits"].get)]


def test_whatever_is_shown_by_itself_fits_a_screen(analysis: Analysis) -> None:
    """The trace, its inputs, the summary as a document: a few thousand characters, however much was recorded."""
    trace = Trace(analysis.trace.inputs * 500, analysis.trace.tables)
    document = Document({**analysis.summary(), "findings": analysis.summary()["findings"] * 1000})
    for shown in (trace, trace.inputs[0], trace.inputs[0].recording, document, summarize(analysis)):
        assert len(repr(shown)) < 6_000
    assert "and 495 more" in repr(trace)
    assert f"({len(document['findings'])} in all)" in repr(document)
    assert json.loads(json.dumps(document)) == document


def test_a_frame_has_seconds_from_the_start(analysis: Analysis) -> None:
    """Times from the trace's start, durations as they are, unknown ones NaN; other columns unchanged."""
    table, frame = analysis.tables["segments"], analysis.frame("segments")
    assert frame["time_s"].to_numpy() == pytest.approx((table["time_ns"].to_numpy() - analysis.origin_ns) / 1e9)
    assert frame["time_s"].iat[0] >= 0
    assert frame["seq"].equals(table["seq"])
    resent, error_ns = analysis.frame("retransmissions"), analysis.tables["retransmissions"]["error_ns"]
    assert resent["error_s"].isna().tolist() == (error_ns == -1).tolist()
    with pytest.raises(UsageError, match="there is no table 'segment'"):
        analysis.frame("segment")


def test_no_column_of_a_frame_is_in_nanoseconds(analysis: Analysis) -> None:
    """Each column in ns is a time, or named as a duration."""
    assert not [name for table in set(analysis.tables) & set(SCHEMA) for name in analysis.frame(table) if "_ns" in name]
    said = {column.name: column.meaning for table in SCHEMA.values() for column in table.columns if column.unit == "ns"}
    assert set(seconds.DURATIONS) <= set(said)
    assert all("error" in said[name] or "from" in said[name] for name in seconds.DURATIONS)


def test_text_from_the_inputs_is_escaped(tmp_path: Path) -> None:
    """A file name may contain markup."""
    path = tmp_path / "<b>.pcap"
    path.write_bytes(CAPTURE.read_bytes())
    assert "<b>" not in analyze(path)._repr_html_()


@pytest.mark.slow
def test_the_report_is_written_to_the_given_path(analysis: Analysis, tmp_path: Path) -> None:
    """The path is a str or a Path."""
    analysis.report(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text().startswith("<!")


def test_the_plot_is_the_reports_panels_on_one_time_axis(analysis: Analysis) -> None:
    """Panning or zooming one panel moves all; Bokeh fits each y axis to what is in view."""
    layout = analysis.plot()
    found = plots(layout)
    assert [each.title.text for each in found][1:3] == ["Sequence numbers", "Windows of the sender"]
    assert len({each.x_range.id for each in found}) == 1
    for each in found[1:]:
        assert isinstance(each.y_range, DataRange1d)
        assert each.window_axis == "x"
    assert all(isinstance(each, Plot) for each in found)
    assert json_item(layout)["doc"]["roots"]  # what bokeh.io.show gives to a notebook


def test_a_plot_shows_itself_in_a_notebook(analysis: Analysis) -> None:
    """A page in a frame, with its scripts: it loads nothing from a network, and is as high as its panels."""
    layout = analysis.plot()
    frame = layout._repr_html_()
    page = unescape(re.search('srcdoc="([^"]*)"', frame)[1])
    assert all(each.title.text in page for each in plots(layout))
    assert not re.search(r'<(script|link)[^>]*(src|href)="?http', page)
    assert int(re.search(r'" style="width:100%;height:(\d+)px', frame)[1]) > sum(each.height for each in plots(layout))


def test_the_plot_holds_every_record_of_the_busiest_connection(analysis: Analysis) -> None:
    """By default it shows the connection with most data, and every segment of it."""
    busiest = panel_data.largest_first(analysis)[0]
    layout = analysis.plot()
    assert heading(layout).startswith(f"Connection {busiest}: ")
    expected = connection_data.connection(analysis, busiest).sources["segments"]
    assert (drawn(layout, "segments")["x"] * 1e9).round().astype(int).tolist() == expected["x"].tolist()
    assert drawn(layout, "segments")["top"].tolist() == expected["top"].tolist()


def test_another_connection_can_be_plotted(analysis: Analysis) -> None:
    """`connection` chooses by the number in the table of connections; an unknown number is a usage error."""
    other = panel_data.largest_first(analysis)[1]
    assert heading(analysis.plot(connection=other)).startswith(f"Connection {other}: ")
    with pytest.raises(UsageError, match="There are: 0, 1"):
        analysis.plot(connection=2)


def test_a_long_series_is_thinned_and_the_heading_says_so(analysis: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a series with more records than a browser pans smoothly every n-th is drawn."""
    assert "every n-th is drawn" not in heading(analysis.plot())
    whole = len(drawn(analysis.plot(), "segments")["x"])
    monkeypatch.setattr(notebook_panels, "MOST_POINTS", whole - 1)
    layout = analysis.plot()
    assert len(drawn(layout, "segments")["x"]) == -(-whole // 2)
    assert "every n-th is drawn" in heading(layout)


def test_a_link_log_alone_can_be_plotted() -> None:
    """Without a capture the plot shows the link's frames, and says which panels it has no input for."""
    layout = analyze(LINK_LOG).plot()
    assert any(each.title.text.startswith("Link frames") for each in plots(layout))
    absent = "Sequence numbers: no TCP connection was captured. Sender state: no recording shows windows."
    assert heading(layout).startswith(absent)
    with pytest.raises(UsageError, match="There are: none"):
        analyze(LINK_LOG).plot(connection=0)


def test_the_plot_shows_where_the_time_went() -> None:
    """The bar has every stretch of the accounting, in the report's colours."""
    found = analyze(CAPTURE, AnalyzeOptions(link_rate_bps=1e6))
    bars = drawn(found.plot(), "accounting")
    assert len(bars["left"]) == len(found.main_accounting) > 0
    assert set(bars["colour"]) <= set(colours.CAUSES.values())

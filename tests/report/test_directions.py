"""What a page holds of each direction is what the tables have of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import both_ways
import numpy as np
import pandas as pd
import pytest
from repository import EXAMPLES
from shared_data import shared

from multitracer import Analysis, analyze
from multitracer.model.options import AnalyzeOptions
from multitracer.model.schema import FATES, MARKS
from multitracer.report import analysis_page, analysis_panels, connection_data, link_data
from multitracer.report.directions import Carriers, directions, link_title
from multitracer.report.finding_ways import FindingWays
from multitracer.report.panel_data import PanelData

pytestmark = pytest.mark.slow
SENT = ("segments", "again_no", "again_yes", "again_unknown")


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A transfer with data both ways, captured at both ends."""
    return analyze(both_ways.write(tmp_path_factory.mktemp("both")))


@pytest.fixture(scope="module")
def example() -> Analysis:
    """Data one way, over a link whose both ends logged."""
    return analyze(sorted((EXAMPLES / "rlp-reset").iterdir()))


def seen_at(analysis: Analysis, end: int) -> Any:
    """All segments of the point beside an end."""
    segments = analysis.tables["segments"]
    return segments[segments["point"] == analysis.paths.seen_at[0, end]]


@pytest.mark.parametrize("end", [0, 1])
def test_each_end_has_its_segments_as_captured_beside_it(analysis: Analysis, end: int) -> None:
    """Those with data alone, first copies and resends apart."""
    own = seen_at(analysis, end)
    data = own[(own["sender"] == end) & (own["payload_bytes"] > 0)]
    is_first = data["marks"] & MARKS["retransmission"] == 0
    sources = connection_data.connection(analysis, 0, end).sources
    assert sources["segments"]["row"].tolist() == data.index[is_first].tolist()
    assert sources["segments"]["y"].tolist() == data["seq"][is_first].tolist()
    assert sources["segments"]["x"].tolist() == (data["time_ns"][is_first] - analysis.origin_ns).tolist()
    assert sources["again_no"]["row"].tolist() == data.index[~is_first].tolist()
    assert len(sources["again_no"]["row"]) == len(both_ways.LOST[end])


@pytest.mark.parametrize("end", [0, 1])
def test_each_end_has_the_fates_of_its_segments(analysis: Analysis, end: int) -> None:
    """And when each arrived at the other end's capture."""
    segments, paths = analysis.tables["segments"], analysis.paths
    sources = connection_data.connection(analysis, 0, end).sources
    lost = 0
    for source in (sources[name] for name in SENT):
        rows = source["row"]
        assert [FATES[code] for code in source["fate"].tolist()] == segments["fate"].iloc[rows].tolist()
        came = paths.arrival[rows]
        times = np.where(came >= 0, segments["time_ns"].to_numpy()[came] - analysis.origin_ns, -1)
        assert source["arrived"].tolist() == times.tolist()
        lost += int((came < 0).sum())
    assert lost == len(both_ways.LOST[end])


@pytest.mark.parametrize("end", [0, 1])
def test_acknowledgements_on_data_are_kept_where_they_say_something(analysis: Analysis, end: int) -> None:
    """The staircase is that of all acknowledgements; pure ones are all there, duplicates too."""
    own = seen_at(analysis, end)
    acks = own[(own["sender"] != end) & (own["ack"] >= 1) & (own["flags"] & 2 == 0)]
    source = connection_data.connection(analysis, 0, end).sources["acks"]
    assert set(acks["record"][acks["payload_bytes"] == 0]) <= set(source["record"].tolist())
    assert len(source["x"]) < len(acks)
    place = np.searchsorted(source["x"], acks["time_ns"] - analysis.origin_ns, side="right") - 1
    assert source["y"][place].tolist() == acks["ack"].tolist()


def test_an_end_that_sent_no_data_has_nothing_in_the_page(example: Analysis) -> None:
    """Not its acknowledgements either: they are the data sender's."""
    shown = directions(example)
    main, other = shown.connections[0]
    assert main.data.records > 100
    assert other.data.sources == {}
    assert other.title == "10.9.0.2:5301 sent no data"
    assert not any(one.group.startswith("0 reverse") for one in analysis_page._columns(shown))


def test_each_direction_of_the_link_has_its_frames(example: Analysis) -> None:
    """Sent for the first time and repeated, as its sender logged them."""
    frames = example.tables["frames"]
    main = example.links.main
    assert main is not None
    reverse = int(example.tables["links"]["reverse"].iat[main])
    shown = directions(example)
    assert [way.link for way in shown.connections[0]] == [main, reverse]
    for link in (main, reverse):
        sent = frames[(frames["link"] == link) & frames["sent"] & frames["type"].str.startswith("I ")]
        for name, is_again in (("frames_new", False), ("frames_again", True)):
            own = sent[(sent["transmission"] > 0) == is_again].sort_values("time_ns", kind="stable")
            source = shown.links[link].sources.get(name, {"x": np.zeros(0), "y": np.zeros(0)})
            assert source["x"].tolist() == (own["time_ns"] - example.origin_ns).tolist()
            assert source["y"].tolist() == own["sn_unwrapped"].tolist()
    assert len(shown.links[reverse].sources["frames_new"]["x"]) > 100


def test_acknowledged_frames_are_a_staircase_without_repeats(example: Analysis) -> None:
    """But for its end: with each frame of the other direction the link acknowledges again."""
    for link in (0, 1):
        values = link_data.link(example, link).sources["frames_acked"]["y"]
        assert (np.diff(values[:-1]) != 0).all()


def test_frames_are_kept_for_segments_with_data(example: Analysis) -> None:
    """Others are not drawn, so that none can be asked for its frames."""
    payload = example.tables["segments"]["payload_bytes"].to_numpy()
    main = example.links.main
    assert set(example.links.segments) == {main}
    assert (payload[example.links.segments[main].segment] > 0).all()


def test_what_carried_an_end_is_found_by_its_segments(example: Analysis) -> None:
    """By the other end's where it has none, else by which end sent most."""
    carriers = Carriers(example)
    main = carriers.main
    reverse = carriers.reverse_of(main)
    assert (carriers.of(0, 0), carriers.of(0, 1)) == (main, reverse)
    carriers.counts[0] = [[0, 9], [0, 0]]
    assert (carriers.of(0, 0), carriers.of(0, 1)) == (reverse, main)
    carriers.counts[0] = 0
    assert (carriers.of(0, 0), carriers.of(0, 1)) == (main, reverse)


def test_a_connection_over_another_bearer_has_the_frames_of_that_one(example: Analysis) -> None:
    """Not those of the link that carried most data."""
    rows = example.tables["links"]
    other = {"links": pd.concat([rows, rows.assign(link=rows["link"] + 2, reverse=rows["reverse"] + 2)])}
    for name in ("frames", "link_events", "segment_frames"):
        other[name] = example.tables[name].assign(link=example.tables[name]["link"] + 2)
    links = replace(
        example.links, rows=[*example.links.rows, *({**row, "id": row["id"] + 2} for row in example.links.rows)],
        by_sender=frozenset({2, 3}), segments={},
    )  # fmt: skip
    shown = directions(replace(example, tables={**example.tables, **other}, links=links))
    assert [way.link for way in shown.connections[0]] == [2, 3]
    assert list(shown.links) == [2, 3, 0, 1]
    expected = directions(example).links
    for link in (0, 1):
        assert shown.links[link + 2].sources["frames_new"]["y"].tolist() == (
            expected[link].sources["frames_new"]["y"].tolist()
        )
        assert shown.titles[link] == f"rlp, no log of what the {rows['sender'].iat[link]} sent"


def test_findings_tell_the_direction_that_they_are_about(analysis: Analysis, example: Analysis) -> None:
    """By the end that they name, or by the data in their records."""
    way = FindingWays(analysis).of
    found = [(one["kind"], one["evidence"].get("seq"), way(one)) for one in analysis.summary()["findings"]]
    assert {("timeout", 2501, 0), ("timeout", 3501, 1), ("timeout", 10001, 0)} <= set(found)
    assert {one[2] for one in found if one[0] == "application-limited"} == {0, 1}
    way = FindingWays(example).of
    assert {way(one) for one in example.summary()["findings"] if one["connection"] is None} == {None}


def test_a_transfer_one_way_says_why_there_is_no_other(tmp_path: Path) -> None:
    """Without a link's log, and with data of one end alone."""
    described = directions(analyze(both_ways.write(tmp_path, (30, 0)))).described()
    assert described["0"]["nothing"] == f"{both_ways.SERVER} sent no data"


def of_the_network(folder: Path, kept: Callable[[str], bool], options: AnalyzeOptions | None = None) -> str:
    """What the page calls the network's direction of the link, where its log has only some of its lines."""
    inputs = [path for path in sorted((EXAMPLES / "rlp-reset").iterdir()) if path.name != "rlpdump.network.txt"]
    log = folder / "rlpdump.network.txt"
    lines = (EXAMPLES / "rlp-reset" / log.name).read_text().splitlines(keepends=True)
    log.write_text("".join(filter(kept, lines)))
    made = analyze([*inputs, log], options=options)
    rows = made.tables["links"]
    return directions(made).titles[int(rows["link"][rows["sender"] == "network"].iat[0])]


def test_an_end_that_sent_no_data_frames_was_logged_all_the_same(tmp_path: Path) -> None:
    """Its supervisory frames show that; where there is not even one of these, there is no log of what it sent."""
    assert of_the_network(tmp_path, lambda _: True) == "rlp, sent by the network"
    without_data = of_the_network(tmp_path, lambda line: " > I " not in line)
    assert without_data == "rlp, the network logged no data frames that it sent"
    assert of_the_network(tmp_path, lambda line: " > " not in line) == "rlp, no log of what the network sent"


def test_a_part_without_frames_is_not_taken_for_a_missing_log(tmp_path: Path) -> None:
    """The whole recording tells who logged."""
    part = AnalyzeOptions(from_s=0.0, to_s=0.001)
    told = of_the_network(tmp_path, lambda _: True, part)
    assert told == "rlp, the network logged no data frames that it sent in this part of the time"
    assert of_the_network(tmp_path, lambda line: " > " not in line, part) == "rlp, no log of what the network sent"


def test_a_panel_without_frames_says_that_none_were_logged(example: Analysis) -> None:
    """Not that there is no log, when the link's data sender wrote one; repeats alone are drawn."""

    def absent(made: Analysis, *names: str) -> list[str]:
        sources = {name: link_data.link(example, 0).sources[name] for name in names}
        panels = analysis_panels.build(made, PanelData({}), PanelData(sources), (0.0, 1.0))
        return [text for text in panels.absent if text.startswith("Link frames")]

    part = replace(example, options=replace(example.options, from_s=0.0))
    no_log = replace(example, links=replace(example.links, by_sender=frozenset()))
    assert absent(example) == ["Link frames: the link's data sender logged no data frames."]
    assert absent(part) == ["Link frames: the link's data sender logged no data frames in this part of the time."]
    assert absent(no_log)[0].startswith("Link frames: no log of the link's data sender")
    assert absent(example, "frames_again") == absent(example, "frames_new") == []


def test_a_direction_of_repeats_alone_was_sent(example: Analysis) -> None:
    """They are drawn."""
    shown = link_data.link(example, 0)
    repeats = PanelData({name: source for name, source in shown.sources.items() if name != "frames_new"})
    assert link_title(example, 0, repeats) == f"rlp, sent by the {example.links.rows[0]['sender']}"


@pytest.mark.data
def test_a_page_without_connection_and_link_says_that_it_has_one_direction() -> None:
    """Of a sender's state alone no other direction can be shown."""
    state = directions(analyze([shared("linux", "overflow", "tcp_probe.txt.gz")]))
    assert state.connections == {}
    assert state.described()[""]["nothing"] == "no connection was captured, and no link logged"

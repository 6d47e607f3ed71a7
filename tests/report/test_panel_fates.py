"""The fates in a page's data are those of the table of segments."""

from __future__ import annotations

import re
from dataclasses import replace

import both_ways
import numpy as np
import pytest
from repository import EXAMPLES

from multitracer import Analysis, analyze
from multitracer.model.schema import FATES
from multitracer.report import analysis_page, connection_data
from multitracer.report.column_packs import pack_all, unpack
from multitracer.report.directions import directions
from multitracer.report.fate_columns import FATE_COLUMNS, Fates

pytestmark = pytest.mark.slow
SENT = ("segments", "again_no", "again_yes", "again_unknown")


@pytest.fixture(scope="module", params=[(), ("rcv",)], ids=["both captures", "the sender's alone"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    """The example with both layers."""
    inputs = sorted(map(str, (EXAMPLES / "rlp-reset").iterdir()))
    return analyze([path for path in inputs if not any(name in path for name in request.param)])


def test_a_series_says_of_each_segment_what_the_table_says(analysis: Analysis) -> None:
    """Its fate, and when it arrived: at the receiver's capture, or by the link's log where there is none."""
    segments, paths = analysis.tables["segments"], analysis.paths
    by_link = analysis.tables["segment_frames"].set_index("segment")["delivered_ns"]
    sources = connection_data.connection(analysis, 0).sources
    assert sum(len(sources[name]["row"]) for name in SENT) > 100
    for name in SENT:
        source = sources[name]
        rows = source["row"]
        assert [FATES[code] for code in source["fate"].tolist()] == segments["fate"].iloc[rows].tolist()
        for row, fate, arrived in zip(rows.tolist(), source["fate"].tolist(), source["arrived"].tolist(), strict=True):
            came = paths.arrival[row]
            if FATES[fate] in ("dropped", "flushed", "lost", "unknown"):
                assert arrived == -1
            elif came >= 0:
                assert arrived == segments["time_ns"].iat[came] - analysis.origin_ns
            else:
                assert arrived == by_link[row] - analysis.origin_ns


def test_a_retransmission_that_has_no_segment_is_unknown(analysis: Analysis) -> None:
    """Nothing says what became of it."""
    table = analysis.tables["retransmissions"].assign(segment=np.int64(-1))
    without = replace(analysis, tables={**analysis.tables, "retransmissions": table})
    source = connection_data.connection(without, 0).sources["again_no"]
    assert set(source["fate"].tolist()) == {FATES.index("unknown")}
    assert set(source["arrived"].tolist()) == {-1}


def test_without_a_link_only_captures_tell_when_data_arrived(analysis: Analysis) -> None:
    """And none does where there is no receiver's."""
    none = analysis.tables["segment_frames"].iloc[:0]
    without = replace(analysis, tables={**analysis.tables, "segment_frames": none})
    source = connection_data.connection(without, 0).sources["segments"]
    assert (source["arrived"] >= 0).any() == (analysis.paths.receiver_point[0, analysis.ends.main[0]] >= 0)


def test_a_page_holds_fates_in_a_group_of_their_own(analysis: Analysis) -> None:
    """So that they are decoded when they are asked for; whole, in the order of their series."""
    columns = analysis_page._columns(directions(analysis))
    fates = {(one.series, one.name): one for one in columns if one.group == "0 fates"}
    assert {name for _, name in fates} == set(FATE_COLUMNS)
    assert not {one.name for one in columns if one.group == "0"} & set(FATE_COLUMNS)
    source = connection_data.connection(analysis, 0).sources["segments"]
    for name in FATE_COLUMNS:
        (pack,) = pack_all([fates["segments", name]])
        assert unpack(pack)["segments", name].tolist() == source[name].tolist()
    assert re.fullmatch(r"\d+ fates", fates["segments", "fate"].group)


def test_the_fates_of_a_page_are_looked_up_in_one_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It is sorted once, however many ends of connections the page shows."""
    sorted_tables = []

    class Counted(Fates):
        def __init__(self, analysis: Analysis) -> None:
            super().__init__(analysis)
            sorted_tables.append(self)

    monkeypatch.setattr(connection_data, "Fates", Counted)
    shown = directions(analyze(both_ways.write(tmp_path_factory.mktemp("both"))))
    assert [way.data.records > 0 for way in shown.connections[0]] == [True, True]
    assert len(sorted_tables) == 1

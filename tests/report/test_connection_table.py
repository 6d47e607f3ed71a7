"""The table of all connections in a report, before the page makes it."""

from __future__ import annotations

from typing import Any

import many_connections
import numpy as np
import pytest
from repository import EXAMPLES

from multitracer import Analysis, analyze
from multitracer.analysis.summary import summarize
from multitracer.report import connection_table, panel_data
from multitracer.report.connection_table import columns, heads, limits_text
from multitracer.report.finding_ways import FindingWays

COUNT = 30


def table(analysis: Analysis) -> dict[str, Any]:
    """The table's columns of all connections."""
    document, way_of = summarize(analysis).document, FindingWays(analysis).of
    about = [(one, way_of(one)) for one in document["findings"]]
    return columns(document["connections"], analysis.ends.main, about, panel_data.largest_first(analysis))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A capture of some connections, of which each later one sends more."""
    return analyze([many_connections.write(tmp_path_factory.mktemp("many") / "many.pcap", COUNT)])


def test_each_connection_has_a_row_for_each_end(many: Analysis) -> None:
    """The largest first, and first the end that sent its data."""
    found = table(many)
    assert found["number"].tolist() == [number for number in reversed(range(COUNT)) for _ in range(2)]
    assert found["sender"][:2].tolist() == [many_connections.client(COUNT - 1), f"{many_connections.SERVER}:80"]
    sent = many_connections.SEGMENTS * many_connections.size(COUNT - 1)
    assert found["unique"][:2].tolist() == [sent, 0]


@pytest.mark.parametrize("folder", ["rlp-reset", "loss2"])
def test_its_numbers_are_the_summarys(folder: str) -> None:
    """Of each end; what is not known is not a number."""
    analysis = analyze([str(EXAMPLES / folder)])
    found = table(analysis)
    known = {one["id"]: one for one in analysis.summary()["connections"]}
    for row, (number, end) in enumerate(zip(found["number"].tolist(), found["end"].tolist(), strict=True)):
        sent = known[number]["directions"][("client", "server")[end]]
        assert found["sender"][row] == known[number][("client", "server")[end]]
        expected = [sent["packets"], sent["retransmitted_segments"], sent["spurious"]["yes"], sent["rtt_ms"]["median"]]
        own = [found[name][row] for name in ("packets", "resent", "needless", "rtt_median")]
        np.testing.assert_array_equal(own, np.array(expected, dtype=np.float64))
        assert found["limits"][row] == limits_text(sent["limits"])


def test_its_findings_are_counted_by_kind() -> None:
    """The most frequent kind first."""
    analysis = analyze([str(EXAMPLES / "rlp-reset")])
    kinds = [one["kind"] for one in analysis.summary()["findings"] if one["connection"] == 0]
    text, nothing = table(analysis)["findings"].tolist()
    counted = {kind: kinds.count(kind) for kind in kinds}
    told = dict(one.removesuffix(")").partition(" (")[::2] for one in text.split(", "))
    assert {kind: int(count or 1) for kind, count in told.items()} == counted
    assert [counted[kind] for kind in told] == sorted(counted.values(), reverse=True)
    assert nothing == ""


def test_a_finding_is_in_the_row_of_the_end_that_it_is_about(many: Analysis) -> None:
    """Where it tells neither end, in that of the data's sender."""
    findings = [({"connection": 3, "kind": kind}, way) for kind, way in (("a", 1), ("b", 0), ("c", None), ("a", 1))]
    found = columns(summarize(many).document["connections"], many.ends.main, findings, [3, 4])
    assert found["findings"].tolist() == ["b, c", "a (2)", "", ""]


def test_kernel_clocks_have_a_column_where_a_log_has_them(many: Analysis) -> None:
    """A heading over nothing would take room."""
    assert "clocks" not in [head.name for head in heads(table(many))]
    assert [head.name for head in heads({"number": [0], "clocks": ["", "1.0 / 0.0 / 0.0"]})] == ["number", "clocks"]


def test_a_capture_without_connections_has_no_table(many: Analysis) -> None:
    """There is nothing to list."""
    assert columns(summarize(many).document["connections"], many.ends.main, [], []) == {}


def test_more_connections_than_a_page_lists_are_left_out(many: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest are kept."""
    monkeypatch.setattr(connection_table, "MOST_LISTED", 2)
    assert table(many)["number"].tolist() == [COUNT - 1, COUNT - 1, COUNT - 2, COUNT - 2]

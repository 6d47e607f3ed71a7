"""summary.json: its text, and the totals of its connections."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packets import ipv4, tcp
from repository import EXAMPLES

from multitracer import Analysis, AnalyzeOptions, analyze, cli, read
from multitracer.analysis import summary
from multitracer.analysis.summary import BUSIEST, direction, summarize
from multitracer.export.json_text import json_text
from multitracer.findings import KINDS
from multitracer.model.analysis import Totals
from multitracer.parsers import pcap

LOSS = EXAMPLES / "loss2"


def leaves(document: dict[str, Any]) -> list[Any]:
    """The values in a document of documents, in order."""
    inner = (leaves(value) if isinstance(value, dict) else [value] for value in document.values())
    return [leaf for values in inner for leaf in values]


def uploads(path: Path, sizes: list[int]) -> Analysis:
    """A capture of clients of which each sends one of `sizes` (bytes), and is never answered."""
    sent = [ipv4(tcp(b"x" * size, ports=(1000 + place, 80))) for place, size in enumerate(sizes)]
    pcap.write(path, [(place * 1_000_000, packet) for place, packet in enumerate(sent)], 101)
    return analyze(read(str(path)))


def totals_of(document: dict[str, Any], limited_s: float | None) -> Totals:
    """The totals, by adding up what the items of connections[] say."""
    items = document["connections"]
    ends = [end for one in items for end in one["directions"].values()]
    data = {one["id"]: max(end["unique_bytes"] or 0 for end in one["directions"].values()) for one in items}
    return Totals(
        len(items),
        sum(end["data_segments"] or 0 for end in ends),
        {kind: sum(end["spurious"][kind] or 0 for end in ends) for kind in ("yes", "no", "unknown")},
        sorted(items, key=lambda one: -data[one["id"]])[:BUSIEST],
        limited_s,
    )


def test_findings_are_written_as_their_items_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made from columns, block by block, or one by one, whatever their evidence holds."""
    analysis = analyze(sorted(map(str, (EXAMPLES / "rlp-reset").iterdir())))
    table = analysis.tables["findings"]
    assert len(table) > 2
    for value in (np.int64(3), float("nan"), 1e-7, "zürich", (1, np.float64(2.5)), None):
        evidence = table["evidence"].iloc[0]
        evidence[f"value {len(evidence)}"] = value
    table["evidence"].iloc[1][7] = {"nested": np.bool_(True)}
    monkeypatch.setattr(summary, "_BLOCK", 2)
    document = summarize(analysis).document
    assert json_text(document) == json_text({**document, "findings": list(document["findings"])})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "options"),
    [
        ("loss2", AnalyzeOptions()),
        ("loss2", AnalyzeOptions(connections=(1,))),
        ("rlp-reset", AnalyzeOptions(from_s=10.0, to_s=40.0)),
        ("rlp-reset/rlpdump.mobile.txt", AnalyzeOptions()),
    ],
)
def test_totals_are_the_sums_over_the_connections(example: str, options: AnalyzeOptions) -> None:
    """The totals equal the sums of the connections' values, for all, some and no connections."""
    analysis = analyze(read(str(EXAMPLES / example)), options)
    assert summarize(analysis).totals == totals_of(analysis.summary(), analysis.ends.limited_s)


def test_the_busiest_are_those_whose_one_end_sent_most(tmp_path: Path) -> None:
    """At most BUSIEST of them, most data first; of equals the first."""
    totals = summarize(uploads(tmp_path / "many.pcap", [5, 70, 5, 60, 5, 80])).totals
    assert [one["id"] for one in totals.busiest] == [5, 1, 3, 0]
    assert (totals.connections, totals.data_segments) == (6, 6)


def test_connections_do_not_depend_on_the_block_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The items are the same however many are made at a time."""
    analysis = uploads(tmp_path / "many.pcap", [5, 70, 5, 60, 5])
    whole = analysis.summary()["connections"]
    assert [one["id"] for one in whole] == list(range(5))
    text = json_text(summarize(analysis).document)
    assert sum(line.startswith(b'  {"id":') for line in text.splitlines()) == 5
    monkeypatch.setattr(summary, "_BLOCK", 2)
    assert analysis.summary()["connections"] == whole
    assert json_text(summarize(analysis).document) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "options"),
    [("loss2", AnalyzeOptions(connections=(1,))), ("rlp-reset", AnalyzeOptions(from_s=25.0, to_s=30.0))],
    ids=["others were", "nobody was"],
)
def test_an_end_that_was_not_captured_has_null_values(example: str, options: AnalyzeOptions) -> None:
    """All keys are there with null, not 0, as what it sent is unknown; a connection not captured has no item."""
    whole, part = (analyze(read(str(EXAMPLES / example)), cut) for cut in (None, options))
    seen, unseen = direction(whole.ends, 0, 0), direction(part.ends, 0, 0)
    assert 0 not in [one["id"] for one in part.summary()["connections"]]
    assert set(leaves(unseen)) == {None}
    assert list(unseen) == list(seen)
    for inner in ("rtt_ms", "retransmissions", "spurious"):
        assert list(unseen[inner]) == list(seen[inner])


def test_numbers_of_an_item_are_plain_python_numbers() -> None:
    """Counts are int, rates and times are float, and an item can be changed without changing another."""
    first, second = analyze(read(str(LOSS))).summary()["connections"]
    assert {type(leaf) for leaf in leaves(second)} <= {int, float, str, bool, type(None)}
    sent = second["directions"]["client"]
    assert (type(sent["max_outstanding_bytes"]), type(sent["goodput_bps"])) == (int, float)
    sent["spurious"]["yes"] = sent["rtt_ms"]["samples"] = -1
    assert -1 not in leaves(first) + leaves(second["directions"]["server"])


def test_each_item_of_a_list_is_written_on_a_line_of_its_own(tmp_path: Path) -> None:
    """Large lists stay searchable line by line; the text parses to the same document; empty lists stay lists."""
    document = summarize(uploads(tmp_path / "many.pcap", [5, 70, 5])).document
    text = json_text(document)
    assert json.loads(text) == {**document, "connections": list(document["connections"]), "findings": []}
    lines = [line.strip().rstrip(b",") for line in text.splitlines()]
    assert [json.loads(line)["id"] for line in lines if line.startswith(b'{"id"')] == [0, 1, 2]
    assert b'"links": []' in lines


def test_integers_of_any_size_are_written_and_nan_and_infinity_are_null() -> None:
    """JSON has no limit for integers, and neither infinity nor not-a-number."""
    told = {"large": 2**70, "items": [{"none": float("nan")}, {"none": float("inf")}]}
    assert json.loads(json_text(told)) == {"large": 2**70, "items": [{"none": None}, {"none": None}]}


def test_a_value_that_json_cannot_hold_raises_an_error() -> None:
    """Octets are not silently written as another type."""
    with pytest.raises(TypeError):
        json_text({"data": [b"octets"]})


@pytest.mark.slow
def test_a_file_name_that_is_not_utf_8_can_be_read_back(tmp_path: Path) -> None:
    """The path in the summary, read back, opens the file."""
    path = tmp_path / os.fsdecode(b"gr\xf6\xdfer.pcap")
    path.write_bytes((LOSS / "snd.pcap").read_bytes())
    assert cli.run(["analyze", str(path), "--summary-only", "-q", "-o", str(tmp_path / "out")]) == 0
    told = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert Path(told["inputs"][0]["path"]).samefile(path)


@pytest.mark.slow
def test_json_on_a_terminal_of_any_encoding_is_utf_8(tmp_path: Path) -> None:
    """--json prints the octets of summary.json, whatever the locale can show."""
    path = tmp_path / "größer.pcap"
    path.write_bytes((LOSS / "snd.pcap").read_bytes())
    command = [sys.executable, "-m", "multitracer", "analyze", str(path), "--json", "--summary-only", "-o", "out"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stdout == (tmp_path / "out" / "summary.json").read_bytes()
    assert json.loads(done.stdout)["inputs"][0]["path"] == str(path)


@pytest.mark.slow
@pytest.mark.parametrize("inputs", ["rlp-reset", "rlp-reset/snd.pcap", "rlp-reset/rlpdump.mobile.txt"])
def test_kinds_that_the_inputs_do_not_allow_are_listed_with_what_they_need(inputs: str) -> None:
    """Every kind that no detector could look for, in the order of the kinds, beside findings of the others only."""
    document = analyze(read(str(EXAMPLES / inputs))).summary()
    listed = [one["kind"] for one in document["not_looked_for"]]
    assert listed == [kind for kind in KINDS if kind in listed]
    assert all(one["needs"] for one in document["not_looked_for"])
    assert not {one["kind"] for one in document["findings"]} & set(listed)
    assert bool(listed) == (inputs != "rlp-reset")


def test_the_summary_does_without_what_became_of_segments() -> None:
    """Without their fates it is the same, and the table of segments has no such column."""
    trace = read(str(LOSS))
    whole, without = analyze(trace), analyze(trace, AnalyzeOptions(fates=False))
    assert ("fate" in whole.tables["segments"], "fate" in without.tables["segments"]) == (True, False)
    assert json_text(summarize(without).document) == json_text(summarize(whole).document)

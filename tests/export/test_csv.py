"""Tables as CSV."""

from __future__ import annotations

from csv import reader
from pathlib import Path

import pandas as pd
import pytest

from multitracer.export import csv
from multitracer.model.schema import SCHEMA, build


def test_nulls_are_empty_fields_and_infinity_is_written(tmp_path: Path) -> None:
    """Headings are the schema's, in its order; what is unknown is an empty field."""
    state = build(
        "tcp_state",
        {
            "input": [0, 1], "record": [7, -1], "time_ns": [1_700_000_000_000_000_001, 5],
            "recorded_ns": [1, 5], "local": ["10.0.0.1:1", None], "event": ["recv", "sample"],
            "ssthresh_bytes": [float("inf"), float("nan")],
        },
    )  # fmt: skip
    written = csv.write({"tcp_state": state}, tmp_path)
    assert [path.name for path in written] == ["tcp_state.csv", "columns.csv"]
    heading, *rows = reader(written[0].read_text().splitlines())
    assert heading == SCHEMA["tcp_state"].names
    first, second = (dict(zip(heading, row, strict=True)) for row in rows)
    assert (first["time_ns"], first["record"], first["local"]) == ("1700000000000000001", "7", "10.0.0.1:1")
    assert (first["ssthresh_bytes"], first["connection"], first["cwnd_bytes"]) == ("inf", "", "")
    assert (second["record"], second["local"], second["event"]) == ("", "", "sample")


def test_private_columns_and_tables_not_for_writing_stay_out(tmp_path: Path) -> None:
    """Payload never leaves memory; packets are an intermediate."""
    frames = build(
        "frames",
        {
            "input": [0], "time_ns": [1], "recorded_ns": [1], "side": ["mobile"], "sent": [True],
            "type": ["I RR"], "data": [b"secret"],
        },
    )  # fmt: skip
    csv.write(
        {"frames": frames, "links": build("links", {"link": [], "protocol": [], "bearer": [], "sender": []})},
        tmp_path,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["columns.csv", "frames.csv"]
    assert "secret" not in (tmp_path / "frames.csv").read_text()
    columns = pd.read_csv(tmp_path / "columns.csv")
    assert "data" not in set(columns["column"])
    assert columns.set_index("column").loc["payload_bytes", "unit"] == "bytes"


def test_sentences_are_read_back_unchanged(tmp_path: Path) -> None:
    """A finding's sentence with commas and quotes is read again as it was."""
    because = 'it said "no", twice'
    finding = build(
        "findings",
        {
            "kind": ["timeout"], "layer": ["tcp"], "start_ns": [1], "end_ns": [2], "verdict": ["likely"],
            "because": [because], "evidence": ["{}"],
        },
    )  # fmt: skip
    csv.write({"findings": finding}, tmp_path)
    assert pd.read_csv(tmp_path / "findings.csv")["because"].tolist() == [because]


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "-", "+", "--1", "-1;=2", "-1e", "+1 2"]
)
def test_text_never_begins_a_formula(text: str) -> None:
    """An apostrophe stands before what a spreadsheet would compute."""
    assert csv.not_a_formula(text) == "'" + text


@pytest.mark.parametrize("text", ["-1", "+4.9", "-1e-9", "-0.", "12", "", "a=1", "'=1", " =1", "10.0.0.1:80"])
def test_numbers_and_other_text_stay(text: str) -> None:
    """Negative numbers too: a reader of the file must find them as numbers."""
    assert csv.not_a_formula(text) == text


def test_a_cell_of_a_table_never_begins_a_formula(tmp_path: Path) -> None:
    """Text gets its apostrophe when a table is written, and a column of numbers none."""
    finding = build(
        "findings",
        {
            "kind": ["=HYPERLINK(1)"], "layer": ["tcp"], "start_ns": [-5], "end_ns": [2], "verdict": ["likely"],
            "because": ["@name, quoted"],
        },
    )  # fmt: skip
    csv.write({"findings": finding}, tmp_path)
    heading, row = reader((tmp_path / "findings.csv").read_text().splitlines())
    cells = dict(zip(heading, row, strict=True))
    assert (cells["kind"], cells["because"], cells["start_ns"]) == ("'=HYPERLINK(1)", "'@name, quoted", "-5")

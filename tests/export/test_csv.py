"""Tables as CSV."""

from __future__ import annotations

from csv import reader
from pathlib import Path

import pandas as pd

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

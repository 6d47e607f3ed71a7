"""Time/sequence graphs for xplot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_data import shared

from multitracer.export import xplot
from multitracer.model.schema import ACK, FIN, MARKS, PSH, RST, SYN, build
from multitracer.parsers.shared.source import open_source


def segments(*rows: tuple[int, int, int, int, int, int, bool]) -> pd.DataFrame:
    """Segments from (sender, microseconds, seq, ack, payload, flags, sent before); windows of 1000 bytes."""
    sender, when, seq, ack, payload, flags, again = zip(*rows, strict=True)
    times = [1_700_000_000_000_000_000 + 1000 * t for t in when]
    nothing = dict.fromkeys(("input", "point", "connection", "tsval", "tsecr", "options", "checksum"), [0] * len(rows))
    return build(
        "segments",
        nothing | {
            "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times,
            "sender": sender, "seq": seq, "ack": ack, "payload_bytes": payload,
            "flags": flags, "window_bytes": [1000] * len(rows),
            "wire_bytes": payload, "marks": np.array(again) * MARKS["retransmission"],
        },
    )  # fmt: skip


def drawn(tmp_path: Path, *rows: tuple[int, int, int, int, int, int, bool], **options: object) -> list[str]:
    """The commands of the client's graph, times without their seconds."""
    path = tmp_path / "graph.xpl"
    xplot.write(path, segments(*rows), 0, ("a:1", "b:2"), **options)  # type: ignore[arg-type]
    lines = path.read_text().replace("1700000000.", ".").splitlines()
    assert lines[:3] == ["timeval double", "title", "a:1_==>_b:2 (time sequence graph)"]
    assert lines[-1] == "go"
    return lines[7:-1]


def test_data_is_an_arrow_and_pushed_data_a_diamond(tmp_path: Path) -> None:
    """A segment sent before is red with an R."""
    assert drawn(tmp_path, (0, 1, 1, 1, 100, ACK, False), (0, 2, 1, 1, 100, ACK | PSH, True), isn=1000) == [
        "white", "darrow .000001 1001", "uarrow .000001 1101", "line .000001 1001 .000001 1101",
        "red", "atext .000002 1101", "R", "white", "red", "darrow .000002 1001", "diamond .000002 1101 white",
        "dot .000002 1101 white", "line .000002 1001 .000002 1101",
    ]  # fmt: skip


def test_acknowledgements_are_a_staircase(tmp_path: Path) -> None:
    """A step to each new one, a tick at each repeated, a 3 at the third; the window's edge in yellow."""
    acks = [(1, n, 1, ack, 0, ACK, False) for n, ack in enumerate((1, 101, 101, 101, 101), start=1)]
    lines = drawn(tmp_path, *acks)
    assert lines[:6] == [
        "green", "line .000001 1 .000002 1", "line .000002 1 .000002 101",
        "yellow", "line .000001 1001 .000002 1001", "line .000002 1001 .000002 1101",
    ]  # fmt: skip
    assert lines[6:8] == ["green", "line .000002 101 .000003 101"]
    assert lines.count("dtick .000005 101") == 1
    assert lines[lines.index("atext .000005 101") + 1] == "3"


def test_flags_have_their_own_marks(tmp_path: Path) -> None:
    """SYN and FIN in orange, resets of either end in magenta, a reset without an ack at the last one."""
    lines = drawn(
        tmp_path, (0, 1, 0, -1, 0, SYN, False), (1, 2, 0, 1, 0, SYN | ACK, False),
        (0, 3, 1, 1, 10, FIN | ACK, False), (1, 4, 1, -1, 0, RST, False), (0, 5, 12, 1, 0, RST | ACK, False),
    )  # fmt: skip
    assert lines[:6] == [
        "white", "orange", "diamond .000001 0", "atext .000001 1", "SYN", "uarrow .000001 1",
    ]  # fmt: skip
    assert lines[lines.index("box .000003 12") :][:3] == ["box .000003 12", "atext .000003 12", "FIN"]
    assert lines[lines.index("atext .000004 1 magenta") + 1] == "RST_IN"
    assert lines[-2:] == ["atext .000005 12 magenta", "RST_OUT"]


def test_nanoseconds_are_kept(tmp_path: Path) -> None:
    """A capture that has nine decimals gets nine."""
    table = segments((0, 1, 1, 1, 0, ACK, False))
    table["time_ns"] += 1
    xplot.write(tmp_path / "x.xpl", table, 0, ("a:1", "b:2"))
    assert "darrow 1700000000.000001001 1" in (tmp_path / "x.xpl").read_text()


def marked(table: pd.DataFrame) -> pd.DataFrame:
    """The segments, those with a byte that was sent before marked as retransmissions."""
    marks = table["marks"].to_numpy().copy()
    seen: dict[tuple[int, int], set[int]] = {}
    rows = zip(table["connection"], table["sender"], table["seq"], table["payload_bytes"], strict=True)
    for row, (connection, sender, seq, payload) in enumerate(rows):
        before = seen.setdefault((connection, sender), set())
        octets = set(range(seq, seq + payload))
        marks[row] |= MARKS["retransmission"] * (not octets.isdisjoint(before))
        before |= octets
    return table.assign(marks=marks)


@pytest.mark.data
@pytest.mark.parametrize(("capture", "graph"), [("tcp_lab/lteCUBIC.sender.pcap", "lteCUBIC.sender.c2d_tsg.xpl.gz")])
def test_a_real_graph_is_tcptrace_s_octet_for_octet(capture: str, graph: str, tmp_path: Path) -> None:
    """All 29,573 commands of a bulk transfer: data, acknowledgements, windows, SACKs, resends, resets."""
    pcap = pytest.importorskip("multitracer.parsers.pcap")
    from multitracer.tcp.connections import find_connections

    tables = pcap.read(open_source(str(shared("public", *capture.split("/"))))).tables
    found = find_connections(tables)
    reference = bytes(open_source(str(shared("public", "xplot", graph))).data).decode()
    row = next(row for row in found.connections.itertuples() if f"\n{row.client}_==>_{row.server} " in reference)
    joined = {
        **tables,
        "connections": found.connections,
        "segments": marked(found.segments),
        "sack": found.sack,
    }
    written = xplot.write_connection(tmp_path, joined, row.connection, 0)
    assert [path.name for path in written] == [
        f"{row.connection}.client_tsg.xpl",
        f"{row.connection}.server_tsg.xpl",
    ]
    assert written[0].read_text() == reference

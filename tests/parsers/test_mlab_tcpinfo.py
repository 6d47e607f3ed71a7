"""M-Lab's tcp-info."""

from __future__ import annotations

import base64
import json
import struct
from math import inf

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import mlab_tcpinfo
from multitracer.parsers.shared.source import Source, open_source


def snapshot(when: str, family: int = 2, cwnd: int = 10, size: int = 104) -> str:
    """One line as the tool writes it, of a socket 10.0.0.1:5000 > 10.0.0.2:80."""
    addresses = [bytes([10, 0, 0, end]).ljust(16, b"\0") for end in (1, 2)]
    message = struct.pack(">BBBBHH", family, 1, 0, 0, 5000, 80) + b"".join(addresses) + bytes(32)
    info = bytearray(104)
    info[1] = 3
    for offset, value in (
        (8, 216_000),
        (16, 1448),
        (36, 2),
        (68, 70_691),
        (72, 23_901),
        (76, 0x7FFFFFFF),
        (80, cwnd),
    ):
        struct.pack_into("<I", info, offset, value)
    coded = [base64.b64encode(octets).decode() for octets in (message, bytes(info[:size]))]
    return json.dumps({"Timestamp": when, "RawIDM": coded[0], "Attributes": [None, "", coded[1]]}) + "\n"


def test_a_snapshot_is_decoded() -> None:
    """Addresses from inet_diag_msg, the rest from tcp_info in its units."""
    recording = mlab_tcpinfo.read(Source("x", snapshot("2019-04-01T12:00:00.123456789Z").encode()))
    row = recording.tables["tcp_state"].iloc[0]
    assert row["time_ns"] == 1_554_120_000_123_456_789
    assert (row["local"], row["remote"]) == ("10.0.0.1:5000", "10.0.0.2:80")
    assert (row["cwnd_segments"], row["cwnd_bytes"], row["ssthresh_segments"]) == (10, 14480, inf)
    assert (row["rto_s"], row["srtt_s"], row["rttvar_s"]) == (0.216, 0.070691, 0.023901)
    assert (row["retransmits"], row["ca_state"]) == (2, 3)
    assert recording.clock == "epoch"


def test_lines_without_a_snapshot_are_counted() -> None:
    """A line that describes the connection is no loss; damage is; a socket without tcp_info has no state."""
    good = snapshot("2019-04-01T12:00:00Z")
    text = '{"Metadata": {"UUID": "a"}}\n' + good + "{}\n" + snapshot("2019-04-01T12:00:00Z", family=7)
    text += snapshot("noon") + snapshot("2019-04-01T12:00:00Z", size=40) + "[" * 50_000 + "\n"
    recording = mlab_tcpinfo.read(Source("x", text.encode()))
    assert recording.records == 1
    assert recording.counts == {"metadata lines": 1, "snapshots without tcp_info": 1}
    assert [(skip.reason, skip.record, skip.count) for skip in recording.skips] == [("not a snapshot", 3, 4)]


def test_go_s_zero_time_is_no_time() -> None:
    """Snapshots that carry Go's zero time are kept, on a clock that claims nothing."""
    recording = mlab_tcpinfo.read(Source("x", snapshot("0001-01-01T00:00:00Z").encode()))
    assert recording.clock == "relative"
    assert "no time" in recording.notes[0]
    with pytest.raises(InputError):
        mlab_tcpinfo.read(Source("x", b"{}\n"))


@pytest.mark.data
def test_the_real_file_is_read_whole() -> None:
    """420 snapshots, zstandard-compressed; the first has cwnd 10 and a timeout of 216 ms."""
    recording = mlab_tcpinfo.read(open_source(str(shared("public", "tcp_state", "mlab_archiveRecords.jsonl.zst"))))
    row = recording.tables["tcp_state"].iloc[0]
    assert (recording.records, recording.skips) == (420, [])
    assert (row["rto_s"], row["cwnd_segments"]) == (0.216, 10)
    assert row["local"].startswith("[2620:0:1003:415:")

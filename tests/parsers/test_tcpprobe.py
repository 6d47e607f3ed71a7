"""/proc/net/tcpprobe."""

from __future__ import annotations

from math import inf

import pytest
from shared_data import shared

from multitracer.parsers import tcpprobe
from multitracer.parsers.shared.source import Source, open_source

_TEN = "8.000000001 10.0.0.2:5001 10.0.0.1:54321 1480 0x80000010 0x80000008 10 2147483647 14848 1\n"
_ELEVEN = "2.000000001 10.0.0.2:5001 10.0.0.1:54321 32 0xd0000010 0xd0000008 45 44 204032 257 26884\n"


def test_ten_fields_are_read_but_not_srtt() -> None:
    """Before Linux 3.12 srtt was in jiffies, whose length the file does not give: null, with a note."""
    recording = tcpprobe.read(Source("x", _TEN.encode()))
    row = recording.tables["tcp_state"].iloc[0]
    assert (row["time_ns"], row["local"], row["remote"]) == (8_000_000_001, "10.0.0.2:5001", "10.0.0.1:54321")
    assert (row["snd_nxt"], row["snd_una"]) == (0x80000010, 0x80000008)
    assert (row["cwnd_segments"], row["ssthresh_segments"], row["snd_wnd_bytes"]) == (10, inf, 14848)
    assert recording.tables["tcp_state"][["srtt_s", "rcv_wnd_bytes", "data_bytes"]].isna().all(axis=None)
    assert recording.clock == "relative"
    assert recording.metadata == {"srtt_unit": "unknown"}
    assert "jiffies" in recording.notes[0]


def test_eleven_fields_give_srtt_only_if_it_cannot_be_jiffies() -> None:
    """257 may be either; 250,000 jiffies would be minutes, so these are microseconds."""
    unsure = tcpprobe.read(Source("x", _ELEVEN.encode()))
    assert unsure.tables["tcp_state"]["srtt_s"].isna().all()
    assert unsure.tables["tcp_state"]["rcv_wnd_bytes"].tolist() == [26884]
    sure = tcpprobe.read(Source("x", (_ELEVEN + _ELEVEN.replace(" 257 ", " 250000 ")).encode()))
    assert sure.tables["tcp_state"]["srtt_s"].tolist() == [0.000257, 0.25]
    assert sure.metadata == {"srtt_unit": "us"}


def test_other_lines_are_counted() -> None:
    """A line of other fields is skipped with its number and offset."""
    recording = tcpprobe.read(Source("x", (_TEN + "what is this\n" + _TEN).encode()))
    assert recording.tables["tcp_state"]["record"].tolist() == [1, 3]
    assert (recording.skips[0].record, recording.skips[0].offset) == (2, len(_TEN))


@pytest.mark.data
def test_a_real_log_is_read_whole() -> None:
    """41,244 lines of the Bufferbloat class, none skipped."""
    recording = tcpprobe.read(open_source(str(shared("public", "tcp_state", "tcpprobe_cs244_q20_cwnd.txt.gz"))))
    assert (recording.records, recording.skips) == (41_244, [])
    assert recording.tables["tcp_state"]["srtt_s"].isna().all()

"""FreeBSD's SIFTR."""

from __future__ import annotations

from math import inf

import pytest
from samples import SIFTR

from multitracer.parsers import siftr
from multitracer.parsers.shared.source import Source


def test_windows_are_bytes_and_times_scaled_by_the_header() -> None:
    """srtt counts 1/(32 hz) s, rto 1/hz s; the largest window there is means no threshold."""
    recording = siftr.read(Source("x", SIFTR.encode()))
    first, second = recording.tables["tcp_state"].iloc[0], recording.tables["tcp_state"].iloc[1]
    assert (first["time_ns"], first["event"], second["event"]) == (1_700_000_000_463_551_000, "send", "recv")
    assert (first["local"], first["remote"]) == ("10.0.0.1:22", "10.0.0.2:55931")
    assert (first["cwnd_bytes"], first["ssthresh_bytes"], second["ssthresh_bytes"]) == (172312, inf, 2896)
    assert (first["snd_wnd_bytes"], first["rcv_wnd_bytes"]) == (66560, 66608)
    assert (first["srtt_s"], first["rto_s"]) == pytest.approx((936 / 32_000, 0.255))
    assert (recording.records, recording.skips, recording.clock) == (9, [], "epoch")
    assert recording.metadata["siftrver"] == "1.2.2"


def test_without_their_unit_times_are_left_out() -> None:
    """Newer versions do not tell hz; the state is read all the same, also without the hash."""
    text = SIFTR.replace("\thz=1000\ttcp_rtt_scale=32", "").replace("0x0badcafe,", "")
    recording = siftr.read(Source("x", text.encode()))
    assert recording.records == 9
    assert recording.tables["tcp_state"]["srtt_s"].isna().all()
    assert "units" in recording.notes[0]


def test_a_line_of_other_fields_is_counted() -> None:
    """A line with another number of fields is skipped and counted; the others are read."""
    recording = siftr.read(Source("x", (SIFTR + "o,1,2\n").encode()))
    assert (recording.records, recording.skips[0].count, recording.skips[0].record) == (9, 1, 12)

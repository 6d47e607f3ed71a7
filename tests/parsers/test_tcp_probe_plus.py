"""tcp_probe_plus."""

from __future__ import annotations

from math import inf

import pytest
from shared_data import shared

from multitracer.parsers import tcp_probe_plus
from multitracer.parsers.shared.source import Source, open_source

_LINE = (
    "1 7 3b9ac9ff a000001 c001 a000002 50 5 10 1000 2000 3 1005 fff 1005 0 a 7fffffff 7120 "
    "1f40 638 30d40 c9 0 0 0 2 d 0 0 22b24d5\n"
)


def test_units_are_those_of_the_kernel() -> None:
    """srtt is in 1/8 us, rttvar in 1/4 us, rto in ms; the time in seconds and nanoseconds."""
    row = tcp_probe_plus.read(Source("x", _LINE.encode())).tables["tcp_state"].iloc[0]
    assert (row["time_ns"], row["event"]) == (7_999_999_999, "send")
    assert (row["local"], row["remote"]) == ("10.0.0.1:49153", "10.0.0.2:80")
    assert (row["cwnd_segments"], row["ssthresh_segments"], row["snd_wnd_bytes"]) == (10, inf, 0x7120)
    assert (row["srtt_s"], row["rttvar_s"], row["rto_s"]) == pytest.approx((1e-3, 0.05, 0.201), rel=1e-12)
    assert (row["retransmits"], row["ca_state"], row["data_bytes"]) == (2, 3, 5)
    assert (row["snd_nxt"], row["snd_una"]) == (0x1005, 0xFFF)


def test_other_records_are_counted_and_impossible_times_too() -> None:
    """Lines of one or four fields are no states; a second has no more than 10^9 nanoseconds."""
    text = "# 2017-12-17 17:35:33\n" + _LINE + "abc\n" + _LINE.replace("3b9ac9ff", "3b9aca00")
    recording = tcp_probe_plus.read(Source("x", text.encode()))
    assert recording.records == 1
    assert [skip.record for skip in recording.skips] == [3, 4]
    assert recording.metadata == {"started_local_time": "2017-12-17 17:35:33"}


@pytest.mark.data
def test_a_real_log_is_read_whole() -> None:
    """4,175 records, none skipped; what was in retransmission at once never passed 13."""
    source = open_source(str(shared("public", "tcp_state", "tcp_probe_plus_tcp-sep.log")))
    recording = tcp_probe_plus.read(source)
    assert (recording.records, recording.skips) == (4175, [])
    table = recording.tables["tcp_state"]
    assert table["rto_s"].between(0.2, 1).all()
    assert 0 < table["retransmits"].max() <= 13

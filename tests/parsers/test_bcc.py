"""Output of tcpretrans, tcpcong and tcprtt."""

from __future__ import annotations

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import bcc
from multitracer.parsers.shared.source import Source, open_source

_HEADING = "TIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE        SEQ\n"


def test_retransmissions_are_events_across_midnight() -> None:
    """Times of day run on into the next day; attempts at a probe are counted only."""
    text = (
        _HEADING
        + "23:59:58 0      4  10.0.0.1:41976  R> 10.0.0.2:443   ESTABLISHED  2879306108\n"
        + "23:59:59 0      4  10.0.0.1:41976  L> 10.0.0.2:443   ESTABLISHED  0\n"
        + "00:00:01 17     6  [2001:db8::1]:1  R> [2001:db8::2]:2   SYN_SENT\n"
        + "00:00:02 17     4  10.0.0.1:41976  R> 10.0.0.2:443   ESTABLISHED\n"
    )
    assert bcc.sniff(text.encode())
    recording = bcc.read(Source("x", text.encode()))
    table = recording.tables["tcp_state"]
    assert (table["time_ns"] // 10**9).tolist() == [86_398, 86_401, 86_402]
    assert table["local"].tolist()[1] == "[2001:db8::1]:1"
    assert set(table["event"]) == {"retransmit"}
    assert recording.counts == {"attempts at a tail loss probe": 1}
    assert (recording.clock, recording.skips) == ("relative", [])


def test_bpftrace_s_tool_of_that_name_is_read_too() -> None:
    """It prints neither the version of IP nor the kind of the attempt."""
    text = (
        "Attaching 2 probes...\nTracing tcp retransmits. Hit Ctrl-C to end.\n"
        "TIME     PID      LADDR:LPORT            RADDR:RPORT          STATE\n"
        "01:55:05 0        10.153.223.157:22      69.53.245.40:34619   ESTABLISHED\n"
        "01:55:17 0        2001:db8::1:22         2001:db8::2:22957    ESTABLISHED\n"
    )
    assert bcc.sniff(text.encode())
    recording = bcc.read(Source("x", text.encode()))
    assert recording.tables["tcp_state"]["local"].tolist() == ["10.153.223.157:22", "[2001:db8::1]:22"]
    assert recording.skips == []


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "records", "kept"),
    [("bcc_tcpretrans_example.txt", 15, {}), ("bcc_tcpcong_example.txt", 190, {"tcpcong": 180, "tcprtt": 10}),
     ("bcc_tcprtt_example.txt", 6, {"tcprtt": 6})],
)  # fmt: skip
def test_the_tools_own_examples_are_read(file: str, records: int, kept: dict[str, int]) -> None:
    """Every record of the examples is found among their prose, which is counted as what it is."""
    recording = bcc.read(open_source(str(shared("public", "tcp_state", file))))
    assert recording.records == records
    assert {key: len(value) for key, value in recording.metadata.items()} == kept
    assert len(recording.skips) == 1


@pytest.mark.data
def test_durations_and_histograms_are_kept() -> None:
    """tcpcong's row by connection, tcprtt's and tcpcong's buckets with their unit."""
    recording = bcc.read(open_source(str(shared("public", "tcp_state", "bcc_tcpcong_example.txt"))))
    first = recording.metadata["tcpcong"][0]
    assert (first["local"], first["remote"]) == ("192.168.219.3:34968", "192.168.219.4:19230")
    assert (first["open"], first["recovery"], first["changes"]) == (884, 102, 2721)
    assert recording.metadata["tcprtt"][0]["unit"] == "usecs"


def test_a_file_of_headings_only_is_refused() -> None:
    """Nothing was traced."""
    assert not bcc.sniff(_HEADING.encode())
    with pytest.raises(InputError):
        bcc.read(Source("x", _HEADING.encode()))

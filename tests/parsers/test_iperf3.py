"""iperf3's JSON: one document or lines, several streams and tests, what was cut off, and what is no TCP."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from iperf3_output import SECOND, document, stream, transfer

from multitracer import cli
from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers import iperf3, recognise
from multitracer.parsers.shared.source import Source


def read(octets: bytes) -> Recording:
    source = Source("test.json", octets)
    assert recognise(source).name == "iperf3"
    return iperf3.read(source)


@pytest.mark.parametrize("written", [document, stream])
def test_a_sample_is_the_sender_s_state_at_its_interval_s_end(written: Callable[[Any], bytes]) -> None:
    """Windows are octets and round trips seconds, of each stream's own connection; sums add nothing."""
    recording = read(written(transfer()))
    table = recording.tables["tcp_state"]
    assert (len(table), recording.skips, recording.complete) == (16, [], True)
    assert table["local"].tolist()[:2] == ["10.0.0.1:5000", "10.0.0.1:5001"]
    assert table["remote"].tolist()[:2] == ["10.0.0.2:5201"] * 2
    assert (table["time_ns"].to_numpy()[::2] == [(SECOND + at) * 10**9 for at in range(1, 9)]).all()
    assert table["cwnd_bytes"].tolist()[:4] == [1000, 2000, 2000, 4000]
    assert (table["srtt_s"][0], table["rttvar_s"][0]) == (0.02, 0.0005)
    assert isnan(table["cwnd_segments"][0])
    assert sum(interval["bytes"] for interval in recording.metadata["intervals"]) == 16 * 125_000
    assert recording.metadata["clock_error_s"] == 1


def test_octets_and_resends_of_an_interval_stand_beside_the_state_at_its_end() -> None:
    """Of each stream its own; what the host does not count is unknown, not zero."""
    test = transfer()
    del test["intervals"][7]["streams"][1]["retransmits"]
    table = read(document(test)).tables["tcp_state"]
    assert table["interval_s"].tolist() == [1.0] * 16
    assert table["interval_bytes"].tolist() == [125_000] * 16
    assert table["interval_resends"].tolist()[:4] == [0, 0, 1, 1]
    assert table["interval_resends"].isna().tolist() == [False] * 15 + [True]


def test_a_sender_whose_host_tells_no_state_has_its_octets() -> None:
    """As where the system has no TCP_INFO: iperf3 says which end it is, and no window."""
    test = transfer(1, 3, sends=False)
    for interval in test["intervals"]:
        interval["streams"][0]["sender"] = True
    recording = read(document(test))
    table = recording.tables["tcp_state"]
    assert table["interval_bytes"].tolist() == [125_000] * 3
    assert table[["cwnd_bytes", "srtt_s", "interval_resends"]].isna().all(axis=None)
    assert not [note for note in recording.notes if "receiver" in note]


def test_intervals_that_are_omitted_come_before_those_that_count_anew() -> None:
    """With -O the seconds begin again at 0 after the omitted ones."""
    test = transfer(1, 3)
    test["start"]["test_start"]["omit"] = 1
    test["intervals"][0]["streams"][0]["omitted"] = True
    for at in (1, 2):
        test["intervals"][at]["streams"][0] |= {"start": at - 1, "end": float(at)}
    times = read(document(test)).tables["tcp_state"]["time_ns"]
    assert (times // 10**9 - SECOND).tolist() == [1, 2, 3]


def test_a_server_s_file_of_several_tests_is_read_whole() -> None:
    """One document after the other, each with its own start."""
    later = transfer(1, 2, timestamp={"timesecs": SECOND + 60})
    times = read(document(transfer(1, 2)) + document(later)).tables["tcp_state"]["time_ns"]
    assert (times // 10**9 - SECOND).tolist() == [1, 2, 61, 62]


def test_a_receiver_s_log_has_throughput_and_no_sender_s_state() -> None:
    """The intervals are kept, and it is said what they lack."""
    recording = read(document(transfer(1, 4, sends=False)))
    assert (recording.records, len(recording.tables["tcp_state"])) == (4, 0)
    assert len(recording.metadata["intervals"]) == 4
    assert "receiver" in recording.notes[-1]
    assert recording.counts == {"received intervals": 4}


def test_a_receiver_s_log_alone_is_refused_with_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many intervals, what is not in them, and whose log has it; a result is not written."""
    log = tmp_path / "server.json"
    log.write_bytes(document(transfer(1, 4, sends=False)))
    assert cli.run(["analyze", str(log), "-o", str(tmp_path / "out")]) == 3
    said = capsys.readouterr().err
    assert "only 4 intervals of what an iperf3 receiver got, without windows, round trips and resends" in said
    assert "Give the log of the end that sent" in said


def test_a_reversed_test_has_the_server_s_samples() -> None:
    """With --get-server-output the state is the server's; beside the client's own it is only counted."""
    recording = read(document(transfer(1, 2, sends=False) | {"server_output_json": transfer(1, 2)}))
    assert len(recording.tables["tcp_state"]) == 2
    assert iperf3.SERVER_S in recording.notes
    recording = read(document(transfer(1, 2) | {"server_output_json": transfer(1, 2)}))
    assert len(recording.tables["tcp_state"]) == 2
    assert recording.counts == {"outputs of the server, on its own clock": 1}


def test_a_document_cut_off_keeps_its_whole_intervals() -> None:
    """What ends before the cut is read, the loss is counted once with its octet."""
    whole = document(transfer())
    recording = read(whole[: whole.rindex(b'"intervals"') + 2500])
    assert 0 < recording.records < 16
    assert [(skip.reason, skip.offset, skip.count) for skip in recording.skips] == [(iperf3.DAMAGED, 0, 1)]
    assert not recording.complete
    lines = stream(transfer(1, 4)).splitlines(keepends=True)
    recording = read(b"".join([*lines[:2], lines[2][:40], b"\n", *lines[3:]]))
    assert (recording.records, recording.skips[0].offset) == (3, len(lines[0]) + len(lines[1]))


@pytest.mark.parametrize("value", [10**400, -1, "12", None, float("nan"), True])
def test_a_number_out_of_range_costs_its_interval(value: Any) -> None:
    """The interval is counted as a loss; the others are read."""
    test = transfer(1, 3)
    test["intervals"][1]["streams"][0]["snd_cwnd"] = value
    recording = read(stream(test))
    assert recording.records == 2
    assert [skip.reason for skip in recording.skips] == [iperf3.OUT_OF_RANGE]


@pytest.mark.parametrize("name", ["rtt", "rttvar", "snd_cwnd"])
def test_a_number_that_no_column_holds_costs_its_interval(name: str) -> None:
    """A round trip of years is no number to keep: neither the state nor the throughput of that interval is."""
    test = transfer(1, 3)
    test["intervals"][1]["streams"][0][name] = 1 << 63
    recording = read(document(test))
    assert (recording.records, len(recording.metadata["intervals"])) == (2, 2)
    assert [(skip.reason, skip.count) for skip in recording.skips] == [(iperf3.OUT_OF_RANGE, 1)]


def test_an_error_is_said() -> None:
    """Without an interval it is the reason for refusal; after some it is a note."""
    refused = transfer(0, 0) | {"error": "unable to connect to server: Connection refused"}
    with pytest.raises(InputError, match="Connection refused"):
        read(document(refused))
    recording = read(document(transfer() | {"error": "control socket has closed unexpectedly"}))
    assert (recording.records, recording.complete) == (16, False)
    assert "closed unexpectedly" in recording.notes[0]


def test_a_test_over_udp_is_no_tcp() -> None:
    """It is refused with the number of its intervals."""
    test = transfer(1, 3)
    test["start"]["test_start"]["protocol"] = "UDP"
    with pytest.raises(InputError, match="3 intervals of UDP"):
        read(document(test))


@pytest.mark.parametrize("socket", [9, None, {}, []])
def test_an_interval_without_a_connection_is_a_loss(socket: Any) -> None:
    """State that belongs to no socket is not guessed."""
    test = transfer(2, 3)
    for interval in test["intervals"]:
        interval["streams"][1]["socket"] = socket
    recording = read(document(test))
    assert recording.records == 3
    assert [(skip.reason, skip.count) for skip in recording.skips] == [(iperf3.NO_START, 3)]

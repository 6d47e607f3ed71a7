"""Captures of other people on which the tool was tried for the first time: what is true of each (INDEX.md there)."""

from __future__ import annotations

import csv
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from shared_data import shared

from multitracer import analyze, cli, read

pytestmark = pytest.mark.data

# (Files, TCP packets, connections), as INDEX.md counts them.
COUNTED = [
    (("PcapPlusPlus__ExamplesTest__pcap_examples__frag_http_req.pcap",), 1, 1),
    (("PcapPlusPlus__Packet++Test__PacketExamples__BgpPackets.pcap",), 8, 5),
    (("arkime__pcap__80211http.pcap",), 26, 1),
    (("arkime__pcap__tcpdump-geneve.pcap",), 33, 1),
    (("cut_suricata-verify__base64-decode-5885__input.pcap",), 22, 1),
    (("derived_80211_qos.pcap",), 500, 2),
    (("derived_before_1970.pcapng",), 120, 1),
    (("derived_dup_10_percent.pcap",), 120, 1),
    (("derived_erspan2.pcap",), 500, 2),
    (("derived_gtpu_mpls.pcap",), 500, 2),
    (("derived_gtpu_two_ues_same_address.pcap",), 1000, 4),
    (("derived_pcap_v2.2_swapped_lengths.pcap",), 120, 1),
    (("derived_reference_of_email_troubles.pcap",), 120, 1),
    (("derived_tap_rx.pcap", "derived_tap_tx.pcap"), 120, 1),
    (("derived_tap_tx.pcap", "derived_tap_rx.pcap"), 120, 1),
    (("derived_vxlan4789.pcap",), 500, 2),
    (("mercury__unit_ip_encapsulation.pcap",), 5, 1),
    (("nDPI__tls_multiple_synack_different_seq.pcapng",), 10, 1),
    (("nfstream__ajp.pcap",), 38 - 12, 2),  # 12 are in an envelope, too: one packet at two points
    (("packets__tcp_retransmissions.pcapng",), 6, 1),
    (("snort3_demo__codecs__teredo__teredo.pcap",), 8, 1),
    (("suricata-verify__tcp-fastopen-01__tfo.pcap",), 16, 2),
]  # fmt: skip


def path(name: str) -> str:
    return str(shared("public", "foreign", name))


@cache
def summary(*names: str) -> Any:
    return analysis(*names).summary()


@cache
def analysis(*names: str) -> Any:
    return analyze(read(*map(path, names)))


def total(document: Any, what: str) -> int:
    """A count over both directions of all connections."""
    return sum(end[what] or 0 for one in document["connections"] for end in one["directions"].values())


@pytest.mark.parametrize(("names", "packets", "connections"), COUNTED, ids=lambda names: str(names))
def test_packets_and_connections_are_those_of_the_index(names: tuple[str, ...], packets: int, connections: int) -> None:
    """TCP packets at one point, copies left out, and connections; nothing of these files is lost."""
    found = summary(*names)
    assert (total(found, "packets"), len(found["connections"])) == (packets, connections)
    assert [(one["skipped"], one["complete"]) for one in found["inputs"]] == [(0, True)] * len(names)


# TCP packets in the file, copies and other places included.
WITH_COPIES = [
    ("cut_ICS__s7comm_clean_3pct_copies.pcap", 2500, 73), ("derived_dup_10_percent.pcap", 132, 12),
    ("nfstream__ajp.pcap", 38, 12),
]  # fmt: skip


@pytest.mark.parametrize(("name", "packets", "copies"), WITH_COPIES)
def test_copies_are_read_and_said_and_counted_once(name: str, packets: int, copies: int) -> None:
    """Every TCP packet is a segment; of those that are copies the note tells the number, and no count has them."""
    found = summary(name)
    assert len(analysis(name).tables["segments"]) == packets
    assert total(found, "packets") == packets - copies
    [entry] = analysis(name).trace.inputs
    assert entry.recording.notes == [f"Holds {copies} packets a second time; the copies are not counted."]
    assert total(found, "retransmitted_segments") == 0


TWICE_IN_FILE = {name for name, *_ in WITH_COPIES} | {"arkime__pcap__80211http.pcap"}
"""Of which tshark counts copies, or what the radio link repeated."""
AS_TSHARK_COUNTS = [names[0] for names, *_ in COUNTED if len(names) == 1 and names[0] not in TWICE_IN_FILE]


@pytest.mark.parametrize("name", AS_TSHARK_COUNTS)
def test_each_direction_has_the_packets_and_data_segments_that_tshark_has(name: str) -> None:
    """From each port to each, of flows with the same ports in two tunnels together."""
    with Path(path("expected.csv")).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["file"] == name]
    expected: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        ends = (row["sender"].rpartition(":")[2], row["receiver"].rpartition(":")[2])
        expected[ends] = added(expected, ends, int(row["packets_tshark"]), int(row["data_segments_tshark"]))
    ours: dict[tuple[str, str], tuple[int, int]] = {}
    for one in summary(name)["connections"]:
        ports = [one[end].rpartition(":")[2] for end in ("client", "server")]
        for end, ends in (("client", (ports[0], ports[1])), ("server", (ports[1], ports[0]))):
            sent = one["directions"][end]
            ours[ends] = added(ours, ends, sent["packets"] or 0, sent["data_segments"] or 0)
    assert ours == expected


def added(
    counts: dict[tuple[str, str], tuple[int, int]], ends: tuple[str, str], packets: int, data: int
) -> tuple[int, int]:
    before = counts.get(ends, (0, 0))
    return before[0] + packets, before[1] + data


def test_interfaces_that_hold_packets_of_the_same_connections_are_one_place() -> None:
    """Each of 8 packets is on another interface: one point, and each packet counts."""
    found = analysis("PcapPlusPlus__Packet++Test__PacketExamples__BgpPackets.pcap")
    assert found.tables["segments"]["point"].nunique() == 1
    assert "interfaces" in found.trace.inputs[0].recording.notes[0]


def test_two_subscribers_with_the_same_addresses_are_told_apart_by_their_tunnels() -> None:
    """Each has both its connections, of 16 and 484 packets, in the two tunnels that are its own."""
    connections = summary("derived_gtpu_two_ues_same_address.pcap")["connections"]
    ends = [[end["packets"] for end in one["directions"].values()] for one in connections]
    assert ends == [[9, 7], [9, 7], [280, 204], [280, 204]]


def test_syn_acks_of_three_initial_numbers_are_one_handshake() -> None:
    """The SYN is not in the capture: its answers are one connection, whose handshake was retried."""
    found = summary("nDPI__tls_multiple_synack_different_seq.pcapng")
    assert not found["connections"][0]["handshake_seen"]
    assert [one["kind"] for one in found["findings"]] == ["handshake-retry"]


def test_data_in_a_syn_is_the_connection_s_first() -> None:
    """TCP Fast Open: the SYN's octets count once, nothing was sent again, and both connections end."""
    connections = summary("suricata-verify__tcp-fastopen-01__tfo.pcap")["connections"]
    data = [[end["unique_bytes"] for end in one["directions"].values()] for one in connections]
    assert data == [[65, 200], [86, 1307]]
    assert all(one["handshake_seen"] and one["closed"] == "fin" for one in connections)
    assert total({"connections": connections}, "retransmitted_segments") == 0


def test_a_segment_in_ten_fragments_counts_its_octets_once() -> None:
    """1460 octets of data in one segment."""
    found = summary("PcapPlusPlus__ExamplesTest__pcap_examples__frag_http_req.pcap")
    assert (total(found, "data_segments"), total(found, "data_bytes")) == (1, 1460)


def test_copies_of_a_mirror_port_are_no_retransmissions() -> None:
    """3 % of the packets are there twice, two of them behind a router; none was sent again."""
    found = summary("cut_ICS__s7comm_clean_3pct_copies.pcap")
    assert len(found["connections"]) == 1
    assert total(found, "retransmitted_segments") == 0
    assert [one["kind"] for one in found["findings"] if one["kind"] in RESENDS] == []


RESENDS = ("timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "probe")


def test_a_mirrored_tenth_changes_no_count() -> None:
    """The same figures as of the capture without its copies."""
    whole, mirrored = (summary(f"derived_{name}.pcap") for name in ("reference_of_email_troubles", "dup_10_percent"))
    assert mirrored["connections"] == whole["connections"]


@pytest.mark.parametrize("name", ["tap", "before_1970", "pcap_v2.2_swapped_lengths"])
def test_what_was_derived_from_a_capture_says_what_the_capture_says(name: str) -> None:
    """Counts do not depend on the ports of a tap, the epoch or the order of two lengths."""
    names = {"tap": ("derived_tap_rx.pcap", "derived_tap_tx.pcap"), "before_1970": ("derived_before_1970.pcapng",)}
    derived = summary(*names.get(name, (f"derived_{name}.pcap",)))
    reference = summary("derived_reference_of_email_troubles.pcap")
    assert derived["connections"][0]["directions"] == reference["connections"][0]["directions"]
    assert [one["kind"] for one in derived["findings"]] == [one["kind"] for one in reference["findings"]]


def test_a_port_used_again_after_a_challenge_ack_and_a_reset_is_one_connection() -> None:
    """Its SYN was sent twice, and its handshake is in the capture."""
    found = summary("cut_suricata-verify__base64-decode-5885__input.pcap")
    [one] = found["connections"]
    assert one["handshake_seen"]
    assert "handshake-retry" in [finding["kind"] for finding in found["findings"]]
    assert one["directions"]["client"]["retransmitted_segments"] == 1


def test_a_segment_resent_at_doubling_intervals_was_resent_by_the_timer() -> None:
    """Without a round trip in the capture nothing shows a tail loss probe."""
    found = summary("packets__tcp_retransmissions.pcapng")
    ends = [end["retransmissions"] for one in found["connections"] for end in one["directions"].values()]
    assert sum((end or {}).get("timeout") or 0 for end in ends) == 5
    assert [one["kind"] for one in found["findings"]] == ["timeout"] * 5


AS_TSHARK_READS_THEM = (
    "-o", 'uat:user_dlts:"User 2 (DLT=149)","udp","0","","0",""', "--enable-heuristic", "mac_lte_udp",
    "-o", "mac-lte.attempt_to_dissect_srb_sdus:TRUE",
)  # fmt: skip
"""User 2 is link type 149, where srsENB puts its MAC frames into UDP datagrams."""


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_radio_frames_of_a_base_station_are_as_tshark_has_them() -> None:
    """34 RLC PDUs in a MAC capture: of each its record and type, a data PDU's number and poll, a report's ACK_SN."""
    name = path("4Gvisualiser__input__enb_correct.pcap")
    frames = read(name).tables["frames"].sort_values("record", kind="stable")
    assert len(frames) == 34
    fields = ("frame.number", "rlc-lte.am.frame-type", "rlc-lte.am.fixed.sn", "rlc-lte.am.p", "rlc-lte.am.ack-sn")
    asked = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-r", name, *AS_TSHARK_READS_THEM, "-T", "fields", "-E", "occurrence=a", *asked]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    data, status = frames[frames["type"] == "AMD"], frames[frames["type"] == "STATUS"]
    assert len(data) + len(status) == len(frames)
    assert list(zip(data["record"], data["sn"], data["poll"], strict=True)) == [
        (record, sn, poll) for line in lines for record, sn, poll in _columns(line, 2, 3)
    ]
    assert list(zip(status["record"], status["nr"], strict=True)) == [
        (record, ack) for line in lines for record, ack in _columns(line, 4)
    ]


def _columns(line: str, *columns: int) -> list[tuple[int, ...]]:
    """The record's number and the values of these columns, one row for each PDU that has them."""
    cells = line.split("\t")
    values = [cells[column].split(",") if cells[column] else [] for column in columns]
    return [(int(cells[0]), *(int(value, 0) for value in row)) for row in zip(*values, strict=True)]


def test_a_handset_log_without_rlc_says_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """927 good frames of which none is of a kind that is read, and three bad ones."""
    name = "mobileinsight-core____logs__offline_log_examples__20201116_123435_Xiaomi-Mi10_46000.mi2log"
    assert cli.run(["analyze", path(name), "-o", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert f"{name}: holds 927 frames, none of a kind that is read here (577 LTE RRC message 0xB0C0, " in said
    assert "; 3 bad: HDLC frame with a wrong check sequence" in said

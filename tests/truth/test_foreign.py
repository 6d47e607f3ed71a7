"""Captures of other people on which the tool was tried for the first time: what is true of each (INDEX.md there)."""

from __future__ import annotations

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
    return analyze(read(*map(path, names))).summary()


def total(document: Any, what: str) -> int:
    """A count over both directions of all connections."""
    return sum(end[what] or 0 for one in document["connections"] for end in one["directions"].values())


@pytest.mark.parametrize(("names", "packets", "connections"), COUNTED, ids=lambda names: str(names))
def test_packets_and_connections_are_those_of_the_index(names: tuple[str, ...], packets: int, connections: int) -> None:
    """TCP packets at one point, copies left out, and connections."""
    found = summary(*names)
    assert (total(found, "packets"), len(found["connections"])) == (packets, connections)


def test_a_segment_in_ten_fragments_counts_its_octets_once() -> None:
    """1460 octets of data in one segment."""
    found = summary("PcapPlusPlus__ExamplesTest__pcap_examples__frag_http_req.pcap")
    assert (total(found, "data_segments"), total(found, "data_bytes")) == (1, 1460)


def test_copies_of_a_mirror_port_are_no_retransmissions() -> None:
    """3 % of the packets are there twice, two of them behind a router; none was sent again."""
    found = summary("cut_ICS__s7comm_clean_3pct_copies.pcap")
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
    for what in ("packets", "data_segments", "unique_bytes", "retransmitted_segments", "out_of_order_segments"):
        assert total(derived, what) == total(reference, what)


def test_a_port_used_again_after_a_challenge_ack_and_a_reset_is_one_connection() -> None:
    """Its SYN was sent twice, and its handshake is in the capture."""
    [one] = summary("cut_suricata-verify__base64-decode-5885__input.pcap")["connections"]
    assert one["handshake_seen"]
    assert one["directions"]["client"]["retransmitted_segments"] == 1


def test_a_segment_resent_at_doubling_intervals_was_resent_by_the_timer() -> None:
    """Without a round trip in the capture nothing shows a tail loss probe."""
    found = summary("packets__tcp_retransmissions.pcapng")
    ends = [end["retransmissions"] for one in found["connections"] for end in one["directions"].values()]
    assert sum((end or {}).get("timeout") or 0 for end in ends) == 5
    assert "probe" not in [one["kind"] for one in found["findings"]]


def test_radio_frames_of_a_base_station_are_as_tshark_has_them() -> None:
    """34 RLC PDUs in a MAC capture."""
    trace = read(path("4Gvisualiser__input__enb_correct.pcap"))
    assert len(trace.tables["frames"]) == 34


def test_a_handset_log_without_rlc_says_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """927 good frames of which none is of a kind that is read, and three bad ones."""
    name = "mobileinsight-core____logs__offline_log_examples__20201116_123435_Xiaomi-Mi10_46000.mi2log"
    assert cli.run(["analyze", path(name), "-o", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "927" in said
    assert "3 " in said

"""Connections out of captures: reused ports, beginnings in the middle, wraps, rotation, double capture."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import dpkt
from packets import ACK, SYN, ipv4, tcp

from multitracer import analyze
from multitracer.parsers import pcap

MS = 1_000_000
START = 1_700_000_000 * 10**9
FIN = dpkt.tcp.TH_FIN
ROUND_TRIP_MS, SIZE = 40, 100


def transfer(
    segments: int = 5,
    *,
    isn: int = 1000,
    at_ms: float = 0.0,
    opened: bool = True,
    closed: bool = True,
    resend: int = -1,
) -> list[tuple[int, bytes]]:
    """A client that sends segments one round trip apart, each acknowledged, as seen beside it."""
    server = 77
    made: list[tuple[float, Any, bool, int]] = []
    now = at_ms

    def put(time: float, out: bool, seq: int, ack: int, flags: int, size: int = 0) -> None:
        ports = (1000, 80) if out else (80, 1000)
        ends = ("10.0.0.1", "10.0.0.2") if out else ("10.0.0.2", "10.0.0.1")
        segment = tcp(b"x" * size, seq=seq & 0xFFFFFFFF, ack=ack & 0xFFFFFFFF, flags=flags, ports=ports)
        made.append((time, ipv4(segment, source=ends[0], destination=ends[1], number=len(made) + 1), out, seq))

    if opened:
        put(now, True, isn, 0, SYN)
        put(now + ROUND_TRIP_MS, False, server, isn + 1, SYN | ACK)
        now += ROUND_TRIP_MS + 1
        put(now, True, isn + 1, server + 1, ACK)
    for number in range(segments):
        seq = isn + 1 + SIZE * number
        put(now, True, seq, server + 1, ACK, SIZE)
        if number == resend:
            now += 300
            put(now, True, seq, server + 1, ACK, SIZE)
        put(now + ROUND_TRIP_MS, False, server + 1, seq + SIZE, ACK)
        now += ROUND_TRIP_MS + 1
    if closed:
        end = isn + 1 + SIZE * segments
        put(now, True, end, server + 1, FIN | ACK)
        put(now + ROUND_TRIP_MS, False, server + 1, end + 1, FIN | ACK)
    return [(START + round(time * MS), packet) for time, packet, _, _ in made]


def summary(tmp_path: Path, *captures: list[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """connections[] of the summary of these captures."""
    paths = []
    for number, packets in enumerate(captures):
        path = tmp_path / f"{number}.pcap"
        pcap.write(path, packets, 101)
        paths.append(path)
    found: list[dict[str, Any]] = analyze(paths).summary()["connections"]
    return found


def test_a_plain_transfer_is_counted(tmp_path: Path) -> None:
    """Packets, data, acknowledgements and round trips of both ends."""
    (one,) = summary(tmp_path, transfer())
    sent, answered = one["directions"]["client"], one["directions"]["server"]
    assert (one["handshake_seen"], one["closed"]) == (True, "fin")
    assert (sent["packets"], sent["data_segments"], sent["unique_bytes"]) == (8, 5, 5 * SIZE)
    assert (sent["retransmitted_segments"], sent["out_of_order_segments"]) == (0, 0)
    assert answered["pure_acks"] == 5
    assert sent["rtt_ms"]["min"] == sent["rtt_ms"]["max"] == ROUND_TRIP_MS


def test_a_segment_with_several_sack_blocks_counts_once(tmp_path: Path) -> None:
    """Segments are counted, not what they report."""
    packets = transfer(segments=3)
    blocks = struct.pack(">BBBBIIIIII", 1, 1, 5, 26, *range(2000, 2600, 100))
    for number, options in enumerate((blocks, b"", blocks)):
        segment = tcp(seq=78, ack=1001, options=options, ports=(80, 1000))
        packet = ipv4(segment, source="10.0.0.2", destination="10.0.0.1", number=100 + number)
        packets.append((START + 9000 * MS + number, packet))
    (one,) = summary(tmp_path, packets)
    assert one["directions"]["server"]["sack_segments"] == 2
    assert one["directions"]["client"]["sack_segments"] == 0


def test_reused_ports_are_a_new_connection(tmp_path: Path) -> None:
    """Another initial number after the end of the first."""
    found = summary(tmp_path, [*transfer(), *transfer(isn=500_000, at_ms=5000)])
    assert [one["directions"]["client"]["unique_bytes"] for one in found] == [5 * SIZE, 5 * SIZE]


def test_a_repeated_syn_is_the_same_connection(tmp_path: Path) -> None:
    """The same initial number again."""
    packets = transfer()
    (one,) = summary(tmp_path, [(START - 1000 * MS, packets[0][1]), *packets])
    assert one["directions"]["client"]["packets"] == 9


def test_a_capture_may_begin_in_the_middle(tmp_path: Path) -> None:
    """No handshake was seen, and the bytes that were are counted."""
    (one,) = summary(tmp_path, transfer(opened=False, closed=False))
    assert (one["handshake_seen"], one["closed"]) == (False, "open")
    assert one["directions"]["client"]["unique_bytes"] == 5 * SIZE


def test_numbers_wrap(tmp_path: Path) -> None:
    """The stream goes on through 2**32."""
    (one,) = summary(tmp_path, transfer(isn=2**32 - 250))
    assert one["directions"]["client"]["unique_bytes"] == 5 * SIZE
    assert one["directions"]["client"]["retransmitted_segments"] == 0


def test_rotated_captures_are_one(tmp_path: Path) -> None:
    """Cut in two files, the counts are those of one."""
    packets = transfer(20)
    whole = summary(tmp_path, packets)
    assert summary(tmp_path, packets[:17], packets[17:]) == whole


def test_a_resend_is_counted_with_its_trigger(tmp_path: Path) -> None:
    """Alone outstanding, and resent after a long silence."""
    (one,) = summary(tmp_path, transfer(resend=2))
    sent = one["directions"]["client"]
    assert (sent["retransmitted_segments"], sent["retransmitted_bytes"], sent["unique_bytes"]) == (1, SIZE, 5 * SIZE)
    assert sum(sent["retransmissions"].values()) == 1


def test_round_trips_of_resent_segments_do_not_count(tmp_path: Path) -> None:
    """Karn: nothing that was sent twice gives a sample."""
    (one,) = summary(tmp_path, transfer(resend=2))
    assert one["directions"]["client"]["rtt_ms"]["samples"] == 6  # SYN, four segments, FIN
    assert one["directions"]["client"]["rtt_ms"]["max"] == ROUND_TRIP_MS


def test_what_only_one_end_sent_is_null_for_the_other(tmp_path: Path) -> None:
    """A capture of one direction knows nothing of what the other end sent."""
    client = [packet for packet in transfer() if packet[1][12:16] == b"\x0a\x00\x00\x01"]
    (one,) = summary(tmp_path, client)
    assert one["directions"]["client"]["data_segments"] == 5
    assert not one["directions"]["server"]["packets"]
    assert one["directions"]["client"]["rtt_ms"]["min"] is None or one["directions"]["client"]["rtt_ms"]["samples"] == 0

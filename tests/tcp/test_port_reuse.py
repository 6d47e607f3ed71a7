"""Which packets of one flow are one connection: handshakes that fail, repeat, cross, or are of another time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packets import ACK, SYN, ipv4, tcp

from multitracer import analyze
from multitracer.model.schema import MARKS
from multitracer.parsers import pcap

RST, FIN, PSH = 4, 1, 8
START = 1_700_000_000 * 10**9
MS = 1_000_000
CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
Packet = tuple[str, int, int, int, int]
"""Who sends it (C or S; a digit behind it: so many seconds later, else 10 ms), flags, numbers, octets of data."""

A, B, OLD = 5_000, 900_000_000, 2_000_000_000
"""Initial numbers of the client, of the server, and of an earlier connection; far apart."""


def opening(client: int = A, server: int = B) -> list[Packet]:
    """A handshake."""
    return [("C", SYN, client, 0, 0), ("S", SYN | ACK, server, client + 1, 0), ("C", ACK, client + 1, server + 1, 0)]


def exchange(client: int = A, server: int = B, size: int = 100) -> list[Packet]:
    """A request, and its acknowledgement."""
    return [("C", PSH | ACK, client + 1, server + 1, size), ("S", ACK, server + 1, client + 1 + size, 0)]


def closing(client: int = A, server: int = B, size: int = 100) -> list[Packet]:
    """FINs of both ends after that request."""
    end = client + 1 + size
    return [
        ("C", FIN | ACK, end, server + 1, 0), ("S", FIN | ACK, server + 1, end + 1, 0),
        ("C", ACK, end + 1, server + 2, 0),
    ]  # fmt: skip


def whole(client: int = A, server: int = B) -> list[Packet]:
    """A connection from SYN to FIN."""
    return opening(client, server) + exchange(client, server) + closing(client, server)


def analysis(tmp_path: Path, scene: list[Packet]) -> Any:
    """The analysis of a capture of these packets."""
    records, now = [], START
    for number, (who, flags, seq, ack, size) in enumerate(scene):
        now += int(who[1:]) * 1000 * MS if who[1:] else 10 * MS
        ends, ports = ((CLIENT, SERVER), (1000, 80)) if who[0] == "C" else ((SERVER, CLIENT), (80, 1000))
        segment = tcp(b"x" * size, seq=seq & 0xFFFFFFFF, ack=ack & 0xFFFFFFFF, flags=flags, ports=ports)
        records.append((now, ipv4(segment, source=ends[0], destination=ends[1], number=number + 1)))
    pcap.write(tmp_path / "scene.pcap", records, 101)
    return analyze(tmp_path / "scene.pcap")


def connections(tmp_path: Path, scene: list[Packet]) -> list[dict[str, Any]]:
    """connections[] of the summary of these packets."""
    return list(analysis(tmp_path, scene).summary()["connections"])


CHALLENGE: list[Packet] = [("S", ACK, OLD + 500, OLD + 700, 0), ("C", RST, OLD + 700, 0, 0)]
"""RFC 5961 4.2: a server that holds the connection before answers a SYN so, and the client resets that one."""

ONE = {
    "a SYN again after a challenge": [
        ("C", SYN, A, 0, 0), *CHALLENGE, ("C1", SYN, A, 0, 0), *opening()[1:], *exchange(),
    ],
    "a SYN again after two challenges": [
        ("C", SYN, A, 0, 0), *CHALLENGE, ("C1", SYN, A, 0, 0), *CHALLENGE, ("C2", SYN, A, 0, 0), *opening()[1:],
        *exchange(),
    ],
    "a SYN again after a refusal": [
        ("C", SYN, A, 0, 0), ("S", RST | ACK, 0, A + 1, 0), ("C1", SYN, A, 0, 0), *opening()[1:], *exchange(),
    ],
    "a SYN again after a reset without ACK": [
        ("C", SYN, A, 0, 0), ("S", RST, 0, 0, 0), ("C1", SYN, A, 0, 0), *opening()[1:], *exchange(),
    ],
    "a SYN+ACK for an old SYN that is reset (RFC 9293 3.5, figure 8)": [
        ("C", SYN, A, 0, 0), ("S", SYN | ACK, B - 10**8, OLD + 1, 0), ("C", RST, OLD + 1, 0, 0), *opening()[1:],
        *exchange(),
    ],
    "SYN cookies: another number at every SYN+ACK": [
        ("C", SYN, A, 0, 0), ("S", SYN | ACK, B - 10**8, A + 1, 0), ("C1", SYN, A, 0, 0), *opening()[1:], *exchange(),
    ],
    "SYN cookies, the first of which the client takes": [
        ("C", SYN, A, 0, 0), ("S", SYN | ACK, B, A + 1, 0), ("S1", SYN | ACK, B + 10**8, A + 1, 0), opening()[2],
        *exchange(),
    ],
    "a second SYN+ACK with another number after the client has taken the first": [
        *opening(), ("S1", SYN | ACK, B + 10**8, A + 1, 0), *exchange(),
    ],
    "a SYN recorded after its answer": [opening()[1], opening()[0], opening()[2], *exchange()],
    "a SYN recorded after the request": [*opening()[1:], exchange()[0], opening()[0], exchange()[1]],
    "a SYN+ACK recorded after the request": [
        opening()[0], opening()[2], exchange()[0], opening()[1], exchange()[1],
    ],
    "the SYN+ACK not captured": [opening()[0], opening()[2], *exchange()],
    "simultaneous open": [
        ("C", SYN, A, 0, 0), ("S", SYN, B, 0, 0), ("C", SYN | ACK, A, B + 1, 0), ("S", SYN | ACK, B, A + 1, 0),
        *exchange(),
    ],
    "numbers that wrap": [
        ("C", SYN, 2**32 - 1, 0, 0), ("S", SYN | ACK, 2**32 - 1, 0, 0), ("C", ACK, 0, 0, 0),
        ("C", PSH | ACK, 0, 0, 100), ("S", ACK, 0, 100, 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_a_handshake_that_repeats_is_one_connection(tmp_path: Path, name: str) -> None:
    """One connection, with the numbers of the handshake that succeeded: 100 octets sent once, all acknowledged."""
    (one,) = connections(tmp_path, ONE[name])
    sent, answered = one["directions"]["client"], one["directions"]["server"]
    assert one["client"] == "10.0.0.1:1000"
    assert one["handshake_seen"] is (name != "the SYN+ACK not captured")
    assert (sent["data_segments"], sent["unique_bytes"], answered["unique_bytes"]) == (1, 100, 0)
    assert (sent["max_outstanding_bytes"], answered["duplicate_acks"]) == (100, 0)
    assert sent["packets"] + answered["packets"] == len(ONE[name])


def test_a_syn_sent_again_after_a_challenge_counts_as_resent(tmp_path: Path) -> None:
    """One SYN was resent, and the reset of the old connection does not close the new one."""
    scene = [("C", SYN, A, 0, 0), *CHALLENGE, ("C3", SYN, A, 0, 0), *opening()[1:], *exchange()]
    found = analysis(tmp_path, scene)
    (one,) = found.summary()["connections"]
    assert (one["directions"]["client"]["retransmitted_segments"], one["closed"]) == (1, "open")
    segments = found.tables["segments"]
    stale = segments[segments["marks"] & MARKS["stale"] > 0]
    assert stale["record"].tolist() == [2, 3]
    assert stale["seq"].tolist() == stale["ack"].tolist() == [-1, -1]


TWO = {
    "port reuse after FINs": ([*whole(), *whole(A + 10**6, B + 10**6)], [8, 8]),
    "port reuse without a FIN captured, numbers a little higher": (
        [*opening(), *exchange(), *whole(A + 64_000)], [5, 8],
    ),
    "port reuse with lower numbers": ([*whole(OLD), *whole(A)], [8, 8]),
    "a SYN with another number after a refusal": (
        [("C", SYN, A, 0, 0), ("S", RST | ACK, 0, A + 1, 0), *whole(A + 10**6)], [2, 8],
    ),
    "a SYN with another number, the first unanswered": ([("C", SYN, A, 0, 0), *whole(A + 10**6)], [1, 8]),
    "a late answer to the first of two SYNs (RFC 9293 3.5, figure 8)": (
        [("C", SYN, OLD, 0, 0), ("C", SYN, A, 0, 0), ("S", SYN | ACK, B - 10**8, OLD + 1, 0), *whole()[1:]], [2, 8],
    ),
    "a challenge of the connection before, and its reset": (
        [
            *opening(OLD), *exchange(OLD), ("C", SYN, A, 0, 0), ("S", ACK, B + 1, OLD + 101, 0),
            ("C", RST, OLD + 101, 0, 0), ("C1", SYN, A, 0, 0), *whole()[1:],
        ],
        [7, 9],
    ),
    "a forged SYN within a connection that goes on": (
        [
            *opening(), ("C", SYN, OLD, 0, 0), ("S", ACK, B + 1, A + 1, 0), *exchange(),
            ("C", ACK | PSH, A + 101, B + 1, 50), ("S", ACK, B + 1, A + 151, 0), *closing(size=150),
        ],
        [11, 1],
    ),
    "the same transfer played again": ([*whole(), ("C5", *whole()[0][1:]), *whole()[1:]], [8, 8]),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO)
def test_a_syn_with_another_number_is_another_connection(tmp_path: Path, name: str) -> None:
    """Two connections, each with the packets whose numbers are its own; none of their data is lost or counted twice."""
    scene, packets = TWO[name]
    found = connections(tmp_path, scene)
    ends = [one["directions"] for one in found]
    assert [one["client"]["packets"] + (one["server"]["packets"] or 0) for one in ends] == packets
    sizes = sum(size for _, _, _, _, size in scene)
    assert sum(one["client"]["unique_bytes"] for one in ends) == sizes
    assert not any(one["server"]["duplicate_acks"] for one in ends)


def fast_open(accepted: int) -> list[Packet]:
    """A SYN with 100 octets, of which the SYN+ACK acknowledges some, and the client sends the others again."""
    resent = [("C", PSH | ACK, A + 1 + accepted, B + 1, 100 - accepted)] if accepted < 100 else [opening()[2]]
    return [("C", SYN, A, 0, 100), ("S", SYN | ACK, B, A + 1 + accepted, 0), *resent, ("S", ACK, B + 1, A + 101, 0)]


@pytest.mark.parametrize("accepted", [0, 40, 100])
def test_data_in_a_syn_is_counted_at_its_numbers(tmp_path: Path, accepted: int) -> None:
    """TCP Fast Open: the octets are number 1 to 100; what the SYN+ACK does not acknowledge is sent again."""
    found = analysis(tmp_path, fast_open(accepted))
    (one,) = found.summary()["connections"]
    sent = one["directions"]["client"]
    assert one["handshake_seen"]
    assert (sent["data_bytes"], sent["unique_bytes"]) == (200 - accepted, 100)
    assert (sent["retransmitted_bytes"], sent["max_outstanding_bytes"]) == (100 - accepted, 100)
    assert sum(sent["retransmissions"].values()) == (accepted < 100)
    assert found.tables["segments"]["seq"].tolist()[0] == 1


def test_several_answers_to_a_syn_that_was_not_captured_are_one_connection(tmp_path: Path) -> None:
    """The data follow the last of three SYN+ACKs, whose numbers it continues."""
    answers = [("S", SYN | ACK, B + far, A + 1, 0) for far in (0, 10**8, -(10**8))]
    data = [("C", PSH | ACK, A + 1, B - 10**8 + 1, 100), ("S", PSH | ACK, B - 10**8 + 1, A + 101, 200)]
    (one,) = connections(tmp_path, [*answers, *data])
    server = one["directions"]["server"]
    assert (server["unique_bytes"], server["max_outstanding_bytes"], server["out_of_order_segments"]) == (200, 200, 0)


@pytest.mark.parametrize("who", ["C", "S"])
def test_what_needs_the_direction_that_was_not_captured_is_null(tmp_path: Path, who: str) -> None:
    """One direction of a connection tells what it sent; of the other, and of round trips, nothing is known."""
    (one,) = connections(tmp_path, [packet for packet in whole() if packet[0][0] == who])
    seen, unseen = (one["directions"][end] for end in (("client", "server") if who == "C" else ("server", "client")))
    assert seen["packets"] == sum(packet[0][0] == who for packet in whole())
    assert {seen[name] for name in ("duplicate_acks", "window_probes", "max_outstanding_bytes", "goodput_bps")} == {
        None
    }
    assert set(seen["rtt_ms"].values()) == {None}
    assert {unseen[name] for name in ("packets", "unique_bytes", "retransmitted_segments", "throughput_bps")} == {None}


REQUEST = [*opening(), *exchange()]
REPLY: list[Packet] = [("S", PSH | ACK, B + 1, A + 101, 50), ("C", ACK, A + 101, B + 51, 0)]

LIVES = {
    "a SYN again after a refusal": ONE["a SYN again after a refusal"],
    "a SYN again after a reset without ACK (RFC 9293 3.10.7.3)": ONE["a SYN again after a reset without ACK"],
    "a forged reset within the window, challenged (RFC 5961 3.2)": [
        *REQUEST, ("S", RST, B + 40, 0, 0), ("C", ACK, A + 101, B + 1, 0), *REPLY,
        ("S", PSH | ACK, B + 51, A + 101, 50),
    ],
    "a forged reset of the end that only acknowledges": [
        *REQUEST, ("S", RST, B + 9, 0, 0), ("C", PSH | ACK, A + 101, B + 1, 100), ("S", ACK, B + 1, A + 201, 0),
    ],
}  # fmt: skip
DIES = {
    "a reset": [*REQUEST, ("S", RST | ACK, B + 1, A + 101, 0)],
    "a reset that what was on its way crosses": [
        *REQUEST, ("S", RST | ACK, B + 1, A + 101, 0), ("C", PSH | ACK, A + 101, B + 1, 100), ("S", RST, B + 1, 0, 0),
    ],
    "a reset that overtook what its end had sent before": [
        *REQUEST, ("S", RST | ACK, B + 51, A + 101, 0), ("S", PSH | ACK, B + 1, A + 101, 50),
    ],
    "a refusal of the SYN and of the SYN sent again": [
        ("C", SYN, A, 0, 0), ("S", RST | ACK, 0, A + 1, 0), ("C1", SYN, A, 0, 0), ("S", RST | ACK, 0, A + 1, 0),
    ],
    "a challenge that the real end answers (RFC 5961 3.2)": [
        *REQUEST, ("S", RST, B + 40, 0, 0), ("C", ACK, A + 101, B + 1, 0), ("S", RST, B + 1, 0, 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "closed"), [(name, "open") for name in LIVES] + [(name, "reset") for name in DIES])
def test_a_reset_closes_what_its_end_does_not_go_on_with(tmp_path: Path, name: str, closed: str) -> None:
    """An end that resets a connection has none any more: later octets of it tell that the reset was not taken."""
    (one,) = connections(tmp_path, {**LIVES, **DIES}[name])
    assert one["closed"] == closed


def test_fast_open_without_an_answer_falls_back_to_a_plain_syn(tmp_path: Path) -> None:
    """RFC 7413 4.2.2: the SYN is sent again without its data, which follow after the handshake, at their numbers."""
    scene = [("C", SYN, A, 0, 100), ("C1", SYN, A, 0, 0), *opening()[1:], *exchange()]
    (one,) = connections(tmp_path, scene)
    sent = one["directions"]["client"]
    assert (sent["data_segments"], sent["unique_bytes"], sent["retransmitted_bytes"]) == (2, 100, 101)
    assert (sent["retransmitted_segments"], one["handshake_seen"]) == (2, True)


def test_a_server_may_send_data_before_the_handshake_ends(tmp_path: Path) -> None:
    """RFC 7413 3: the answer to the data in a SYN may follow its SYN+ACK at once."""
    scene = [("C", SYN, A, 0, 100), ("S", SYN | ACK, B, A + 101, 0), ("S", PSH | ACK, B + 1, A + 101, 200),
             ("C", ACK, A + 101, B + 201, 0)]  # fmt: skip
    (one,) = connections(tmp_path, scene)
    sent, answered = one["directions"]["client"], one["directions"]["server"]
    assert (sent["unique_bytes"], answered["unique_bytes"], one["handshake_seen"]) == (100, 200, True)
    assert (sent["retransmitted_segments"], answered["retransmitted_segments"]) == (0, 0)


@pytest.mark.parametrize("wait", ["C", "C1"])
def test_what_made_one_direction_resend_is_null(tmp_path: Path, wait: str) -> None:
    """No timer and no acknowledgement is known, so no finding; neither is how the connection ended."""
    data = exchange()[0]
    found = analysis(tmp_path, [opening()[0], opening()[2], data, (wait, *data[1:]), *closing()[::2]])
    document = found.summary()
    (one,) = document["connections"]
    sent = one["directions"]["client"]
    assert sent["retransmissions"] == {"timeout": None, "fast": None, "recovery": None, "probe": None, "unknown": 1}
    assert sent["spurious"] == {"yes": None, "no": None, "unknown": 1}
    assert (one["closed"], sent["limits"], document["findings"]) == (None, None, [])
    assert document["story"].startswith("TCP sent 1 of 2 data segments again: whether they were needed is not known.")


def test_one_direction_that_resent_nothing_says_so(tmp_path: Path) -> None:
    """That is seen without the other one."""
    (one,) = connections(tmp_path, [packet for packet in whole() if packet[0][0] == "C"])
    assert set(one["directions"]["client"]["spurious"].values()) == {0}

"""Resends seen by the ports of a tap, each of which was recorded in a file of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from packets import ACK
from seen_packets import SEGMENT, Seen, transfer, write

from multitracer import analyze
from multitracer.tcp import port_clocks
from multitracer.tcp.connection_rows import Groups


def needless(ack_ms: float) -> list[Seen]:
    """A transfer whose last segment is sent again a second later, `ack_ms` after it was acknowledged."""
    made = transfer(stamps=False, lost=())[:-3]
    last = max((packet for packet in made if packet.size), key=lambda packet: packet.seq)
    answer = next(packet for packet in made if packet.way and packet.ack == last.seq + SEGMENT)
    others = [packet for packet in made if packet is not answer]
    resend = replace(last, at_us=last.at_us + 1_000_000, ip_id=last.ip_id + 50)
    return sorted([*others, resend, replace(answer, at_us=resend.at_us - round(ack_ms * 1000))],
                  key=lambda packet: packet.at_us)  # fmt: skip


@pytest.mark.parametrize(("ack_ms", "verdict"), [(4, "unknown"), (-4, "unknown"), (200, "yes")])
def test_an_acknowledgement_that_another_port_recorded_near_the_resend_proves_nothing(
    tmp_path: Path, ack_ms: float, verdict: str
) -> None:
    """The ports' clocks may be 10 ms apart, which is said; farther away, the acknowledgement came before."""
    scene = needless(ack_ms)
    ways = [[packet for packet in scene if packet.way == way] for way in (0, 1)]
    found = analyze([write(tmp_path / f"{way}.pcapng", packets) for way, packets in enumerate(ways)])
    assert found.tables["retransmissions"]["spurious"].tolist() == [verdict]
    notes = [note for one in found.summary()["inputs"] for note in one["notes"]]
    assert sum("within 10 ms of one another" in note for note in notes) == 2
    assert all(one["verdict"] != "confirmed" for one in found.summary()["findings"] if ack_ms < 10)


def analyzed_as_ports(tmp_path: Path, scene: list[Seen]) -> Any:
    """The retransmissions of a scene of which each way was recorded in a file of its own."""
    ways = [[packet for packet in scene if packet.way == way] for way in (0, 1)]
    return analyze([write(tmp_path / f"{way}.pcapng", packets) for way, packets in enumerate(ways)])


@pytest.mark.parametrize("ack_ms", [4, -4])
def test_a_duplicate_that_the_receiver_reports_needs_no_clock(tmp_path: Path, ack_ms: float) -> None:
    """A DSACK says that the resend came after its octets (RFC 2883), whenever it was recorded."""
    scene = needless(ack_ms)
    resend, end = max((packet for packet in scene if packet.size), key=lambda packet: packet.at_us), scene[-1]
    report = Seen(resend.at_us + 8_000, 1, end.seq, end.ack, sack=(resend.seq, resend.seq + SEGMENT))
    if not end.way:
        report = replace(report, seq=end.ack, ack=resend.seq + SEGMENT)
    found = analyzed_as_ports(tmp_path, [*scene, report]).tables["retransmissions"]
    assert found["spurious"].tolist() == ["yes"]
    assert found["because"].iloc[0].endswith("the receiver reported 1 duplicates of 2 copies (DSACK)")


def test_an_echoed_timestamp_needs_no_clock(tmp_path: Path) -> None:
    """An acknowledgement that echoes what the first copy bore answers this one (RFC 3522)."""
    scene = needless(-4)
    resend = max((packet for packet in scene if packet.size), key=lambda packet: packet.at_us)
    first = min((packet for packet in scene if packet.seq == resend.seq and packet.size), key=lambda p: p.at_us)
    stamped = [
        replace(
            packet, tsval=2_000 + packet.at_us // 1000,
            tsecr=2_000 + first.at_us // 1000 if packet.way and packet.ack == resend.seq + SEGMENT else 1,
        )
        for packet in scene
    ]  # fmt: skip
    found = analyzed_as_ports(tmp_path, stamped).tables["retransmissions"]
    assert found["spurious"].tolist() == ["yes"]
    assert found["because"].iloc[0].endswith("echoes the timestamp of an earlier copy (Eifel)")


def test_each_resend_is_compared_with_the_acknowledgements_of_its_own_connection() -> None:
    """Two connections at the ports of one tap, one at a point of one clock: acknowledged 4, 12 and 4 ms away."""
    connection, sent = np.repeat(np.arange(3), 2), np.tile([True, False], 3)
    apart = np.repeat([4_000_000, 12_000_000, 4_000_000], 2)
    segments = pd.DataFrame(
        {
            "connection": connection, "point": np.repeat([0, 0, 1], 2), "sender": np.where(sent, 0, 1),
            "input": np.where(sent, 0, 1), "time_ns": 10**9 * connection + np.where(sent, 0, apart), "seq": 1,
            "ack": np.where(sent, 1, 101), "flags": ACK, "payload_bytes": np.where(sent, 100, 0), "marks": 0,
        }
    )  # fmt: skip
    near = port_clocks.nearest_acks(segments, Groups(segments, 3), np.flatnonzero(sent), [0])
    assert near is not None
    assert near.tolist() == [4_000_000, 0, 0, 0, 0, 0]


def test_one_capture_of_both_ways_tells_all(tmp_path: Path) -> None:
    """It has one clock."""
    found = analyze(write(tmp_path / "both.pcapng", needless(4)))
    assert found.tables["retransmissions"]["spurious"].tolist() == ["yes"]


def test_a_port_with_nothing_but_acknowledgements_belongs_to_the_tap_that_lacks_them(tmp_path: Path) -> None:
    """Beside a capture that holds the same acknowledgements it is another point, not a port of it."""
    scene = transfer(stamps=False)
    bare = [packet for packet in scene if packet.way and packet.flags == ACK and not packet.size]
    far = write(tmp_path / "far.pcapng", [replace(packet, at_us=packet.at_us - 6_000, ttl=60) for packet in bare])
    both = analyze([write(tmp_path / "near.pcapng", scene), far])
    assert not any("ports of a tap" in note for one in both.summary()["inputs"] for note in one["notes"])
    data = write(tmp_path / "data.pcapng", [packet for packet in scene if packet not in bare])
    tap = analyze([data, write(tmp_path / "acks.pcapng", bare)])
    assert all("ports of a tap" in one["notes"][0] for one in tap.summary()["inputs"])

"""Resends seen by the ports of a tap, each of which was recorded in a file of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packets import ACK
from seen_packets import SEGMENT, Seen, transfer, write

from multitracer import analyze


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

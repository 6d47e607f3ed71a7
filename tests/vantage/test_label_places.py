"""Places that one interface saw: both sides of a node of a mobile network are two, however many subscribers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from envelopes import gtpu, udp
from packets import ethernet
from seen_packets import Seen, in_time, transfer, write

import multitracer

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Tunnelled(Seen):
    """A packet in a subscriber's tunnel."""

    teid: int = 0

    def frame(self) -> bytes:
        """The frame of the tunnel's outer packet."""
        return ethernet(udp(2152, gtpu(super().frame()[14:], teid=self.teid), source=2152))


def both_sides(subscriber: int) -> list[Seen]:
    """A subscriber's transfer on one side of a node and 200 us later on the other, a tunnel for each way and side."""
    seen = []
    for packet in transfer(isn=(subscriber << 20, subscriber << 21), first_ids=(500 * subscriber, 700 * subscriber)):
        for side in (0, 1):
            teid = 1 + 4 * subscriber + 2 * side + packet.way
            fields = vars(packet) | {"ports": (1000 + subscriber, 80), "at_us": packet.at_us + 200 * side + subscriber}
            seen.append(Tunnelled(**fields, teid=teid))
    return seen


def test_any_number_of_subscribers_has_two_places(tmp_path: Path) -> None:
    """Tunnels name subscribers, not places: three connections, each packet of which was seen at both of two points."""
    path = write(tmp_path / "node.pcapng", in_time(*(both_sides(subscriber) for subscriber in (1, 2, 3))))
    analysis = multitracer.analyze(path)
    assert len(analysis.summary()["connections"]) == 3
    assert analysis.tables["segments"]["point"].nunique() == 2
    for one in analysis.summary()["connections"]:
        assert one["directions"]["client"]["retransmitted_segments"] == 2

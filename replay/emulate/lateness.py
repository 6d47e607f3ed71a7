"""How late a link in real time was: with its slots, and in handing over the packets that it delivered."""

from __future__ import annotations

import csv
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.recorder.packet_capture import SNAPLEN
from multitracer.replay.emulate.kernel import WAYS
from multitracer.replay.emulate.link import SERIALISED_STEP_NS, RealTimeLink
from multitracer.replay.record.link_logs import SIDES
from multitracer.replay.simulate.scenario import Scenario

QUANTILE = 0.99
NO_SLOT_NS = SERIALISED_STEP_NS, 20_000_000
"""Frames that are longer than GSM's are no reason to be late by more."""
FINE_NS = 1_000_000
"""What a packet may be late by, however short frames are: no timer of TCP is as fine. The model takes a third of it."""


def frame_ns(scenario: Scenario, link: RealTimeLink) -> int:
    """How long a frame takes: a slot, or without slots a full frame in the faster direction, within NO_SLOT_NS."""
    bits = (8 * scenario.whole("link.frame_bytes", way) for way in WAYS)
    return min(
        radio.slot_ns or int(np.clip(1_000_000_000 * size // radio.rate_bps, *NO_SLOT_NS))
        for radio, size in zip(link.radio, bits, strict=True)
    )


def lateness(link: RealTimeLink, frame_ns: int, most_percent: float) -> dict[str, Any]:
    """The parts of truth.json that say it, in percent of a frame's time, and whether the run is to be trusted.

    It is where of 100 slots 99 were done no later than `most_percent`, and of 100 packets 99 handed over no later than
    that or FINE_NS. A packet is not late by the time in which hosts took in those that came at once with it.
    """
    came = [one for one in link.packets if one.delivered_ns is not None]
    handed = [one.late_ns for one in came if one.handed_ns is not None]
    slots, packets = _percent(link.slots.whole()["late_ns"], frame_ns), _percent(handed, frame_ns)
    most_of_packets = max(most_percent, 100 * FINE_NS / frame_ns)
    return {
        "lateness_p99_percent": slots[0], "lateness_max_percent": slots[1],
        "delivery_lateness_p99_percent": packets[0], "delivery_lateness_max_percent": packets[1],
        "not_handed_over": len(came) - len(handed),
        "trusted": slots[0] <= most_percent and packets[0] <= most_of_packets,
    }  # fmt: skip


def _percent(late_ns: Any, frame_ns: int) -> tuple[float, float]:
    """The QUANTILE and the largest."""
    percent = 100 * np.array(late_ns if len(late_ns) else [0]) / frame_ns
    return float(np.quantile(percent, QUANTILE)), float(percent.max())


def write_slots(path: Path, link: RealTimeLink) -> None:
    """Every slot: when it was due, and by how much later it was done, in which batch."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("time_s", "direction", "slot", "late_us", "batch"))
        rows.writerows(
            (_seconds(due_ns), "both", due_ns // link.step_ns, f"{late_ns / 1e3:.1f}", batch)
            for due_ns, late_ns, batch in link.slots.whole().tolist()
        )


def write_packets(path: Path, link: RealTimeLink) -> None:
    """Every packet that the link was given, what became of it, and a hash of what captures keep of it."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("side", "octets", "offered_s", "delivered_s", "lost_s", "late_us", "handed_over_s", "hash"))
        rows.writerows(
            (SIDES[one.side], len(one.octets), *map(_seconds, (one.given_ns, one.delivered_ns, one.lost_ns)),
             "" if one.handed_ns is None else f"{one.late_ns / 1e3:.1f}", _seconds(one.handed_ns),
             packet_hash(one.octets))
            for one in link.packets
        )  # fmt: skip


def packet_hash(octets: bytes) -> str:
    """Of a packet of IP, or of what a capture kept of it."""
    return blake2b(octets[:SNAPLEN], digest_size=8).hexdigest()


def _seconds(time_ns: int | None) -> str:
    return "" if time_ns is None else f"{time_ns / 1e9:.6f}"

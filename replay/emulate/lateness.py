"""How late a link in real time was: with its slots, and in handing over the packets that it delivered."""

from __future__ import annotations

import csv
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.recorder.packet_capture import SNAPLEN
from multitracer.replay.emulate.link import Packet, RealTimeLink
from multitracer.replay.record.link_logs import SIDES

QUANTILE = 0.99
HAND_OVER_NS = 1_000_000
"""A burst of packets takes up to so long: its host's TCP takes in one after the other. No timer of TCP is as fine."""


def lateness(link: RealTimeLink, most_percent: float) -> dict[str, Any]:
    """The parts of truth.json that say it, in percent of a slot, and whether the run is to be trusted.

    It is where of 100 slots 99 were done no later than `most_percent`, and of 100 packets 99 were handed over no later
    than that or HAND_OVER_NS.
    """
    came = [one for one in link.packets if one.delivered_ns is not None]
    slots = _told("lateness", link.slots.whole()["late_ns"], link.step_ns)
    handed = [late for one in came if (late := _late_ns(one)) is not None]
    packets = _told("delivery_lateness", handed, link.step_ns)
    most_of_packets = max(most_percent, 100 * HAND_OVER_NS / link.step_ns)
    return {
        **slots, **packets, "not_handed_over": sum(one.handed_ns is None for one in came),
        "trusted": slots["lateness_p99_percent"] <= most_percent
        and packets["delivery_lateness_p99_percent"] <= most_of_packets,
    }  # fmt: skip


def _told(name: str, late_ns: Any, slot_ns: int) -> dict[str, float]:
    percent = 100 * np.array(late_ns if len(late_ns) else [0]) / slot_ns
    return {
        f"{name}_p99_percent": float(np.quantile(percent, QUANTILE)), f"{name}_max_percent": float(percent.max()),
    }  # fmt: skip


def _late_ns(packet: Packet) -> int | None:
    """By how much later than the link delivered a packet its host was given it; None if it never was."""
    if packet.handed_ns is None or packet.delivered_ns is None:
        return None
    return packet.handed_ns - packet.delivered_ns


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
        rows.writerow(("side", "octets", "offered_s", "delivered_s", "lost_s", "late_us", "hash"))
        for one in link.packets:
            late = _late_ns(one)
            rows.writerow((
                SIDES[one.side], len(one.octets), *map(_seconds, (one.given_ns, one.delivered_ns, one.lost_ns)),
                "" if late is None else f"{late / 1e3:.1f}", packet_hash(one.octets),
            ))  # fmt: skip


def packet_hash(octets: bytes) -> str:
    """Of a packet of IP, or of what a capture kept of it."""
    return blake2b(octets[:SNAPLEN], digest_size=8).hexdigest()


def _seconds(time_ns: int | None) -> str:
    return "" if time_ns is None else f"{time_ns / 1e9:.6f}"

"""How late a link was, and when its run is to be trusted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.replay.emulate.lateness import frame_ns, lateness
from multitracer.replay.emulate.link import SLOT, Packet
from multitracer.replay.record.kept_log import Growing
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

MS = 1_000_000


def link(slots_late_ms: list[float], packets_late_ms: list[float | None]) -> Any:
    """A link whose slots and packets were so late; None: the host had no room for the packet."""
    slots = Growing(SLOT)
    slots.append([(number, round(late * MS), number) for number, late in enumerate(slots_late_ms)])
    packets = [
        Packet(0, b"", 0, b"", delivered_ns=50 * MS, handed_ns=None if late is None else 60 * MS,
               late_ns=round((late or 0) * MS))
        for late in packets_late_ms
    ]  # fmt: skip
    return SimpleNamespace(slots=slots, packets=packets)


def test_lateness_is_in_percent_of_a_slot() -> None:
    """Of slots and of packets; what no host was given is counted."""
    told = lateness(link([0.0] * 99 + [10.0], [1.0, 1.0, None, 4.0]), 20 * MS, 10)
    assert told["lateness_p99_percent"] == pytest.approx(100 / 20 * np.quantile([0.0] * 99 + [10.0], 0.99))
    assert told["lateness_max_percent"] == 50
    assert told["delivery_lateness_max_percent"] == 20
    assert told["not_handed_over"] == 1


@pytest.mark.parametrize(
    ("keys", "frame_ms"),
    [
        ({"link.tti_s": 0.002}, 2), ({"link.tti_s": 0.04}, 40), ({"link.rate_bps": 384_000}, 12.5),
        ({"link.rate_bps": 9_600}, 20), ({"link.rate_bps": 100_000_000}, 1), ({"link.rate_bps": 10**13}, 1),
    ],
)  # fmt: skip
def test_without_slots_a_frames_time_is_the_scale(keys: dict[str, float], frame_ms: float) -> None:
    """Of 600 octets; neither below the millisecond in which such a link is looked after, nor above GSM's."""
    said = {"link.protocol": "raw", "link.frame_bytes": 600, "link.tti_s": "none", "workload.kind": "none"} | keys
    scenario = resolve("test", dict(parsed(name, value) for name, value in said.items()))
    made: Any = SimpleNamespace(radio=setting(scenario, 1).radio)
    assert frame_ns(scenario, made) == frame_ms * MS


@pytest.mark.parametrize(
    ("slot_ms", "slot_late_ms", "packet_late_ms", "trusted"),
    [
        (20, 2.0, 2.0, True), (20, 2.1, 0.0, False), (20, 0.0, 2.1, False),
        (2, 0.2, 0.9, True), (2, 0.3, 0.0, False), (2, 0.0, 1.1, False),
    ],
)  # fmt: skip
def test_a_run_is_trusted_that_is_late_by_a_tenth_of_a_slot(
    slot_ms: int, slot_late_ms: float, packet_late_ms: float, trusted: bool
) -> None:
    """Packets by a millisecond, however short slots are."""
    assert lateness(link([slot_late_ms] * 50, [packet_late_ms] * 50), slot_ms * MS, 10)["trusted"] == trusted


def test_a_link_that_did_nothing_was_not_late() -> None:
    """Without slots and packets."""
    told = lateness(link([], []), 20 * MS, 10)
    assert (told["lateness_p99_percent"], told["delivery_lateness_p99_percent"], told["trusted"]) == (0, 0, True)

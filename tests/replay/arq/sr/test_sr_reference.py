"""SR and ASR against a plain description of them, event by event, for every choice, on random losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sr_reference import Air, Event, Reference

from multitracer.compute import kernels
from multitracer.replay.arq import notes
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.frames import KINDS
from multitracer.replay.arq.sr.parameters import MS, SrParameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR

RATE_BPS, DELAY_NS, UNTIL_NS = 64_000, 50 * MS, 60_000 * MS
BASE = {"timeout_ms": 700, "ack_delay_ms": 100}
QUICK = {"initial_srtt_ms": 300, "ack_delay_ms": 100}
CHOICES: dict[str, Any] = {
    "defaults": SrParameters(),
    "a small window": SrParameters(**BASE, window=4),
    "one outstanding NACK": SrParameters(**BASE, nack="one-outstanding"),
    "one NACK a frame": SrParameters(**BASE, nack="one-per-frame"),
    "NACK again after a round trip": SrParameters(**BASE, renack="rtt"),
    "NACK again at every frame": SrParameters(**BASE, renack="every"),
    "no NACK again": SrParameters(**BASE, renack="none"),
    "timers from the end of sending": SrParameters(**BASE, timer_starts="sent"),
    "ACKs at the end of their delay": SrParameters(**BASE, piggyback="late"),
    "one retransmission": SrParameters(**BASE, max_retransmissions=1),
    "no retransmission": SrParameters(**BASE, max_retransmissions=0, renack="every", timer_starts="sent"),
    "ASR": AsrParameters(),
    "ASR 1+4": AsrParameters(**QUICK, alpha=1, beta=4),
    "ASR with weights that are not whole": AsrParameters(**QUICK, alpha=1.5, beta=2.5),
    "ASR by the new srtt": AsrParameters(**QUICK, var_uses_new_srtt=True),
    "ASR by Karn's rule": AsrParameters(**QUICK, karn=True),
    "ASR with a least timeout": AsrParameters(**QUICK, alpha=1, beta=0, min_timeout_ms=450),
    "ASR with a largest timeout": AsrParameters(**QUICK, alpha=4, beta=0, max_timeout_ms=900),
    "ASR from the end of sending": AsrParameters(**QUICK, timer_starts="sent", max_retransmissions=2),
    "ASR without ticks": AsrParameters(**QUICK, alpha=1, beta=4, arithmetic="float"),
    "ASR without ticks, by the new srtt": AsrParameters(**QUICK, arithmetic="float", var_uses_new_srtt=True),
}
LINKS = {
    "eager": {"eager": True, "queue_frames": 50, "control_first": False},
    "eager with a short queue": {"eager": True, "queue_frames": 3, "control_first": False},
    "control first": {"eager": True, "queue_frames": 50, "control_first": True},
    "lazy": {"eager": False, "queue_frames": 50, "control_first": False},
}
EVENTS = {
    notes.SENT: "SENT", notes.RECEIVED: "RECEIVED", notes.ERASED: "ERASED", notes.DELIVERED: "DELIVERED",
    notes.LOST: "LOST", notes.DROPPED: "DROPPED",
}  # fmt: skip


def luck(seed: int) -> tuple[list[tuple[int, int, int]], tuple[frozenset[int], frozenset[int]]]:
    """SDUs offered to both sides, in bursts, and the frames that each direction loses."""
    random = np.random.default_rng(seed)
    bursts = np.sort(random.integers(0, 20_000, 12)) * MS
    offers = [
        (int(at), side, int(size))
        for k, at in enumerate(bursts)
        for side in ((0,), (0, 1))[k % 2]
        for size in random.integers(20, 250, 1 + k % 9)
    ]
    forth, back = (frozenset(np.flatnonzero(random.random(2000) < rate).tolist()) for rate in (0.2, 0.15))
    return offers, (forth, back)


def expected(parameters: Any, link: dict[str, Any], seed: int, *, shared: bool = False) -> list[Event]:
    """What the description makes of it."""
    offers, lost = luck(seed)
    eager, limit, first = link["eager"], link["queue_frames"], link["control_first"]
    airs = tuple(Air(RATE_BPS, DELAY_NS, each, eager, limit, first) for each in lost)
    made = Reference(parameters, (airs[0], airs[1]), offers)
    return (made.share_estimator() if shared else made).run(UNTIL_NS)


def found(parameters: Any, link: dict[str, Any], seed: int, *, shared: bool = False) -> list[Event]:
    """What the protocol does under the engine."""
    offers, lost = luck(seed)
    ways = [
        Direction(DELAY_NS, rate_bps=RATE_BPS, channel=Erased(np.isin(np.arange(2000), sorted(each))), **link)
        for each in lost
    ]
    engine = Engine(SR, (parameters, parameters), ways[0], ways[1], source(offers), Keep(log=50_000, ledger=512))
    if shared:
        engine.link = engine.link._replace(b=engine.link.b._replace(estimate=engine.link.a.estimate))
    log = engine.run(UNTIL_NS).log
    return [_event(row, frame) for row, frame in zip(log.rows, log.frames, strict=True) if row.event in EVENTS]


def _event(row: Any, frame: Any) -> Event:
    what = EVENTS[int(row.event)]
    begun = int(row.time_ns), int(row.side), what
    if what in ("SENT", "RECEIVED", "ERASED"):
        return (*begun, KINDS[frame.kind], int(frame.ns), bool(frame.has_nr), int(frame.nr), int(frame.id),
                int(row.octets))  # fmt: skip
    return (*begun, int(row.octets)) if what == "DROPPED" else (*begun, int(row.number), int(row.octets))


def compare(one: list[Event], other: list[Event], within_ns: int = 0) -> None:
    """The same events, at the same times to so many ns."""
    assert [event[1:] for event in one] == [event[1:] for event in other]
    times = np.array([event[0] for event in one]) - np.array([event[0] for event in other])
    assert np.abs(times).max() <= within_ns


def tolerance(parameters: Any) -> int:
    """Nanoseconds by which times may differ: whole ones are cut where floating point goes on."""
    return 1000 if getattr(parameters, "arithmetic", "integer") == "float" else 0


@pytest.mark.parametrize(("number", "choice"), list(enumerate(CHOICES)))
def test_every_choice_does_what_its_description_says(number: int, choice: str) -> None:
    """Each frame sent, lost and received, each SDU delivered or given up, at its time."""
    kernels.choose(0)
    link = LINKS[sorted(LINKS)[number % len(LINKS)]]
    wanted = expected(CHOICES[choice], link, number)
    assert {"SENT", "ERASED", "DELIVERED"} <= {event[2] for event in wanted}
    compare(found(CHOICES[choice], link, number), wanted, tolerance(CHOICES[choice]))


@pytest.mark.parametrize("arithmetic", ["integer", "float"])
def test_one_estimator_learns_from_both_directions(arithmetic: str) -> None:
    """Shared, it makes other timeouts than an estimator for each direction does."""
    kernels.choose(0)
    parameters = AsrParameters(**QUICK, arithmetic=arithmetic)
    wanted = expected(parameters, LINKS["eager"], 2, shared=True)
    compare(found(parameters, LINKS["eager"], 2, shared=True), wanted, tolerance(parameters))
    assert wanted != expected(parameters, LINKS["eager"], 2)


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_every_choice_does_what_its_description_says() -> None:
    """Over every link, on other losses, ASR also with one estimator for both directions."""
    kernels.choose(10**6)
    for number, (name, parameters) in enumerate(CHOICES.items()):
        for seed in range(3 + 4 * number, 7 + 4 * number):
            link = LINKS[sorted(LINKS)[seed % len(LINKS)]]
            shared = name.startswith("ASR") and seed % 2 > 0
            wanted = expected(parameters, link, seed, shared=shared)
            compare(found(parameters, link, seed, shared=shared), wanted, tolerance(parameters))

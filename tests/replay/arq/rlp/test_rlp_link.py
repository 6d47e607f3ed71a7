"""The driver: rates, conservation of the stream over any erasures, resumption, and equal logs compiled and plain."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_modes import MODES
from repository import ROOT
from rlp_story import END, EVENT, HEADER, POSITION, SIDE, SLOT_NS, START, A, B, Run, link

from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import RECEIVED, SENT
from multitracer.replay.arq.rlp import state
from multitracer.replay.arq.rlp.entity import Parameters, frame_of, header_of, octets_of
from multitracer.replay.arq.rlp.state import RESET
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.engine.source import source
from multitracer.wire import rlp

FULL = 24
patterns = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=120)


def over(lost: list[tuple[bool, bool]], clear: int) -> dict[str, tuple[int, ...]]:
    """What is lost of both sides, for `link`; the air is clear after that."""
    return {
        "slots": len(lost) + clear,
        "lost_a": tuple(slot for slot, (one, _) in enumerate(lost) if one),
        "lost_b": tuple(slot for slot, (_, one) in enumerate(lost) if one),
    }


def joined(stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches that touch or overlap made one."""
    out: list[tuple[int, int]] = []
    for start, end in stretches:
        if out and start <= out[-1][1]:
            start = min(start, out.pop()[0])
        out.append((start, end))
    return out


@pytest.mark.parametrize(("blocks", "rate"), [(1, 1200.0), (2, 1350.0), (50, 1494.0)])
def test_a_link_without_losses_is_fully_used(blocks: int, rate: float) -> None:
    """From first to last delivery: 24 octets of 30 in 20 ms are 1200 bytes/s; larger frames lose less."""
    parameters = Parameters(frame_bytes=30 * blocks, t1_ns=480_000_000 + 80_000_000 * (blocks - 1))
    nothing = np.zeros(400)
    run = Run((parameters, parameters), blocks * SLOT_NS, 180_000_000 + blocks * SLOT_NS, (nothing, nothing)).carry()
    found = run.summary(B)
    seconds = (found["last_delivery"] - found["first_delivery"]) / 1e9
    assert (found["delivered"] - parameters.room) / seconds == pytest.approx(rate, rel=1e-12)
    assert run.summary(A)["retransmissions"] == 0


def test_if_all_frames_are_lost_nothing_is_delivered() -> None:
    """All erased: throughput 0, the link fails, and the run ends."""
    run = link(600, a=None, lost_a=tuple(range(600)), lost_b=tuple(range(600))).carry()
    assert run.summary(B)["delivered"] == 0
    assert [run.summary(side)["state"] for side in (A, B)] == [state.FAILED, state.ABM]


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(patterns, st.integers(1, 31), st.booleans(), st.booleans(), st.integers(0, 900), st.integers(0, 400))
def test_nothing_is_lost_without_a_reset(
    lost: list[tuple[bool, bool]], window: int, reject: bool, every: bool, there: int, back: int
) -> None:
    """Everything offered is delivered once and in order in both directions."""
    clear = 200 + 12 * (there + back) // FULL // min(window, 6)
    run = link(
        **over(lost, clear), a=((0, there),), b=((2, back),), window=window, reject=reject, t1_every_nr=every, n2=1000
    ).carry()
    for side, octets in ((B, there), (A, back)):
        found = run.summary(side)
        assert (found["delivered"], found["skipped"], found["misdelivered"]) == (octets, 0, 0)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(patterns, st.integers(1, 31), st.integers(0, 3), st.booleans(), st.booleans())
def test_only_what_resets_flushed_is_missing(
    lost: list[tuple[bool, bool]], window: int, n2: int, queue: bool, saturated: bool
) -> None:
    """Every stretch skipped was flushed by its sender; nothing comes twice or out of order."""
    offers = None if saturated else tuple((slot, 50) for slot in range(0, 100, 3))
    run = link(**over(lost, 150), a=offers, b=offers, window=window, n2=n2, flush_queue=queue, persistent=True).carry()
    for receiver, sender in ((B, A), (A, B)):
        found = run.summary(receiver)
        assert found["misdelivered"] == 0
        stretches = run.deliveries[run.deliveries[:, SIDE] == receiver][:, [START, END]].tolist()
        gaps = [(end, start) for (_, end), (start, _) in pairwise([[0, 0], *stretches]) if start != end]
        assert sum(end - start for start, end in stretches) == found["delivered"]
        assert sum(end - start for start, end in gaps) == found["skipped"]
        lost = run.flushed(sender)
        assert all(any(start <= gap[0] and gap[1] <= end for start, end in joined(lost)) for gap in gaps)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(patterns, st.sampled_from([40, 61]), st.booleans(), st.sampled_from([2, 6]))
def test_what_is_taken_for_another_frame_is_never_counted_as_delivered(
    lost: list[tuple[bool, bool]], window: int, piggyback: bool, t1_slots: int
) -> None:
    """Beyond a window of 31, and with T1 below the round trip, numbers are ambiguous: only what is new counts."""
    run = link(
        **over(lost, 150), a=None, b=None, window=window, piggyback_srej=piggyback, n2=1000, t1_ns=t1_slots * SLOT_NS
    ).carry()
    for receiver in (A, B):
        found = run.summary(receiver)
        stretches = run.deliveries[run.deliveries[:, SIDE] == receiver][:, [START, END]]
        assert (stretches[1:, 0] >= stretches[:-1, 1]).all()
        assert int((stretches[:, 1] - stretches[:, 0]).sum()) == found["delivered"]


@pytest.mark.slow
def test_a_window_too_large_for_its_numbers_is_noticed() -> None:
    """With T1 below the round trip old frames come again, and are taken for new ones: that is counted."""
    losses = tuple(range(7, 3000, 10))
    run = link(3000, a=None, lost_a=losses, lost_b=losses, delay_slots=12, window=61, n2=1000).carry()
    assert run.summary(B)["misdelivered"] > 0
    assert (
        link(3000, a=None, lost_a=losses, lost_b=losses, delay_slots=12, window=31, n2=1000)
        .carry()
        .summary(B)["misdelivered"]
        == 0
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(patterns, st.integers(1, 61), st.integers(0, 6), st.booleans())
def test_numbers_and_windows_are_kept(lost: list[tuple[bool, bool]], window: int, n2: int, piggyback: bool) -> None:
    """New frames are numbered one after the other, no more than the window are out, and N(R) is what arrived."""
    run = link(**over(lost, 60), a=None, b=None, window=window, n2=n2, piggyback_srej=piggyback, t_rcvs_ns=10**10)
    new, oldest, seen = [0, 0], [0, 0], [set[int](), set[int]()]
    for row in run.carry().log.tolist():
        side, frame = row[SIDE], frame_of(row[HEADER])
        if row[EVENT] == RESET:
            new[side], oldest[side], seen[side] = 0, 0, set()
        elif row[EVENT] == SENT and frame.ns >= 0:
            back = (new[side] - frame.ns) % rlp.MODULUS  # 0: a new one
            new[side] += back == 0
            assert new[side] - oldest[side] <= window
            assert back <= new[side] - oldest[side]
        elif row[EVENT] == RECEIVED and frame.nr >= 0 and not frame.type.endswith("SREJ"):
            gained = (frame.nr - oldest[side]) % rlp.MODULUS
            oldest[side] += gained if gained <= new[side] - oldest[side] else 0
        if row[EVENT] == RECEIVED and frame.ns >= 0:
            seen[side].add(frame.ns)
        if row[EVENT] == SENT and frame.nr > 0 and not frame.type.endswith("SREJ"):
            assert frame.nr - 1 in seen[side]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(patterns, st.sampled_from([7, 30, 60, 72, 90, 1500]), st.integers(0, 3000))
def test_every_frame_sent_decodes_to_itself(lost: list[tuple[bool, bool]], size: int, there: int) -> None:
    """From header word to octets and back, characters included."""
    far = {"drain_bytes_per_s": 500, "xoff_bytes": 200, "xon_bytes": 50}
    run = link(**over(lost, 60), a=((0, there), (20, 31)), b=((0, 77),), frame_bytes=size, parameters_b=far).carry()
    stream = bytes(position % 251 for position in range(there + 108))
    for row in run.log[run.log[:, EVENT] == SENT].tolist():
        header, start = row[HEADER], row[POSITION]
        characters = stream[start : start + (header >> state.COUNT_AT)]
        octets = octets_of(header, characters, Parameters(frame_bytes=size))
        assert len(octets) == size
        decoded = rlp.decode(octets, any_size=True)
        assert header_of(decoded) == header


def test_a_run_can_be_made_in_parts() -> None:
    """The log of a run resumed at odd places is that of a run made at once."""
    lost = [(slot % 7 == 3, slot % 11 == 5) for slot in range(300)]
    whole, parts = (link(**over(lost, 20), a=None, b=((5, 400),)) for _ in range(2))
    for last in (1, 2, 50, 51, 300, 1000):
        parts.carry(last)
    assert whole.carry().log.tolist() == parts.log.tolist()
    assert whole.summary(B) == parts.summary(B)


def test_the_window_of_the_paper_works_without_losses() -> None:
    """62 frames of modulus 62 may be outstanding; numbers are ambiguous only after a loss."""
    run = link(300, a=None, delay_slots=40, window=62, as_in_paper=True, t1_ns=90 * SLOT_NS).carry()
    sent = run.log[(run.log[:, SIDE] == A) & (run.log[:, EVENT] == SENT)][:, HEADER]
    assert sum(frame_of(int(header)).ns >= 0 for header in sent[:79]) == 62
    assert run.summary(B)["misdelivered"] == 0


def test_delivery_times_are_those_of_each_packets_last_frame() -> None:
    """A packet of 500 octets offered at 0 takes 21 frames; the last arrives in slot 22."""
    run = link(30, a=((0, 500), (1, 500))).carry()
    ends = run.deliveries[:, END]
    assert run.deliveries[np.searchsorted(ends, 500), 0] == 22 * SLOT_NS
    assert run.deliveries[-1].tolist() == [29 * SLOT_NS, B, 27 * FULL, 28 * FULL]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slot_ns": 0}, "slot_ns or rate_bps"), ({"rate_bps": 1}, "slot_ns or rate_bps"),
        ({"delay_ns": 0}, "delay_ns 0"), ({"per_slot": 0}, "are 0"), ({"queue_frames": -1}, "queue_frames is -1"),
    ],
)  # fmt: skip
def test_a_direction_that_makes_no_sense_is_refused(changes: dict[str, int], message: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(UsageError, match=message):
        Direction(**{"delay_ns": 1, "slot_ns": 1, **changes})


def test_frames_of_two_sizes_are_refused() -> None:
    """Both entities use the same frames."""
    with pytest.raises(UsageError, match="same size"):
        Engine(RLP, (Parameters(), Parameters(frame_bytes=60)), Direction(1, 1), Direction(1, 1))


def test_offers_without_octets_are_refused() -> None:
    """An SDU has one octet at least."""
    with pytest.raises(UsageError, match="1 octet or more"):
        source([(2, 0, 0)])


STORY = """
import hashlib, numpy as np
from rlp_story import link
chance = np.random.default_rng(5)
lost = [tuple(np.flatnonzero(np.repeat(chance.random(400) < 0.15, 4)).tolist()) for _ in range(2)]
far = {"drain_bytes_per_s": 960}
digest = hashlib.sha256()
for extra in ({}, {"reject": True}, {"piggyback_srej": False, "n2": 1, "persistent": True}):
    run = link(1600, lost_a=lost[0], lost_b=lost[1], a=None, b=((3, 9000),), delay_slots=10, parameters_b=far,
               **{"t1_ns": 480_000_000, **extra}).carry()
    for array in (run.log, run.deliveries, run.engine.a, run.engine.b):
        digest.update(np.ascontiguousarray(array).tobytes())
print(digest.hexdigest())
"""


@cache
def log_digest(mode: str) -> str:
    """A digest of whole runs as one process of that kind makes them."""
    support = ROOT / "tests" / "support"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment = {**kept, "PYTHONPATH": str(support), **MODES[mode]}
    command = [sys.executable, "-W", "error", "-c", STORY]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.strip()


@pytest.mark.compiled
@pytest.mark.parametrize("mode", ["compiled", "bounds-checked"])
def test_each_way_of_running_gives_the_same_log(mode: str) -> None:
    """Logs, deliveries and every variable of both entities; nothing is read out of bounds."""
    digest = log_digest(mode)
    assert len(digest) == len(hashlib.sha256().hexdigest())
    assert digest == log_digest("plain")

"""What every model of TCP does on any path: all data arrives once and in order, whatever is lost or overtaken."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tcp_path import Path, Sent

from multitracer.compute import kernels
from multitracer.replay.simulate.loops import model

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    **{variant: ("rfc", {"variant": variant}) for variant in ("reno", "newreno", "sack", "fack")},
    "pipe": ("rfc", {"variant": "sack", "sack_rule": "pipe", "timestamps": True, "delayed_ack": "second", "fin": True}),
    "burst": ("rfc", {"variant": "newreno", "max_burst_segments": 2, "syn": False, "rounding": "up"}),
    "bsd": ("bsd", {}),
    "linux": ("linux-2.4", {"segment_bytes": 250, "receive_window_initial_bytes": 792}),
    "linux-sack": ("linux-2.4", {"fack": False, "timestamps": False, "window_segments": 20, "fin": True}),
    "linux-newreno": ("linux-2.4", {"sack": False, "syn": False}),
}
"""A model, and parameters of it."""


def ends(kind: str) -> Path:
    """Two ends of a kind, 50 ms apart."""
    name, options = KINDS[kind]
    made = model(name)
    parameters = made.parameters.Parameters(**options)
    return Path(made.machine, made.state.tcp((parameters, parameters), 1), gap_ms=13)


class Rough:
    """Loses and delays packets with some probability, the first `count` of them; then the path is good."""

    def __init__(self, path: Path, seed: int, loss: float, late: float, count: int = 300) -> None:
        self.path, self.loss, self.late, self.count = path, loss, late, count
        self.random = random.Random(seed)
        self.exceeded: list[Sent] = []

    def __call__(self, packet: Sent) -> float | None:
        """How much later a packet arrives; None if it is lost."""
        other = self.path.ends[1 - packet.end]
        if packet.kind == "DATA" and other.established and packet.seq >= other.rcv_nxt + other.window:
            self.exceeded.append(packet)
        self.count -= 1
        if self.count > 0 and self.random.random() < self.loss:
            return None
        return self.random.random() * 250 if self.count > 0 and self.random.random() < self.late else 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, deadline=None)
@given(
    seed=st.integers(0, 10**6), loss=st.sampled_from([0, 0.05, 0.3]), late=st.sampled_from([0, 0.1, 0.5]),
    counts=st.tuples(st.integers(1, 40), st.integers(0, 15)),
)  # fmt: skip
def test_all_data_arrives_in_order_exactly_once(
    kind: str, seed: int, loss: float, late: float, counts: tuple[int, int]
) -> None:
    """Both ways, with any losses and reordering; the senders come to rest, and no window is exceeded."""
    path = ends(kind)
    path.delay_of = rough = Rough(path, seed, loss, late)
    path.write(counts[0])
    if counts[1]:
        path.write(counts[1], time_ms=400, k=1)
    path.run(until_ms=1e8)
    here, there = path.ends
    assert (here.acked, there.delivered, there.acked, here.delivered) == (counts[0], counts[0], counts[1], counts[1])
    assert rough.exceeded == []
    assert min(int(end.timer_ns) for end in path.ends) == 2**62
    sent = [packet for packet in path.log if packet.kind == "DATA" and packet.sending == 0]
    assert sorted((packet.end, packet.seq) for packet in sent) == [
        (end, seq) for end in (0, 1) for seq in range(1, counts[end] + 1)
    ]
    for number, end in enumerate(path.ends):
        assert int(end.retransmissions) == sum(packet.end == number and packet.sending > 0 for packet in path.log)


@pytest.mark.parametrize("kind", ["sack", "fack", "linux", "linux-sack"])
def test_nothing_is_left_on_the_scoreboard(kind: str) -> None:
    """When all is acknowledged, nothing counts as SACKed, lost or in flight."""
    path = ends(kind)
    path.delay_of = Rough(path, 5, 0.1, 0.1)
    path.write(150).run(until_ms=1e8)
    end = path.ends[0]
    counted = ("sacked_out", "lost_out", "retrans_out", "fackets_out") if "linux" in kind else ("sacked", "recovering")
    assert [int(end[name]) for name in counted] == [0] * len(counted)


@pytest.mark.parametrize("name", ["rfc", "bsd", "linux-2.4"])
def test_ends_that_were_not_started_want_nothing(name: str) -> None:
    """Their timers do not run, so that a transport has nothing to call."""
    parameters = model(name).parameters.Parameters()
    assert set(model(name).state.tcp((parameters, parameters), 3).ends["timer_ns"].tolist()) == {2**62}


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_path_needs_no_retransmission(kind: str) -> None:
    """Without losses and with ACKs that wait at most 200 ms, no timer runs out."""
    path = ends(kind).write(100).run(until_ms=1e8)
    assert (path.ends[0].retransmissions, path.ends[0].timeouts, path.ends[1].delivered) == (0, 0, 100)
    assert path.ends[0].rtts > 0


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["pipe", "fack", "bsd", "linux"])
def test_compiled_ends_send_what_plain_ones_do(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every packet, its time and its fields, and the state at the end."""
    found = []
    for plain in (True, False):
        monkeypatch.setattr(kernels, "_state", {**kernels._state, "plain": plain, "small": False, "few": False})
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1" if plain else "0")
        path = ends(kind)
        path.delay_of = Rough(path, 7, 0.08, 0.08)
        path.write(120).write(30, k=1, time_ms=700).run(until_ms=1e8)
        found.append((path.log, [end.tobytes() for end in path.ends]))
    assert found[0] == found[1]

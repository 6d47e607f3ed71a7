"""Every protocol under the link in real time: channels that lose, resets, stops; what becomes of packets is known."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from real_time_links import carry, link_of, received, run

from multitracer.replay.arq import notes
from multitracer.replay.emulate.link import RealTimeLink
from multitracer.replay.simulate.loops import PROTOCOLS

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

Hosts = tuple[tuple[socket.socket, socket.socket], tuple[int, int]]
UNCUT = ("raw", "sr", "asr", "rlc-tm")
"""Protocols that put a packet into one frame."""
REPEATING = ("sr", "asr", "rlp", "rlc-am")
OWN = {
    "sr": {"link.sr.timeout_s": 0.05, "link.sr.ack_delay_s": 0.01}, "asr": {"link.asr.ack_delay_s": 0.01},
    "rlp": {"link.hand_down": "lazy", "link.rlp.t1_s": 0.05, "link.ppp": False},
    "rlc-am": {"link.hand_down": "lazy", "link.rlc-am.poll_s": 0.05},
}  # fmt: skip
MS = 1_000_000


def keys_of(protocol: str) -> dict[str, object]:
    """A protocol's keys, with timers as short as its link here."""
    return {"link.protocol": protocol, **OWN.get(protocol, {})}


def sent_by(host: socket.socket, count: int, size: int, first: int = 0) -> list[bytes]:
    """Packets that a host sends, each with its number."""
    packets = [number.to_bytes(2, "big") * (size // 2) for number in range(first, first + count)]
    for packet in packets:
        host.send(packet)
    return packets


def fates(link: RealTimeLink, side: int) -> tuple[list[bytes], list[bytes]]:
    """What a side sent that was delivered and that was lost; nothing is both, or neither."""
    mine = [one for one in link.packets if one.side == side]
    assert all((one.delivered_ns is None) != (one.lost_ns is None) for one in mine)
    came = [one for one in mine if one.delivered_ns is not None]
    return [one.octets for one in came], [one.octets for one in mine if one.lost_ns is not None]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_radio_loses_is_repeated_or_known_to_be_lost(two_hosts: Hosts, protocol: str) -> None:
    """Both ways at once, over every protocol; what comes is whole and in order."""
    (a, b), devices = two_hosts
    channel = {"channel.model": "listed", "channel.forward.frames": [2, 3, 8], "channel.reverse.frames": [1, 6]}
    link = link_of(devices, **keys_of(protocol), **channel)
    size = 180 if protocol in UNCUT else 700
    sent = sent_by(a, 12, size), sent_by(b, 12, size, first=100)
    carry(link, 24)
    for side, host in enumerate((b, a)):
        came, lost = fates(link, side)
        assert received(host) == came
        assert sorted(came + lost) == sent[side]
        assert came == sorted(came)
        assert bool(lost) == (protocol not in REPEATING)


@pytest.mark.parametrize("slots", [True, False], ids=["slots", "serialised"])
def test_a_recorded_trace_says_which_packets_are_lost(two_hosts: Hosts, tmp_path: Path, *, slots: bool) -> None:
    """By the slot that a packet's frame has; by the frame where there are no slots. After its end nothing is lost."""
    (a, b), devices = two_hosts
    trace = np.random.default_rng(3).random(60) < 0.4
    (tmp_path / "trace.txt").write_text("# block_ms: 2\n# block_bytes: 200\n" + "".join(map(str, trace.astype(int))))
    keys = {"channel.model": "trace", "channel.trace": str(tmp_path / "trace.txt"), "link.queue_frames": 0}
    timing = {} if slots else {"link.tti_s": "none", "link.rate_bps": 800_000}
    link = link_of(devices, **keys_of("raw"), **keys, **timing)
    sent = sent_by(a, 70, 200)
    carry(link, 70)
    rows = link.log.rows()
    frames = rows[(rows["event"] == notes.SENT) & (rows["side"] == 0)]
    at = frames["time_ns"] // link.step_ns if slots else np.arange(len(frames))
    erased = [one < len(trace) and bool(trace[one]) for one in at.tolist()]
    came, lost = fates(link, 0)
    assert lost == [one for one, is_lost in zip(sent, erased, strict=True) if is_lost]
    assert received(b) == came
    assert came + lost == sorted(sent, key=lost.__contains__)
    assert len(lost) > 10


def test_a_frame_that_the_air_delays_comes_after_those_behind_it(two_hosts: Hosts) -> None:
    """What it carries was not lost, though nothing is sent again and others came before it."""
    (a, b), devices = two_hosts
    link = link_of(devices, **keys_of("raw"), **{"channel.delayed_frames": [2], "channel.extra_delay_s": [0.02]})
    sent = sent_by(a, 20, 180)
    carry(link, 20)
    came = received(b)
    assert came != sent
    assert sorted(came) == sent
    assert fates(link, 0) == (sent, [])


REACTION_MS = 20
"""XOFF and the frames before it take two delays of the link and some slots."""
RESETS = {"rlp": {"link.reset_at_s": 0.06}, "rlc-am": {"link.reset_at_s": 0.06, "link.rlc-am.rst_s": 0.05}}
RESET_NS, LATER_NS, STOP_MS, GO_MS = 60 * MS, 300 * MS, 60, 260


@pytest.mark.parametrize("protocol", RESETS)
def test_a_reset_loses_what_is_under_way_and_the_link_goes_on(two_hosts: Hosts, protocol: str) -> None:
    """At the time that was said: what came before it and what is sent later is delivered, both ways."""
    (a, b), devices = two_hosts
    link = link_of(devices, **keys_of(protocol), **RESETS[protocol])
    sent = sent_by(a, 20, 700)  # 140 ms and more of the link
    later: list[bytes] = []
    back: list[bytes] = []

    def done() -> bool:
        if not later and now(link) > LATER_NS:
            later.extend(sent_by(a, 5, 700, first=50))
            back.extend(sent_by(b, 5, 700, first=100))
        return len(later) > 0 and len(link.packets) == 30 and not link.under_way

    run(link, done)
    came, lost = fates(link, 0)
    assert received(b) == came
    assert came + lost == sorted([*sent, *later], key=lost.__contains__)
    assert 0 < len(lost) < len(sent)
    assert came[-len(later) :] == later
    assert received(a) == back
    lost_at = {one.lost_ns for one in link.packets if one.lost_ns is not None}
    assert all(RESET_NS <= at <= RESET_NS + REACTION_MS * MS for at in lost_at)


def test_what_waits_while_the_peer_is_stopped_comes_after_it(two_hosts: Hosts) -> None:
    """Between XOFF and XON nothing comes but what was on its way; the other direction goes on, and nothing is lost."""
    (a, b), devices = two_hosts
    link = link_of(devices, **keys_of("rlp"), **{"link.stop_at_s": 0.06, "link.stop_s": 0.2})
    sent, back = sent_by(a, 30, 700), sent_by(b, 30, 700, first=100)
    carry(link, 60)
    assert (received(b), received(a)) == (sent, back)
    assert fates(link, 0)[1] == fates(link, 1)[1] == []
    came, other_way = (
        [one.delivered_ns / MS for one in link.packets if one.side == side and one.delivered_ns] for side in (0, 1)
    )
    assert min(came) < STOP_MS
    assert not [at for at in came if STOP_MS + REACTION_MS < at < GO_MS]
    assert len([at for at in came if at > GO_MS]) > 5
    assert len([at for at in other_way if STOP_MS + REACTION_MS < at < GO_MS]) > 5


def now(link: RealTimeLink) -> int:
    """The time of the link, by its slots."""
    return len(link.slots) * link.step_ns

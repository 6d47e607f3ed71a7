"""Links in real time between two sockets that stand for devices, for tests: made of keys, run until all is known."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from multitracer.replay.emulate.host_queue import held_octets, wants
from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.link import RealTimeLink
from multitracer.replay.simulate.loops import engine_protocol
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

FAST = {
    "link.tti_s": 0.002, "link.delay_s": 0.004, "link.frame_bytes": 200, "channel.model": "uniform",
    "channel.frame_loss_rate": 0.0, "workload.kind": "none", "tcp.segment_bytes": 190,
}  # fmt: skip
LONGEST_S = 240
"""Kernels may have to be compiled first."""


def link_of(devices: tuple[int, int], *, queue: bool = False, **keys: object) -> RealTimeLink:
    """The link of a scenario with these keys, between two descriptors; packets may wait in the hosts' own queues."""
    scenario = resolve("test", dict(parsed(name, value) for name, value in {**FAST, **keys}.items()))
    made = setting(scenario, 1)
    own = KernelKeys({"tcp.interface_queue_packets": 9} if queue else {})
    held = held_octets(scenario, own, "down"), held_octets(scenario, own, "up")
    return RealTimeLink(
        engine_protocol(scenario), made.link, made.radio, devices, orders=made.orders, held=held,
        wants=wants(scenario, own),
    )  # fmt: skip


def carry(link: RealTimeLink, packets: int) -> None:
    """Let the link run until it is known what became of so many packets."""
    run(link, lambda: len(link.packets) == packets and not link.under_way)


def run(link: RealTimeLink, done: Callable[[], bool]) -> None:
    """Let the link run until the condition holds."""
    end = time.monotonic() + LONGEST_S
    link.run(lambda: done() or time.monotonic() > end)


def received(host: socket.socket) -> list[bytes]:
    """All that came to a host, in its order."""
    found = []
    while True:
        try:
            found.append(host.recv(65_535))
        except BlockingIOError:
            return found

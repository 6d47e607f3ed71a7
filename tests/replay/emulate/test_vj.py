"""Compressed headers over RLP in real time: the log of the link holds the packets as they were on it, exactly."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from packets import ipv4, tcp

from multitracer import read
from multitracer.link.frames import number_frames
from multitracer.link.reassembly_rlp import reassemble
from multitracer.replay.emulate.line import CompressedPpp
from multitracer.replay.emulate.link import RealTimeLink
from multitracer.replay.emulate.session import Run
from multitracer.replay.record.link_logs import LinkLogs
from multitracer.replay.simulate.loops import engine_protocol
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

KEYS = {
    "link.protocol": "rlp", "link.frame_bytes": 30, "link.tti_s": 0.002, "link.delay_s": 0.01, "link.hand_down": "lazy",
    "link.rlp.t1_s": 0.05, "link.vj": True, "channel.model": "uniform", "channel.frame_loss_rate": 0.1,
    "workload.kind": "none",
}  # fmt: skip
LONGEST_S = 240


def test_packets_are_read_from_the_log_with_their_frames(two_hosts: object, tmp_path: Path) -> None:
    """All that were sent, in their order, each by the frames that it takes in its compressed form."""
    (a, b), devices = two_hosts  # type: ignore[misc]
    scenario = resolve("test", dict(parsed(*one) for one in KEYS.items()))
    made = setting(scenario, 1)
    link = RealTimeLink(engine_protocol(scenario), made.link, made.radio, devices, CompressedPpp())
    sent = [ipv4(tcp(bytes([number]) * 150, seq=1 + 150 * number), number=number) for number in range(12)]
    for packet in sent:
        a.send(packet)
    end = time.monotonic() + LONGEST_S
    link.run(lambda: (len(link.packets) == len(sent) and not link.under_way) or time.monotonic() > end)
    assert [b.recv(2000) for _ in sent] == sent
    logs = LinkLogs(tmp_path, 1_700_000_000_000_000_000, exact=True)
    for part in link.log.parts():
        logs.hear(Run(scenario, made, link), part)
    logs.finish(Run(scenario, made, link))
    tables = read(tmp_path / "rlpdump.network.txt").tables
    frames = number_frames(tables["frames"], tables["links"], tables["link_events"])
    rows = np.flatnonzero(frames["sent"].to_numpy())
    carried = reassemble(frames, rows)
    assert [one.octets for one in carried] == sent
    assert not any(one.garbled for one in carried)
    sizes = [len(one.on_link) for one in link.packets]
    assert sum(sizes) < sum(map(len, sent)) - 30 * (len(sent) - 1)

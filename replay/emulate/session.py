"""One emulated transfer: two hosts, the link between them, what was recorded at both, and the truth."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from multitracer.compute import kernels
from multitracer.recorder.session import MACHINE
from multitracer.replay.emulate.host import QUEUE_PACKETS, Host
from multitracer.replay.emulate.host_queue import held_octets, wants
from multitracer.replay.emulate.kernel import WAYS, KernelKeys
from multitracer.replay.emulate.kernel_clocks import SocketClocks, kernel_clocks, missing
from multitracer.replay.emulate.lateness import frame_ns, lateness, write_packets, write_slots
from multitracer.replay.emulate.line import Bare, CompressedPpp, Line, Ppp
from multitracer.replay.emulate.link import MOST_PACKETS, RealTimeLink
from multitracer.replay.emulate.realtime import on_time
from multitracer.replay.emulate.recorded_host import RecordedHost
from multitracer.replay.emulate.transfers import Transfer, measured, transfer_of
from multitracer.replay.emulate.truth import Seen, thrown_away, transfer_truth
from multitracer.replay.emulate.window_limits import window_limits
from multitracer.replay.record.kept_log import KeptLog
from multitracer.replay.record.link_frames import LOGGED
from multitracer.replay.record.link_logs import SIDES, LinkLogs
from multitracer.replay.simulate.loops import engine_protocol
from multitracer.replay.simulate.run import setting
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting

ADDRESSES = ("10.87.0.1", "10.87.0.2")
"""Of the hosts at the network's and the mobile's side of the link."""
TRUTH, LATENESS, PACKETS, CLOCKS = "truth.json", "lateness.csv", "link_packets.csv", "kernel_clocks.txt"
SETTLE_S, LONGEST_SETTLE_S = 1.0, 10.0
"""The link goes on for so long after the transfer; and at most for so long while it has packets."""
REHEARSAL_S = 1.0
"""It ends when both packets were carried or lost, and no later."""


@dataclass(frozen=True)
class Run:
    """What the link's logs are written from."""

    scenario: Scenario
    setting: Setting
    link: RealTimeLink

    def octets_given(self, side: int, number: int) -> bytes:
        """The octets on the link of a packet that a side was given."""
        return self.link.given[side, number].on_link


def emulate(
    scenario: Scenario, keys: KernelKeys, seed: int, directory: Path, command: Sequence[str],
    begun: Callable[[], None],
) -> dict[str, Any]:  # fmt: skip
    """Run a transfer over the scenario's link between two hosts; returns what truth.json holds.

    The folder gets what was recorded at each host (`snd/`, `rcv/`), the link's logs, lateness.csv, link_packets.csv and
    truth.json. Raises MissingCapabilityError without root, namespaces or TUN devices.
    """
    kernels.choose(kernels.SMALL_RECORDS)  # compiled, whatever suited what was done before: the time is real
    made = setting(scenario, seed)
    transfer = transfer_of(scenario, made.work, keys, ADDRESSES, directory, command)
    sender = SIDES.index("network" if scenario.forward == "down" else "mobile")
    with ExitStack() as stack:
        hosts = [stack.enter_context(_host(side, scenario, keys)) for side in (0, 1)]
        recorders = [
            stack.enter_context(RecordedHost(host, directory / name, keys["emulate.port"]))
            for name, host in (("snd", hosts[sender]), ("rcv", hosts[1 - sender]))
        ]
        _rehearse(scenario, setting(scenario, seed), keys)
        for one in recorders:
            one.wait_until_begun()
        link = _link(scenario, made, keys, (hosts[0].device, hosts[1].device))
        begun()
        clocks = SocketClocks(hosts[sender], keys["emulate.port"], directory / CLOCKS)
        with clocks, on_time(first=keys["emulate.realtime"]) as allowed:
            status = _carry(link, hosts, transfer)
        discarded = thrown_away(hosts[0]), thrown_away(hosts[1])
        for one in recorders:
            one.ask_to_end()
    _write_logs(directory, Run(scenario, made, link), link.start_ns)
    write_slots(directory / LATENESS, link)
    write_packets(directory / PACKETS, link)
    folders = directory / ("snd", "rcv")[sender], directory / ("rcv", "snd")[sender]
    wrote_all = not command and status == 0 and scenario.word("workload.kind") == "file-transfer"
    seen = Seen(folders, discarded, kernel_clocks(directory / CLOCKS), wrote_all)
    told = transfer_truth(scenario, made, link, seen)
    lacks = {"missing": _missing(folders)}
    return _write_truth(directory, scenario, keys, link, status, allowed | measured(directory) | told | lacks)


def _missing(folders: Sequence[Path]) -> list[dict[str, str]]:
    """What the recorders of the hosts with these folders lacked, and what the kernel's clocks did, each once."""
    lacks = [one for folder in folders for one in json.loads((folder / MACHINE).read_text())["missing"]]
    lacks += [one._asdict() for one in missing()]
    return list({one["what"]: one for one in lacks}.values())


def _host(side: int, scenario: Scenario, keys: KernelKeys) -> Host:
    own, peer = ADDRESSES[side], ADDRESSES[1 - side]
    packets = keys.queue_packets("forward" if scenario.forward == WAYS[side] else "reverse") or QUEUE_PACKETS
    return Host(own, peer, keys["kernel.mtu"], keys.sysctls(), offloads=keys["kernel.offloads"], queue_packets=packets)


def _rehearse(scenario: Scenario, made: Setting, keys: KernelKeys) -> None:
    """Carry a packet each way before the clock starts, so that all is compiled and loaded by then."""
    kernels.choose(MOST_PACKETS)
    with ExitStack() as stack:
        pairs = [socket.socketpair(type=socket.SOCK_DGRAM) for _ in SIDES]
        for one in (end for pair in pairs for end in pair):
            stack.enter_context(one)
            one.setblocking(False)
        link = _link(scenario, made, keys, (pairs[0][0].fileno(), pairs[1][0].fileno()))
        for _, host in pairs:
            host.send(bytes(100))
        end = time.monotonic() + REHEARSAL_S
        link.run(lambda: time.monotonic() > end or (len(link.packets) == len(SIDES) and not link.under_way))


def _link(scenario: Scenario, made: Setting, keys: KernelKeys, devices: tuple[int, int]) -> RealTimeLink:
    """The scenario's link between two devices."""
    held = held_octets(scenario, keys, "down"), held_octets(scenario, keys, "up")
    down, up = (replace(one, drops=one.drops and not own) for one, own in zip(made.radio, held, strict=True))
    return RealTimeLink(
        engine_protocol(scenario), made.link, (down, up), devices, _line(scenario), made.orders, held,
        wants(scenario, keys), (keys.schedule("down"), keys.schedule("up")), made.one_estimator,
        log=KeptLog(frames=scenario.word("link.protocol") in LOGGED),
    )  # fmt: skip


def _line(scenario: Scenario) -> Line:
    if not scenario.flag("link.ppp"):
        return Bare()
    return CompressedPpp() if scenario.flag("link.vj") else Ppp()


def _write_logs(directory: Path, run: Run, start_ns: int) -> None:
    """Write what both sides of the link logged; only now, as it takes longer than the link itself."""
    logs = LinkLogs(directory, start_ns, exact=True)
    for part in run.link.log.parts():
        logs.hear(run, part)
    logs.finish(run)


def _carry(link: RealTimeLink, hosts: Sequence[Host], transfer: Transfer) -> int:
    """Let the transfer run over the link; returns the exit status of what opened its connections."""
    with transfer.begun(hosts) as process:
        link.run(_Ended(process, link))
    return process.wait()


class _Ended:
    """Whether a process has ended, and the link has carried what was still under way."""

    def __init__(self, process: subprocess.Popen[bytes], link: RealTimeLink) -> None:
        self._process, self._link, self._ended_at = process, link, 0.0

    def __call__(self) -> bool:
        if self._process.poll() is None:
            return False
        now = time.monotonic()
        self._ended_at = self._ended_at or now
        return now > self._ended_at + (LONGEST_SETTLE_S if self._link.under_way else SETTLE_S)


def _write_truth(
    directory: Path, scenario: Scenario, keys: KernelKeys, link: RealTimeLink, status: int,
    measured: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Write truth.json; returns what it holds."""
    truth = {
        "parameters": keys.parameters(scenario), "start_ns": link.start_ns, "exit": status,
        **lateness(link, frame_ns(scenario, link), keys["emulate.max_lateness_percent"]),
        "window_limits": [one._asdict() for one in window_limits(scenario, keys)],
        "header_discards": sum(one.damaged for one in link.packets), **measured,
    }  # fmt: skip
    (directory / TRUTH).write_text(json.dumps(truth, indent=2) + "\n")
    return truth

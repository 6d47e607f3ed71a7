"""What is true of an emulated run, by the link's own account and the logs of both kernels; nothing is inferred.

What these cannot tell is null: a trigger whose stack was lost; whether a resend was needless where the receiving kernel
threw away segments that had come; limits where it is not known what the application had to send. Why the link was idle
is unknown while data was outstanding and the kernel's congestion window was not logged.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from multitracer.replay.emulate.emulated_run import EmulatedRun, Sent, emulated_run
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.kernel_log import Key, kernel_log
from multitracer.replay.emulate.link import RealTimeLink
from multitracer.replay.record.known_run import Resend
from multitracer.replay.record.link_frames import LOGGED, LinkFrames
from multitracer.replay.record.link_logs import SIDES
from multitracer.replay.record.run_truth import Truth
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Setting

DISCARDS = (
    "PAWSActive", "PAWSEstab", "PruneCalled", "RcvPruned", "OfoPruned", "TCPBacklogDrop", "TCPRcvQDrop", "TCPOFODrop",
    "TCPZeroWindowDrop", "TCPACKSkippedPAWS", "TCPOFOQueueDrop",
)  # fmt: skip
"""The kernel's counters of segments that came and were not kept (TcpExt in include/uapi/linux/snmp.h)."""


class Seen(NamedTuple):
    """What was seen beside the link; pairs are of the network's and of the mobile's host."""

    folders: tuple[Path, Path]
    """What was recorded there."""
    discarded: tuple[int, int]
    """How many segments that came it threw away."""
    clocks: dict[Key, dict[str, float]]
    """The kernel's own, of the sockets that send the data."""
    wrote_all: bool
    """Whether the applications sent all that they had, which they had from the beginning on."""


def transfer_truth(scenario: Scenario, setting: Setting, link: RealTimeLink, seen: Seen) -> dict[str, Any]:
    """The parts of truth.json that `analyze` is compared with; times in s from the link's start."""
    logs = tuple(kernel_log(folder, link.start_mono_ns) for folder in seen.folders)
    run = emulated_run(scenario, setting, link, (logs[0], logs[1]))
    frames = LinkFrames()
    for part in link.log.parts():
        frames.hear(run, part)
    true = Truth(run, frames, 0)
    rows = list(_rows(run, true, seen.discarded))
    return {
        "retransmissions": rows,
        "triggers_unknown": sum(row["trigger"] is None for row in rows),
        "discarded_segments": dict(zip(SIDES, seen.discarded, strict=True)),
        "kernel_clocks": _clocks(run, true, seen),
        **(true.shares() | _untold(run, wrote_all=seen.wrote_all)),
    }


def _rows(run: EmulatedRun, true: Truth, discarded: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Every packet with data that was sent again."""
    again = {id(one.copy): one for one in run.resends}
    for sent in run.sent:
        pieces = [again[id(copy)] for copy in sent.copies if id(copy) in again]
        if pieces:
            needed = [one for one in pieces if not one.spurious]
            spurious = not needed and len(pieces) == len(sent.copies)
            unsure = spurious and discarded[1 - sent.passed.given.side] > 0
            yield _row(true, sent, needed) | {"spurious": None if unsure else "yes" if spurious else "no"}


def _row(true: Truth, sent: Sent, needed: list[Resend]) -> dict[str, Any]:
    return {
        "time_s": true.seconds(sent.copies[0].sent_ns), "connection": sent.passed.connection.flow.number,
        "seq": sent.passed.begin, "payload_bytes": sent.passed.header.payload_bytes, "trigger": sent.trigger or None,
        "spurious": None, "root": _root(true, needed[0]) if needed else None,
    }  # fmt: skip


def _root(true: Truth, one: Resend) -> str | None:
    """What lost the earlier copy: a reset only where the link's log has resets."""
    root = true.root(one)
    return None if root == "link-reset" and true.run.scenario.word("link.protocol") not in LOGGED else root


def _clocks(run: EmulatedRun, true: Truth, seen: Seen) -> dict[str, float] | None:
    """The kernel's clocks of the transfer of most data."""
    flows = {id(one.passed.connection.flow): one.passed.connection.names for one in run.sent}
    if true.transfer is None:
        return None
    names, end = flows[id(true.transfer.flow)], true.transfer.end
    return seen.clocks.get((names[end], names[1 - end]))


def _untold(run: EmulatedRun, *, wrote_all: bool) -> dict[str, Any]:
    """Null for what the instruments do not tell."""
    triggers_known = all(one.trigger or one.spurious for one in run.resends)
    return {} if wrote_all and triggers_known else {"limits": None}


def thrown_away(host: Host) -> int:
    """How many segments that came to a host its kernel threw away."""
    shown = subprocess.run(host.inside(["cat", "/proc/net/netstat"]), capture_output=True, text=True, check=True)
    return discards(shown.stdout)


def discards(netstat: str) -> int:
    """How many segments a kernel threw away, by its /proc/net/netstat."""
    names, values = ([line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")] + [[], []])[:2]
    counted = dict(zip(names[1:], map(int, values[1:]), strict=False))
    return sum(counted.get(name, 0) for name in DISCARDS)

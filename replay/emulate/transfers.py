"""The processes of an emulated transfer: what each host runs, and what they measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multitracer.model.errors import MissingCapabilityError
from multitracer.replay.emulate import datagrams
from multitracer.replay.emulate.exchanges import READY
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.kernel import KernelKeys
from multitracer.replay.emulate.plan import Plan, plan_of
from multitracer.replay.simulate.scenario import Scenario

PLAN, EXCHANGES, DATAGRAMS = "transfer.json", "exchanges.csv", "datagrams.csv"
_SENT, _TAKEN = "datagrams.sent", "datagrams.taken"
_PYTHON = [sys.executable, "-P", "-m"]
_PEER, _PORT = "MULTITRACER_PEER", "MULTITRACER_PORT"
"""Variables that tell a command where something takes what it sends."""
_ALL_ITS_OWN = ("unshare", "--pid", "--fork", "--kill-child", "--")
"""A process namespace: what a command has started ends with it."""
_PACKAGE = "multitracer.replay.emulate"


@dataclass(frozen=True)
class Transfer:
    """What the two hosts run; it is over when the one that opens has ended."""

    answers: list[str]
    opens: list[str]
    side: int
    """Of the host that opens."""

    @contextmanager
    def begun(self, hosts: Sequence[Host]) -> Iterator[subprocess.Popen[bytes]]:
        """The process that opens; both end with the `with` statement."""
        here, there = hosts[self.side], hosts[1 - self.side]
        # In sessions of their own: Ctrl-C in the terminal is for this process, which ends them.
        with subprocess.Popen(
            there.inside(self.answers), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
        ) as answering:
            try:
                assert answering.stdout is not None
                if answering.stdout.readline().strip() != READY.encode():
                    raise MissingCapabilityError("the host that takes the transfer did not begin")
                with subprocess.Popen(
                    here.inside(self.opens), stdin=subprocess.DEVNULL, start_new_session=True
                ) as opening:
                    try:
                        yield opening
                    finally:
                        opening.kill()
            finally:
                answering.kill()


def transfer_of(
    scenario: Scenario, work: Any, keys: KernelKeys, addresses: tuple[str, str], directory: Path,
    command: Sequence[str],
) -> Transfer:  # fmt: skip
    """The transfer of a scenario whose applications do this work; or a command, in the host that sends the data."""
    sender = 0 if scenario.forward == "down" else 1
    if keys["emulate.transfer"] == "datagrams" and not command:
        return _datagrams(keys, sender, addresses[1 - sender], directory)
    plan = Plan(keys["emulate.port"], sender) if command else plan_of(scenario, work, keys)
    plan.save(directory / PLAN)
    own, peer = addresses[plan.opens], addresses[1 - plan.opens]
    run = [*_PYTHON, f"{_PACKAGE}.exchanges"]
    told = [*_ALL_ITS_OWN, "env", f"{_PEER}={peer}", f"{_PORT}={plan.port}"]
    opens = [*run, "open", str(directory / PLAN), own, peer, str(directory / EXCHANGES)]
    return Transfer([*run, "serve", str(directory / PLAN), peer], [*told, *command] if command else opens, plan.opens)


def _datagrams(keys: KernelKeys, sender: int, peer: str, directory: Path) -> Transfer:
    run = [*_PYTHON, f"{_PACKAGE}.datagrams"]
    port = str(keys["emulate.port"])
    given = (keys[f"emulate.{name}"] for name in ("datagrams", "datagram_bytes", "datagram_interval_s"))
    return Transfer(
        [*run, "take", peer, port, str(directory / _TAKEN)],
        [*run, "send", peer, port, *map(str, given), str(directory / _SENT)], sender,
    )  # fmt: skip


def measured(directory: Path) -> dict[str, Any]:
    """What the transfer's own processes measured, as truth.json has it: of datagrams, their delay and loss."""
    if not (directory / _SENT).exists():
        return {}
    return {"datagrams": datagrams.measured(directory / _SENT, directory / _TAKEN, directory / DATAGRAMS)}

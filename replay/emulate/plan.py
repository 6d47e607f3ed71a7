"""What the hosts of an emulated link transfer: connections, each with its requests and replies, in pages."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import UsageError

if TYPE_CHECKING:
    from multitracer.replay.emulate.kernel import KernelKeys
    from multitracer.replay.simulate.scenario import Scenario

FIRST_PORT = 10_000
"""Of the host that opens connections, in the first of them, so that both hosts know which one it is."""
MOST_CONNECTIONS = 55_000
FILES = ("file-transfer", "repeated-files")
NS = 1_000_000_000


@dataclass(frozen=True)
class Plan:
    """All that is to be transferred over TCP."""

    port: int
    """Of the host that answers."""
    opens: int = 0
    """The side whose host opens the connections, and sends the requests."""
    connections: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Of each, the octets of its requests and of the replies to them."""
    pages: tuple[tuple[float, int, int], ...] = ()
    """One after the other: the pause before it (s), its first connection, and the first one behind it."""
    parallel: int = 1
    """Connections of a page at a time."""
    first_alone: bool = False
    """The first one of a page ends before the others begin."""
    server_s: float = 0.0
    """Between a request and its reply."""
    think_s: float = 0.0
    """Between a reply and the next request of the same connection."""
    second_at_s: float | None = None
    """When the connection behind the last page begins, beside the pages."""
    until_s: float | None = None
    """When all ends, whatever was not transferred by then."""

    def save(self, path: Path) -> None:
        """Write it for the processes that carry it out."""
        path.write_text(json.dumps(asdict(self)) + "\n")

    @classmethod
    def load(cls, path: Path) -> Plan:
        """The plan that was saved."""
        return cls(**json.loads(path.read_text()))


def plan_of(scenario: Scenario, work: Any, keys: KernelKeys) -> Plan:
    """The plan of a scenario whose applications do this work (see simulate.work)."""
    made = _requests(work, keys) if keys["emulate.transfer"] == "request-response" else _of_work(scenario, work, keys)
    if len(made.connections) > MOST_CONNECTIONS:
        raise UsageError(
            f"the workload has {len(made.connections)} connections; {MOST_CONNECTIONS} at most can be emulated\n"
            "Make workload.seconds, workload.files or workload.connections less."
        )
    return made


def _requests(work: Any, keys: KernelKeys) -> Plan:
    """One connection, with all requests one after the other."""
    each = keys["emulate.request_bytes"], keys["emulate.response_bytes"]
    return Plan(
        keys["emulate.port"],
        int(work.state.client),
        ((each,) * keys["emulate.requests"],),
        ((0.0, 0, 1),),
        think_s=keys["emulate.think_s"],
    )


def _of_work(scenario: Scenario, work: Any, keys: KernelKeys) -> Plan:
    """A file is sent by the host that opens its connection; replies come to it."""
    state, files = work.state, scenario.word("workload.kind") in FILES
    objects = [(int(one.request), int(one.reply)) for one in work.objects]
    pages = [(int(one.pause_ns) / NS, int(one.first), int(one.end)) for one in work.pages]
    return Plan(
        keys["emulate.port"], int(state.server if files else state.client),
        tuple(((reply, 0) if files else (request, reply),) for request, reply in objects), tuple(pages),
        parallel=int(state.parallel), first_alone=bool(state.primary), server_s=int(state.server_ns) / NS,
        second_at_s=int(state.second_ns) / NS if state.second >= 0 else None, until_s=_until_s(scenario),
    )  # fmt: skip


def _until_s(scenario: Scenario) -> float | None:
    """When the web is no longer used; None where only its connections say so."""
    found: float | None = scenario.value("workload.seconds")
    return found

"""Metrics of what the link does beside repairing: flow control, and headers that it compresses."""

from __future__ import annotations

from typing import Any

from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Simulation

NS = 1_000_000_000


def link_metrics(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """The metrics of flow control for RLP, and of compressed headers where there are some."""
    return _flow_controlled(scenario, done) | _headers(scenario, done)


def _flow_controlled(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """How long the sender of the workload's data was stopped by XOFF."""
    if done.engine.protocol.name != "rlp":
        return {}
    e = done.engine.a if scenario.forward == "down" else done.engine.b
    end = done.ended_ns or done.engine.until
    stopped = int(e.xoff_ns) + (max(0, end - int(e.xoff_since)) if e.xoff else 0)
    return {"flow_controlled_s": stopped / NS}


def _headers(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """Segments whose headers were rebuilt wrong.

    They are discarded before TCP looks at them (RFC 9293 3.1: the checksum), so that none is answered.
    """
    if not scenario.value("link.vj"):
        return {}
    return {"header_discards": int(done.source.framing.state.discards), "discarded_segment_dupacks": 0}

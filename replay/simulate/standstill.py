"""What the metrics of a run do not say by themselves: that it stood still before its end, that its trace was over."""

from __future__ import annotations

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.engine import way as engine_way
from multitracer.replay.simulate.metrics import ENDED, LOSSLESS
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Simulation
from multitracer.replay.simulate.work import BEGUN, CLOSING

NS = 1_000_000_000
LONGEST_TIMEOUTS = 2
"""Connections that were acknowledged nothing for so many of TCP's longest timeouts stand still: what its timer sent
meanwhile was lost at least once."""


def standstill(scenario: Scenario, done: Simulation) -> dict[str, str]:
    """Why a run was not done: the link was given up, or nothing moved any more; nothing of one whose time was over."""
    objects = done.source.work.objects
    if done.ended_ns is not None or not len(objects):
        return {}
    ended = objects["end_ns"][objects["end_ns"] < NEVER]
    timed = scenario.value("workload.seconds") is not None
    since = _still_since(scenario, done)
    if len(ended) and timed and since is None and not done.given_up:
        return {}
    how = f"no transfer was complete {_when(done)}"
    if len(ended):
        last = f"the last of {len(ended):,} complete transfers ended at {int(ended.max()) / NS:g} s"
        how = f"{last}, the run {_when(done)}"
    still = f"; nothing was acknowledged from {since / NS:g} s on" if since else ""
    return {ENDED: how + still}


def _when(done: Simulation) -> str:
    if done.given_up:
        return f"when the link was given up, by {done.engine.until / NS:g} s"
    return f"after {done.setting.until_ns / NS:g} s"


def _still_since(scenario: Scenario, done: Simulation) -> int | None:
    """Since when nothing was acknowledged of any connection under way, if that is long for TCP; None if it is not."""
    slots = done.source.work.slots
    running = [k for k, row in enumerate(slots) if BEGUN <= row.phase < CLOSING]
    if not running:
        return None
    since = max(int(done.source.repairs["since_ns"][2 * k : 2 * k + 2].max()) for k in running)
    longest = LONGEST_TIMEOUTS * scenario.ns("tcp.max_rto_s", "forward")
    return since if done.engine.until - since > longest else None


def lossless(scenario: Scenario, done: Simulation) -> dict[str, str]:
    """Which directions went on behind the end of their erasure traces, where the channel loses nothing."""
    said = []
    for name, way in (("down", done.engine.link.forth), ("up", done.engine.link.back)):
        side = "forward" if name == scenario.forward else "reverse"
        state, length = way.state, len(way.trace)
        used = int(state.slot) * int(state.per_slot) if state.slotted else int(state.sent)
        if scenario.word("channel.model", side) == "trace" and state.channel == engine_way.TRACE and used > length:
            said.append(f"{side} of {length:,} {'opportunities' if state.slotted else 'frames'}")
    over = f"the erasure trace was over before the run, {' and '.join(said)}: nothing was lost after that"
    return {LOSSLESS: over} if said else {}

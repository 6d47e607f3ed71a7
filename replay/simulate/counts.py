"""What a run has counted so far, by name, so that the counts of a warm-up can be taken from those of the whole run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.work import ANSWERING

OF_ENDS = ("retransmissions", "timeouts", "fast_retransmits")
OF_SERVERS = ("rtt_ns", "rtts")
AIR = ("sent", "erased", "dropped", "handed", "handed_dropped")
LINK = "link "
"""What stands before the name of a counter of the link protocol's entities, both of them together."""


def counts(source: Any, engine: Any) -> dict[str, float]:
    """Of TCP, the link, its device queues, the hosts' queues, the media, and octets of replies that are there."""
    totals, ends = source.totals, source.tcp.ends
    servers = ends[int(source.work.state.server) :: 2]
    found = {name: totals[name].item() for name in totals.dtype.names}
    found |= {name: found[name] + int(ends[name].sum()) for name in OF_ENDS}
    found |= {name: found[name] + int(servers[name].sum()) for name in OF_SERVERS}
    in_gap = source.repairs["since_ns"] <= int(source.state.reset_ns)
    found["outside_resets"] += int(source.repairs["undecided"][~in_gap].sum())
    ways = engine.link.forth.state, engine.link.back.state
    found |= {f"air {name}": sum(int(way[name]) for way in ways) for name in AIR}
    found["refused"] = sum(int(way.refused) for way in ways)
    found["dropped"] = int(source.wired.hops["dropped"].sum()) + int(source.queue.state.dropped)
    found |= {f"media {name}": int(source.media[name].sum()) for name in ("sent", "came", "delay_ns")}
    found["media longest_ns"] = int(source.media["longest_ns"].max())
    a, b = engine.protocol.counters(engine.a), engine.protocol.counters(engine.b)
    return found | {LINK + name: a[name] + b[name] for name in a} | {"replied": replied(source)}


def replied(source: Any) -> int:
    """Octets of replies that are there: at the client, or acknowledged, as objects end; the last ones in part."""
    work, ends = source.work, source.tcp.ends
    payload = int(source.state.segment_octets - source.state.header_octets)
    octets = int(work.objects["reply"][work.objects["end_ns"] < NEVER].sum())
    for slot, row in enumerate(work.slots):
        if row.phase == ANSWERING:
            server, client = ends[2 * slot + int(work.state.server)], ends[2 * slot + int(work.state.client)]
            segments = server.acked if work.state.acknowledged else client.delivered
            octets += min(int(segments) * payload, int(work.objects[int(row.object)].reply))
    return octets


def since(counted: Mapping[str, float], before: Mapping[str, float]) -> Mapping[str, float]:
    """What was counted since `before`; 0 for what was not counted at all."""
    return defaultdict(int, {name: value - before.get(name, 0) for name, value in counted.items()})

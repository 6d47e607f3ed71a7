"""The metrics of a run that has ended: what its applications, TCP, the link and the media counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.link_metrics import link_metrics
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.simulation import Simulation

NS = 1_000_000_000
SENT = {
    "raw": ("sent",), "sr": ("first_sendings", "retransmissions"), "asr": ("first_sendings", "retransmissions"),
    "rlp": ("i_sent",), "rlc-am": ("sent",), "rlc-um": ("sent",), "rlc-tm": ("sent",),
}  # fmt: skip
"""The counters of a protocol that make up all sendings of data frames."""
REPEATED = {"sr": "retransmissions", "asr": "retransmissions", "rlp": "retransmissions", "rlc-am": "resent"}
"""The counter of those that were not the first, where a frame is sent again at all."""
COUNTED = {
    "link_timeouts": {"sr": "timeouts", "asr": "timeouts", "rlp": "timeouts"},
    "link_resets": {"rlp": "resets", "rlc-am": "resets_done"},
    "link_discards": dict.fromkeys(("sr", "asr", "rlc-am", "rlc-um", "rlc-tm"), "discarded"),
    "link_flushed_bytes": {"rlp": "flushed"},
}
"""Metrics that a protocol's machine counts by itself, and the counter's name."""


def measures(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """The metrics of a run that has ended."""
    return (
        _application(scenario, done) | _tcp(done) | _air(done) | _link(done) | link_metrics(scenario, done)
        | _media(done)
    )  # fmt: skip


def _application(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """Octets and times of files, connections and pages."""
    work = done.source.work
    objects, pages = work.objects, work.pages
    whole = objects["end_ns"] < NEVER
    if not whole.any():
        return {"throughput_bps": 0.0, "goodput_bps": 0.0}
    seconds = (objects["end_ns"] - objects["begin_ns"])[whole] / NS
    octets = objects["reply"][whole]
    found: dict[str, Any] = {"connection_goodput_bps": float(8 * octets.sum() / seconds.sum())}
    if scenario.word("workload.kind") in ("file-transfer", "repeated-files"):
        end = objects["end_ns"][whole].max() / NS
        found |= {"throughput_bps": 8 * int(octets.sum()) / end, "completion_s": seconds.tolist()}
        return found | {"goodput_bps": found["throughput_bps"]}
    ended = np.flatnonzero(pages["end_ns"] < NEVER)
    if not len(ended):
        return found | {"throughput_bps": 0.0, "goodput_bps": 0.0}
    carried = np.array([int(objects["reply"][pages[k].first : pages[k].end].sum()) for k in ended])
    lengths = (pages["end_ns"] - pages["begin_ns"])[ended] / NS
    rate = 8 * int(carried.sum()) / (pages["end_ns"][ended].max() / NS)
    return found | {
        "throughput_bps": rate, "goodput_bps": rate, "page_goodput_bps": float(8 * carried.sum() / lengths.sum()),
        "page_goodput_mean_bps": float((8 * carried / lengths).mean()),
    }  # fmt: skip


def _tcp(done: Simulation) -> dict[str, Any]:
    return {
        "tcp_retransmissions": done.counted("retransmissions"), "tcp_timeouts": done.counted("timeouts"),
        "packets_sent": int(done.source.totals.packets),
    }  # fmt: skip


def _air(done: Simulation) -> dict[str, Any]:
    """Frames lost on the air, and what found a queue full: a device's, or the wired hop's."""
    ways = done.engine.link.forth.state, done.engine.link.back.state
    sent, erased = (sum(int(state[name]) for state in ways) for name in ("sent", "erased"))
    dropped = sum(int(state.dropped + state.refused) for state in ways) + int(done.source.wired.hops["dropped"].sum())
    return {"frame_loss_percent": 100 * erased / sent if sent else None, "queue_drops": dropped}


def _link(done: Simulation) -> dict[str, Any]:
    """What the link protocol counted, in both directions."""
    name, of_entity = done.engine.protocol.name, done.engine.protocol.counters
    known = of_entity(done.engine.a)
    counted = Counter(known) + Counter(of_entity(done.engine.b))
    sent = sum(counted[each] for each in SENT[name])
    first = sent - counted[REPEATED[name]] if name in REPEATED else sent
    found = {metric: counted[by[name]] for metric, by in COUNTED.items() if by.get(name) in known}
    return found | {"link_transmissions_per_frame": sent / first if first else None}


def _media(done: Simulation) -> dict[str, Any]:
    media = done.source.media
    sent, came = int(media["sent"].sum()), int(media["came"].sum())
    if not sent:
        return {}
    found: dict[str, Any] = {"media_loss_percent": 100 * (sent - came) / sent}
    return found | ({"media_delay_ms": int(media["delay_ns"].sum()) / came / 1e6} if came else {})

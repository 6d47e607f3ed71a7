"""The metrics of a run that has ended: what its applications, TCP, the link and the media counted after the warm-up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.counts import LINK, counts, since
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
FIRSTS = {
    "cwnd_before_local_drop_segments": "cwnd_before_drop", "cwnd_after_local_drop_segments": "cwnd_after_drop",
    "cwnd_after_repair_segments": "cwnd_after_repair", "burst_after_repair_segments": "burst_after_repair",
}  # fmt: skip
"""Metrics of the first local drop and repair, and their names in connections.FIRSTS."""
QUARTILES = 4


def measures(scenario: Scenario, done: Simulation) -> dict[str, Any]:
    """The metrics of a run that has ended."""
    counted = since(counts(done.source, done.engine), done.before)
    return (
        _application(scenario, done, counted) | _tcp(counted) | _sent_again(done, counted) | _hosts(done, counted)
        | _air(counted) | _link(done, counted) | link_metrics(scenario, done) | _media(counted)
    )  # fmt: skip


def _application(scenario: Scenario, done: Simulation, counted: Mapping[str, float]) -> dict[str, Any]:
    """Octets and times of files, connections and pages that began after the warm-up."""
    objects = done.source.work.objects
    ended = objects[objects["end_ns"] < NEVER]
    if scenario.word("workload.kind") in ("file-transfer", "repeated-files"):
        own = _files(done, ended)
    else:
        own = _pages(scenario, done, counted)
    return own | _connections(ended[ended["begin_ns"] >= done.setting.warmup_ns]) | _repeated_syns(objects)


def _files(done: Simulation, ended: Any) -> dict[str, Any]:
    """The rate of all files together, and how long each took; nothing if all were there by the end of the warm-up."""
    warmup = done.setting.warmup_ns
    if not len(ended):
        return {"throughput_bps": 0.0, "goodput_bps": 0.0}
    time = int(ended["end_ns"].max()) - warmup
    if time <= 0:
        return {}
    rate = 8 * NS * (int(ended["reply"].sum()) - done.before.get("replied", 0)) / time
    seconds = (ended["end_ns"] - ended["begin_ns"])[ended["begin_ns"] >= warmup] / NS
    return {"throughput_bps": rate, "goodput_bps": rate} | ({"completion_s": seconds.tolist()} if len(seconds) else {})


def _pages(scenario: Scenario, done: Simulation, counted: Mapping[str, float]) -> dict[str, Any]:
    """The rate of all pages that are complete, and of each; or of every octet that had come at the end."""
    pages, objects = done.source.work.pages, done.source.work.objects
    whole = pages[(pages["end_ns"] < NEVER) & (pages["begin_ns"] >= done.setting.warmup_ns)]
    carried = np.array([int(objects["reply"][page.first : page.end].sum()) for page in whole])
    octets, end = int(carried.sum()), int(whole["end_ns"].max(initial=0))
    if scenario.value("workload.end") == "cut":
        octets, end = int(counted["replied"]), done.ended_ns or done.setting.until_ns
    rate = 8 * NS * octets / (end - done.setting.warmup_ns) if octets else 0.0
    found = {"throughput_bps": rate, "goodput_bps": rate}
    if not len(whole):
        return found
    began = "asked_ns" if scenario.value("workload.page_from") == "request" else "begin_ns"
    seconds = (whole["end_ns"] - whole[began]) / NS
    return found | {
        "page_goodput_bps": float(8 * carried.sum() / seconds.sum()),
        "page_goodput_mean_bps": float((8 * carried / seconds).mean()),
    }


def _connections(ended: Any) -> dict[str, Any]:
    """Rates of connections: the mean, all octets over all times, and that of four classes of size."""
    if not len(ended):
        return {}
    bits, seconds = 8 * ended["reply"], (ended["end_ns"] - ended["begin_ns"]) / NS
    classes = np.array_split(np.argsort(bits, kind="stable"), QUARTILES)
    found: dict[str, Any] = {
        "connection_goodput_bps": float((bits / seconds).mean()),
        "connection_goodput_weighted_bps": float(bits.sum() / seconds.sum()),
    }
    if len(ended) >= QUARTILES:
        found["connection_goodput_quartile_bps"] = [float(bits[k].sum() / seconds[k].sum()) for k in classes]
    return found


def _repeated_syns(objects: Any) -> dict[str, Any]:
    """How long after the first one each SYN was sent again that was."""
    again = objects[objects["syn_ns"] < NEVER]
    return {"syn_retransmission_s": ((again["syn_ns"] - again["begin_ns"]) / NS).tolist()} if len(again) else {}


def _tcp(counted: Mapping[str, float]) -> dict[str, Any]:
    found = {
        "tcp_retransmissions": counted["retransmissions"], "tcp_timeouts": counted["timeouts"],
        "packets_sent": counted["packets"],
    }  # fmt: skip
    return found | ({"rtt_ms": counted["rtt_ns"] / counted["rtts"] / 1e6} if counted["rtts"] else {})


def _sent_again(done: Simulation, counted: Mapping[str, float]) -> dict[str, Any]:
    """What TCP sent again though the first copy came or the link had it; what resets do not explain."""
    found: dict[str, Any] = {"tcp_spurious_timeouts": counted["spurious_timeouts"]}
    if counted["resent"]:
        found["tcp_retransmissions_of_delivered_percent"] = 100 * counted["needless"] / counted["resent"]
    if counted["replied"]:
        found["tcp_retransmissions_of_held_per_mb"] = 1e6 * counted["held_octets"] / counted["replied"]
    if done.engine.protocol.name in REPEATED:
        found["competing_recoveries"] = counted["competing"]
    if done.engine.protocol.name in COUNTED["link_resets"]:
        found["tcp_timeouts_outside_resets"] = counted["outside_resets"]
    return found | ({"repair_s": done.repairs.seconds} if done.repairs else {})


def _hosts(done: Simulation, counted: Mapping[str, float]) -> dict[str, Any]:
    """What the data sender had outstanding, and what the queue of its own host did; what repairs let out."""
    source = done.source
    payload = int(source.state.segment_octets - source.state.header_octets)
    found: dict[str, Any] = {"max_outstanding_bytes": int(source.state.outstanding) * payload}
    by_wire = source.work.state.server == 0
    if source.state.wired_host if by_wire else source.queue.state.used:
        most = source.wired.hops[0].most if by_wire else source.queue.state.most
        found |= {"max_interface_queue_segments": int(most), "local_drops": counted["local_drops"]}
    if counted["quenched"]:
        found["fast_retransmits_after_local_drop"] = counted["fast_after_drop"]
    firsts = {metric: float(source.firsts[name]) for metric, name in FIRSTS.items()}
    return found | {metric: value for metric, value in firsts.items() if not math.isnan(value)}


def _air(counted: Mapping[str, float]) -> dict[str, Any]:
    """Frames lost on the air, and what found a queue full: a device's, a host's, or the wired hop's."""
    sent, handed = counted["air sent"], counted["air handed"]
    return {
        "frame_loss_percent": 100 * counted["air erased"] / sent if sent else None,
        "queue_drops": counted["air dropped"] + counted["refused"] + counted["dropped"],
        "link_queue_drop_percent": 100 * counted["air handed_dropped"] / handed if handed else None,
    }


def _link(done: Simulation, counted: Mapping[str, float]) -> dict[str, Any]:
    """What the link protocol counted, in both directions."""
    name = done.engine.protocol.name
    sent = sum(counted[LINK + each] for each in SENT[name])
    first = sent - counted[LINK + REPEATED[name]] if name in REPEATED else sent
    found = {metric: counted[LINK + by[name]] for metric, by in COUNTED.items() if LINK + by.get(name, "") in counted}
    return found | {"link_transmissions_per_frame": sent / first if first else None}


def _media(counted: Mapping[str, float]) -> dict[str, Any]:
    sent, came = counted["media sent"], counted["media came"]
    if not sent:
        return {}
    found: dict[str, Any] = {"media_loss_percent": 100 * (sent - came) / sent}
    if not came:
        return found
    late_ns = max(sent - came, 0) * counted["media longest_ns"]
    return found | {
        "media_delay_ms": counted["media delay_ns"] / came / 1e6,
        "media_delay_with_lost_ms": (counted["media delay_ns"] + late_ns) / max(sent, came) / 1e6,
    }

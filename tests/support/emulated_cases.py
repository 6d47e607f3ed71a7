"""Emulated transfers at random, analysed: how far what `analyze` finds is from the truth of link and kernels."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from recorded_scenarios import confirmed_wrongly, link_differences, taken

from multitracer import Analysis, analyze
from multitracer.replay.emulate.kernel import KernelKeys, check
from multitracer.replay.emulate.session import emulate
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

SAME_INSTANT_NS = 2_000_000
PROTOCOLS = ("rlp", "rlc-am", "sr", "raw")
MTU = 576
CONGESTION_CONTROLS = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
"""Those that a network namespace of its own may choose."""
LOGS = ("snd", "rcv")
KERNEL_LOG = "retransmit.txt"


def case(number: int, longest_s: float = 25) -> dict[str, Any]:
    """The keys of a number's case: always the same on one kernel."""
    draw = np.random.default_rng(number)
    protocol = PROTOCOLS[number % len(PROTOCOLS)]
    link, rate_bps = _LINKS[protocol](draw)
    keys = {"link.protocol": protocol, "channel.model": "uniform", "workload.kind": "file-transfer"} | link
    keys |= _kernel(draw)
    seconds = float(draw.uniform(6, longest_s))
    keys["workload.file_bytes"] = max(3_000, int(0.7 * rate_bps / 8 * seconds))
    keys["workload.direction"] = str(draw.choice(["down", "up"]))
    keys["emulate.port"] = 6_000 + number % 3_000  # tracepoints see all hosts of a machine
    if protocol in ("rlp", "rlc-am") and draw.random() < 0.5:
        keys[f"link.{keys['workload.direction']}.reset_at_s"] = [round(float(draw.uniform(3, seconds)), 2)]
    if protocol == "rlp" and draw.random() < 0.4:
        keys["link.stop_at_s"], keys["link.stop_s"] = [round(float(draw.uniform(3, seconds)), 2)], 3.0
    return keys


def _rlp(draw: np.random.Generator) -> tuple[dict[str, Any], float]:
    frame, delay = int(draw.choice([30, 72])), round(float(draw.uniform(0.02, 0.25)), 3)
    return {
        "link.frame_bytes": frame, "link.tti_s": 0.02, "link.rate_bps": 400 * frame, "link.delay_s": delay,
        "link.hand_down": "lazy", "link.rlp.t1_s": round(2 * delay + 0.2, 3), "kernel.mtu": MTU,
        "channel.frame_loss_rate": round(float(draw.choice([0, 0.01, 0.05, 0.12])), 3),
    }, 400.0 * frame  # fmt: skip


def _rlc(draw: np.random.Generator) -> tuple[dict[str, Any], float]:
    blocks, delay = int(draw.integers(1, 7)), round(float(draw.uniform(0.02, 0.12)), 3)
    timers = {f"link.rlc-am.{name}_s": round(2 * delay + 0.2, 3) for name in ("poll", "rst", "mrw")}
    return {
        "link.frame_bytes": 40, "link.tti_s": 0.01, "link.blocks_per_tti": blocks, "link.rate_bps": 32_000 * blocks,
        "link.delay_s": delay, "link.hand_down": "lazy", "link.rlc-am.window": 1024,
        "link.rlc-am.in_sequence": bool(draw.random() < 0.7), "link.rlc-am.after_max_rst": "reestablish",
        "channel.frame_loss_rate": round(float(draw.choice([0, 0.02, 0.1, 0.2])), 3),
    } | timers, 32_000.0 * blocks  # fmt: skip


def _frames(draw: np.random.Generator) -> tuple[dict[str, Any], float]:
    """A link whose frames carry whole packets."""
    rate = int(draw.choice([32_000, 64_000, 128_000, 384_000]))
    return {
        "link.frame_bytes": MTU, "kernel.mtu": MTU, "link.rate_bps": rate,
        "link.queue_frames": int(draw.integers(10, 60)), "link.delay_s": round(float(draw.uniform(0.01, 0.2)), 3),
    }, float(rate)  # fmt: skip


def _sr(draw: np.random.Generator) -> tuple[dict[str, Any], float]:
    keys, rate = _frames(draw)
    timeout = 2 * keys["link.delay_s"] + 4 * 8 * MTU / rate + 0.2
    loss = round(float(draw.choice([0, 0.02, 0.05, 0.1])), 3)
    return keys | {"link.sr.timeout_s": round(timeout, 3), "channel.frame_loss_rate": loss}, rate


def _raw(draw: np.random.Generator) -> tuple[dict[str, Any], float]:
    keys, rate = _frames(draw)
    return keys | {"channel.frame_loss_rate": round(float(draw.choice([0.002, 0.01, 0.03, 0.06])), 3)}, rate


_LINKS = {"rlp": _rlp, "rlc-am": _rlc, "sr": _sr, "raw": _raw}


def _kernel(draw: np.random.Generator) -> dict[str, Any]:
    controls = CONGESTION_CONTROLS.read_text().split()
    keys: dict[str, Any] = {
        "kernel.congestion_control": str(draw.choice(controls)), "kernel.sack": int(draw.random() < 0.8),
        "kernel.frto": int(draw.choice([0, 2])), "kernel.timestamps": int(draw.random() < 0.7),
    }  # fmt: skip
    if draw.random() < 0.3:
        keys["kernel.receive_buffer_bytes"] = int(draw.choice([16_384, 65_536]))
    if draw.random() < 0.2:
        keys["kernel.send_buffer_bytes"] = int(draw.choice([16_384, 65_536]))
    return keys


def emulated(keys: dict[str, Any], seed: int, directory: Path) -> dict[str, Any]:
    """Emulate a case into a new folder; the truth."""
    said = dict(parsed(name, value) for name, value in keys.items())
    check(resolve("case", said), said)
    kernel = KernelKeys(said)
    directory.mkdir(parents=True)
    scenario = resolve("case", {**said, "tcp.segment_bytes": kernel["kernel.mtu"]})
    return emulate(scenario, kernel, seed, directory, (), lambda: None)


def analysed(directory: Path, *, kernel_log: bool = True) -> Analysis:
    """The analysis of what was recorded, without the truth; or without what the kernel logged of its resends."""
    inputs = directory.with_name(f"{directory.name}-inputs-{kernel_log}")
    left_out = () if kernel_log else (KERNEL_LOG,)
    for name in LOGS:
        shutil.copytree(directory / name, inputs / name, ignore=shutil.ignore_patterns(*left_out))
    for log in directory.glob("*dump.*.txt"):
        shutil.copy(log, inputs)
    return analyze(inputs)


@dataclass
class Compared:
    """How analysis and truth differ."""

    resends: int = 0
    found: int = 0
    missing: list[str] = field(default_factory=list)
    trigger_unknown: int = 0
    """Resends whose stack was lost."""
    trigger_wrong: list[str] = field(default_factory=list)
    spurious_unknown: int = 0
    spurious_wrong: list[str] = field(default_factory=list)
    limits: dict[str, float] | None = None
    """By cause, found less true, in points of a hundred."""
    utilization: float | None = None
    accounting: dict[str, float] | None = None
    blame: dict[str, float] | None = None
    confirmed_wrong: list[str] = field(default_factory=list)
    beyond_clocks: float | None = None
    """By how many points the receiver's window is said to have limited more than the kernel counted it as full."""


def compared(truth: dict[str, Any], analysis: Analysis) -> Compared:
    """Retransmissions one by one, and shares of limits, accounting and blame."""
    table = analysis.tables["retransmissions"]
    rows = table[table["payload_bytes"] > 0].astype({"trigger": str, "spurious": str}).to_dict("records")
    found = Compared(len(truth["retransmissions"]), len(rows))
    for true in truth["retransmissions"]:
        _compare(true, truth["start_ns"] + round(true["time_s"] * 1e9), rows, found)
    found.missing += [f"{(row['time_ns'] - truth['start_ns']) / 1e9:.3f} s, seq {row['seq']}: is none" for row in rows]
    summary = analysis.summary()
    if summary["limits"] and truth["limits"]:
        found.limits = {name: 100 * (summary["limits"][name] - share) for name, share in truth["limits"].items()}
    if (clocks := truth.get("kernel_clocks")) and clocks["busy_s"] and summary["limits"]:
        counted = clocks["rwnd_limited_s"] / clocks["busy_s"]
        found.beyond_clocks = max(0.0, 100 * (summary["limits"]["receiver_window"] - counted))
    if truth["accounting"] is not None:
        found.accounting, found.blame = link_differences(truth, summary)
        found.utilization = utilization_of(summary["accounting"] or {}) - utilization_of(truth["accounting"])
        found.confirmed_wrong = list(confirmed_wrongly(truth, analysis))
    return found


def utilization_of(shares: dict[str, float]) -> float:
    """In percent: the link neither idle nor carrying what TCP had sent before."""
    wasted = ("idle_recovery", "idle_window_limited", "idle_sender", "unknown", "tcp_retransmitted")
    return 100 * (1 - sum(shares.get(name, 0.0) for name in wasted))


def _compare(true: dict[str, Any], at: int, rows: list[dict[str, Any]], found: Compared) -> None:
    row, told = taken(true, at, rows, SAME_INSTANT_NS)
    if row is None:
        found.missing.append(told)
        return
    found.trigger_unknown += true["trigger"] is None
    found.spurious_unknown += true["spurious"] is None
    if true["trigger"] not in (None, row["trigger"]):
        found.trigger_wrong.append(told)
    if true["spurious"] not in (None, row["spurious"]):
        found.spurious_wrong.append(told)

"""Scenarios at random of every link protocol, channel and workload that can be recorded, to be analysed as others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from recorded_scenarios import Case

from multitracer.parsers import erasures

PROTOCOLS = ("raw", "sr", "asr", "rlp", "rlc-am", "rlc-um", "rlc-tm")
CHANNELS = ("none", "uniform", "two-state", "bit-errors", "gilbert", "trace", "listed")
WORKLOADS = ("file-transfer", "repeated-files", "web-browsing", "web-sessions")
VARIANTS = ("reno", "newreno", "sack", "fack", "linux-2.4", "bsd")
RATES = (32_000, 64_000, 128_000, 384_000)
SLOTS = ("rlp", "rlc-am", "rlc-um", "rlc-tm")
"""Protocols whose frames the radio may carry in slots."""
SMALL = {"rlp": (30, 73), "rlc-am": (40, 121), "rlc-um": (40, 121)}
"""Octets of frames that hold less than a packet."""
LOSS = (0.002, 0.06)
TRACE = "losses.txt"
Keys = dict[str, Any]


def wide_case(number: int, directory: Path, longest_s: float = 40, shortest_s: float = 20) -> Case:
    """The case of a number: always the same; each protocol meets each channel once in 49 successive ones.

    What its channel replays is written into the directory.
    """
    draw = np.random.default_rng((number, 1))
    protocol, channel = PROTOCOLS[number % 7], CHANNELS[(number + number // 7) % 7]
    rate, seconds = int(draw.choice(RATES)), float(draw.uniform(shortest_s, longest_s))
    keys = _link(draw, protocol, rate)
    keys |= {"channel__model": channel} | _CHANNELS[channel](draw, keys["link__frame_bytes"], directory)
    keys |= _tcp(draw) | _workload(draw, WORKLOADS[number // 2 % 4], rate, seconds) | _media(draw)
    if keys["workload__kind"] == "web-browsing":
        keys["workload__packet_bytes"] = keys["tcp__segment_bytes"] - keys["tcp__header_bytes"]
    if protocol in ("rlp", "rlc-am") and draw.random() < 0.3:
        keys["link__reset_at_s"] = [round(float(draw.uniform(3, seconds)), 2)]
    if protocol == "rlp" and draw.random() < 0.3:
        keys |= {"link__stop_at_s": [round(float(draw.uniform(3, seconds)), 2)], "link__stop_s": [2.0]}
    one = Case(number, keys, bool(draw.random() < 0.7))
    if one.both and draw.random() < 0.5:
        return replace(one, offset_ns=int(draw.uniform(-5e9, 5e9)), drift_ppm=float(draw.uniform(-40, 40)))
    return one


def _link(draw: np.random.Generator, protocol: str, rate: int) -> Keys:
    delay = round(float(draw.uniform(0.01, 0.25)), 3)
    keys: Keys = {
        "link__protocol": protocol, "link__rate_bps": rate, "link__delay_s": delay,
        "link__queue_frames": int(draw.integers(10, 60)), "link__hand_down": str(draw.choice(["eager", "lazy"])),
        "wired__delay_s": round(float(draw.uniform(0.001, 0.1)), 3), "channel__hits": str(draw.choice(["all", "data"])),
        "link__frame_bytes": int(draw.integers(*SMALL[protocol])) if protocol in SMALL else 1500,
    }  # fmt: skip
    if protocol in SMALL:
        keys["link__queue_frames"] = 0
    if protocol in SLOTS and draw.random() < 0.4:
        keys |= {"link__tti_s": 8 * keys["link__frame_bytes"] / rate, "link__hand_down": "lazy"}
    return keys | _OF_PROTOCOL.get(protocol, _nothing)(draw, 2 * delay + 0.2)


def _nothing(_draw: np.random.Generator, _trip_s: float) -> Keys:
    return {}


def _sr(draw: np.random.Generator, trip_s: float) -> Keys:
    return {"link__sr__timeout_s": trip_s + 1, "link__sr__max_retransmissions": int(draw.integers(1, 10))}


def _asr(draw: np.random.Generator, _trip_s: float) -> Keys:
    return {"link__asr__min_timeout_s": 0.3, "link__asr__nack": str(draw.choice(["multireject", "one-per-frame"]))}


def _rlp(draw: np.random.Generator, trip_s: float) -> Keys:
    vj = bool(draw.random() < 0.3)
    return {"link__rlp__t1_s": trip_s, "link__vj": vj, "link__rlp__n2": int(draw.integers(3, 8))}


def _rlc_am(draw: np.random.Generator, trip_s: float) -> Keys:
    return {f"link__rlc_am__{name}_s": trip_s for name in ("poll", "rst", "mrw")} | {
        "link__rlc_am__after_max_rst": "reestablish", "link__rlc_am__max_dat": int(draw.integers(2, 12)),
        "link__rlc_am__after_max_dat": str(draw.choice(["discard", "reset"])),
        "link__rlc_am__in_sequence": bool(draw.random() < 0.6),
        "link__rlc_am__status_format": str(draw.choice(["bitmap", "list", "rlist"])),
    }  # fmt: skip


def _rlc_um(draw: np.random.Generator, _trip_s: float) -> Keys:
    return {"link__rlc-um__discard_s": round(float(draw.uniform(1, 5)), 2)} if draw.random() < 0.3 else {}


_OF_PROTOCOL: dict[str, Callable[[np.random.Generator, float], Keys]] = {
    "sr": _sr, "asr": _asr, "rlp": _rlp, "rlc-am": _rlc_am, "rlc-um": _rlc_um,
}  # fmt: skip


def _none(_draw: np.random.Generator, _frame_bytes: int, _directory: Path) -> Keys:
    return {}


def _uniform(draw: np.random.Generator, _frame_bytes: int, _directory: Path) -> Keys:
    return {"channel__frame_loss_rate": round(float(draw.uniform(*LOSS)), 4)}


def _two_state(draw: np.random.Generator, _frame_bytes: int, _directory: Path) -> Keys:
    return _states(draw) | {"channel__bad_ber": 0.01, "channel__rule": str(draw.choice(["product", "touch", "end"]))}


def _states(draw: np.random.Generator) -> Keys:
    good, bad = draw.uniform(3, 20), draw.uniform(0.05, 1)
    return {"channel__good_s": round(float(good), 2), "channel__bad_s": round(float(bad), 3)}


def _bit_errors(draw: np.random.Generator, frame_bytes: int, _directory: Path) -> Keys:
    return {"channel__bit_error_rate": float(draw.uniform(*LOSS)) / (8 * frame_bytes)}


def _gilbert(draw: np.random.Generator, _frame_bytes: int, _directory: Path) -> Keys:
    return _states(draw)


def _trace(draw: np.random.Generator, frame_bytes: int, directory: Path) -> Keys:
    """Bursts of some blocks."""
    begins = draw.random(20_000) < draw.uniform(*LOSS) / 4
    erased = np.convolve(begins, np.ones(4), mode="full")[: len(begins)] > 0
    path = directory / TRACE
    with path.open("w", encoding="utf-8") as stream:
        erasures.write(stream, erased.astype(np.uint8), {"block_bytes": min(frame_bytes, 200), "block_ms": 20})
    return {"channel__trace": str(path)}


def _listed(draw: np.random.Generator, _frame_bytes: int, _directory: Path) -> Keys:
    return {f"channel__{way}__frames": sorted({int(one) for one in draw.integers(0, 600, 12)})
            for way in ("forward", "reverse")}  # fmt: skip


_CHANNELS: dict[str, Callable[[np.random.Generator, int, Path], Keys]] = {
    "none": _none, "uniform": _uniform, "two-state": _two_state, "bit-errors": _bit_errors, "gilbert": _gilbert,
    "trace": _trace, "listed": _listed,
}  # fmt: skip


def _tcp(draw: np.random.Generator) -> Keys:
    variant = str(draw.choice(VARIANTS))
    keys: Keys = {
        "tcp__variant": variant, "tcp__segment_bytes": int(draw.choice([250, 500, 1000])),
        "tcp__window_segments": int(draw.integers(4, 40)), "tcp__header_bytes": int(draw.choice([0, 52])),
    }  # fmt: skip
    if variant in VARIANTS[:4]:
        keys["tcp__model"] = str(draw.choice(["ns-2", "rfc"]))
        keys["tcp__delayed_ack"] = str(draw.choice(["none", "second"]))
    if keys.get("tcp__model") == "ns-2":
        return keys
    keys |= {"tcp__timestamps": bool(draw.random() < 0.5), "tcp__fin": bool(draw.random() < 0.5)}
    if draw.random() < 0.3:
        keys["tcp__send_buffer_bytes"] = 8 * keys["tcp__segment_bytes"]
    if draw.random() < 0.3:
        keys["tcp__interface_queue_packets"] = int(draw.integers(3, 12))
    return keys


def _workload(draw: np.random.Generator, kind: str, rate: int, seconds: float) -> Keys:
    octets, direction = max(5_000, int(rate / 8 * seconds * 0.4)), str(draw.choice(["down", "up"]))
    keys: Keys = {"workload__kind": kind, "workload__direction": direction}
    if kind == "file-transfer":
        return keys | {"workload__file_bytes": octets}
    if kind == "repeated-files":
        return keys | {"workload__file_bytes": max(5_000, octets // 3), "workload__files": 3}
    keys |= {"workload__seconds": seconds, "workload__server_s": round(float(draw.uniform(0, 0.3)), 3)}
    if kind == "web-sessions":
        keys |= {"workload__off_s": 3.0, "workload__off_sd_s": 3.0, "workload__object_bytes": octets / 10}
    return keys


def _media(draw: np.random.Generator) -> Keys:
    if draw.random() < 0.7:
        return {}
    return {
        "contention__enabled": True, "contention__rate_bps": 12_000,
        "contention__direction": str(draw.choice(["down", "up", "both"])),
        "link__media_past_arq": bool(draw.random() < 0.7),
    }  # fmt: skip

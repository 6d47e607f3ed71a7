"""Scenarios at random, recorded and analysed: how far what `analyze` finds is from the truth."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from simulations import scenario

from multitracer import Analysis, AnalyzeOptions, analyze
from multitracer.compute import kernels
from multitracer.model.vocabulary import UNEXPLAINED
from multitracer.parsers import pcap
from multitracer.parsers.shared.experiment import read
from multitracer.replay.record.simulation import CAPTURES, TRUTH, recorded
from multitracer.wire.layers import RAW_IP

SAME_INSTANT_NS = 1_000_000
PROTOCOLS = ("raw", "raw", "sr", "asr", "rlp", "rlc-am", "rlc-am")
TOLD = (
    "link-outage", "link-reset", "link-retransmissions", "link-recovery-hole", "flow-control-gap", "timeout",
    "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "local-drop",
    "receiver-window-limited", "application-limited", "idle-link",
)  # fmt: skip
"""The kinds of findings that a truth lists."""
RESENDS = ("timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit")
OF_TRIGGERS = (*RESENDS, "idle-link")
"""Those that rest on why TCP sent again: the truth does not tell of them where it lacks a trigger."""
SLACK_S = 0.001
VARIANTS = ("reno", "newreno", "sack", "fack", "linux-2.4", "bsd")


@dataclass(frozen=True)
class Case:
    """A scenario's keys, and what was recorded of it."""

    number: int
    keys: dict[str, Any]
    both: bool = True
    """Whether the receiver's capture is there, too."""
    offset_ns: int = 0
    drift_ppm: float = 0.0
    """Of the receiver's clock."""


def case(number: int, longest_s: float = 120, shortest_s: float = 20) -> Case:
    """The case of a number: always the same."""
    draw = np.random.default_rng(number)
    protocol = str(draw.choice(PROTOCOLS))
    rate = int(draw.choice([32_000, 64_000, 128_000, 384_000]))
    keys = _link(draw, protocol, rate) | _channel(draw) | _tcp(draw)
    keys["workload__file_bytes"] = max(5_000, int(rate / 8 * draw.uniform(shortest_s, longest_s) * 0.4))
    keys["workload__direction"] = str(draw.choice(["down", "up"]))
    both = bool(draw.random() < 0.7)
    other = draw.random() < 0.5
    return Case(
        number, keys, both, int(draw.uniform(-5e9, 5e9)) if both and other else 0,
        float(draw.uniform(-40, 40)) if both and other else 0.0,
    )  # fmt: skip


def _link(draw: np.random.Generator, protocol: str, rate: int) -> dict[str, Any]:
    sizes = {"rlp": (30, 73), "rlc-am": (40, 121)}
    keys: dict[str, Any] = {
        "link__protocol": protocol, "link__rate_bps": rate, "link__delay_s": round(float(draw.uniform(0.01, 0.3)), 3),
        "wired__delay_s": round(float(draw.uniform(0.001, 0.1)), 3), "wired__rate_bps": 10_000_000,
        "link__queue_frames": int(draw.integers(10, 60)),
    }  # fmt: skip
    trip_s = 2 * keys["link__delay_s"] + 0.2  # timers of the link are longer, else it repeats all that it sends
    if protocol == "rlp":
        keys |= {"link__rlp__t1_s": trip_s}
    if protocol == "rlc-am":
        timers = {f"link__rlc_am__{name}_s": trip_s for name in ("poll", "rst", "mrw")}
        keys |= timers | {"link__rlc_am__after_max_rst": "reestablish"}
    if protocol in sizes:
        keys |= {"link__frame_bytes": int(draw.integers(*sizes[protocol])), "link__queue_frames": 0}
    else:
        keys["link__frame_bytes"] = 1500
    return keys


def _channel(draw: np.random.Generator) -> dict[str, Any]:
    kind = draw.random()
    if kind < 0.25:
        return {"channel__model": "none"}
    if kind < 0.65:
        return {"channel__model": "uniform", "channel__frame_loss_rate": round(float(draw.uniform(0.001, 0.05)), 4)}
    return {
        "channel__model": "two-state", "channel__good_s": round(float(draw.uniform(3, 20)), 2),
        "channel__bad_s": round(float(draw.uniform(0.05, 1)), 3), "channel__bad_ber": 0.01,
    }  # fmt: skip


def _tcp(draw: np.random.Generator) -> dict[str, Any]:
    variant = str(draw.choice(VARIANTS))
    keys: dict[str, Any] = {
        "tcp__variant": variant, "tcp__segment_bytes": int(draw.choice([250, 500, 1000])),
        "tcp__window_segments": int(draw.integers(4, 40)),
    }  # fmt: skip
    if variant in ("reno", "newreno", "sack", "fack"):
        keys["tcp__model"] = str(draw.choice(["ns-2", "rfc"]))
    if keys.get("tcp__model") != "ns-2":
        keys["tcp__timestamps"] = bool(draw.random() < 0.5)
    return keys


def record(one: Case, directory: Path) -> dict[str, Any]:
    """Record it; the truth."""
    kernels.choose(0)
    recorded(scenario(**one.keys), one.number + 1, directory)
    truth: dict[str, Any] = json.loads((directory / TRUTH).read_text())
    if not one.both:
        (directory / CAPTURES[1]).unlink()
    elif one.offset_ns or one.drift_ppm:
        shift(directory / CAPTURES[1], one.offset_ns, one.drift_ppm)
    return truth


def shift(path: Path, offset_ns: int, drift_ppm: float) -> None:
    """Write a capture anew as another clock would have dated it."""
    table = read(str(path)).tables["packets"]
    octets, packets, at = path.read_bytes(), [], 24
    first = int(table["time_ns"].iloc[0])
    for time_ns in table["time_ns"].tolist():
        size = int.from_bytes(octets[at + 8 : at + 12], "little")
        since = time_ns - first
        packets.append((time_ns + offset_ns + round(since * drift_ppm / 1e6), octets[at + 16 : at + 16 + size]))
        at += 16 + size
    pcap.write(path, packets, RAW_IP)


def analysed(directory: Path, **options: Any) -> Analysis:
    """The analysis of what instruments wrote, without the truth; `options` are those of AnalyzeOptions."""
    inputs = directory.with_name(directory.name + "-inputs")
    shutil.copytree(directory, inputs, ignore=shutil.ignore_patterns(TRUTH, ".multitracer"), dirs_exist_ok=True)
    return analyze(sorted(map(str, inputs.iterdir())), AnalyzeOptions(**options))


@dataclass
class Compared:
    """How analysis and truth differ."""

    case: Case
    resends: int = 0
    found: int = 0
    spurious_wrong: list[str] = field(default_factory=list)
    spurious_unknown: int = 0
    trigger_wrong: list[str] = field(default_factory=list)
    limits: dict[str, float] = field(default_factory=dict)
    """By cause, found less true, in points of a hundred."""
    accounting: dict[str, float] | None = None
    blame: dict[str, float] | None = None
    """The same of the link's session; None where no link is logged."""
    confirmed_wrong: list[str] = field(default_factory=list)
    """Findings that are confirmed though nothing of the kind happened then, or though something else set it off."""


def taken(
    true: dict[str, Any], at: int, rows: list[dict[str, Any]], within_ns: int = SAME_INSTANT_NS
) -> tuple[dict[str, Any] | None, str]:  # fmt: skip
    """The row of a true resend, taken out of `rows`, and both in words; None where none is near that time (ns)."""
    resend = f"{true['time_s']:.4f} s, seq {true['seq']}"
    away = [(abs(row["time_ns"] - at), number) for number, row in enumerate(rows) if row["seq"] == true["seq"]]
    nearest = min(away, default=(within_ns, 0))
    if nearest[0] >= within_ns:
        return None, f"{resend}: not found"
    row = rows.pop(nearest[1])
    judged = f"{row['trigger']} {row['spurious']}: {row['because']}"
    return row, f"{resend}: {true['trigger']} {true['spurious']}, found {judged}"


def _clock_error_ns(analysis: Analysis) -> int:
    """By how much times of what the other end sent may be wrong, at worst."""
    clocks = [one["clock"] for one in analysis.summary()["inputs"]]
    return round(1e9 * max((clock["worst_s"] or 0 for clock in clocks if clock), default=0))


def compared(one: Case, truth: dict[str, Any], analysis: Analysis) -> Compared:
    """Retransmissions one by one, and the shares of limits."""
    table = analysis.tables["retransmissions"]
    table = table[table["payload_bytes"] > 0].astype({"trigger": str, "spurious": str})
    found = Compared(one, len(truth["retransmissions"]), len(table))
    rows = table.to_dict("records")
    within_ns = SAME_INSTANT_NS + _clock_error_ns(analysis)
    for true in truth["retransmissions"]:
        at = truth["start_ns"] + round(true["time_s"] * 1e9)
        row, told = taken(true, at, rows, within_ns)
        if row is None:
            found.spurious_wrong.append(told)
            continue
        if row["spurious"] == "unknown":
            found.spurious_unknown += 1
        elif row["spurious"] != true["spurious"]:
            found.spurious_wrong.append(told)
        if row["trigger"] != true["trigger"]:
            found.trigger_wrong.append(told)
    shares = analysis.summary()["limits"]
    if shares and truth["limits"]:
        found.limits = {name: 100 * (shares[name] - truth["limits"][name]) for name in truth["limits"]}
    if truth["accounting"] is not None:
        found.accounting, found.blame = link_differences(truth, analysis.summary())
        found.confirmed_wrong = list(confirmed_wrongly(truth, analysis))
    return found


def link_differences(truth: dict[str, Any], summary: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """How far accounting and blame are from the truth, by cause, in points of a hundred of the session."""
    shares, true = summary["accounting"] or {}, truth["accounting"]
    accounting = {name: 100 * (shares.get(name, 0.0) - true[name]) for name in true}
    session_s = sum(one["end_s"] - one["start_s"] for one in truth["blame"])
    charged = 1 - true["new_data"] - true["link_overhead"]
    blame: dict[str, float] = {}
    for one in summary["blame"] or ():
        blame[one["cause"]] = blame.get(one["cause"], 0.0) + 100 * one["share"]
    for one in truth["blame"]:
        share = charged * (one["end_s"] - one["start_s"]) / session_s
        blame[one["cause"]] = blame.get(one["cause"], 0.0) - 100 * share
    if any(one["trigger"] is None for one in truth["retransmissions"]):
        return _as_far_as_known(accounting, "unknown"), _as_far_as_known(blame, "unexplained")
    return accounting, blame


def _as_far_as_known(away: dict[str, float], untold: str) -> dict[str, float]:
    """Differences of a truth that lacks triggers, without what it cannot tell and the analysis does."""
    spare = max(0.0, -away.get(untold, 0.0))
    known = {untold: away.get(untold, 0.0) + spare}
    for name, points in away.items():
        if name != untold:
            known[name] = points - min(spare, max(0.0, points))
            spare -= min(spare, max(0.0, points))
    return known


def confirmed_wrongly(truth: dict[str, Any], analysis: Analysis) -> Iterator[str]:
    """The confirmed findings that the truth contradicts: of their kind nothing happened then, or by another root."""
    offset_s, summary = (truth["start_ns"] - analysis.origin_ns) / 1e9, analysis.summary()
    untold = list(_untold(truth["retransmissions"]))
    for one in summary["findings"]:
        if one["verdict"] != "confirmed" or one["kind"] not in TOLD:
            continue
        start, end = one["start_s"] - offset_s, one["end_s"] - offset_s
        if one["kind"] in OF_TRIGGERS and any(start - SLACK_S <= at <= end + SLACK_S for at in untold):
            continue
        same = [true for true in truth["findings"] if true["kind"] == one["kind"] and _same_idleness(true, one)]
        near = [true for true in same if true["start_s"] <= end + SLACK_S and true["end_s"] >= start - SLACK_S]
        shared = _shared(near, start, end)
        told = f"{one['kind']} at {start:.3f} to {end:.3f} s, {one['because'][:100]}"
        if one["kind"] in RESENDS and _by_other_end(truth, one, start - SLACK_S, end + SLACK_S):
            continue
        if not near or shared + SLACK_S < (end - start) / 2:
            yield f"nothing of the kind: {told}"
            continue
        root = one
        while root["caused_by"] is not None:
            root = summary["findings"][root["caused_by"]]
        sure = root is not one and root["verdict"] == "confirmed" and root["kind"] in TOLD
        if sure and not any(root["kind"] in true["chain"] or UNEXPLAINED in true["chain"] for true in near):
            yield f"not by {root['kind']} but {near[0]['root']}: {told}"


def _untold(resends: Iterable[dict[str, Any]]) -> Iterator[float]:
    """When data was resent of which the truth has no finding: its trigger, or that of its recovery's first, is lost."""
    known = dict[int, bool]()
    for one in resends:
        if one["trigger"] != "recovery":
            known[one["connection"]] = one["trigger"] is not None
        if not known.get(one["connection"], True):
            yield one["time_s"]


def _by_other_end(truth: dict[str, Any], found: dict[str, Any], start: float, end: float) -> bool:
    """Whether the truth has such resends then, but no finding: it has those of what the link's sender sent.

    A timeout is needless, and yet no spurious one, if it says that all acknowledgements of an earlier copy were lost.
    """
    kind = found["kind"]
    trigger, needless = kind.removeprefix("spurious-").removesuffix("-retransmit"), kind.startswith("spurious-")
    needless |= "came back" in found["because"]
    same = [
        one for one in truth["retransmissions"]
        if one["trigger"] == trigger and (one["spurious"] == "yes") == needless
    ]  # fmt: skip
    told = any(one["kind"] in RESENDS and one["start_s"] <= end and one["end_s"] >= start for one in truth["findings"])
    return not told and any(start <= one["time_s"] <= end for one in same)


def _shared(true: list[dict[str, Any]], start: float, end: float) -> float:
    """How much of an interval is also in true ones; what happens at an instant lasts from the first to the last."""
    spans = [(one["start_s"], one["end_s"]) for one in true]
    instants = [begin for begin, stop in spans if begin == stop]
    if instants:
        spans = [(begin, stop) for begin, stop in spans if begin < stop] + [(min(instants), max(instants))]
    return sum(max(0.0, min(end, stop) - max(start, begin)) for begin, stop in spans)


def _same_idleness(true: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether both say that the same left a link idle, if that is what they say."""
    return true.get("idle") in (None, found["evidence"].get("cause"))

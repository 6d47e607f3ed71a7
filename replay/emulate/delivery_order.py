"""Paper 002's sessions under the machine's own TCP: every cell of the experiment, and what its numbers say.

The paper had Linux 2.4 with and without FACK and SACK. What later kernels have in their place is varied instead: SACK,
F-RTO (RFC 5682), and RACK (RFC 8985) with and without its threshold of duplicate acknowledgements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from multitracer.replay.emulate.kernel import KernelKeys, check
from multitracer.replay.papers.labels import labelled
from multitracer.replay.papers.statements import statements
from multitracer.replay.simulate.quantiles import student_t
from multitracer.replay.simulate.scenario import Scenario, resolve
from multitracer.replay.simulate.statistics import mean_and_interval, mean_of, std_of

PAPER = "delivery-order"
SESSIONS: Mapping[str, Mapping[int, int]] = {"paper": {32: 5, 128: 20, 384: 20}, "quick": {384: 5}}
"""By scale and kbit/s: the sessions of each cell. One at 32 kbit/s takes more than half a minute."""
FRTO = (0, 2)
"""net.ipv4.tcp_frto: off, and on."""
RACK, NO_DUPTHRESH = 1, 4
"""Bits of net.ipv4.tcp_recovery (ip-sysctl): RACK, and RACK without its threshold of duplicate acknowledgements."""
RECOVERY = (RACK, RACK | NO_DUPTHRESH)
METRICS = ("goodput_bps", "tcp_retransmissions", "rtt_ms", "tcp_timeouts", "tcp_spurious_retransmissions")
"""Of a session: octets of the file over its time from the first packet to the last acknowledgement of data; segments
sent again; the mean round trip of segments sent once (Karn); timeouts; and resends of what had arrived."""
CONGESTION_CONTROL = "reno"
"""Linux 2.4's, which every kernel has and lets namespaces use."""
COMPARED = METRICS[:3]
"""Those that the paper has, too."""
LEVEL = 0.95
WITHOUT_RACK: Mapping[str, Any] = {"rate": 384, "order": "out", "fer": 10, "sack": True}
"""What is run without RACK too, with F-RTO, to see what bit 0 does in this kernel."""
_MODELLED = ("tcp", "wired", "contention")
_NOT_RECORDED = "workload.warmup_s"
"""0 in the paper's scenario: nothing is left out, nor can it be of what is recorded."""


@dataclass(frozen=True)
class Cell:
    """One combination: its `labels`, and the sessions to run, a seed each."""

    labels: Mapping[str, Any]
    scenario: Scenario
    said: Mapping[str, Any]
    """What is asked of the kernel, key by key."""
    seeds: tuple[int, ...]


def cells(scale: str) -> list[Cell]:
    """Every cell at a scale: 48 for each rate, and one without RACK."""
    found = []
    for labels, variant in labelled(PAPER):
        if labels["rate"] not in SESSIONS[scale]:
            continue
        kept = (key for key in variant.keys if key.partition(".")[0] not in _MODELLED and key != _NOT_RECORDED)
        link = {key: variant.keys[key] for key in kept}
        own = {name: labels[name] for name in ("rate", "order", "fer")} | {"sack": bool(labels["fack"])}
        for frto, recovery in [*product(FRTO, RECOVERY), *([(FRTO[-1], 0)] if own == WITHOUT_RACK else [])]:
            said = {
                "kernel.sack": int(own["sack"]), "kernel.frto": frto, "kernel.recovery": recovery,
                "kernel.congestion_control": CONGESTION_CONTROL,
            }  # fmt: skip
            sessions = SESSIONS[scale][labels["rate"]]
            found.append(_cell({**own, "frto": frto, "recovery": recovery}, {**link, **said}, sessions))
    return found


def _cell(labels: Mapping[str, Any], said: Mapping[str, Any], sessions: int) -> Cell:
    name = ", ".join(f"{key} {value}" for key, value in labels.items())
    scenario = resolve(name, {**said, "tcp.segment_bytes": KernelKeys(said)["kernel.mtu"]})
    check(scenario, said)
    return Cell(labels, scenario, said, tuple(range(1, sessions + 1)))


class Measured(NamedTuple):
    """What was measured in the sessions of a cell."""

    labels: Mapping[str, Any]
    sessions: Sequence[Mapping[str, Any]]

    def samples(self, metric: str) -> list[float]:
        """The metric of the sessions that kept to time."""
        return [one[metric] for one in self.sessions if one["trusted"] and one[metric] is not None]

    def described(self) -> dict[str, Any]:
        """The cell as emulated.json has it; a session that was late is counted, and in no mean."""
        late = sum(not one["trusted"] for one in self.sessions)
        metrics = {name: mean_and_interval(self.samples(name)) for name in METRICS}
        return {**self.labels, "sessions": len(self.sessions), "untrusted": late, "metrics": metrics}


def published() -> dict[tuple[bool, str, int], dict[str, float]]:
    """Table 2: mean and deviation of the resends of a session at 384 kbit/s, by SACK, order and frames erased."""
    found: dict[tuple[bool, str, int], dict[str, float]] = {}
    for one in statements(PAPER):
        if one.source == "Table 2" and one.kind == "value" and isinstance(one.published, int | float):
            where, of = one.check[0]["where"], one.check[0]["of"]["kind"]
            found.setdefault((where["fack"], where["order"], where["fer"]), {})[of] = one.published
    return found


class Change(NamedTuple):
    """How delivery out of sequence differs from that in sequence, under one TCP."""

    metric: str
    labels: Mapping[str, Any]
    percent: float
    ci95: float | None
    """Half the width of its interval; None where one session alone speaks."""

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.ci95 is not None and abs(self.percent) > self.ci95


def changes(found: Sequence[Measured], metrics: Sequence[str] = COMPARED) -> Iterator[Change]:
    """Of each TCP, rate and error rate: out of sequence less in sequence, in percent of in sequence."""
    by_labels = {tuple(sorted(one.labels.items())): one for one in found}
    for metric, one in product(metrics, found):
        other = by_labels.get(tuple(sorted({**one.labels, "order": "out"}.items())))
        if one.labels["order"] == "in" and other is not None:
            made = difference_percent(one.samples(metric), other.samples(metric))
            if made is not None:
                yield Change(metric, {name: value for name, value in one.labels.items() if name != "order"}, *made)


def difference_percent(before: Sequence[float], after: Sequence[float]) -> tuple[float, float | None] | None:
    """How much more the mean of some is than that of others, in percent of it, with Welch's interval.

    None where either has no samples, or the mean is 0.
    """
    if not before or not after or not mean_of(before):
        return None
    base, by = mean_of(before), mean_of(after) - mean_of(before)
    errors = [(std_of(one) or 0.0) ** 2 / len(one) for one in (before, after)]
    if min(len(before), len(after)) < 2 or not sum(errors):
        return 100 * by / base, None
    freedom = sum(errors) ** 2 / sum(one**2 / (len(own) - 1) for one, own in zip(errors, (before, after), strict=True))
    half = student_t((1 + LEVEL) / 2, max(1, int(freedom))) * math.sqrt(sum(errors))
    return 100 * by / base, 100 * half / base

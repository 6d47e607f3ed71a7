"""The table of runs that `reproduce` writes, found by what the papers call a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pandas as pd
from confidence import Sample

RATES = {1.5: ("0.015", "0.1"), 2.5: ("0.025", "0.2"), 5.4: ("0.054", "0.5"), 9.8: ("0.098", "1.0")}
"""Frame loss rates in percent: the loss rate of Uniform, and the mean bad time of Two State."""
NONZERO = tuple(RATES)
EACH = (0.0, *NONZERO)
TUNED = {
    "Raw": {}, "SR": dict.fromkeys(("uniform", "two-state"), "SR 1.1"),
    "ASR": {"uniform": "ASR 3+2", "two-state": "ASR 4+0"}, "RLC": {"uniform": "RLC 2", "two-state": "RLC 1"},
}  # fmt: skip
"""What paper 003 compares at last, by error model."""


class NoRunsError(LookupError):
    """The table has no such runs."""


Place = tuple[str, str, str, str]
"""Paper, experiment, variant and metric."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs with the defaults, and how they are looked at."""

    samples: Mapping[Place, Sample]
    wire: str = ""
    """What the names of experiments end in: those behind another wired link."""
    nack: str = ""
    """Which variant of SR stands for SR."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Metrics that are read in place of others."""
    turn: Callable[[tuple[Any, ...], str], str] | None = None
    """Which option's runs are shown as those of another, by figure."""

    def sample(self, paper: str, experiment: str, variant: str, metric: str) -> Sample:
        """The runs of a point; raises NoRunsError."""
        place = (paper, experiment, variant, self.instead.get(metric, metric))
        if place not in self.samples:
            raise NoRunsError(", ".join(place))
        return self.samples[place]

    def variants(self, paper: str, experiment: str, holds: str = "") -> list[str]:
        """The names of an experiment's variants that hold a text."""
        found = dict.fromkeys(place[2] for place in self.samples if place[:2] == (paper, experiment))
        return [variant for variant in found if holds in variant]

    def each(self, paper: str, experiment: str, metric: str, holds: str = "") -> list[float]:
        """The values of every run of an experiment, variant by variant."""
        found = [self.sample(paper, experiment, one, metric) for one in self.variants(paper, experiment, holds)]
        if not found:
            raise NoRunsError(f"{paper}, {experiment}, {holds}")
        return [float(value) for sample in found for value in sample.values]


def read(table: pd.DataFrame) -> Runs:
    """The runs out of the table, without those of alternatives."""
    known = table[(table["choice"] == "") & table["value"].notna()].sort_values("seed", kind="stable")
    groups = known.groupby(["paper", "experiment", "variant", "metric"], sort=False)
    return Runs({place: Sample(one["seed"].to_numpy(), one["value"].to_numpy()) for place, one in groups})


@dataclass(frozen=True)
class Figure:
    """One application under one error model, with media or without, of papers 000 and 003."""

    runs: Runs
    paper: str
    app: str
    """FT or WB."""
    model: str
    """uniform or two-state."""
    media: bool

    def at(self, option: str, rate: float, metric: str = "throughput_bps") -> Sample:
        """The runs of an option at a frame loss rate: SACK or 2 to 6; Raw, SR, SR 0.9, ASR 1+4, RLC 5."""
        option = TUNED.get(option, {}).get(self.model, option)
        if self.runs.turn:
            option = self.runs.turn((self.paper, self.app, self.model, self.media, metric), option)
        return self.runs.sample(self.paper, self._experiment(rate), self._variant(option, rate), metric)

    def _experiment(self, rate: float) -> str:
        app = {"FT": "file-transfer", "WB": "web-browsing"}[self.app]
        return f"{app}-{self.model if rate else 'lossless'}{self.runs.wire}"

    def _variant(self, option: str, rate: float) -> str:
        name = f"rlc {option}" if option.isdigit() else option.lower()
        if not rate and name.startswith("rlc"):
            name += f" {self.model}"
        if name.startswith("sr "):
            name += self.runs.nack
        name += f", contention.enabled = {'yes' if self.media else 'no'}"
        if not rate:
            return name
        key = {"uniform": "channel.frame_loss_rate", "two-state": "channel.bad_s"}[self.model]
        return f"{name}, {key} = {RATES[rate][self.model == 'two-state']}"


@dataclass(frozen=True)
class Session:
    """File transfers of paper 002 at one rate, in one order of delivery, with FACK or without."""

    runs: Runs
    rate: int
    order: str
    """in or out."""
    fack: bool

    def at(self, erased: int, metric: str) -> Sample:
        """The runs with that many percent of the frames erased."""
        rate, order, fack = self.rate, self.order, self.fack
        if self.runs.turn:
            figure = ("delivery-order", rate, metric)
            order, name = self.runs.turn(figure, f"{order} {'FACK' if fack else 'plain'}").split()
            fack = name == "FACK"
        name = f"{rate} kbit/s, {'' if fack else 'no '}FACK"
        keys = f"in_sequence = {'yes' if order == 'in' else 'no'}, channel.forward.frame_loss_rate = {erased / 100}"
        return self.runs.sample("delivery-order", "sessions", f"{name}, link.rlc-am.{keys}", metric)


@dataclass(frozen=True)
class Row:
    """A published row, and the runs that decide it."""

    fields: Mapping[str, str]
    runs: Runs

    @property
    def level(self) -> float:
        """Of its check, else of its paper."""
        named = [level for level in (99, 95) if f"{level} %" in self.fields["check"]]
        return (named or [99 if self.fields["paper"] == "rlc-sack" else 95])[0] / 100

    @property
    def figures(self) -> list[Figure]:
        """Every combination of application, error model and media that it speaks of."""
        workload = self.fields["workload"]
        named = ["FT"] * ("file_transfer" in workload or "FT" in workload)
        named += ["WB"] * ("web_browsing" in workload or "WB" in workload)
        apps = named or ["FT", "WB"]
        models = {"uniform": ["uniform"], "two_state": ["two-state"]}.get(
            self.fields["error_model"], ["uniform", "two-state"]
        )
        media = {"none": [False], "media": [True]}.get(self.fields["contention"], [False, True])
        return [Figure(self.runs, self.fields["paper"], *one) for one in product(apps, models, media)]

    def figures_at(self, rates: tuple[float, ...] = NONZERO) -> Iterator[tuple[Figure, float]]:
        """Every figure with each of the frame loss rates."""
        return product(self.figures, rates)

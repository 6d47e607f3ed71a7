"""Which channel model suits a trace: all are fitted and compared, and the simplest of the best is recommended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from multitracer.replay.channels import channel_classes
from multitracer.replay.channels.model import Channel, Fit, Sample
from multitracer.replay.erasures.run_lengths import distance, runs_of, trace_of

TIE_BIC = 2.0
"""Differences of BIC up to 2 are not worth more than a mention (Kass and Raftery 1995)."""
TIE_LOG_LIKELIHOOD = 3.0
"""Nor does a likelihood ratio below 20 tell two models apart."""
_SIMULATED_BLOCKS = (100_000, 1_500_000)
_SEED = 1


@dataclass(frozen=True)
class Assessment:
    """How one model suits the trace.

    `bic` is Schwarz's criterion: less is better. The distances compare the lengths of bursts (gaps) in the trace
    with those in a trace that the fitted model makes: the largest difference of both distributions, from 0 to 1,
    None where there are none.
    """

    name: str
    fit: Fit
    log_likelihood_per_block: float
    bic: float
    burst_distance: float | None
    gap_distance: float | None


@dataclass(frozen=True)
class Comparison:
    """All models that can be fitted, best first, the one recommended, and why.

    `alike` names those that this trace cannot tell from the recommended one; `unfitted` says of each model
    that could not be fitted why.
    """

    blocks: int
    assessments: list[Assessment]
    recommended: str
    reason: str
    alike: list[str]
    unfitted: dict[str, str]

    @property
    def best(self) -> Assessment:
        """The recommended one."""
        return next(each for each in self.assessments if each.name == self.recommended)


def compare(erased: Any, block_bytes: float = 30, block_ms: float = 20) -> Comparison:
    """Fit every model to a trace and recommend one."""
    trace = trace_of(erased)
    fits = fit_all(Sample(trace, block_bytes, block_ms))
    assessments = sorted((_assess(fit, trace) for fit in fits.values()), key=lambda each: each.bic)
    recommended = _simplest(assessments)
    alike = [each.name for each in assessments if each is not recommended and _alike(each, recommended)]
    return Comparison(
        len(trace), assessments, recommended.name, _reason(recommended, assessments, alike), alike,
        _unfitted({each.name for each in assessments}),
    )  # fmt: skip


def simplest_first() -> list[type[Channel]]:
    """All models; of those with equally many parameters, the first is recommended.

    The deterministic one has no chance in it, and those that need times and bits besides come last in the table.
    """
    return sorted(channel_classes().values(), key=lambda kind: not kind.deterministic)


def fit_all(sample: Sample) -> dict[str, Fit]:
    """The fit of every model that can be fitted, by name."""
    fits: dict[str, Fit] = {}
    for kind in simplest_first():
        fit = kind.fit(sample, fits)
        if fit is not None:
            fits[kind.name] = fit
    return fits


def _assess(fit: Fit, trace: Any) -> Assessment:
    blocks = len(trace)
    least, most = _SIMULATED_BLOCKS
    made, seen = runs_of(fit.model.generate(min(max(blocks, least), most), _SEED)), runs_of(trace)
    bursts, gaps = distance(seen.bursts, made.bursts), distance(seen.gaps, made.gaps)
    if len(seen.lengths) == 1:
        bursts = gaps = None  # the one run's length is the trace's
    bic = fit.free_parameters * math.log(blocks) - 2 * fit.log_likelihood
    return Assessment(fit.model.name, fit, fit.log_likelihood / blocks, bic, bursts, gaps)


def _simplest(assessments: list[Assessment]) -> Assessment:
    lowest = min(each.bic for each in assessments)
    tied = [each for each in assessments if each.bic <= lowest + TIE_BIC]
    order = [kind.name for kind in simplest_first()]
    return min(tied, key=lambda each: (each.fit.free_parameters, order.index(each.name)))


def _alike(other: Assessment, recommended: Assessment) -> bool:
    if recommended.fit.model.deterministic:
        return False
    gain = other.fit.log_likelihood - recommended.fit.log_likelihood
    return abs(other.bic - recommended.bic) <= TIE_BIC or abs(gain) <= TIE_LOG_LIKELIHOOD


def _reason(recommended: Assessment, assessments: list[Assessment], alike: list[str]) -> str:
    if recommended.fit.model.deterministic:
        return "The errors stand at equal distances, to a block, as no random channel puts them."
    said = f"{recommended.name} explains the trace best for its {recommended.fit.free_parameters} parameters"
    others = [each.bic - recommended.bic for each in assessments if each.name not in (recommended.name, *alike)]
    said += f": the BIC of those that differ is {min(others):.1f} higher or more." if others else "."
    if alike:
        said += f" This trace does not tell it from {', '.join(alike)}; of such models the simplest is recommended."
    if {recommended.name, *alike} >= {"gilbert_elliott", "two_state"}:
        said += " Seen in blocks, gilbert_elliott and two_state are one process: two hidden states that lose blocks."
    if recommended.name == "gilbert" and "two_state" in alike:
        said += " A two_state channel that loses all blocks when bad and none when good is nearly gilbert."
    return said


def _unfitted(fitted: set[str]) -> dict[str, str]:
    return {kind.name: kind.why_unfitted for kind in simplest_first() if kind.name not in fitted}

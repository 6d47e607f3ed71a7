"""Checks of papers 000 and 003 whose texts stand alone, each with the tests that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import comb

from check_forms import ASR, LIMITS, SR, above, delay, gain, gap, less_in_size, over_rates
from checking import Tests, alike, form, published
from confidence import (
    Estimate,
    Sample,
    Truth,
    beats,
    exceeds,
    mean_of,
    not_above,
    overlap,
    separated,
    some,
    within,
)
from runs_table import NONZERO, Figure, NoRunsError, Row


@form("SACK > RLC at FLR 0 in each of FT, WB x none, media; paired difference at 99 %")
def _lag(row: Row) -> Tests:
    for figure, limit in product(row.figures, LIMITS):
        yield beats(figure.at("SACK", 0.0), figure.at(limit, 0.0), row.level)


@form("at some FLR > 0 limit 6 < SACK")
def _below_sack(row: Row) -> Tests:
    yield some(beats(figure.at("SACK", rate), figure.at("6", rate), row.level) for figure, rate in row.figures_at())


@form(r"at each nonzero FLR delay\(6\) > delay\(2\) and no step down from 2 to 6; paired seeds")
def _delay_by_limit(row: Row) -> Tests:
    for figure, rate in row.figures_at():
        yield beats(delay(figure, "6", rate), delay(figure, "2", rate), row.level)
        for one, other in pairwise(LIMITS):
            yield not_above(delay(figure, one, rate), delay(figure, other, rate), row.level)


def _gain(figure: Figure, rate: float = 5.4) -> Estimate:
    """Of the best limit of the error model over SACK."""
    return gain(figure, "3" if figure.model == "uniform" else "2", "SACK", rate)


@form(r"ratio of gains at 5\.4 % within 1\.54\.\.2\.11")
def _ratio_of_applications(row: Row) -> Tests:
    for model, media in product(("uniform", "two-state"), (False, True)):
        gains = [_gain(Figure(row.runs, "rlc-sack", app, model, media)).value for app in ("FT", "WB")]
        yield within(gains[0] / gains[1], 1.54, 2.11)


@form(r"gain\(media\)/gain\(none\) at 5\.4 % within 0\.58\.\.1\.10")
def _ratio_of_contention(row: Row) -> Tests:
    for app, model in product(("FT", "WB"), ("uniform", "two-state")):
        gains = [_gain(Figure(row.runs, "rlc-sack", app, model, media)).value for media in (True, False)]
        yield within(gains[0] / gains[1], 0.58, 1.10)


@form(r"gain\(Uniform, 3\) > gain\(Two State, 2\) at each nonzero FLR")
def _gain_by_model(row: Row) -> Tests:
    for app, media, rate in product(("FT", "WB"), (False, True), NONZERO):
        gains = [_gain(Figure(row.runs, "rlc-sack", app, model, media), rate) for model in ("uniform", "two-state")]
        yield exceeds(gains[0] - gains[1], 0.0, row.level)


def ties(means: dict[str, Sample], level: float) -> set[str]:
    """The option of the highest mean, and those that it does not beat."""
    best = max(means.values(), key=lambda one: one.mean)
    return {name for name, one in means.items() if one is best or not beats(best, one, level)}


@form(r"same argmax over \{2\.\.6\} with and without media at each nonzero FLR, FT and WB; ties at 99 % allowed")
def _same_limit(row: Row) -> Tests:
    for app, model, rate in product(("FT", "WB"), ("uniform", "two-state"), NONZERO):
        both = [Figure(row.runs, "rlc-sack", app, model, media) for media in (False, True)]
        first, second = (ties({one: figure.at(one, rate) for one in LIMITS}, row.level) for figure in both)
        yield bool(first & second)


@form(r"SACK alone: throughput\(Two State\) > throughput\(Uniform\) at each nonzero FLR")
def _bursts_spare_sack(row: Row) -> Tests:
    for app, media, rate in product(("FT", "WB"), (False, True), NONZERO):
        samples = [
            Figure(row.runs, "rlc-sack", app, model, media).at("SACK", rate) for model in ("two-state", "uniform")
        ]
        yield beats(*samples, row.level)


@form("equivalence: 99 % intervals of FT throughput under the two error models overlap at each nonzero FLR")
def _equal_recovery(row: Row) -> Tests:
    for rate in NONZERO:
        uniform, bursts = (Figure(row.runs, "rlc-sack", "FT", model, False) for model in ("uniform", "two-state"))
        yield overlap(uniform.at("3", rate), bursts.at("2", rate), row.level)


@form("one lost frame, 200 placements: last of a transfer repaired later than one followed by traffic, median, 99 %")
def _last_frame(row: Row) -> Tests:
    for name in ("rlc 3 uniform", "rlc 2 two-state"):
        repaired: dict[str, dict[int, float]] = {}
        for variant in row.runs.variants("rlc-sack", "lost-frame", f"{name}, "):
            delay_s, frame = re.findall(r"= ([\d.]+)", variant)
            try:
                sample = row.runs.sample("rlc-sack", "lost-frame", variant, "repair_s")
            except NoRunsError:
                continue
            repaired.setdefault(delay_s, {})[int(frame)] = sample.mean
        later = [of[max(of)] - of[min(of)] for of in repaired.values() if len(of) > 1]
        yield _median_above_0(later, row.level)


def _median_above_0(values: Sequence[float], level: float) -> Truth:
    """The sign test's interval of a median: its ends are ordered values."""
    ordered, count = sorted(values), len(values)
    outside = [sum(comb(count, k) for k in range(below + 1)) / 2**count for below in range(count)]
    allowed = [below for below, share in enumerate(outside) if share <= (1 - level) / 2]
    if not allowed:
        return None
    low, high = ordered[allowed[-1]], ordered[count - 1 - allowed[-1]]
    return True if low > 0 else False if high <= 0 else None


@form(r"argmax with media differs from argmax without in each of FT, WB x Uniform, Two State")
def _no_single_timeout(row: Row) -> Tests:
    for app, model in product(("FT", "WB"), ("uniform", "two-state")):
        both = [over_rates(Figure(row.runs, "asr", app, model, media), SR) for media in (False, True)]
        best = [max(SR, key=lambda one, means=means: means[one].mean) for means in both]
        yield best[0] != best[1]


@form(r"gap\(FT\) > gap\(WB\) (?:with media )?at 5\.4 %")
def _gap_by_application(row: Row) -> Tests:
    of = SR if row.fields["protocol"] == "SR" else ASR
    for model in ("uniform", "two-state"):
        for media in [True] if row.fields["contention"] == "media" else [False, True]:
            gaps = [gap(Figure(row.runs, "asr", app, model, media), of) for app in ("FT", "WB")]
            yield exceeds(gaps[0] - gaps[1], 0.0, row.level)


@form(r"1\+4 < each of the other four at FLR 0 without media|the same runs as P003-052")
def _spurious_link_timeouts(row: Row) -> Tests:
    figure = Figure(row.runs, "asr", "FT", "uniform", False)
    yield from (beats(figure.at(one, 0.0), figure.at("ASR 1+4", 0.0), row.level) for one in ASR[1:])


@form(r"1\+4 integer with 10 ms ticks > 1\+4 in floating point at 5\.4 %")
def _arithmetic(row: Row) -> Tests:
    for figure in row.figures:
        integer, floating = figure.at("ASR 1+4", 5.4), figure.at("ASR 1+4 float", 5.4)
        yield beats(integer, floating, row.level)
        above_it = [mean for one in ASR[1:] if (mean := figure.at(one, 5.4).mean) > floating.mean]
        yield integer.mean < min(above_it, default=floating.mean)


@form("one argmax per error model over FT, WB x none, media, and the two differ; ties at 95 % allowed")
def _one_policy(row: Row) -> Tests:
    common = {}
    for model in ("uniform", "two-state"):
        figures = [figure for figure in row.figures if figure.model == model]
        common[model] = set.intersection(*(ties(over_rates(figure, ASR), row.level) for figure in figures))
        yield bool(common[model])
    yield len(common["uniform"] | common["two-state"]) > 1


@form(r"ASR>RLC at each nonzero FLR and ASR-RLC growing with FLR; ASR never above SR; at 9\.8 % RLC nearer to Raw")
def _bursts_transfer(row: Row) -> Tests:
    (figure,) = row.figures
    yield from _asr_over_rlc(figure, row.level)
    yield from (not_above(figure.at("ASR", rate), figure.at("SR", rate), row.level) for rate in NONZERO)
    raw, asr, rlc = (figure.at(one, 9.8) for one in ("Raw", "ASR", "RLC"))
    yield less_in_size(rlc - raw, asr - rlc, row.level)


def _asr_over_rlc(figure: Figure, level: float) -> Tests:
    """ASR beats RLC, by more at the highest rate of losses than at the lowest, and by less at no step."""
    lead = [figure.at("ASR", rate) - figure.at("RLC", rate) for rate in NONZERO]
    yield from (exceeds(mean_of(one), 0.0, level) for one in lead)
    yield beats(lead[-1], lead[0], level)
    yield from (not_above(before, after, level) for before, after in pairwise(lead))


@form(r"ASR>RLC and Raw>SR at each nonzero FLR, ASR-RLC growing with FLR; paired seeds, 95 %; RLC>Raw reported only")
def _bursts_transfer_with_media(row: Row) -> Tests:
    (figure,) = row.figures
    yield from _asr_over_rlc(figure, row.level)
    yield from (beats(figure.at("Raw", rate), figure.at("SR", rate), row.level) for rate in NONZERO)


@form(r"ASR>SR>RLC at each nonzero FLR, paired difference at 95 %; SR-RLC smaller than in P003-100")
def _web_with_media(row: Row) -> Tests:
    (figure,) = row.figures
    quiet = Figure(figure.runs, "asr", figure.app, figure.model, False)
    for rate in NONZERO:
        yield from (
            beats(figure.at(one, rate), figure.at(other, rate), row.level) for one, other in above("ASR>SR>RLC")
        )
        lead = [at.at("SR", rate).mean - at.at("RLC", rate).mean for at in (figure, quiet)]
        yield lead[0] < lead[1]


@form(r"ASR>SR and (SR>RLC|ASR>RLC) at each nonzero FLR, RLC-Raw < ASR-RLC at 5\.4 and 9\.8 %")
def _web_bursts(row: Row, second: str) -> Tests:
    (figure,) = row.figures
    for rate, (one, other) in product(NONZERO, list(above(f"ASR>SR {second}"))):
        yield beats(figure.at(one, rate), figure.at(other, rate), row.level)
    yield from _nearer_to_raw(row)
    if "overlap" in row.fields["check"]:
        yield from (overlap(figure.at("SR", rate), figure.at("RLC", rate), row.level) for rate in NONZERO)


@form(r"RLC-Raw < ASR-RLC at 5\.4 and 9\.8 %, FT and WB, none and media; paired seeds")
def _nearer_to_raw(row: Row) -> Tests:
    for figure, rate in row.figures_at((5.4, 9.8)):
        raw, asr, rlc = (figure.at(one, rate) for one in ("Raw", "ASR", "RLC"))
        yield beats(asr - rlc, rlc - raw, row.level)


@form(r"delay of ASR and RLC at each nonzero FLR not above that at 0, FT and WB, both error models")
def _delay_with_losses(row: Row) -> Tests:
    for (figure, rate), one in product(row.figures_at(), ("ASR", "RLC")):
        yield not_above(delay(figure, one, rate), delay(figure, one, 0.0), row.level)


@form(r"RLC < Raw, SR, ASR at FLR 0: strict without media")
def _status_costs(row: Row) -> Tests:
    for figure, other in product(row.figures, ("Raw", "SR", "ASR")):
        yield beats(figure.at(other, 0.0), figure.at("RLC", 0.0), row.level)


@form(
    r"ASR>RLC in each of FT, WB x Uniform, Two State x none, media at each nonzero FLR"
    r" except FT Uniform 5\.4 and 9\.8 %"
)
def _asr_mostly(row: Row) -> Tests:
    for figure, rate in row.figures_at():
        if (figure.app, figure.model) != ("FT", "uniform") or rate < 5:
            yield beats(figure.at("ASR", rate), figure.at("RLC", rate), row.level)


@form(r"20\.5\.\.21\.5 min")
def _transfer_time(row: Row) -> Tests:
    bits = 8e7
    yield within(bits / Figure(row.runs, "asr", "FT", "uniform", False).at("Raw", 0.0).mean / 60, 20.5, 21.5)


@form("every ordering and optimum row of P003 decided alike with the wired link at 2 Mbit/s, 50 ms")
def _slower_wire(row: Row) -> Tests:
    yield from alike(row, _orderings_and_optima(row), wire="-slow-wire")


def _orderings_and_optima(row: Row) -> Iterator[str]:
    results = (other for other in published() if (other["paper"], other["role"]) == ("asr", "result"))
    yield from (other["id"] for other in results if other["kind"] != "value" and other is not row.fields)


@form(r"multireject > each simpler variant at 5\.4 %, FT and WB, both models and contentions")
def _simpler_variants(row: Row) -> Tests:
    simpler = (" one-outstanding", " one-per-frame")
    for figure, timeout, nack in product(row.figures, SR, simpler):
        yield beats(figure.at(timeout, 5.4), figure.at(timeout + nack, 5.4), row.level)
    for nack in simpler:
        yield from alike(row, [f"P003-{number:03}" for number in range(2, 28)], nack=nack)


@form(r"at FLR 0 without media: link timeouts of 1\+4 > 0 and above those of each other policy")
def _link_timeouts(row: Row) -> Tests:
    figure = Figure(row.runs, "asr", "FT", "uniform", False)
    first, *others = (figure.at(one, 0.0, "link_timeouts") for one in ASR)
    yield exceeds(mean_of(first), 0.0, row.level)
    yield from (beats(first, other, row.level) for other in others)


@form(r"Raw, ASR, RLC: order of mean media delays = order of mean FT throughputs at each nonzero FLR")
def _delay_as_throughput(row: Row) -> Tests:
    for (figure, rate), (one, other) in product(row.figures_at(), [("Raw", "ASR"), ("Raw", "RLC"), ("ASR", "RLC")]):
        later = separated(delay(figure, one, rate), delay(figure, other, rate), row.level)
        faster = separated(figure.at(one, rate), figure.at(other, rate), row.level)
        if later and faster:
            yield later == faster

"""The checks of published_results.csv read from their texts: each form of text gives the tests that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

from checking import Tests, form
from confidence import (
    Estimate,
    Sample,
    Truth,
    average,
    beats,
    every,
    mean_of,
    near,
    not_above,
    ratio,
    separated,
    within,
)
from runs_table import EACH, NONZERO, Figure, Row

SECOND = 1.41
"""The published mean scatters as ours does."""
LIMITS = ("2", "3", "4", "5", "6")
SETS = {
    "{2..6}": LIMITS,
    "{0.9..1.3}": ("SR 0.9", "SR 1.0", "SR 1.1", "SR 1.2", "SR 1.3"),
    "the five policies": ("ASR 1+4", "ASR 2+4", "ASR 3+2", "ASR 4+0", "ASR 4+2"),
    "{1..5}": ("RLC 1", "RLC 2", "RLC 3", "RLC 4", "RLC 5"),
}
SR = SETS["{0.9..1.3}"]
ASR = SETS["the five policies"]
RLC = SETS["{1..5}"]
AT = r"(each FLR|each nonzero FLR|5\.4 %|1\.5 and 2\.5 %|5\.4 and 9\.8 %)"


def rates(text: str) -> tuple[float, ...]:
    """The frame loss rates that a text names."""
    named = {"each FLR": EACH, "each nonzero FLR": NONZERO}
    return named[text] if text in named else tuple(map(float, re.findall(r"\d\.\d", text)))


def options(row: Row) -> tuple[str, ...]:
    """All options of the family that a row speaks of."""
    word = row.fields["protocol"].split()[0]
    return {"SR": SR, "ASR": ASR, "RLC": RLC, "RLC/AM": LIMITS}[word]


def option(family: Sequence[str], text: str) -> str:
    """The one that a check calls by its number alone."""
    return next(one for one in family if one.split()[-1] == text)


def gain(figure: Figure, better: str, worse: str, rate: float) -> Estimate:
    """Of a throughput over another, by the delta method."""
    found = ratio(figure.at(better, rate), figure.at(worse, rate))
    return Estimate(found.value - 1, found.variance, found.freedom)


def gap(figure: Figure, family: Sequence[str], rate: float = 5.4) -> Estimate:
    """(best - worst)/worst, of ours."""
    ordered = sorted(family, key=lambda one: figure.at(one, rate).mean)
    return gain(figure, ordered[-1], ordered[0], rate)


def highest(means: dict[str, Sample], best: str) -> Truth:
    """Whether no other has a higher mean."""
    return all(means[best].mean >= other.mean for other in means.values())


def optimum(means: dict[str, Sample], best: str, level: float, beaten: Sequence[str] = ()) -> Tests:
    """Highest mean, beaten by none, and itself above those that are named."""
    yield highest(means, best)
    yield from (not_above(other, means[best], level) for name, other in means.items() if name != best)
    yield from (beats(means[best], means[one], level) for one in beaten)


@form(r"within 1\.41 x our (?:95|99) % half-width of the (gain|gap), 30 runs a side")
def _value(row: Row, what: str) -> Tests:
    (figure,) = row.figures
    protocol = row.fields["protocol"]
    if what == "gap":
        ours = gap(figure, options(row))
    elif limit := re.search(r"max (\d)", protocol):
        ours = gain(figure, limit[1], "SACK", 5.4)
    else:
        ours = gain(figure, "ASR", "Raw", 5.4)
    yield near(100 * ours.value, float(row.fields["value"]), SECOND * 100 * ours.half(row.level))


@form(rf"argmax over (\S+|the five policies) at {AT}: (\S+) has the highest mean,? (?:and )?none beats it"
      r"(?:, it beats ([\d., ]+))?; paired seeds")  # fmt: skip
def _argmax(row: Row, family: str, at: str, best: str, beaten: str | None) -> Tests:
    of = SETS[family]
    below = [option(of, one) for one in beaten.split(", ")] if beaten else []
    for figure, rate in row.figures_at(rates(at)):
        yield from optimum({one: figure.at(one, rate) for one in of}, option(of, best), row.level, below)


@form(rf"argmax over (\S+) at {AT}: (\d) beats ([\d, ]+); paired seeds")
def _beats_others(row: Row, family: str, at: str, best: str, beaten: str) -> Tests:
    of = SETS[family]
    for (figure, rate), other in product(row.figures_at(rates(at)), beaten.split(", ")):
        yield beats(figure.at(option(of, best), rate), figure.at(option(of, other), rate), row.level)


@form(r"argmax over (\S+) of the mean over FLR 1\.5, 2\.5, 5\.4, 9\.8 % is (\d), none beats it; paired seeds")
def _argmax_of_mean(row: Row, family: str, best: str) -> Tests:
    of = SETS[family]
    for figure in row.figures:
        yield from optimum(over_rates(figure, of), option(of, best), row.level)


@form(r"argmax of the mean over nonzero FLRs is (\S+) in each of FT, WB x none, media; none beats it, 95 %")
def _argmax_everywhere(row: Row, best: str) -> Tests:
    yield from _argmax_of_mean(row, next(name for name, of in SETS.items() if of == options(row)), best)


def over_rates(figure: Figure, of: Sequence[str]) -> dict[str, Sample]:
    """Each option's mean over the nonzero frame loss rates, seed by seed."""
    return {one: average([figure.at(one, rate) for rate in NONZERO]) for one in of}


def falling(samples: Sequence[Sample], level: float) -> Tests:
    """Each mean below the one before it, and no step up."""
    for before, after in pairwise(samples):
        yield before.mean > after.mean
        yield not_above(after, before, level)


@form(r"mean falls ([\d>]+) at each nonzero FLR; (\d)>(\d) and no step up, paired seeds")
def _falls(row: Row, order: str, best: str, worst: str) -> Tests:
    of = options(row)
    for figure, rate in row.figures_at():
        yield from falling([figure.at(option(of, one), rate) for one in order.split(">")], row.level)
        yield beats(figure.at(option(of, best), rate), figure.at(option(of, worst), rate), row.level)


@form(r"mean (falls|rises) at each step 0\.9\.\.1\.3 at each nonzero FLR; no step (?:up|down), paired seeds")
def _falls_or_rises(row: Row, way: str) -> Tests:
    of = SR if way == "falls" else SR[::-1]
    for figure, rate in row.figures_at():
        yield from falling([figure.at(one, rate) for one in of], row.level)


@form(r"mean falls max\(2,3\)>4>5>6 at each nonzero FLR, no step up, paired seeds, 99 %; \(best-worst\)/worst below")
def _falls_from_the_better(row: Row) -> Tests:
    for figure, rate in row.figures_at():
        first = max(figure.at("2", rate), figure.at("3", rate), key=lambda one: one.mean)
        yield from falling([first, *(figure.at(one, rate) for one in "456")], row.level)
        transfer = Figure(figure.runs, figure.paper, "FT", figure.model, figure.media)
        yield gap(figure, LIMITS, rate).value < gap(transfer, LIMITS, rate).value


@form(r"mean falls 2>3>4>5>6 at each nonzero FLR, no step up, and no limit below SACK")
def _falls_above_sack(row: Row) -> Tests:
    for figure, rate in row.figures_at():
        yield from falling([figure.at(one, rate) for one in LIMITS], row.level)
        yield from (not_above(figure.at("SACK", rate), figure.at(one, rate), row.level) for one in LIMITS)


@form(r"at 5\.4 %: (\S+) highest and (\S+) lowest mean, \1 > \2, paired difference")
def _extremes(row: Row, best: str, worst: str) -> Tests:
    (figure,) = row.figures
    samples = {one: figure.at(one, 5.4) for one in SR}
    first, last = samples[option(SR, best)], samples[option(SR, worst)]
    yield all(last.mean <= one.mean <= first.mean for one in samples.values())
    yield beats(first, last, row.level)


@form(r"1\+4 has the lowest mean at each FLR and every other beats it at 5\.4 %; paired seeds")
def _worst_policy(row: Row) -> Tests:
    for figure, rate in row.figures_at(EACH):
        yield all(figure.at("ASR 1+4", rate).mean <= figure.at(one, rate).mean for one in ASR)
    for figure, other in product(row.figures, ASR[1:]):
        yield beats(figure.at(other, 5.4), figure.at("ASR 1+4", 5.4), row.level)


@form(r"each limit 2\.\.6 > SACK at each nonzero FLR, paired difference at 99 %")
def _each_above_sack(row: Row) -> Tests:
    for (figure, rate), limit in product(row.figures_at(), LIMITS):
        yield beats(figure.at(limit, rate), figure.at("SACK", rate), row.level)


@form(
    r"2 > SACK at 5\.4 %, paired difference at 99 %,"
    r" and its gain below the Uniform gain \(limit 3\) at each nonzero FLR"
)
def _small_advantage(row: Row) -> Tests:
    for figure in row.figures:
        yield beats(figure.at("2", 5.4), figure.at("SACK", 5.4), row.level)
        uniform = Figure(figure.runs, figure.paper, figure.app, "uniform", figure.media)
        for rate in NONZERO:
            yield gain(figure, "2", "SACK", rate).value < gain(uniform, "3", "SACK", rate).value


@form(r"\|thr\((\d)\)-thr\((\d)\)\| at 1\.5 and 2\.5 % below thr\(\2\)-thr\(\1\) at 5\.4 and 9\.8 %; paired seeds")
def _small_gap(row: Row, low: str, high: str) -> Tests:
    of = options(row)
    for figure in row.figures:
        gained = {rate: figure.at(option(of, high), rate) - figure.at(option(of, low), rate) for rate in NONZERO}
        for few, many in product((1.5, 2.5), (5.4, 9.8)):
            yield less_in_size(gained[few], gained[many], row.level)


def less_in_size(one: Sample, other: Sample, level: float) -> Truth:
    """Whether |one| < other: one < other and -one < other."""
    return every([beats(other, one, level), beats(other, one * -1, level)])


@form(r"order of the (?:five|six) means alike with and without media at each nonzero FLR"
      r"(?:, FT, both error models)?; pairs not separated at (?:95|99) % left out")  # fmt: skip
def _order_alike(row: Row) -> Tests:
    of = ("SACK", *LIMITS) if row.fields["paper"] == "rlc-sack" else RLC
    for model, rate in product(dict.fromkeys(figure.model for figure in row.figures), NONZERO):
        without, media = (Figure(row.runs, row.fields["paper"], "FT", model, on) for on in (False, True))
        for one, other in combinations(of, 2):
            signs = [separated(at.at(one, rate), at.at(other, rate), row.level) for at in (without, media)]
            if all(signs):
                yield signs[0] == signs[1]


@form(
    rf"((?:SR|ASR|RLC|Raw)[>, adnwACLRS]*) at {AT},(?: both error models, none and media;)? paired difference at 95 %$"
)
def _comparison(row: Row, chains: str, at: str) -> Tests:
    for (figure, rate), (one, other) in product(row.figures_at(rates(at)), list(above(chains))):
        yield beats(figure.at(one, rate), figure.at(other, rate), row.level)


def above(text: str) -> Iterator[tuple[str, str]]:
    """Each pair of neighbours in chains such as RLC>ASR>SR, and of each in a list with what it is above."""
    for chain in re.findall(r"\w+(?:>\w+)+", text):
        yield from pairwise(chain.split(">"))
    for listed, below in re.findall(r"((?:\w+, )+\w+) > (\w+)", text):
        yield from product(listed.split(", "), [below])


@form(rf"delay (\S+) at {AT}, (?:both error models, )?paired difference at 95 %")
def _delays(row: Row, chain: str, at: str) -> Tests:
    for (figure, rate), (one, other) in product(row.figures_at(rates(at)), list(above(chain))):
        yield beats(delay(figure, one, rate), delay(figure, other, rate), row.level)


def delay(figure: Figure, option: str, rate: float) -> Sample:
    """Of media packets, one way."""
    return figure.at(option, rate, "media_delay_ms")


@form(r"delay at 1\.5, 2\.5, 5\.4, 9\.8 % not above delay at 0, against FT and WB")
def _delay_with_losses(row: Row) -> Tests:
    limit = row.fields["protocol"].split()[-1]
    for figure, rate in row.figures_at():
        yield not_above(delay(figure, limit, rate), delay(figure, limit, 0.0), row.level)


@form(r"delay\(limit\) > delay\(SACK\) for each limit 2\.\.6 at each nonzero FLR, against FT and WB")
def _delay_over_sack(row: Row) -> Tests:
    for (figure, rate), limit in product(row.figures_at(), LIMITS):
        yield beats(delay(figure, limit, rate), delay(figure, "SACK", rate), row.level)


@form(r"stated value inside our (?:95|99) % interval over 30 runs, or within 0\.05 points of our mean")
def _channel(row: Row) -> Tests:
    bad_s = float(row.fields["metric"].split()[-2]) / 1000
    paper, stated = row.fields["paper"], float(row.fields["value"])
    found = mean_of(row.runs.sample(paper, "two-state-losses", f"channel.bad_s = {bad_s}", "frame_loss_percent"))
    yield abs(found.value - stated) <= max(found.half(row.level), 0.05)


@form(r"every mean of the figure within (\d+)\.\.(\d+) kbit/s")
def _axis(row: Row, low: str, high: str) -> Tests:
    for (figure, rate), one in product(row.figures_at(EACH), options(row)):
        yield within(figure.at(one, rate).mean, 1000 * float(low), 1000 * float(high))


@form(r"upper 95 % limit of throughput\(0\.9\)/throughput\(1\.3\) at 5\.4 % below 1/3")
def _a_third(row: Row) -> Tests:
    (figure,) = row.figures
    found = ratio(figure.at("SR 0.9", 5.4), figure.at("SR 1.3", 5.4))
    half = found.half(row.level)
    yield True if found.value + half < 1 / 3 else False if found.value - half > 1 / 3 else None


@form(
    r"TCP retransmissions of data that the link still holds, per MB,"
    r" larger at (?:limit 6 than at 2|5 than at 1 retransmission)"
)
def _both_layers(row: Row) -> Tests:
    of = options(row)
    for figure in row.figures:
        most, least = (figure.at(one, 5.4, "tcp_retransmissions_of_held_per_mb") for one in (of[-1], of[0]))
        yield beats(most, least, row.level)

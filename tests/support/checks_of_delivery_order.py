"""Checks of paper 002, each with the tests that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

from checking import Tests, form
from confidence import (
    Estimate,
    Sample,
    Truth,
    average,
    beats,
    every,
    exceeds,
    mean_estimate,
    mean_of,
    near,
    not_above,
    ratio,
    separated,
    some,
    within,
)
from runs_table import Row, Session

GOODPUT, RTT, RESENT = "goodput_bps", "rtt_ms", "tcp_retransmissions"
FERS, DOWN = (1, 10, 20), (32, 128, 384)
ORDERS, FACKS = ("in", "out"), (True, False)


def _session(row: Row, order: str, fack: bool, rate: int = 384) -> Session:
    return Session(row.runs, rate, order, fack)


def _cell(row: Row, metric: str, order: str, fack: bool, erased: int, rate: int = 384) -> Sample:
    return _session(row, order, fack, rate).at(erased, metric)


@form(r"[\d.]+ \+- \(([\d.]+) \+ our 99 % half-width\)")
def _table_2(row: Row, spread: str) -> Tests:
    protocol, metric = row.fields["protocol"], row.fields["metric"]
    order, fack = "out" if "out-of-sequence" in protocol else "in", "with FACK" in protocol
    sample = _cell(row, RESENT, order, fack, int(row.fields["flr_or_fer"]))
    ours = _deviation(sample) if metric.startswith("std") else mean_of(sample)
    yield near(ours.value, float(row.fields["value"]), float(spread) + ours.half(row.level))


def _deviation(sample: Sample) -> Estimate:
    """The standard deviation; its own scatter is std / sqrt(2 n), as in the check."""
    variance = sample.variance * len(sample.values)
    return Estimate(variance**0.5, variance / (2 * len(sample.values)), sample.freedom)


@form(r"(?:20\.6|15|18) \+- \(\d+ points \+ our 99 % half-width\): spread of Table 2 at 100 sessions; weak")
def _weak(_: Row) -> Tests:
    yield None  # holds for almost any outcome


@form(r"68\.5 \+- \(32 points \+ our 99 % half-width\)")
def _more_with_fack(row: Row) -> Tests:
    found = ratio(_cell(row, RESENT, "out", True, 10), _cell(row, RESENT, "out", False, 10))
    yield near(100 * (found.value - 1), 68.5, 32 + 100 * found.half(row.level))


def _deficit(row: Row, rate: int, fack: bool, erased: int) -> Estimate:
    """(in - out)/in of the goodput."""
    found = ratio(*(_cell(row, GOODPUT, order, fack, erased, rate) for order in ("out", "in")))
    return Estimate(1 - found.value, found.variance, found.freedom)


def _mean_deficit(row: Row, rate: int, fack: bool) -> Estimate:
    return mean_estimate([_deficit(row, rate, fack, erased) for erased in FERS])


@form(r"largest \(in-out\)/in over FER 1, 10, 20 % between 2\.5 and 7\.5 %")
def _largest_deficit(row: Row) -> Tests:
    yield within(max(_deficit(row, 384, False, erased).value for erased in FERS), 0.025, 0.075)


@form("equivalence within 1 % of goodput at each FER .* and not separated at 95 %")
def _indistinguishable(row: Row) -> Tests:
    for erased in FERS:
        first, second = (_cell(row, GOODPUT, order, False, erased, 32) for order in ORDERS)
        found, allowed = mean_of(first - second), 0.01 * second.mean
        yield every([exceeds(found, -allowed, row.level), exceeds(found * -1, -allowed, row.level)])
        yield separated(first, second, row.level) == 0


@form("out never above in at 95 %, in > out at some FER at 95 %, deficit below that at 384 kbit/s")
def _marginally_better(row: Row) -> Tests:
    both = [[_cell(row, GOODPUT, order, False, erased, 128) for order in ORDERS] for erased in FERS]
    yield from (not_above(out, within_order, row.level) for within_order, out in both)
    yield some(beats(within_order, out, row.level) for within_order, out in both)
    yield _mean_deficit(row, 128, False).value < _mean_deficit(row, 384, False).value


@form("in > out at FER 10 and 20 %, 95 %")
def _clearly_better(row: Row) -> Tests:
    for erased in (10, 20):
        yield beats(*(_cell(row, GOODPUT, order, False, erased) for order in ORDERS), row.level)


@form(r"\(in-out\)/in with FACK > without, mean over FER, at each of 32, 128, 384 kbit/s")
def _more_pronounced(row: Row) -> Tests:
    for rate in DOWN:
        yield exceeds(_mean_deficit(row, rate, True) - _mean_deficit(row, rate, False), 0.0, row.level)


def _fack_against(row: Row, metric: str, order: str, erased: int, *, more: bool) -> Truth:
    """Whether FACK has more of a metric than without it, or less."""
    pair = [_cell(row, metric, order, fack, erased) for fack in (more, not more)]
    return beats(*pair, row.level)


@form("FACK > no FACK at FER 1 % in both delivery orders")
def _fack_with_few_losses(row: Row) -> Tests:
    yield from (_fack_against(row, GOODPUT, order, 1, more=True) for order in ORDERS)


@form("FACK < no FACK at FER 10 and 20 %, and its fall from FER 1 % larger")
def _fack_out_of_sequence(row: Row) -> Tests:
    for erased in (10, 20):
        yield _fack_against(row, GOODPUT, "out", erased, more=False)
        falls = [
            _cell(row, GOODPUT, "out", fack, 1) - _cell(row, GOODPUT, "out", fack, erased) for fack in (True, False)
        ]
        yield beats(*falls, row.level)


@form("FACK < no FACK at FER 10 and 20 %, 95 %, gap at 20 % below gap at 10 % in the mean")
def _fack_in_sequence(row: Row) -> Tests:
    yield from (_fack_against(row, GOODPUT, "in", erased, more=False) for erased in (10, 20))
    gaps = [
        _cell(row, GOODPUT, "in", False, erased).mean - _cell(row, GOODPUT, "in", True, erased).mean
        for erased in (20, 10)
    ]
    yield gaps[0] < gaps[1]


@form("FACK > no FACK, mean over FER 1, 10, 20 %")
def _fack_in_the_mean(row: Row) -> Tests:
    yield beats(*(average([_cell(row, GOODPUT, "in", fack, one) for one in FERS]) for fack in FACKS), row.level)


@form("mean RTT out < in at each FER, with and without FACK")
def _shorter_out_of_sequence(row: Row) -> Tests:
    for fack, erased in product(FACKS, FERS):
        yield beats(*(_cell(row, RTT, order, fack, erased) for order in ORDERS), row.level)


@form(r"mean RTT with FACK (<|>) without at FER (10 and 20|1) %, both orders")
def _rtt_with_fack(row: Row, sign: str, erased: str) -> Tests:
    for one, order in product(map(int, erased.split(" and ")), ORDERS):
        yield _fack_against(row, RTT, order, one, more=sign == ">")


@form("mean RTT over FER 1, 10, 20 % with FACK < without, both orders")
def _rtt_in_the_mean(row: Row) -> Tests:
    for order in ORDERS:
        means = [average([_cell(row, RTT, order, fack, one) for one in FERS]) for fack in (False, True)]
        yield beats(*means, row.level)


@form("out never above in at 95 % at any rate and FER, deficit at 384 > 128 > 32 kbit/s in the mean over FER")
def _best_mode(row: Row) -> Tests:
    for fack, rate, erased in product(FACKS, DOWN, FERS):
        yield not_above(*(_cell(row, GOODPUT, order, fack, erased, rate) for order in ("out", "in")), row.level)
    for fack in FACKS:
        yield _rising([_mean_deficit(row, rate, fack) for rate in DOWN])


def _rising(found: Sequence[Estimate]) -> Truth:
    return all(before.value < after.value for before, after in pairwise(found))


@form(r"\(in-out\)/in at 384 > 128 > 32 kbit/s in the mean over FER, 384 > 32 at 95 %")
def _deficit_by_rate(row: Row) -> Tests:
    deficits = [_mean_deficit(row, rate, False) for rate in DOWN]
    yield _rising(deficits)
    yield exceeds(deficits[-1] - deficits[0], 0.0, row.level)


@form("out > in in each of FER 10, 20 % x with, without FACK")
def _more_out_of_sequence(row: Row) -> Tests:
    for fack, erased in product(FACKS, (10, 20)):
        yield beats(*(_cell(row, RESENT, order, fack, erased) for order in ("out", "in")), row.level)


@form("20 > 10 % in each of the four, 95 %; no step down where not separated")
def _more_with_losses(row: Row) -> Tests:
    for order, fack in product(ORDERS, FACKS):
        few, many = (_cell(row, RESENT, order, fack, erased) for erased in (10, 20))
        yield beats(few, many, row.level) is not True and many.mean >= few.mean


@form("out-of-sequence: FACK > no FACK at FER 10 and 20 %, 95 %; in-sequence: FACK not above no FACK")
def _fack_by_order(row: Row) -> Tests:
    for erased in (10, 20):
        yield _fack_against(row, RESENT, "out", erased, more=True)
        yield _fack_against(row, RESENT, "in", erased, more=True) is not True


@form(
    "out-of-sequence with FACK: more than half of the TCP retransmissions are of data that the RLC delivers by itself"
)
def _redundant(row: Row) -> Tests:
    for erased in (10, 20):
        share = _cell(row, "tcp_retransmissions_of_delivered_percent", "out", True, erased)
        yield exceeds(mean_of(share), 50.0, row.level)

"""Checks of paper 001, each with the tests that it asks for."""

from __future__ import annotations

from itertools import product
from math import isnan

from checking import Tests, alike, form
from confidence import Sample, beats, exceeds, mean_of, not_above, within
from runs_table import Row

BERS = ("1e-05", "5e-05", "0.0001", "0.0002")
SWEEPS = {
    "poll-periodic": ("link.rlc-am.poll_periodic_s = {}", ("0.32", "0.64", "0.96", "1.08", "1.22")),
    "poll-window": ("link.rlc-am.poll_window_percent = {}", ("25", "50", "75", "85", "95")),
    "poll-pdu": ("link.rlc-am.poll_pdu = {}", ("64", "128", "192", "217", "243")),
}
POLLS, PROHIBITS = ("0.04", "0.08", "0.16", "0.32"), ("0.02", "0.04", "0.08", "0.16")
STATUS, THRESHOLDS = (*PROHIBITS, "0.32"), ("1", "2", "4", "8")


def _web(row: Row, experiment: str, ber: str, settings: str, metric: str = "page_goodput_bps") -> Sample:
    return row.runs.sample("rlc-web", experiment, f"channel.bit_error_rate = {ber}, {settings}", metric)


def _sweep(row: Row, name: str, ber: str) -> list[Sample]:
    """Every setting of a sweep, that of the most frequent reports first, of the least frequent last."""
    if name == "poll-timer":
        text = "link.rlc-am.poll_s = {}, link.rlc-am.poll_prohibit_s = {}"
        return [_web(row, name, ber, text.format(*one)) for one in product(POLLS, PROHIBITS)]
    if name == "status-prohibit":
        return [_web(row, name, ber, _STATUS.format(*one)) for one in product(STATUS, THRESHOLDS)]
    text, values = SWEEPS[name]
    return [_web(row, name, ber, text.format(value)) for value in values]


_STATUS = "link.rlc-am.status_prohibit_s = {}, link.rlc-am.missing_threshold = {}"
SENDER = (*SWEEPS, "poll-timer")


@form(r"9\.85\.\.9\.95 kB/s")
def _ideal(row: Row) -> Tests:
    found = mean_of(row.runs.sample("rlc-web", "ideal", "it", "page_goodput_bps") * (1 / 8000))
    half = found.half(row.level)
    yield None if isnan(half) or half > 0.05 else within(found.value, 9.85, 9.95)


@form("95 % half-width over 5 runs of 5e6 connections between 3 and 30 B/s")
def _half_width(_: Row) -> Tests:
    yield None  # runs of so many connections are not made


@form("in each sweep of Figs 2-5 the most frequent setting > the least frequent at each BER > 0")
def _frequent_reports(row: Row) -> Tests:
    for name, ber in product(SENDER, BERS):
        first, *_, last = _sweep(row, name, ber)
        yield beats(first, last, row.level)


@form(r"in each sweep of Figs 2-5 \(most - least frequent\) larger at the highest than at the lowest BER > 0")
def _grows_with_errors(row: Row) -> Tests:
    for name in SENDER:
        low, high = (_sweep(row, name, ber) for ber in (BERS[0], BERS[-1]))
        yield beats(high[0] - high[-1], low[0] - low[-1], row.level)


@form(r"in each sweep of Figs 2-5 best - worst < ideal \(P001-001\) - best at the same BER")
def _no_outstanding(row: Row) -> Tests:
    ideal = row.runs.sample("rlc-web", "ideal", "it", "page_goodput_bps").mean
    for name, ber in product(SENDER, ("0.0", *BERS)):
        means = [one.mean for one in _sweep(row, name, ber)]
        yield max(means) - min(means) < ideal - max(means)


@form(
    r"smallest > greatest prohibit \(each threshold\) and smallest > greatest threshold \(each prohibit\)"
    r" at each BER > 0"
)
def _receiver_driven(row: Row) -> Tests:
    ends = [((STATUS[0], one), (STATUS[-1], one)) for one in THRESHOLDS]
    ends += [((one, THRESHOLDS[0]), (one, THRESHOLDS[-1])) for one in STATUS]
    for first, last in ends:
        gained = [
            _web(row, "status-prohibit", ber, _STATUS.format(*first))
            - _web(row, "status-prohibit", ber, _STATUS.format(*last))
            for ber in BERS
        ]
        yield from (exceeds(mean_of(one), 0.0, row.level) for one in gained)
        yield gained[-1].mean > gained[0].mean


@form("no finite discard timer > no discard and the shortest < no discard, at each BER > 0")
def _discard(row: Row) -> Tests:
    for ber in BERS:
        never, *finite = (
            _web(row, "discard", ber, f"link.rlc-am.discard_s = {one}")
            for one in ("None", "0.25", "0.5", "1.0", "2.0", "4.0", "8.0")
        )
        yield from (not_above(one, never, row.level) for one in finite)
        yield beats(never, finite[0], row.level)


@form("the most frequent setting has the highest mean in every sweep of Figs 2-6, none beats it, paired seeds")
def _most_frequent(row: Row) -> Tests:
    for name, ber in product((*SENDER, "status-prohibit"), BERS):
        first, *others = _sweep(row, name, ber)
        yield all(first.mean >= one.mean for one in others)
        yield from (not_above(one, first, row.level) for one in others)


@form("P001-004, -007 and -008 decided alike on the three other metrics")
def _other_metrics(row: Row) -> Tests:
    for metric in ("page_goodput_mean_bps", "connection_goodput_bps", "connection_goodput_weighted_bps"):
        rows = ["P001-004", "P001-007", "P001-008"]
        yield from alike(row, rows, instead={"page_goodput_bps": metric})


@form("mean goodput of the lowest size quartile of connections < of the highest, ideal link")
def _short_connections(row: Row) -> Tests:
    quartiles = [row.runs.sample("rlc-web", "ideal", "it", f"connection_goodput_quartile_bps.{one}") for one in (4, 1)]
    yield beats(*quartiles, row.level)

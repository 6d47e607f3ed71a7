"""The rate of a path that several connections use: those between the same two hosts share one (RFC 9040).

A page's connections are short: each alone has too few deliveries behind a queue to show the rate, all together enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from multitracer.accounting.burst_rate import LEAST_SPREAD, fastest_rate
from multitracer.accounting.path_rate import BINS, agreeing, agreement, middle_rate
from multitracer.compute.kernels import kernel
from multitracer.model.limits import Floats, Ints

LEAST_ALIKE, LEAST_ENDS = 10, 2
"""So many deliveries, of so many ends, show a rate if all of them agree."""
# Columns of a sample: the end that sent, octets, in how many ns, in how many deliveries, and when the last one came.
# `middle_rate` and `agreement` read those in the midst.
END, OCTETS, LASTED, DELIVERIES, CAME, SAMPLE_FIELDS = range(6)
SPREAD = DELIVERIES
"""Of a single delivery, instead: 1 if the path spread it."""


class Shown(NamedTuple):
    """What a path shows of its rate, in bit/s; 0 unknown."""

    rate_bps: Floats
    fastest_bps: Floats
    """It is hardly faster: no more than two deliveries behind a queue were."""


def shared_rates(samples: Ints, singles: Ints, unsure: Ints, several: Ints, path_of: Callable[[Ints], Ints]) -> Shown:
    """The rate of the path of each end in `unsure`, by all connections of that path; 0 where they show none.

    `samples` are those of all ends, and `singles` those of `unsure`; `several` are ends whose path had several rates,
    of which none holds for others. `path_of` gives ends that use the same path, in the same direction, the same number;
    it is asked once.
    """
    if not len(unsure) or max(samples[:, DELIVERIES].sum() - LEAST_ALIKE, len(singles) - LEAST_SPREAD) < 0:
        return Shown(np.zeros(len(unsure)), np.zeros(len(unsure)))
    numbers = path_of(np.concatenate([samples[:, END], singles[:, END], unsure, several]))
    edges = np.cumsum([len(samples), len(singles), len(unsure)])
    path, path_of_single, wanted, varying = np.split(numbers, edges)
    rates = _by_path(samples, path, wanted, varying, rate_each)
    return Shown(rates, _by_path(singles, path_of_single, wanted, varying, fastest_each))


def _by_path(samples: Ints, path: Ints, wanted: Ints, varying: Ints, fill: Callable[..., None]) -> Floats:
    """What `fill` finds of the samples of each `wanted` path; 0 nothing, and of those that are `varying`."""
    if not len(samples):
        return np.zeros(len(wanted))
    order = np.lexsort((samples[:, CAME] - samples[:, LASTED], path))
    paths, first = np.unique(path[order], return_index=True)
    found = np.zeros(len(paths))
    fill(np.ascontiguousarray(samples[order]), np.append(first, len(order)), np.zeros(BINS, dtype=np.int64), found)
    found[np.isin(paths, varying)] = 0.0
    at = np.minimum(np.searchsorted(paths, wanted), len(paths) - 1)
    return np.where(paths[at] == wanted, found[at], 0.0)


@kernel
def note_samples(end: int, samples: Any, count: int, pool: Any, pooled: Any) -> None:
    """Add the samples of an end, as `sample_rates` makes them, to those of all ends; `pooled` counts these."""
    for at in range(count):
        row = pooled[0] + at
        pool[row, END], pool[row, CAME] = end, samples[at, 0]
        for column in range(OCTETS, CAME):
            pool[row, column] = samples[at, column]
    pooled[0] += count


@kernel
def note_singles(end: int, singles: Any, count: int, pool: Any, pooled: Any) -> None:
    """Add single deliveries of an end, as `sample_singles` makes them, to those of all ends; `pooled` counts these."""
    for at in range(count):
        row = pooled[0] + at
        pool[row, END], pool[row, OCTETS], pool[row, LASTED] = end, singles[at, 1], singles[at, 2]
        pool[row, SPREAD], pool[row, CAME] = singles[at, 3], singles[at, 0]
    pooled[0] += count


@kernel
def rate_each(samples: Any, edges: Any, histogram: Any, rates: Any) -> None:
    """Fill in the rate of each path, whose samples are samples[edges[path]:edges[path + 1]]; 0 where they disagree.

    The samples of a path are in the order in which they began, and are changed.
    """
    for path in range(len(rates)):
        mine = samples[edges[path] : edges[path + 1]]
        ends = empty_overlapping(mine)
        rate = middle_rate(mine, len(mine), histogram)
        agree, total = agreement(mine, len(mine), rate)
        if agreeing(mine, len(mine), rate) or (agree == total and agree >= LEAST_ALIKE and ends >= LEAST_ENDS):
            rates[path] = rate


@kernel
def fastest_each(singles: Any, edges: Any, _histogram: Any, rates: Any) -> None:
    """Fill in the fastest rate of each path, from single deliveries as `rate_each` does from samples."""
    for path in range(len(rates)):
        mine = singles[edges[path] : edges[path + 1]]
        empty_overlapping(mine)
        rates[path] = fastest_rate(mine, len(mine))


@kernel
def empty_overlapping(samples: Any) -> int:
    """Empty the samples that were taken while another end took some: each of both has a share of the rate.

    Returns of how many ends others remain, LEAST_ENDS of more.
    """
    latest, ends, one = 0, 0, np.int64(-1)
    for at in range(1, len(samples)):
        begin = samples[at, CAME] - samples[at, LASTED]
        if begin < samples[latest, CAME] and samples[at, END] != samples[latest, END]:
            samples[at, LASTED] = samples[at, DELIVERIES] = 0
            samples[latest, LASTED] = samples[latest, DELIVERIES] = 0
        if samples[at, CAME] > samples[latest, CAME]:
            latest = at
    for at in range(len(samples)):
        if samples[at, DELIVERIES] > 0 and ends < LEAST_ENDS and samples[at, END] != one:
            ends, one = ends + 1, samples[at, END]
    return ends

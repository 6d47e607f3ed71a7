"""The rate of a path that several connections use: those between the same two hosts share one (RFC 9040).

A page's connections are short: each alone has too few deliveries behind a queue to show the rate, all together enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multitracer.accounting.path_rate import BINS, agreeing, agreement, middle_rate
from multitracer.compute.kernels import kernel
from multitracer.model.limits import Floats, Ints

LEAST_ALIKE, LEAST_ENDS = 10, 2
"""So many deliveries, of so many ends, show a rate if all of them agree."""
# Columns of a sample: the end that sent, octets, in how many ns, in how many deliveries, and when the last one came.
# `middle_rate` and `agreement` read those in the midst.
END, OCTETS, LASTED, DELIVERIES, CAME, SAMPLE_FIELDS = range(6)


def shared_rates(samples: Ints, unsure: Ints, several: Ints, path_of: Callable[[Ints], Ints]) -> Floats:
    """The rate (bit/s) of the path of each end in `unsure`, by all connections of that path; 0 where they show none.

    `samples` are those of all ends; `several` are ends whose path had several rates, of which none holds for others.
    `path_of` gives ends that use the same path, in the same direction, the same number; it is asked once.
    """
    if not len(unsure) or samples[:, DELIVERIES].sum() < LEAST_ALIKE:
        return np.zeros(len(unsure))
    numbers = path_of(np.concatenate([samples[:, END], unsure, several]))
    path, wanted, varying = np.split(numbers, np.cumsum([len(samples), len(unsure)]))
    order = np.lexsort((samples[:, CAME] - samples[:, LASTED], path))
    paths, first = np.unique(path[order], return_index=True)
    found = np.zeros(len(paths))
    rate_each(np.ascontiguousarray(samples[order]), np.append(first, len(order)), np.zeros(BINS, dtype=np.int64), found)
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

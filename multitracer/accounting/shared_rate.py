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

LEAST_ALIKE = 10
"""So many deliveries show a rate if all of them agree."""
END, DELIVERIES, SAMPLE_FIELDS = 0, 3, 4
"""Columns of a sample: the end that sent, octets, ns, and deliveries; as those of `sample_rates`, but for the first."""


def shared_rates(samples: Ints, unsure: Ints, several: Ints, path_of: Callable[[Ints], Ints]) -> Floats:
    """The rate (bit/s) of the path of each end in `unsure`, by all connections of that path; 0 where they show none.

    `samples` are those of all ends; `several` are ends whose path had several rates, of which none holds for others.
    `path_of` gives ends that use the same path, in the same direction, the same number; it is asked once.
    """
    if not len(unsure) or samples[:, DELIVERIES].sum() < LEAST_ALIKE:
        return np.zeros(len(unsure))
    numbers = path_of(np.concatenate([samples[:, END], unsure, several]))
    path, wanted, varying = np.split(numbers, np.cumsum([len(samples), len(unsure)]))
    order = np.argsort(path, kind="stable")
    paths, first = np.unique(path[order], return_index=True)
    found = np.zeros(len(paths))
    rate_each(np.ascontiguousarray(samples[order]), np.append(first, len(order)), np.zeros(BINS, dtype=np.int64), found)
    found[np.isin(paths, varying)] = 0.0
    at = np.minimum(np.searchsorted(paths, wanted), len(paths) - 1)
    return np.where(paths[at] == wanted, found[at], 0.0)


@kernel
def rate_each(samples: Any, edges: Any, histogram: Any, rates: Any) -> None:
    """Fill in the rate of each path, whose samples are samples[edges[path]:edges[path + 1]]; 0 where they disagree."""
    for path in range(len(rates)):
        mine = samples[edges[path] : edges[path + 1]]
        rate = middle_rate(mine, len(mine), histogram)
        agree, total = agreement(mine, len(mine), rate)
        if agreeing(mine, len(mine), rate) or (agree == total and agree >= LEAST_ALIKE):
            rates[path] = rate

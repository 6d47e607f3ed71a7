"""Hidden Markov chains of two states, good and bad, that decide about blocks: the likelihood of a trace.

Such a channel is two 2x2 matrices, `decoded` and `lost`: entry (i, j) is the probability that a block which
begins in state i is decoded (or lost) and the next one begins in state j. A trace's probability is then a
product of matrices. A run of equal blocks is a power of one of them. Powers are multiplied in pairs, and each
pair that occurs often only once, so that a trace costs a few array operations on its different pairs of runs.
Functions take stacks of matrices, one for each set of parameters to be tried.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.replay.erasures.run_lengths import runs_of

GOOD, BAD = range(2)
_UNSCALED = 3
"""Doublings after which products are scaled: few enough that they do not underflow."""
_AT_ONCE = 1 << 18
"""Matrices that are multiplied at once: they fit into the processor's cache."""


class Doubling(NamedTuple):
    """Products of the pairs of matrices that follow one another, each different pair once.

    `left` and `right` are places in the table before; `counts` says how often each pair occurs, and `odd`
    the place of the matrix that is left over at the end, if one is.
    """

    left: Any
    right: Any
    counts: Any
    odd: Any


class Powers(NamedTuple):
    """A trace as a sequence of matrix powers.

    The first table of matrices has the powers of each length of gap and then of burst that occurs, `counts`
    times; `places` is the sequence by place in the table that the last doubling makes.
    """

    gaps: Any
    bursts: Any
    counts: Any
    doublings: list[Doubling]
    places: Any


def powers_of(erased: Any) -> Powers:
    """The trace as matrix powers; worked out once for all parameters that are tried on it."""
    runs = runs_of(erased)
    gaps, gap_places = np.unique(runs.gaps, return_inverse=True)
    bursts, burst_places = np.unique(runs.bursts, return_inverse=True)
    places = np.empty(len(runs.lengths), dtype=np.int64)
    places[~runs.erased], places[runs.erased] = gap_places, len(gaps) + burst_places
    counts = np.bincount(places)
    return Powers(gaps, bursts, counts, *_doubled(places, len(counts)))


def _doubled(places: Any, size: int) -> tuple[list[Doubling], Any]:
    """Join pairs as long as most of them repeat others, as they do where errors are uniform or evenly spaced."""
    doublings = []
    while len(places) > 1:
        joined = places[0 : len(places) - 1 : 2] * size + places[1::2]
        pairs, inverse, counts = np.unique(joined, return_inverse=True, return_counts=True)
        if 2 * len(pairs) > len(joined):
            break
        odd = places[-1:] if len(places) % 2 else places[:0]
        doublings.append(Doubling(pairs // size, pairs % size, counts, odd))
        places = np.concatenate([inverse, len(pairs) + np.arange(len(odd))])
        size = len(pairs) + len(odd)
    return doublings, places


def stationary(transition: Any) -> Any:
    """The share of time in each state, for each transition matrix of a stack; half if none is ever left."""
    leave_good, leave_bad = transition[:, GOOD, BAD], transition[:, BAD, GOOD]
    both = leave_good + leave_bad
    bad = np.where(both > 0, leave_good / np.where(both > 0, both, 1), 0.5)
    return np.stack([1 - bad, bad], axis=-1)


def log_likelihoods(decoded: Any, lost: Any, powers: Powers) -> Any:
    """The natural logarithm of a trace's probability for each pair of matrices, begun in the stationary state.

    It is -inf for a trace that cannot occur.
    """
    rows = max(1, _AT_ONCE // len(powers.places))
    parts = [slice(first, first + rows) for first in range(0, len(decoded), rows)]
    return np.concatenate([_log_likelihoods(decoded[part], lost[part], powers) for part in parts])


def log_likelihood(matrices: tuple[Any, Any], erased: Any) -> float:
    """The same for one pair of matrices and a trace of bools."""
    return float(log_likelihoods(*matrices, powers_of(erased))[0])


def _log_likelihoods(decoded: Any, lost: Any, powers: Powers) -> Any:
    tables, logs = zip(_powers(decoded, powers.gaps), _powers(lost, powers.bursts), strict=True)
    table, gained = _scaled(np.concatenate(tables, axis=-1))
    total = (np.concatenate(logs, axis=-1) + gained) @ powers.counts
    for doubling in powers.doublings:
        product, gained = _scaled(_times(table[..., doubling.left], table[..., doubling.right]))
        total = total + gained @ doubling.counts
        table = np.concatenate([product, table[..., doubling.odd]], axis=-1)
    product, level = table[..., powers.places], 0
    while product.shape[-1] > 1:
        odd = product[..., -1:] if product.shape[-1] % 2 else product[..., :0]
        product = _times(product[..., 0 : product.shape[-1] - 1 : 2], product[..., 1::2])
        level += 1
        if level % _UNSCALED == 0:
            product, gained = _scaled(product)
            total = total + gained.sum(axis=-1)
        product = np.concatenate([product, odd], axis=-1)
    chance = np.einsum("pi,ijp->p", stationary(decoded + lost), product[..., 0])
    return np.where(chance > 0, total + np.log(np.maximum(chance, 1e-300)), -np.inf)


def _scaled(product: Any) -> tuple[Any, Any]:
    """Matrices divided by their largest entry, and the logarithm of that."""
    scale = np.maximum(product.max(axis=(0, 1)), 1e-300)
    return product / scale, np.log(scale)


def _times(left: Any, right: Any) -> Any:
    """Products of stacks of 2x2 matrices; the matrices' axes come first, since NumPy is fastest along long rows."""
    return left[:, 0, None] * right[None, 0] + left[:, 1, None] * right[None, 1]


def _powers(matrix: Any, exponents: Any) -> tuple[Any, Any]:
    """The matrices' powers divided by their larger eigenvalue's, and the logarithm of that; powers on the last axis.

    With eigenvalues u > v: M^k / u^k = ((M - vI) - (v/u)^k (M - uI)) / (u - v).
    """
    rows = np.moveaxis(matrix, 0, -1)
    (a, b), (c, d) = rows
    half = (a + d) / 2
    spread = np.maximum(np.sqrt(((a - d) / 2) ** 2 + b * c), 1e-11 * half + 1e-150)
    larger, smaller = np.maximum(half + spread, 1e-300), half - spread
    identity = np.eye(2)[:, :, None]
    above, below = (rows - smaller * identity) / (2 * spread), (rows - larger * identity) / (2 * spread)
    ratio = np.clip(smaller / larger, -1, 1)[:, None] ** exponents
    return np.maximum(above[..., None] - ratio * below[..., None], 0.0), np.log(larger)[:, None] * exponents


def exponential(rates: Any) -> Any:
    """The exponentials of a stack of 2x2 matrices with real eigenvalues that are not positive."""
    a, b, c, d = (rates[:, i, j] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    half, spread = (a + d) / 2, np.maximum(np.sqrt(((a - d) / 2) ** 2 + b * c), 1e-9)
    upper, lower = np.exp(half + spread), np.exp(half - spread)
    rest = rates - half[:, None, None] * np.eye(2)
    mean, slope = (upper + lower) / 2, (upper - lower) / (2 * spread)
    return mean[:, None, None] * np.eye(2) + slope[:, None, None] * rest

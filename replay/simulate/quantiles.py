"""Quantiles of Student's t and of chi-squared, by bisection of their distribution functions.

These are incomplete beta and gamma functions, by the continued fraction and the series of Abramowitz and Stegun
(6.5.29, 26.5.8), whose steps are taken by Lentz's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, islice

_TINY = 1e-300
_CLOSE = 1e-15
_MOST_STEPS = 10_000
_HALVINGS = 200


@cache
def student_t(probability: float, freedom: int) -> float:
    """The t below which Student's distribution of so many degrees of freedom has that probability (0.5 or more)."""
    return _inverse(lambda t: 1 - 0.5 * _beta(freedom / (freedom + t * t), freedom / 2, 0.5), probability)


@cache
def chi_squared(probability: float, freedom: int) -> float:
    """The value below which the chi-squared distribution of so many degrees of freedom has that probability."""
    return _inverse(lambda x: _gamma(freedom / 2, x / 2), probability)


def _inverse(function: Callable[[float], float], wanted: float) -> float:
    """Where a rising function of numbers from 0 on has a value."""
    low, high = 0.0, 1.0
    while function(high) < wanted:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return (low + high) / 2


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / a * _fraction(_beta_steps(x, a, b))


def _beta_steps(x: float, a: float, b: float) -> Iterator[tuple[float, float]]:
    yield 1.0, 1.0
    for m in count():
        if m:
            yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0


def _gamma(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function."""
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x > a + 1:
        return 1 - front * _fraction(_gamma_steps(a, x))
    term = total = 1 / a
    for k in range(1, _MOST_STEPS):
        term *= x / (a + k)
        total += term
        if term < total * _CLOSE:
            break
    return front * total


def _gamma_steps(a: float, x: float) -> Iterator[tuple[float, float]]:
    yield 1.0, x + 1 - a
    for k in count(1):
        yield -k * (k - a), x + 2 * k + 1 - a


def _fraction(steps: Iterator[tuple[float, float]]) -> float:
    """The continued fraction a1 / (b1 + a2 / (b2 + ...)) of steps (a, b)."""
    value, c, d = _TINY, _TINY, 0.0
    for a, b in islice(steps, _MOST_STEPS):
        d = 1 / ((b + a * d) or _TINY)
        c = (b + a / c) or _TINY
        value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value

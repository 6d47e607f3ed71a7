"""The maximum of a smooth function of a few parameters, by damped Newton steps, and the standard errors there.

A function takes a stack of points (rows) and gives a value for each, so that all points of a step cost one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from multitracer.replay.channels.model import Estimate

Function = Callable[[Any], Any]

_DIFFERENCE = 0.01
_DAMPINGS = 10.0 ** np.arange(-3, 7)
_LONGEST_STEP = 3.0
_ENOUGH = 0.01
"""The search ends with the first step that gains less than this of the log likelihood."""
_STEPS = 20
_LEAST_INFORMATION = 0.1
"""Below this, a parameter's standard error in its logarithm is above 3: the trace says nothing about it."""


class Maximum(NamedTuple):
    """Where a function is largest, how large, and its second derivatives there."""

    point: Any
    value: float
    hessian: Any


def maximise(function: Function, start: Any, low: Any, high: Any) -> Maximum:
    """Go uphill from `start` until a step gains next to nothing; the point stays between `low` and `high`."""
    point = np.clip(start, low, high)
    value = float(function(point[None])[0])
    for _ in range(_STEPS):
        candidates = np.clip(point + _steps(*derivatives(function, point)), low, high)
        values = function(candidates)
        best = int(np.argmax(values))
        gain = float(values[best]) - value
        if gain > 0:
            point, value = candidates[best], float(values[best])
        if not gain > _ENOUGH:
            break
    return Maximum(point, value, derivatives(function, point)[1])


def _steps(gradient: Any, hessian: Any) -> Any:
    """A step uphill for each damping, also where the function curves upwards."""
    curvatures, axes = np.linalg.eigh(hessian)
    along = axes.T @ gradient
    steps = (along / (np.abs(curvatures) + _DAMPINGS[:, None])) @ axes.T
    return steps * np.minimum(1, _LONGEST_STEP / np.maximum(np.abs(steps).max(axis=1, keepdims=True), 1e-12))


def derivatives(function: Function, point: Any) -> tuple[Any, Any]:
    """Gradient and Hessian by central differences."""
    size = len(point)
    axes = np.eye(size) * _DIFFERENCE
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    moves = [sign * axes[i] for i in range(size) for sign in (1, -1)]
    moves += [a * axes[i] + b * axes[j] for i, j in pairs for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    values = function(point + np.array([np.zeros(size), *moves]))
    single, double = values[1 : 1 + 2 * size].reshape(size, 2), values[1 + 2 * size :].reshape(-1, 4)
    gradient = (single[:, 0] - single[:, 1]) / (2 * _DIFFERENCE)
    hessian = np.diag((single.sum(axis=1) - 2 * values[0]) / _DIFFERENCE**2)
    for (i, j), corners in zip(pairs, double, strict=True):
        hessian[i, j] = hessian[j, i] = (corners @ (1, -1, -1, 1)) / (4 * _DIFFERENCE**2)
    return gradient, hessian


def standard_errors(hessian: Any) -> list[float | None]:
    """Of each parameter, from the observed information; None for one on which the function hardly depends.

    Such a parameter is at the limit of its range, and is held fixed for the others' errors.
    """
    known = np.flatnonzero(-np.diag(hessian) > _LEAST_INFORMATION)
    errors: list[float | None] = [None] * len(hessian)
    information = -hessian[np.ix_(known, known)]
    if not len(known) or np.linalg.eigvalsh(information)[0] <= 0:
        return errors
    for place, variance in zip(known.tolist(), np.diag(np.linalg.inv(information)).tolist(), strict=True):
        errors[place] = variance**0.5
    return errors


def estimates_at(values: Any, slopes: Any, hessian: Any) -> list[Estimate]:
    """Estimates of functions of the searched parameters, with errors by their slopes there (the delta method)."""
    errors = standard_errors(hessian)
    return [
        Estimate(float(value), None if error is None else float(slope) * error)
        for value, slope, error in zip(values, slopes, errors, strict=True)
    ]

"""Made results of the papers' runs, in place of simulations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from multitracer.replay.papers.labels import labelled
from multitracer.replay.papers.runs import Runs, Sample

SEEDS = np.arange(1, 31)
NOISE = np.tile([-1.0, 1.0], 15)
"""The same for every point, so that paired differences have none."""


def runs(paper: str, value: Callable[[Mapping[str, Any], str], Any], metrics: tuple[str, ...]) -> Runs:
    """Runs with `value` of the labels and the metric at every point: a number, or one a seed."""
    points: dict[tuple[str, str], dict[str, Sample]] = {}
    for labels, variant in labelled(paper):
        if variant.experiment == "lost-frame" and "repair_s" not in metrics:
            continue
        samples = points.setdefault((variant.experiment, variant.name), {})
        for metric in metrics:
            made = np.broadcast_to(np.asarray(value(labels, metric), float), SEEDS.shape)
            samples.setdefault(metric, Sample(SEEDS, made))
    return Runs(paper, points)


def noisy(centre: float, size: float, seed: int = 0) -> np.ndarray:
    """Thirty values of that mean, spread by `size`."""
    drawn = np.random.default_rng(seed).normal(size=len(SEEDS))
    return centre + size * (drawn - drawn.mean())

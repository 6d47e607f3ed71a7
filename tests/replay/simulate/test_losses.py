"""More losses never make a transfer faster, on a link without repairs and on one with them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from simulations import scenario, simulated

from multitracer.replay.simulate.run import metrics
from multitracer.replay.simulate.statistics import difference

RATES = (0.0, 0.015, 0.054, 0.098)
LINKS: dict[str, dict[str, Any]] = {
    "raw": {"link__protocol": "raw"}, "rlc-am": {"link__protocol": "rlc-am", "link__rlc_am__length_indicators": False},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_throughput_never_rises_with_the_loss_rate(link: str) -> None:
    """No step up beyond the interval of the difference of the same seeds; and from no losses to the most a step down.

    Nothing else shares the link.
    """
    found = [[throughput_bps(LINKS[link], rate, seed) for seed in range(1, 7)] for rate in RATES]
    for few, many in pairwise(found):
        step = difference([b - a for a, b in zip(few, many, strict=True)])
        assert step["mean"] <= step["ci95"]
    fall = difference([b - a for a, b in zip(found[0], found[-1], strict=True)])
    assert fall["mean"] < -fall["ci95"]


def throughput_bps(link: dict[str, Any], loss_rate: float, seed: int) -> float:
    """Of a file of 40 kB."""
    losses = {"channel__model": "uniform", "channel__frame_loss_rate": loss_rate}
    one = scenario(**link, **losses, workload__file_bytes=40_000)
    return float(metrics(one, simulated(one, seed))["throughput_bps"])

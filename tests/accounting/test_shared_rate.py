"""The rate of a path by all connections between its hosts: samples of (end, octets, ns, deliveries)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from multitracer.accounting.shared_rate import shared_rates
from multitracer.vantage.paths import path_numbers

OCTETS, RATE_BPS = 1000, 64_000


def sample(end: int, rate_bps: float, deliveries: int) -> list[int]:
    """So many deliveries of an end at a rate."""
    octets = OCTETS * deliveries
    return [end, octets, round(8e9 * octets / rate_bps), deliveries]


def shared(*samples: list[int], unsure: tuple[int, ...] = (0, 2, 4), several: tuple[int, ...] = ()) -> list[float]:
    """The rates of the paths of some ends; those below 100 share one."""
    found = shared_rates(
        np.array(samples, dtype=np.int64).reshape(-1, 4), np.array(unsure), np.array(several, dtype=np.int64),
        lambda ends: ends // 100,
    )  # fmt: skip
    return [pytest.approx(one, rel=0.01) for one in found.tolist()]


def test_deliveries_of_several_connections_show_together_what_none_shows_alone() -> None:
    """Thirty of them, of which the rest came slower: behind what another host sent."""
    slow = [sample(end, RATE_BPS / 3, 5) for end in (0, 2, 4)]
    assert shared(*(sample(end, RATE_BPS, 10) for end in (0, 2, 4)), *slow) == [RATE_BPS] * 3


def test_a_few_deliveries_show_a_rate_if_all_agree() -> None:
    """Ten of them; nine do not, nor ten of eleven."""
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS * 1.02, 5)) == [RATE_BPS * 1.01] * 3
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS, 4)) == [0] * 3
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS, 5), sample(4, RATE_BPS / 2, 1)) == [0] * 3


def test_a_rate_is_that_of_its_own_path_alone() -> None:
    """Ends of a path without samples, and of one whose rate changed, get none."""
    assert shared(sample(0, RATE_BPS, 30), unsure=(2, 102)) == [RATE_BPS, 0]
    assert shared(sample(0, RATE_BPS, 30), unsure=(2,), several=(4,)) == [0]
    assert shared(unsure=(0,)) == [0]


def test_a_path_is_from_one_host_to_another() -> None:
    """Whichever of them opened the connection; addresses count, not ports."""
    connections = pd.DataFrame(
        {
            "client": ["10.0.0.1:1024", "10.0.0.1:1025", "10.0.0.2:1024", "10.0.0.3:1024"],
            "server": ["10.0.0.2:80", "10.0.0.2:443", "10.0.0.1:80", "10.0.0.2:80"],
        }
    )
    number = path_numbers(connections, np.arange(8)).tolist()
    assert number[0] == number[2] == number[5]
    assert number[1] == number[3] == number[4]
    assert len(set(number)) == 4

"""Paper 002's experiment for the machine's own TCP: its cells, and what is concluded from their sessions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from multitracer.replay.emulate.delivery_order import (
    SESSIONS,
    WITHOUT_RACK,
    Measured,
    cells,
    changes,
    difference_percent,
    published,
)
from multitracer.replay.emulate.kernel import KernelKeys


def session(goodput_bps: float, *, trusted: bool = True) -> dict[str, Any]:
    """A session of that goodput."""
    others = dict.fromkeys(("tcp_retransmissions", "rtt_ms", "tcp_timeouts", "tcp_spurious_retransmissions"), 1.0)
    return {"goodput_bps": goodput_bps, "trusted": trusted, **others}


@pytest.mark.parametrize(("scale", "count", "sessions"), [("paper", 144, 2160), ("quick", 48, 240)])
def test_every_combination_is_a_cell(scale: str, count: int, sessions: int) -> None:
    """SACK, F-RTO and RACK's threshold on and off, in both orders, at each rate and share of frames erased."""
    own = [one for one in cells(scale) if one.labels["recovery"]]
    assert len({tuple(sorted(one.labels.items())) for one in own}) == len(own) == count
    assert sum(len(one.seeds) for one in own) == sessions
    assert {one.labels["rate"] for one in own} == set(SESSIONS[scale])


def test_one_cell_is_run_without_rack() -> None:
    """To see what that bit does in this kernel."""
    (one,) = (one for one in cells("quick") if not one.labels["recovery"])
    assert {name: one.labels[name] for name in WITHOUT_RACK} == WITHOUT_RACK
    assert "net.ipv4.tcp_recovery=0" in KernelKeys(one.said).sysctls()


def test_a_cell_is_the_papers_scenario_under_the_kernels_tcp() -> None:
    """The link's keys are the paper's; what only a model of TCP can be told is left out."""
    for one in cells("paper"):
        assert not [name for name in one.said if name.startswith(("tcp.", "wired.", "contention."))]
        assert one.scenario.whole("link.blocks_per_tti", "down") == {32: 1, 128: 4, 384: 12}[one.labels["rate"]]
        assert one.scenario.whole("workload.file_bytes") == 100_000
        assert one.said["kernel.sack"] == int(one.labels["sack"])


def test_the_papers_table_is_read_from_its_statements() -> None:
    """Mean and deviation of eight cells, as printed."""
    table = published()
    assert len(table) == 8
    assert table[True, "out", 10] == {"mean": 5.14, "deviation": 2.16}
    assert Counter(order for _, order, _ in table) == {"in": 4, "out": 4}


def test_a_late_session_is_counted_and_in_no_mean() -> None:
    """What the link did too late, the model would not have done."""
    found = Measured({"rate": 384}, [session(100), session(300), session(9, trusted=False)]).described()
    assert (found["sessions"], found["untrusted"]) == (3, 1)
    assert found["metrics"]["goodput_bps"]["mean"] == 200
    assert found["metrics"]["goodput_bps"]["samples"] == 2


def test_a_difference_has_welchs_interval() -> None:
    """Means 2.5 and 3.75; errors of the mean 0.6455 and 0.8539; 5 degrees of freedom, whose 97.5 % is 2.5706."""
    percent, half = difference_percent([1, 2, 3, 4], [2, 3, 4, 6]) or (0, 0)
    assert percent == pytest.approx(50)
    assert half == pytest.approx(100 * 2.5706 * (0.6455**2 + 0.8539**2) ** 0.5 / 2.5, rel=1e-3)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [([], [1.0], None), ([0.0, 0.0], [1.0], None), ([2.0], [3.0], (50.0, None))]
)
def test_what_cannot_be_compared_is_not(before: list[float], after: list[float], expected: Any) -> None:
    """Without samples, of a mean of 0; of single sessions without an interval."""
    assert difference_percent(before, after) == expected


def test_orders_are_compared_under_the_same_tcp() -> None:
    """Each cell out of sequence with the one that differs in nothing else."""
    found = [
        Measured({"order": order, "sack": sack}, [session(value), session(value + 2)])
        for order, sack, value in (("in", True, 99), ("out", True, 49), ("in", False, 199))
    ]
    (one,) = changes(found, ("goodput_bps",))
    assert (one.labels, one.percent) == ({"sack": True}, -50)
    assert one.is_sure

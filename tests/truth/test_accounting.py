"""Where the time went on the labelled links, against shares computed another way."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest
from labelled import BOTH_LAYERS, analysed
from shared_data import shared

pytestmark = pytest.mark.data

POINT = 0.01


@cache
def expected(folder: str) -> dict[str, float]:
    """The other computation."""
    spec = importlib.util.spec_from_file_location("shares", Path(__file__).with_name("shares.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shares"] = module
    spec.loader.exec_module(module)
    found: dict[str, float] = module.shares(shared("linux", folder))
    return found


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_shares_are_within_one_point(folder: str) -> None:
    """Each cause's share of the session, with all recordings; at most one hundredth unknown."""
    shares = analysed(folder).links.shares
    assert shares is not None
    for name, value in expected(folder).items():
        assert shares[name] == pytest.approx(value, abs=POINT), name
    assert shares["unknown"] <= POINT


@pytest.mark.parametrize("left_out", [(), ("rcv",), ("tcp_probe", "ss"), ("snd",)], ids=str)
@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_every_instant_has_one_cause(folder: str, left_out: tuple[str, ...]) -> None:
    """Shares add up to 1, and the intervals follow one another without a gap."""
    analysis = analysed(folder, *left_out)
    assert analysis.links.shares is not None
    assert sum(analysis.links.shares.values()) == pytest.approx(1, abs=1e-9)
    table = analysis.tables["accounting"]
    for _, own in table.groupby("link"):
        assert (own["start_ns"].to_numpy()[1:] == own["end_ns"].to_numpy()[:-1]).all()


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_without_the_tracepoints_only_idleness_is_less_sure(folder: str) -> None:
    """What is still claimed is still right; the rest of the idle time is unknown."""
    shares = analysed(folder, "tcp_probe", "ss").links.shares
    assert shares is not None
    idle = ("idle_window_limited", "idle_sender")
    for name, value in expected(folder).items():
        if name in idle:
            assert shares[name] <= value + POINT, name
        else:
            assert shares[name] == pytest.approx(value, abs=POINT), name


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_without_the_data_senders_link_log_nothing_is_claimed(folder: str) -> None:
    """Accounting is of the data sender's frames: null without them, and the summary says what is missing."""
    side = "mobile" if folder.startswith("rlp") else "network"
    analysis = analysed(folder, f"rlpdump.{side}", f"rlcdump.{side}")
    assert analysis.links.shares is None
    assert analysis.links.utilization is None
    assert any("link log" in sentence for sentence in analysis.summary()["missing"])


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_utilization_follows_from_the_shares(folder: str) -> None:
    """The original definition: neither idle nor carrying what TCP had sent before."""
    analysis = analysed(folder)
    shares, utilization = analysis.links.shares, analysis.links.utilization
    assert shares is not None
    assert utilization is not None
    wasted = sum(shares[name] for name in ("idle_window_limited", "idle_sender", "idle_recovery", "tcp_retransmitted"))
    assert utilization["percent"] == pytest.approx(100 * (1 - wasted), abs=0.5)

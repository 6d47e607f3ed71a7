"""Where the time went without a link log, against what the machines recorded for each millisecond."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from blamed import BOTH, SENDER, analysed
from shared_data import BLAME, shared

pytestmark = pytest.mark.data

IDLE = ("idle_window_limited", "idle_sender", "idle_recovery")
POINT = 0.01
FACTORS = (None, 0.5, 1.0, 2.0)


def shares_while(
    folder: str, names: tuple[str, ...], factor: float | None, causes: tuple[str, ...]
) -> dict[str, float]:
    """The shares of the session in which each cause of the accounting coincides with one of these true causes."""
    rate = None if factor is None else factor * found_rate(folder, names)
    analysis = analysed(folder, names, rate)
    table, true = analysis.main_accounting, pd.read_csv(shared("blame", folder, "truth.csv"))
    true = true[true["cause"].isin(causes)]
    spent = dict.fromkeys([*IDLE, "path_held", "new_data", "tcp_retransmitted", "unknown"], 0.0)
    for start, end, cause in table[["start_ns", "end_ns", "cause"]].itertuples(index=False):
        common = np.minimum(true["end_ns"], end) - np.maximum(true["start_ns"], start)
        spent[cause] += float(common.clip(lower=0).sum())
    session = float((table["end_ns"] - table["start_ns"]).sum())
    return {name: lasted / session for name, lasted in spent.items()}


def found_rate(folder: str, names: tuple[str, ...]) -> float:
    """The rate of the path."""
    return float(analysed(folder, names).summary()["path_rate"][0]["rate_bps"])


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
def test_nothing_in_flight_and_late_is_called_idle(folder: str, names: tuple[str, ...], factor: float | None) -> None:
    """While the link stood still, or was busy, with a packet of the transfer in it; whatever rate was stated."""
    spent = shares_while(folder, names, factor, ("link-stall", "link-rate"))
    assert sum(spent[cause] for cause in IDLE) <= 0.035
    assert sum(shares_while(folder, names, factor, ("link-stall",))[cause] for cause in IDLE) <= POINT / 2


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
def test_idle_time_has_its_true_cause(folder: str, names: tuple[str, ...]) -> None:
    """A closed window is not the application's, nor a pause TCP's; recovery is said only of true recovery."""
    windows = shares_while(folder, names, None, ("receiver-window", "sender-window"))
    assert windows["idle_sender"] + windows["idle_recovery"] <= POINT
    pauses = shares_while(folder, names, None, ("application",))
    assert pauses["idle_window_limited"] + pauses["idle_recovery"] <= POINT
    recoveries = shares_while(folder, names, None, ("loss-recovery-timeout", "loss-recovery-fast"))
    assert recoveries["idle_window_limited"] + recoveries["idle_sender"] <= POINT


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
def test_what_arrived_is_what_was_carried(folder: str, names: tuple[str, ...]) -> None:
    """The time of new data at the rate is that of the unique octets and their headers; all shares add up to 1."""
    analysis = analysed(folder, names)
    summary = analysis.summary()
    assert sum(summary["accounting"].values()) == pytest.approx(1, abs=1e-9)
    carried_s = summary["accounting"]["new_data"] * summary["utilization"]["session_s"]
    sent = max(end["unique_bytes"] for one in summary["connections"] for end in one["directions"].values())
    assert 0.97 * sent < carried_s * found_rate(folder, names) / 8 < 1.08 * sent

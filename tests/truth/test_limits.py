"""What limited the labelled transfers, against what the machines that made them recorded for each millisecond."""

from __future__ import annotations

import csv

import pytest
from blamed import BOTH, RECEIVER, SENDER, analysed
from labelled import analysed as labelled_analysis
from shared_data import BLAME, shared

from multitracer.model.limits import LIMITS

pytestmark = pytest.mark.data

WITHIN = {BOTH: 0.007, SENDER: 0.025}
"""How near each share comes to the truth, whose milliseconds are whole."""
CAUSE_OF = {
    "link-stall": "path_stall", "link-rate": "path_rate", "loss-recovery-timeout": "timeout_recovery",
    "loss-recovery-fast": "fast_recovery", "receiver-window": "receiver_window", "sender-window": "sender_window",
    "application": "application",
}  # fmt: skip


def found(folder: str, names: tuple[str, ...], rate_bps: float | None = None) -> dict[str, float]:
    """The shares of the direction that carried most data."""
    limits = analysed(folder, names, rate_bps).summary()["limits"]
    assert list(limits) == list(LIMITS)
    return limits


def truth(folder: str, names: tuple[str, ...]) -> dict[str, float]:
    """The true shares, from the first data octet to its last acknowledgement."""
    limits = analysed(folder, names).ends
    end = limits.largest
    begin, stop = int(limits.limits.start_ns[end]), int(limits.limits.end_ns[end])
    spent = dict.fromkeys(LIMITS, 0)
    with shared("blame", folder, "truth.csv").open() as file:
        for row in csv.DictReader(file):
            lasted = min(int(row["end_ns"]), stop) - max(int(row["start_ns"]), begin)
            if row["cause"] in CAUSE_OF and lasted > 0:
                spent[CAUSE_OF[row["cause"]]] += lasted
    return {name: lasted / sum(spent.values()) for name, lasted in spent.items()}


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
def test_each_causes_share_is_right(folder: str, names: tuple[str, ...]) -> None:
    """From captures alone, without a state log or a stated rate; and the dearest cause is."""
    expected, shares = truth(folder, names), found(folder, names)
    for name, share in expected.items():
        assert shares[name] == pytest.approx(share, abs=WITHIN[names]), name
    assert max(shares, key=shares.__getitem__) == max(expected, key=expected.__getitem__)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("factor", [0.5, 2])
@pytest.mark.parametrize("folder", BLAME)
def test_a_wrongly_stated_rate_changes_nothing(folder: str, factor: float) -> None:
    """What arrives behind a queue shows the rate, and contradicts the stated one."""
    rates = analysed(folder, SENDER).summary()["path_rate"]
    assert [rate["how"] for rate in rates] == ["found"]
    assert found(folder, SENDER, factor * rates[0]["rate_bps"]) == found(folder, SENDER)


@pytest.mark.parametrize("folder", BLAME)
def test_the_paths_rate_is_found(folder: str) -> None:
    """Within two hundredths of what the link was set to, wherever it was not standing still."""
    with shared("blame", folder, "linkrate.csv").open() as file:
        (true,) = {float(row["rate_bps"]) for row in csv.DictReader(file) if row["dir"] == "A>B"} - {0.0}
    for names in (BOTH, SENDER):
        (rate,) = analysed(folder, names).summary()["path_rate"]
        assert rate["rate_bps"] == pytest.approx(true, rel=0.02)


@pytest.mark.parametrize("folder", ["loss2", "overflow", "reset", "stall", "xonxoff"])
def test_the_kernels_clock_of_a_full_window_runs_at_least_as_long(folder: str) -> None:
    """Where ss recorded it: it counts a full window also while the path is busy."""
    analysis = labelled_analysis(folder)
    ends = analysis.ends
    limits = analysis.summary()["limits"]
    session_s = (ends.limits.end_ns[ends.largest] - ends.limits.start_ns[ends.largest]) / 1e9
    connection, sender = divmod(ends.largest, 2)
    sent = analysis.summary()["connections"][connection]["directions"][("client", "server")[sender]]
    clocks = sent["kernel_clocks"]
    assert clocks["rwnd_limited_s"] / session_s >= limits["receiver_window"] - 0.02
    assert 0 < clocks["busy_s"] <= session_s + 1


@pytest.mark.parametrize("folder", BLAME)
def test_the_receivers_capture_alone_blames_nobody_else(folder: str) -> None:
    """It shows only when the receiver's window was closed; all else is unknown."""
    shares, expected = found(folder, RECEIVER), truth(folder, RECEIVER)
    assert shares["receiver_window"] + shares["unknown"] == pytest.approx(1)
    assert shares["receiver_window"] <= expected["receiver_window"] + 0.02

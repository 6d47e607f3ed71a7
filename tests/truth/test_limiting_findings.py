"""Findings of what limited a transfer, against what the machines that made it recorded for each millisecond."""

from __future__ import annotations

import pandas as pd
import pytest
from blamed import BOTH, SENDER, analysed
from shared_data import BLAME, shared

pytestmark = pytest.mark.data

CAUSES = {
    "path-stall": "link-stall", "receiver-window-limited": "receiver-window", "application-limited": "application",
}  # fmt: skip
NEAR_NS = 500_000_000
LEAST_RTTS = {"path-stall": 2}
BY_ACKNOWLEDGEMENTS_NS = 30_000_000
"""A stretch ends this much sooner or later where acknowledgements stand for arrivals."""


def stretches(folder: str, cause: str) -> pd.DataFrame:
    """The true stretches of a cause, those that follow one another at once as one."""
    rows = pd.read_csv(shared("blame", folder, "truth.csv"))
    number = (rows["cause"] != rows["cause"].shift()).cumsum()
    joined = rows.groupby(number).agg(cause=("cause", "first"), start_ns=("start_ns", "min"), end_ns=("end_ns", "max"))
    return joined[joined["cause"] == cause]


def confirmed(folder: str, names: tuple[str, ...], kind: str) -> pd.DataFrame:
    """The findings of a kind that are sure."""
    found = analysed(folder, names).tables["findings"]
    return found[(found["kind"] == kind) & (found["verdict"] == "confirmed")]


def least_rtt_ns(folder: str, names: tuple[str, ...]) -> float:
    """The least round trip of the direction that carried most data."""
    ends = analysed(folder, names).ends
    return float(ends.measures["rtt_min_ms"].iat[ends.row[ends.largest]]) * 1e6


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
@pytest.mark.parametrize("kind", CAUSES)
def test_what_is_confirmed_is_true(kind: str, folder: str, names: tuple[str, ...]) -> None:
    """At least half of every confirmed finding has its cause."""
    true = stretches(folder, CAUSES[kind])
    for finding in confirmed(folder, names, kind).itertuples():
        shared_ns = true["end_ns"].clip(upper=finding.end_ns) - true["start_ns"].clip(lower=finding.start_ns)
        assert shared_ns.clip(lower=0).sum() >= 0.5 * (finding.end_ns - finding.start_ns), finding.because


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
@pytest.mark.parametrize("folder", BLAME)
@pytest.mark.parametrize("kind", CAUSES)
def test_what_limited_is_confirmed(kind: str, folder: str, names: tuple[str, ...]) -> None:
    """Every true stretch that is long enough has a finding within half a second."""
    true, found = stretches(folder, CAUSES[kind]), confirmed(folder, names, kind)
    least_ns = LEAST_RTTS.get(kind, 1) * least_rtt_ns(folder, names) + BY_ACKNOWLEDGEMENTS_NS
    for stretch in true[true["end_ns"] - true["start_ns"] > least_ns].itertuples():
        near = (found["start_ns"] <= stretch.end_ns + NEAR_NS) & (found["end_ns"] >= stretch.start_ns - NEAR_NS)
        assert near.any(), (stretch.start_ns, stretch.end_ns)


@pytest.mark.parametrize("names", [BOTH, SENDER], ids=["both", "sender"])
def test_a_closed_window_is_found_from_either_capture(names: tuple[str, ...]) -> None:
    """As findings.csv has it, and the receiver's."""
    found = confirmed("receiver", names, "zero-window")
    expected = pd.read_csv(shared("blame", "receiver", "findings.csv"))
    expected = expected[expected["kind"] == "zero-window"]
    assert len(expected) > 0
    assert set(found["layer"]) == {"receiver"}
    for event in expected.itertuples():
        near = (found["start_ns"] <= event.end_ns + NEAR_NS) & (found["end_ns"] >= event.start_ns - NEAR_NS)
        assert near.any()

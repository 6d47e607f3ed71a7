"""What the labelled transfers' analyses say happened, against what did."""

from __future__ import annotations

import pandas as pd
import pytest
from labelled import BOTH_LAYERS, analysed, truth
from shared_data import BLAME, LINUX, STACKS

from multitracer.model.vocabulary import LAYERS

pytestmark = pytest.mark.data

NEAR_NS = 500_000_000
ACCUSING = (
    "link-reset", "header-decompression-failure", "spurious-timeout", "local-drop", "flow-control-gap",
    "competing-recovery",
)  # fmt: skip


def confirmed(folder: str, *left_out: str) -> pd.DataFrame:
    """The findings of which the analysis is sure."""
    found = analysed(folder, *left_out).tables["findings"]
    return found[found["verdict"] == "confirmed"]


def matching(rows: pd.DataFrame, kind: str, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Rows of a kind that are within half a second of an interval."""
    near = (rows["start_ns"] <= end_ns + NEAR_NS) & (rows["end_ns"] >= start_ns - NEAR_NS)
    return rows[(rows["kind"] == kind) & near]


def test_what_happened_is_confirmed() -> None:
    """At least 97 % of all true events have a confirmed finding of their kind within half a second."""
    missed, total = [], 0
    for folder in (*LINUX, *(f"stacks/{name}" for name in STACKS), *(f"blame/{name}" for name in BLAME)):
        found = confirmed(folder, "retransmit")
        for event in truth(folder, "findings.csv").itertuples():
            total += 1
            if matching(found, event.kind, event.start_ns, event.end_ns).empty:
                missed.append((folder, event.kind, event.start_ns))
    assert total > 0
    assert len(missed) <= 0.03 * total, missed


@pytest.mark.parametrize("left_out", [(), ("rcv",), ("rlp", "rlc"), ("tcp_probe", "ss"), ("snd",)], ids=str)
@pytest.mark.parametrize("folder", LINUX)
def test_no_confirmed_finding_blames_the_wrong_layer(folder: str, left_out: tuple[str, ...]) -> None:
    """No confirmed finding accuses a layer of what did not happen, whatever recording is missing."""
    events = truth(folder, "findings.csv")
    found = confirmed(folder, *left_out)
    wrong = [
        (finding.kind, finding.because)
        for finding in found[found["kind"].isin(ACCUSING)].itertuples()
        if matching(events, finding.kind, finding.start_ns, finding.end_ns).empty
    ]
    assert not wrong


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_every_finding_says_why(folder: str) -> None:
    """Each finding has a reason, an interval that does not end before it starts, and a layer."""
    found = analysed(folder).tables["findings"]
    assert found["because"].str.len().min() > 10
    assert (found["end_ns"] >= found["start_ns"]).all()
    assert set(found["layer"]) <= set(LAYERS)

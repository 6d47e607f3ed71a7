"""Resets and stops of the labelled links, against what was done to them."""

from __future__ import annotations

import pandas as pd
import pytest
from labelled import truth
from shared_data import shared

from multitracer.link.events import FLOW_CONTROL, RESET, intervals
from multitracer.parsers.shared.experiment import read

pytestmark = pytest.mark.data

BOTH_LAYERS = (
    "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip
KINDS = {"link-reset": RESET, "flow-control-gap": FLOW_CONTROL}
SENDER = {"rlp": "mobile", "rlc": "network"}


def found(folder: str, *sides: str) -> pd.DataFrame:
    """The intervals that the link logs of these sides show."""
    logs = [str(next(shared("linux", folder).glob(f"rl?dump.{side}.*"))) for side in sides]
    tables = read(*logs).tables
    return intervals(tables["frames"], tables["link_events"], tables["links"])


def happened(folder: str) -> pd.DataFrame:
    """What was done to the link, of the kinds that its log alone tells."""
    events = truth(folder, "findings.csv")
    return events[events["kind"].isin(KINDS)]


@pytest.mark.parametrize("sides", [("mobile", "network"), ("mobile",), ("network",)], ids="+".join)
@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_no_event_is_reported_that_did_not_happen(folder: str, sides: tuple[str, ...]) -> None:
    """As many of each kind as there were; the far end's log alone does not know when the sender was stopped."""
    shown, events = found(folder, *sides), happened(folder)
    for kind, name in KINDS.items():
        known = kind != "flow-control-gap" or SENDER[folder[:3]] in sides
        assert (shown["kind"] == name).sum() == (events["kind"] == kind).sum() * known
    assert set(shown["kind"]) <= set(KINDS.values())


@pytest.mark.parametrize("folder", ["rlp-xonxoff", "rlp-reset", "rlp-vj-reset", "rlc-reset"])
def test_times_by_the_data_senders_log_are_exact(folder: str) -> None:
    """It saw the same frames: to the millisecond, but for the way of an answer back to it."""
    shown = found(folder, SENDER[folder[:3]])
    for event in happened(folder).itertuples():
        own = shown[shown["kind"] == KINDS[event.kind]]
        nearest = own.iloc[(own["start_ns"] - event.start_ns).abs().argmin()]
        assert abs(nearest["start_ns"] - event.start_ns) < 1_000_000
        assert abs(nearest["end_ns"] - event.end_ns) < (1_000_000 if event.kind != "link-reset" else 250_000_000)

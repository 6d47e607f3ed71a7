"""Who is to blame for lost time in the labelled transfers with a link's log, against a script of its own."""

from __future__ import annotations

import pandas as pd
import pytest
from gap_blame import blamed_seconds
from labelled import BOTH_LAYERS, analysed, labelled, truth

pytestmark = pytest.mark.data

ROOTS = ("link-outage", "link-reset", "flow-control-gap", "local-drop")
WITHIN = 0.02
LOST_BY = {"overflow": "host", "flushed": "link", "garbled": "link"}
"""The layer that each fate of packets.csv means."""


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_seconds_by_root_are_those_of_the_gaps(folder: str) -> None:
    """What each root cost is within two points of the session of what the gaps between packets say."""
    summary = analysed(folder, "retransmit").summary()
    gaps = blamed_seconds(labelled(folder))
    ours = {root: sum(one["seconds"] for one in summary["blame"] if one["cause"] == root) for root in ROOTS}
    session = summary["utilization"]["session_s"]
    assert {root: abs(ours[root] - gaps.get(root, 0.0)) / session for root in ROOTS} == pytest.approx(
        dict.fromkeys(ROOTS, 0.0), abs=WITHIN
    )


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_all_of_a_session_is_charged_and_little_is_unexplained(folder: str) -> None:
    """new_data + link_overhead + blame = 1, and at most 5 % has no finding that explains it."""
    summary = analysed(folder, "retransmit").summary()
    shares = {one["cause"]: 0.0 for one in summary["blame"]}
    for one in summary["blame"]:
        shares[one["cause"]] += one["share"]
    carried = summary["accounting"]["new_data"] + summary["accounting"]["link_overhead"]
    assert carried + sum(shares.values()) == pytest.approx(1, abs=1e-9)
    assert shares.get("unexplained", 0.0) <= 0.05


@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_losses_have_the_layer_in_which_packets_were_lost(folder: str) -> None:
    """Every record that a local drop or a burst loss names was lost where its layer says."""
    analysis = analysed(folder, "retransmit")
    fates = truth(folder, "packets.csv").drop_duplicates("ip_id").set_index("ip_id")["fate"]
    packets = analysis.trace.tables["packets"].set_index(["input", "record"])["ip_id"]
    found = analysis.tables["findings"]
    found = found[found["kind"].isin(["local-drop", "burst-loss"]) & (found["verdict"] != "undecided")]
    told = [
        (layer, LOST_BY.get(fates[packets[record["input"], record["record"]]]))
        for layer, evidence in zip(found["layer"], found["evidence"], strict=True)
        for record in evidence["records"]
    ]
    assert told == [(layer, layer) for layer, _ in told]
    if (truth(folder, "packets.csv")["fate"] != "delivered").sum() > 1:
        assert told


@pytest.mark.parametrize("folder", ["rlp-reset", "rlp-vj-reset", "rlc-reset"])
def test_a_reset_is_told_with_its_outage_and_what_it_flushed(folder: str) -> None:
    """The outage is the root of the reset, whose evidence counts the segments that packets.csv has flushed."""
    findings = analysed(folder, "retransmit").summary()["findings"]
    (reset,) = [one for one in findings if one["kind"] == "link-reset"]
    assert findings[reset["caused_by"]]["kind"] == "link-outage"
    packets: pd.DataFrame = truth(folder, "packets.csv")
    side = packets.groupby("from")["bytes"].sum().idxmax()
    flushed = packets[(packets["fate"] == "flushed") & (packets["from"] == side) & (packets["bytes"] > 60)]
    assert reset["evidence"]["segments_lost"] == len(flushed)

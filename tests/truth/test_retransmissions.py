"""Every retransmission of the labelled transfers: found, its trigger named, needless or not."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from labelled import analysed, labelled, truth
from shared_data import LINUX, STACKS

pytestmark = pytest.mark.data

SAME_INSTANT_NS = 2_000_000
"""The truth's times are the kernel's, the table's the capture's."""
TRANSFERS = (*LINUX, *(f"stacks/{name}" for name in STACKS))
BOTH = ("rlp", "rlc", "ss", "retransmit")
"""Left out of all recordings: what is left are both captures and the sender's state."""
SENDER = (*BOTH, "rcv", "tcp_probe")


def compared(folder: str, *left_out: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(Truth, found, both joined) for the data segments of a folder."""
    expected = truth(folder, "retransmissions.csv")
    found = analysed(folder, *left_out).tables["retransmissions"]
    found = found[found["payload_bytes"] > 0].astype({"trigger": str, "spurious": str})
    joined = expected.merge(found, on=["seq", "payload_bytes"], suffixes=("_true", ""))
    return expected, found, joined[(joined["time_ns"] - joined["time_ns_true"]).abs() < SAME_INSTANT_NS]


@pytest.mark.parametrize("folder", TRANSFERS)
def test_every_retransmission_is_found_and_no_other(folder: str) -> None:
    """With both captures the retransmitted segments are those of the truth, one to one."""
    expected, found, joined = compared(folder, *BOTH)
    assert len(found) == len(joined) == len(expected)


@pytest.mark.parametrize("folder", TRANSFERS)
def test_both_captures_tell_whether_each_was_needless(folder: str) -> None:
    """With both captures no verdict on needlessness is wrong or left open."""
    _, _, joined = compared(folder, *BOTH)
    assert (joined["spurious"] == joined["spurious_true"]).all()


@pytest.mark.parametrize("name", STACKS)
def test_triggers_are_the_kernels(name: str) -> None:
    """Every trigger is the one that the kernel's call stack shows."""
    _, _, joined = compared(f"stacks/{name}", *BOTH)
    assert len(joined) >= 16
    assert joined["trigger"].tolist() == joined["trigger_true"].tolist()


def test_triggers_agree_where_the_sender_undid_no_recovery() -> None:
    """The labels of linux/ know no undo: a resend that begins a new recovery after one is "recovery" in them."""
    joined = pd.concat([compared(folder, *BOTH)[2] for folder in LINUX])
    assert len(joined) > 300
    differs = joined[joined["trigger"] != joined["trigger_true"]]
    assert set(zip(differs["trigger_true"], differs["trigger"], strict=True)) <= {("recovery", "fast")}
    assert len(differs) <= 0.03 * len(joined)


@pytest.mark.parametrize("beside", [(), ("tcp_probe",)], ids=["beside tcp_probe", "alone"])
@pytest.mark.parametrize("folder", [folder for folder in TRANSFERS if folder != "rlc-inseq"])  # nothing was resent
def test_the_kernels_log_of_resends_is_placed_and_never_contradicts(folder: str, beside: tuple[str, ...]) -> None:
    """With retransmit.txt every trigger that differed is the kernel's, and no other one changes."""
    with_log = ("rlp", "rlc", "ss", *beside)
    joined, without = compared(folder, *with_log)[2], compared(folder, *with_log, "retransmit")[2]
    shown = joined["because"].str.startswith("the kernel's log")
    assert (joined["trigger"][shown] == joined["trigger_true"][shown]).all()
    assert (joined["trigger"] == without["trigger"])[~shown].all()
    assert shown.mean() >= (0.45 if folder.startswith("stacks") else 0)
    clock = next(one.clock for one in analysed(folder, *with_log).trace.inputs if "retransmit" in one.path)
    at_zero = json.loads((labelled(folder) / "truth.json").read_text())
    true_s = at_zero["monotonic_at_zero"] - at_zero["wall_clock_at_zero"]
    assert clock is not None
    assert clock.offset_s is not None
    assert clock.error_s is not None
    assert abs(clock.offset_s - true_s) <= clock.error_s < 0.002


def sent_here(folder: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(Truth, joined) from the sender's capture alone, of what the host beside it sent."""
    expected, _, joined = compared(folder, *SENDER)
    if "sender" in expected:
        expected = expected[expected["sender"] == "10.9.0.1"]
        joined = joined[joined["sender_true"] == "10.9.0.1"]
    return expected, joined


@pytest.mark.parametrize("folder", TRANSFERS)
def test_verdicts_from_the_senders_capture_alone_are_right_or_unknown(folder: str) -> None:
    """From the sender's capture alone every retransmission is found; a verdict on it is right or unknown."""
    expected, joined = sent_here(folder)
    assert len(joined) == len(expected)
    wrong = (joined["spurious"] != joined["spurious_true"]) & (joined["spurious"] != "unknown")
    assert not wrong.any()


def test_the_senders_capture_alone_leaves_little_unknown() -> None:
    """At most 8 % of all verdicts stay unknown where the peer sends SACK or timestamps."""
    answered = [folder for folder in TRANSFERS if folder not in ("stacks/nosack-timer", "rlp-vj-reset")]
    joined = pd.concat([sent_here(folder)[1] for folder in answered])
    assert (joined["spurious"] == "unknown").mean() <= 0.08

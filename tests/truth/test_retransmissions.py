"""Every retransmission of the labelled transfers: found, its trigger named, needless or not."""

from __future__ import annotations

import pandas as pd
import pytest
from labelled import analysed, truth
from shared_data import LINUX

pytestmark = pytest.mark.data

SAME_INSTANT_NS = 1_000_000
"""The truth's times are the kernel's, the table's the capture's."""


def compared(folder: str, *left_out: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """(Truth, found, both joined) for the data segments of a folder."""
    expected = truth(folder, "retransmissions.csv")
    found = analysed(folder, *left_out).tables["retransmissions"]
    found = found[found["payload_bytes"] > 0].astype({"trigger": str, "spurious": str})
    joined = expected.merge(found, on=["seq", "payload_bytes"], suffixes=("_true", ""))
    return expected, found, joined[(joined["time_ns"] - joined["time_ns_true"]).abs() < SAME_INSTANT_NS]


@pytest.mark.parametrize("folder", LINUX)
def test_every_retransmission_is_found_and_no_other(folder: str) -> None:
    """With both captures the retransmitted segments are those of the truth, one to one."""
    expected, found, joined = compared(folder)
    assert len(found) == len(joined) == len(expected)


@pytest.mark.parametrize("folder", LINUX)
def test_both_captures_tell_whether_each_was_needless(folder: str) -> None:
    """With both captures no verdict on needlessness is wrong or left open."""
    _, _, joined = compared(folder)
    assert (joined["spurious"] == joined["spurious_true"]).all()


def test_triggers_agree_with_the_kernels() -> None:
    """Over all transfers at least 95 % of the triggers are the kernel's."""
    joined = pd.concat([compared(folder)[2] for folder in LINUX])
    assert len(joined) > 300
    assert (joined["trigger"] == joined["trigger_true"]).mean() >= 0.95


@pytest.mark.parametrize("folder", LINUX)
def test_verdicts_from_the_senders_capture_alone_are_right_or_unknown(folder: str) -> None:
    """From the sender's capture alone a verdict is right or unknown."""
    others = ("rcv", "rlp", "rlc", "tcp_probe", "ss")
    expected, found, joined = compared(folder, *others)
    assert len(found) == len(joined) == len(expected)
    wrong = (joined["spurious"] != joined["spurious_true"]) & (joined["spurious"] != "unknown")
    assert not wrong.any()


def test_the_senders_capture_alone_leaves_little_unknown() -> None:
    """From the senders' captures alone at most 10 % of all verdicts stay unknown."""
    joined = pd.concat([compared(folder, "rcv", "rlp", "rlc", "tcp_probe", "ss")[2] for folder in LINUX])
    assert (joined["spurious"] == "unknown").mean() <= 0.10

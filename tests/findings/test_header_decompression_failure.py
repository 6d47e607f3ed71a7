"""Segments that a VJ decompressor rebuilt from a stale context, after losses of several lengths inside the link."""

from __future__ import annotations

from pathlib import Path

import pytest
from vj_failure import Failure

from multitracer import analyze

WHOLE, CUT = 65535, 60
SHIFTS = range(1, 8)


def analysed(failure: Failure, folder: Path, snap: tuple[int, int] = (WHOLE, WHOLE)):
    """(Findings of the kind, kinds of all confirmed findings, retransmissions) of a failure seen at both ends."""
    tables = analyze(failure.write(folder, snap=snap)).tables
    found = tables["findings"]
    confirmed = set(found.loc[found["verdict"] == "confirmed", "kind"])
    return found[found["kind"] == "header-decompression-failure"], confirmed, tables["retransmissions"]


@pytest.mark.parametrize("numbered", [True, False], ids=["IP IDs", "no IP IDs"])
@pytest.mark.parametrize("lost", SHIFTS)
def test_a_failure_is_confirmed_at_every_shift(lost: int, numbered: bool, tmp_path: Path) -> None:
    """However many segments were lost, all damaged ones are found, with their shift, and every resend was needed."""
    failure = Failure(lost, numbered=numbered)
    found, _, resent = analysed(failure, tmp_path)
    assert found["verdict"].tolist() == ["confirmed"]
    assert found["evidence"].iloc[0]["count"] == len(failure.damaged)
    assert found["evidence"].iloc[0]["offset_bytes"] == lost * failure.size
    assert set(resent["spurious"]) == {"no"}


@pytest.mark.parametrize("snap", [(WHOLE, CUT), (CUT, CUT)], ids=["receiver", "both"])
@pytest.mark.parametrize("lost", SHIFTS)
def test_a_failure_without_whole_packets_is_undecided(lost: int, snap: tuple[int, int], tmp_path: Path) -> None:
    """Where the receiver's capture cuts packets short, nothing is confirmed, and no resend held to be needless."""
    found, confirmed, resent = analysed(Failure(lost), tmp_path, snap)
    assert found["verdict"].tolist() == ["undecided"]
    assert not {kind for kind in confirmed if kind.startswith("spurious")}
    assert "yes" not in set(resent["spurious"])


@pytest.mark.parametrize("lost", [2, 5])
def test_a_failure_above_checksum_offload_is_undecided(lost: int, tmp_path: Path) -> None:
    """Where the sender's capture has no checksums, no original is told, and the damaged segments did not arrive."""
    failure = Failure(lost, offload=True)
    found, _, resent = analysed(failure, tmp_path)
    assert found["verdict"].tolist() == ["undecided"]
    assert found["evidence"].iloc[0]["count"] == len(failure.damaged)
    assert set(resent["spurious"]) == {"no"}


def test_a_transfer_without_loss_has_no_failure(tmp_path: Path) -> None:
    """The same link without a loss damages nothing."""
    found, _, resent = analysed(Failure(0), tmp_path)
    assert found.empty
    assert resent.empty

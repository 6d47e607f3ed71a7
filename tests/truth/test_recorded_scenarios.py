"""What `analyze` finds in recorded simulations, against what is true of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_scenarios import Compared, analysed, case, compared, record

pytestmark = pytest.mark.slow

BOTH, ONE = (23, 33, 58), (6,)
"""Cases with captures at both ends, two of them with clocks that differ, and with the sender's alone."""
LOGGED = (2, 12)
"""Cases with the logs of a link that loses frames: RLC AM, and RLP with a reset."""
POINTS = 2
"""Points of a hundred of the session."""
WITHIN, WITHIN_OF_ONE = 5, 10
"""Points of a hundred by which a cause of limits may be too large."""


@pytest.fixture(autouse=True)
def kernels_run() -> None:
    """Plain: compiling the loops of so short simulations takes longer than they do."""


def found(number: int, folder: Path) -> Compared:
    """A case, recorded and analysed."""
    one = case(number, longest_s=20)
    truth = record(one, folder / "run")
    return compared(one, truth, analysed(folder / "run"))


@pytest.mark.parametrize("number", BOTH)
def test_both_captures_tell_every_retransmission_rightly(number: int, tmp_path: Path) -> None:
    """Found, needless or not, and what set it off; and no cause is said to have limited more than it did."""
    it = found(number, tmp_path)
    assert (it.resends, it.spurious_wrong, it.spurious_unknown, it.trigger_wrong) == (it.found, [], 0, [])
    assert it.resends >= 7
    assert max(points for name, points in it.limits.items() if name != "unknown") < WITHIN


@pytest.mark.parametrize("number", ONE)
def test_the_senders_capture_alone_is_right_or_does_not_know(number: int, tmp_path: Path) -> None:
    """No verdict is wrong, and no cause is said to have limited much more than it did."""
    it = found(number, tmp_path)
    assert (it.resends, it.spurious_wrong, it.trigger_wrong) == (it.found, [], [])
    assert it.resends >= 7
    assert max(points for name, points in it.limits.items() if name != "unknown") < WITHIN_OF_ONE


@pytest.mark.parametrize("number", LOGGED)
def test_a_links_log_tells_where_its_time_went_and_why(number: int, tmp_path: Path) -> None:
    """Accounting and blame, cause by cause; and nothing is confirmed that did not happen, or by another root."""
    it = found(number, tmp_path)
    assert it.accounting is not None
    assert it.blame is not None
    assert max(map(abs, it.accounting.values())) < POINTS
    assert max(map(abs, it.blame.values())) < POINTS
    assert it.confirmed_wrong == []

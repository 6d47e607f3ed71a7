"""What the receiver of a link took of the frames that came."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import frames, numbered

from multitracer.correlation.delivery import NEVER, delivered, ignored, taken
from multitracer.link.packets import CarriedPacket

LOG = (
    (10, False, "AMD", 0), (20, True, "RESET", 0), (30, False, "AMD", 0), (40, True, "RESET", 0),
    (50, False, "RESET_ACK", 0), (60, False, "AMD", 0),
)  # fmt: skip
"""What one side logged: it asks for a reset twice."""
SENT, RECEIVED = 0, 1


def times(*log: tuple[float, bool, str, int], reverse: int = SENT) -> list[int]:
    """When the frames came that were taken, in ms after the first."""
    table = frames(*log)
    rows = taken(table, np.flatnonzero((table["link"] == RECEIVED).to_numpy()), reverse)
    return ((table["time_ns"].to_numpy()[rows] - table["time_ns"].iat[0]) // 1_000_000 + 10).tolist()


def test_an_entity_that_resets_ignores_what_comes_until_it_is_answered() -> None:
    """25.322 11.4.2: a PDU that came in between, whole, was not delivered."""
    assert times(*LOG) == [10, 50, 60]


def test_a_reset_that_is_not_answered_lasts_to_the_end() -> None:
    """And that of another bearer is no reset of this."""
    assert times(*LOG[:4]) == [10]
    assert times(*LOG[:4], reverse=2) == [10, 30]


def test_a_reset_is_over_when_the_entity_sends_again() -> None:
    """Whether or not its log has the answer: what came later was taken."""
    lost = (*LOG[:4], (45, True, "STATUS", 0), LOG[5])
    assert times(*lost) == [10, 60]


def packet(row: int, epoch: int = 0) -> CarriedPacket:
    """A packet in one frame."""
    rows = np.array([row])
    return CarriedPacket(b"%d" % row, rows, rows, np.array([1]), epoch, complete=True)


def found_ignored(captured: list[int], told: int, epoch: int = 0, reset_ms: float = 40) -> list[int]:
    """Which of four packets, three before a RESET and one after it, were ignored; a STATUS tells of those below one."""
    came = [(10.0 * row, False, "AMD", 0) for row in range(3)] + [(reset_ms + 20, False, "AMD", 0)]
    sent = [(ms, True, "STATUS", 0) for ms in (5.0, 15.0, 25.0, 35.0)] + [(reset_ms, True, "RESET", 0)]
    log = frames(*came, *sent).assign(sn=[0, 1, 2, 3, *[-1] * 5], nr=[*[-1] * 7, told, -1], epoch=[*[0] * 7, epoch, 0])
    packets, whole = [packet(row) for row in range(4)], log["time_ns"].to_numpy()[:4]
    assert not ignored(packets, whole, np.array(captured, dtype=np.int8), log[:-1], SENT).any()
    return np.flatnonzero(ignored(packets, whole, np.array(captured, dtype=np.int8), log, SENT)).tolist()


@pytest.mark.parametrize(
    ("captured", "told", "epoch", "found"),
    [
        ([1, 0, 0, 1], 1, 0, [1, 2]),
        ([1, 0, 1, 1], 1, 0, []),
        ([1, 0, -1, 1], 1, 0, [1]),
        ([1, 0, 0, 1], 2, 0, [2]),
        ([1, 0, 0, 1], 3, 1, [1, 2]),
    ],
)
def test_an_entity_ignores_what_comes_while_its_reset_waits_in_its_queue(
    captured: list[int], told: int, epoch: int, found: list[int]
) -> None:
    """25.322 11.4.2: what no capture behind the link has, nor anything later, and what no STATUS acknowledges.

    One of another epoch acknowledges nothing of this.
    """
    assert found_ignored(captured, told, epoch) == found


def test_what_a_capture_lacks_that_was_not_running_was_not_ignored() -> None:
    """It has something from before and from after; nor was it in a device that was silent before the RESET."""
    assert [found_ignored(captured, 1) for captured in ([0, 0, 0, 1], [1, 0, 0, 0])] == [[], []]
    assert found_ignored([1, 0, 0, 1], 1, reset_ms=400) == []


def test_behind_what_never_came_rlp_delivers_only_what_its_entity_is_known_to_have_taken() -> None:
    """A frame that was taken for another spoils its packet, and those behind it are delivered."""
    table = frames(*((10.0 * row, False, "I RR", row) for row in range(3)))
    times, packets = table["time_ns"].tolist(), [packet(row) for row in range(3)]
    far = [packets[0], packets[2]]
    assert delivered(packets, far, table, "rlp") == [times[0], NEVER, NEVER]
    assert delivered(packets, far, table, "rlp", is_exact=True) == [times[0], NEVER, times[2]]


@pytest.mark.parametrize(
    ("number", "count", "ms", "came"),
    [(1, 1, 50, True), (2, 0, 50, True), (1, 0, 50, False), (0, 1, 50, False), (1, 1, 5, False), (1, 1, 90, False)],
)
def test_behind_what_an_mrw_gives_up_a_reset_discards_nothing(number: int, count: int, ms: int, came: bool) -> None:
    """25.322 11.6: the receiver is told to go on, and delivers what follows; if it is told, and before the reset."""
    sent = [(10.0 * row, "AMD", row, 0, 0) for row in range(3)]
    table = numbered(*sent, (80.0, "AMD", 0, 0, 0), (float(ms), "MRW", number, 0, count))
    rows, mrw = range(4), np.array([4])
    packets = [packet(row, epoch) for row, epoch in zip(rows, (0, 0, 0, 1), strict=True)]
    times = table["time_ns"].tolist()
    found = delivered(packets, [packets[0], *packets[2:]], table, "rlc-umts", moves=mrw)
    assert found == [times[rows[0]], NEVER, times[rows[2]] if came else NEVER, times[rows[3]]]


def test_an_mrw_beside_no_packet_gives_up_nothing() -> None:
    """A log that begins late has the receiver's report, and nothing of what was sent."""
    assert delivered([], [], numbered((5.0, "MRW", 1, 0, 1)), "rlc-umts", moves=np.array([0])) == []

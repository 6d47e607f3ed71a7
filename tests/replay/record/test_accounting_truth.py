"""What is true of a link's idle time: scenes of a few packets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from multitracer.replay.record import limits_truth


def is_full(sizes: dict[int, int], **seen: float) -> bool:
    """Whether the window is full with segments of these sizes in flight, where a whole one has 100 octets."""
    sendings = {
        seq: [SimpleNamespace(segment=SimpleNamespace(seq=100 * seq - 99, payload_bytes=size))]
        for seq, size in sizes.items()
    }
    transfer = SimpleNamespace(sendings=sendings, run=SimpleNamespace(whole_bytes=100))
    state = SimpleNamespace(seen=SimpleNamespace(**seen))
    return limits_truth.Transfer.is_full(transfer, state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("last_bytes", "cwnd", "limit", "full"),
    [
        (100, 3.3, 9, True), (100, 4.0, 9, False), (30, 3.2, 9, True), (30, 3.3, 9, False), (30, 9.0, 4, True),
        (30, 9.0, 5, False),
    ],
)  # fmt: skip
def test_a_window_is_full_when_no_whole_segment_fits_beside_the_octets_in_flight(
    last_bytes: int, cwnd: float, limit: int, full: bool
) -> None:
    """Three segments are in flight, the last a short one: what it lacks is room in the window."""
    assert is_full({1: 100, 2: 100, 3: last_bytes}, una=1, top=4, written=4, cwnd=cwnd, limit=limit) is full


def test_a_fin_takes_no_room_in_a_window() -> None:
    """It is the last number that was sent, but no segment of data."""
    assert is_full({1: 100, 2: 100}, una=1, top=4, written=3, cwnd=2.0, limit=9)
    assert not is_full({1: 100, 2: 100}, una=1, top=4, written=3, cwnd=3.0, limit=9)
    assert not is_full({}, una=3, top=4, written=3, cwnd=1.0, limit=9)


def test_without_the_senders_window_only_the_receivers_can_be_full() -> None:
    """A window that is not known is none that is full."""
    assert not is_full({1: 100, 2: 100}, una=1, top=3, written=9, cwnd=float("nan"), limit=9)
    assert is_full({1: 100, 2: 100}, una=1, top=3, written=9, cwnd=float("nan"), limit=3)

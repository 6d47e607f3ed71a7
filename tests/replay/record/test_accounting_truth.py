"""What is true of a link's idle time: scenes of a few packets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from multitracer.replay.record import accounting_truth


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
    sizes = {1: 100, 2: 100, 3: last_bytes}
    sendings = {
        seq: [SimpleNamespace(segment=SimpleNamespace(seq=100 * seq - 99, payload_bytes=size))]
        for seq, size in sizes.items()
    }
    flows = SimpleNamespace(form=SimpleNamespace(payload_bytes=100))
    transfer = SimpleNamespace(sendings=sendings, run=SimpleNamespace(flows=flows))
    state = SimpleNamespace(seen=SimpleNamespace(una=1, top=4, cwnd=cwnd, limit=limit))
    assert accounting_truth._is_full(transfer, state) is full  # type: ignore[arg-type]

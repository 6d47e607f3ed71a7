"""Which of the segments that the link repaired a resend competed with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import CLIENT, SERVER, at, retransmissions, scene, segment_frames

from multitracer.findings.competing_recovery import Repaired, detect

STREAM = {"connection": st.integers(0, 1), "sender": st.sampled_from([CLIENT, SERVER])}
BYTES = {"seq": st.integers(1, 12), "payload_bytes": st.integers(0, 6)}
CARRIED = st.fixed_dictionaries({
    **STREAM, **BYTES, "first": st.none() | st.integers(0, 20), "last": st.integers(10, 30),
    "delivered": st.none() | st.integers(10, 30), "frame_retransmissions": st.integers(0, 2),
    "matched_by": st.sampled_from(["payload", "time"]),
})  # fmt: skip
RESENT = st.fixed_dictionaries({**STREAM, **BYTES, "ms": st.integers(0, 30)})


def competes(row: dict[str, Any], resend: dict[str, Any]) -> bool:
    """Whether the link was repeating this segment, which holds the resent bytes, and delivered it later."""
    if row["first"] is None or row["delivered"] is None or row["frame_retransmissions"] == 0:
        return False
    same = all(row[name] == resend[name] for name in STREAM)
    holds = row["seq"] <= resend["seq"]
    holds &= row["seq"] + row["payload_bytes"] >= resend["seq"] + resend["payload_bytes"]
    return same and holds and row["first"] < resend["ms"] < min(row["last"], row["delivered"])


@settings(max_examples=200, deadline=None)
@given(st.lists(CARRIED, min_size=1, max_size=25), st.lists(RESENT, min_size=1, max_size=12))
def test_each_resend_is_reported_with_the_first_segment_that_it_competed_with(
    carried: list[dict[str, Any]], resent: list[dict[str, Any]]
) -> None:
    """The findings are those of a comparison of every resend with every row, in the order of the resends."""
    expected = []
    for resend in resent:
        rows = [row for row in carried if competes(row, resend)]
        expected += [(resend["seq"], at(resend["ms"]), at(row["delivered"])) for row in rows[:1]]
    found = detect(scene(retransmissions=retransmissions(*resent), segment_frames=segment_frames(*carried)))
    assert [(one.evidence["seq"], one.start_ns, one.end_ns) for one in found] == expected


@pytest.mark.parametrize("segments", [100, 10_000])
def test_a_resend_is_compared_with_the_segments_around_its_bytes_only(segments: int) -> None:
    """However long the transfer, the candidates are the copies of these bytes and the segment before them."""
    rows = [
        {"seq": 1 + 1000 * n, "first": n, "last": n + 9, "delivered": n + 9, "frame_retransmissions": 1}
        for n in range(segments)
    ]
    repaired = Repaired(segment_frames(*rows, rows[50]))
    assert repaired.around((0, CLIENT), 50_001, 51_001).tolist() == [50, segments]
    assert repaired.around((0, CLIENT), 50_501, 51_001).tolist() == [50, segments]
    assert repaired.around((0, SERVER), 50_001, 51_001).tolist() == []

"""How the frames of one opportunity divide its time on the air."""

from __future__ import annotations

import pytest

from multitracer.link.air_time import frames_on_air
from multitracer.link.timing import Timing
from multitracer.model.schema import build

MS = 1_000_000


@pytest.mark.parametrize(("block_bytes", "ends_ms"), [(0, [4, 8, 9, 10]), (40, [2.5, 5, 7.5, 10])])
def test_a_short_frame_takes_its_octets_of_an_opportunity_or_a_whole_block(
    block_bytes: int, ends_ms: list[float]
) -> None:
    """Two data PDUs of 40 octets and two status PDUs of 10: all blocks of a TTI in UMTS are of one size."""
    frames = build(
        "frames",
        {
            "input": [0] * 4, "record": [1, 2, 3, 4], "time_ns": [0] * 4, "recorded_ns": [0] * 4, "link": [0] * 4,
            "side": ["network"] * 4, "sent": [True] * 4, "type": ["AMD", "AMD", "STATUS", "STATUS"],
            "sn": [0, 1, -1, -1], "length_bytes": [40, 40, 10, 10], "payload_bytes": [38, 38, 0, 0],
        },
    )  # fmt: skip
    frames["transmission"] = [0, 0, -1, -1]
    air = frames_on_air(frames, 0, Timing(10 * MS, 4, block_bytes=block_bytes))
    assert (air.end_ns / MS).tolist() == ends_ms


def test_short_frames_that_follow_each_other_begin_when_they_were_logged() -> None:
    """Octets are sent one after the other: eight status PDUs take longer than a data PDU, which begins after them."""
    times_ms, octets = [0.0, *(1 + 1.5 * at for at in range(8)), 13.0, 23.75], [4, *[6] * 8, 43, 43]
    frames = build(
        "frames",
        {
            "input": [0] * 11, "record": list(range(11)), "time_ns": [round(MS * at) for at in times_ms],
            "recorded_ns": [0] * 11, "link": [0] * 11, "side": ["mobile"] * 11, "sent": [True] * 11,
            "type": ["MRW", *["STATUS"] * 8, "AMD", "AMD"], "sn": [-1] * 9 + [0, 1], "length_bytes": octets,
            "payload_bytes": [0] * 9 + [41, 41],
        },
    )  # fmt: skip
    frames["transmission"] = [-1] * 9 + [1, 0]
    air = frames_on_air(frames, 0, Timing(10_750_000, 1))
    assert (air.start_ns / MS).tolist() == pytest.approx(times_ms)
    assert air.end_ns[-2] / MS == pytest.approx(times_ms[-1])

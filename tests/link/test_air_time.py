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


@pytest.mark.parametrize(("statuses", "octet_ns"), [(8, 0.0), (8, 250_000.0), (6, 250_000.0)])
def test_short_frames_that_follow_each_other_begin_when_they_were_logged(statuses: int, octet_ns: float) -> None:
    """Octets are sent one after the other: status PDUs take time, and the data PDU begins after them.

    That eight take longer than a data PDU shows it; of fewer the timing has to tell that the link has no opportunities.
    """
    before_ms = [0.0, *(1 + 1.5 * at for at in range(statuses + 1))]
    times_ms, octets = [*before_ms, before_ms[-1] + 10.75], [4, *[6] * statuses, 43, 43]
    count = len(times_ms)
    frames = build(
        "frames",
        {
            "input": [0] * count, "record": list(range(count)), "time_ns": [round(MS * at) for at in times_ms],
            "recorded_ns": [0] * count, "link": [0] * count, "side": ["mobile"] * count, "sent": [True] * count,
            "type": ["MRW", *["STATUS"] * statuses, "AMD", "AMD"], "sn": [-1] * (statuses + 1) + [0, 1],
            "length_bytes": octets, "payload_bytes": [0] * (statuses + 1) + [41, 41],
        },
    )  # fmt: skip
    frames["transmission"] = [-1] * (statuses + 1) + [1, 0]
    air = frames_on_air(frames, 0, Timing(10_750_000, 1, octet_ns=octet_ns))
    assert (air.start_ns / MS).tolist() == pytest.approx(times_ms)
    assert air.end_ns[-2] / MS == pytest.approx(times_ms[-1])

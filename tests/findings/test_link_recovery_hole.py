"""Holes in the delivery by a link, and what shows that it keeps the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scenes import (
    Seen,
    frames,
    scene,
    segment_frames,
)
from two_ends import MS

from multitracer.findings import find
from multitracer.findings.directions import Directions
from multitracer.link.timing import Timing


@pytest.mark.parametrize(("answered", "holes"), [(True, 1), (False, 0)])
def test_delivery_in_sequence_is_told_by_the_answers(answered: bool, holes: int) -> None:
    """A segment that was whole early waits for the one before it, unless no duplicate could have been heard."""
    seen = [Seen(sent=10 * n, seq=1 + 1000 * n, size=1000) for n in range(3)]
    seen += [Seen(sent=600, came=650, sender=1, ack=3001)] if answered else []
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50, "segment": 0},
        {"sent": 10, "first": 20, "last": 400, "delivered": 310, "segment": 1, "seq": 1001,
         "frame_retransmissions": 2},
        {"sent": 20, "first": 30, "last": 40, "delivered": 180, "segment": 2, "seq": 2001},
    )  # fmt: skip
    observed = scene(seen, segment_frames=carried, link_rtt_ns=100 * MS)
    alone = [one._replace(receiver_point=-1) for one in observed.directions]
    unknown = np.full(len(observed.arrived), -1, dtype=np.int8)
    found = find(replace(observed, directions=Directions.of(alone), arrived=unknown)).table
    assert (found["kind"] == "link-recovery-hole").sum() == holes


@pytest.mark.parametrize("jitter", [-0.1, 0.1])
def test_what_had_to_wait_did_not_come_before_what_it_waited_for(jitter: float) -> None:
    """The link repeats the second; the third is handed over with it, and captured a little sooner or later."""
    seen = [Seen(sent=10 * n, came=came, seq=1 + 1000 * n, size=1000) for n, came in enumerate((60, 410, 410 + jitter))]
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50, "segment": 0},
        {"sent": 10, "first": 10, "last": 360, "delivered": 400, "segment": 1, "frame_retransmissions": 1},
        {"sent": 20, "first": 20, "last": 20, "delivered": 70, "segment": 2},
    )
    observed = scene(seen, segment_frames=carried, link_rtt_ns=100 * MS)
    found = find(replace(observed, timings={0: Timing(10 * MS, 1)})).table
    assert (found["kind"] == "link-recovery-hole").sum() == 1


@pytest.mark.parametrize(("third_came", "holes"), [(420, 2), (80, 1)])
def test_what_the_receivers_capture_lacks_came_in_order_if_what_it_has_did(third_came: float, holes: int) -> None:
    """The third waited for the second, or not; so did the last, which no capture has, for the one before it."""
    came = [60, 410, third_came, 910]
    seen = [Seen(sent=10 * n, came=came[n], seq=1 + 1000 * n, size=1000) for n in range(4)]
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50, "segment": 0},
        {"sent": 10, "first": 10, "last": 360, "delivered": 400, "segment": 1, "frame_retransmissions": 1},
        {"sent": 20, "first": 20, "last": 20, "delivered": 70, "segment": 2},
        {"sent": 30, "first": 500, "last": 860, "delivered": 900, "segment": 3, "frame_retransmissions": 1},
        {"sent": 40, "first": 510, "last": 660, "delivered": 700},
    )
    found = find(scene(seen, segment_frames=carried, link_rtt_ns=100 * MS)).table
    assert (found["kind"] == "link-recovery-hole").sum() == holes


def waited(*told_ms: float, captured: bool = False) -> list[str]:
    """The verdict on a hole from 250 to 700 ms, when MRWs tell that the second packet is given up.

    The third, whole at 250 ms, may have waited for that, unless the receiver's capture has it.
    """
    seen = [Seen(sent=0, came=60, seq=1, size=1000), Seen(sent=10, came=260, seq=1001, size=1000)]
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50},
        {"sent": 5, "first": 5, "last": 20},
        {"sent": 10, "first": 30, "last": 40, "delivered": 250, **({"segment": 1} if captured else {})},
        {"sent": 20, "first": 250, "last": 600, "delivered": 700, "frame_retransmissions": 2},
    )
    log = frames((5, True, "AMD", 0), *((ms, True, "MRW", 0) for ms in told_ms), (700, True, "AMD", 0))
    log["sn_unwrapped"] = np.array([0, *(-1 for _ in told_ms), 1], dtype=log["sn_unwrapped"].dtype)
    found = find(scene(seen, segment_frames=carried, frames=log, link_rtt_ns=100 * MS)).table
    return found.loc[found["kind"] == "link-recovery-hole", "verdict"].tolist()


def test_what_waited_behind_a_packet_that_was_given_up_may_have_come_in_a_hole() -> None:
    """When the MRW told of it in the hole; not when it did long before, or the log has none."""
    assert waited(300) == ["likely"]
    assert waited(100) == waited() == ["confirmed"]


def test_the_receiver_may_have_heard_only_the_last_copy_of_an_mrw() -> None:
    """The sender repeats it until it is answered."""
    assert waited(100, 200, 300) == ["likely"]


def test_what_the_receivers_capture_has_did_not_wait_unseen() -> None:
    """It tells when the third came."""
    assert waited(300, captured=True) == ["confirmed"]

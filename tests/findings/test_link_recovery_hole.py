"""Holes in the delivery by a link, and what shows that it keeps the order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scenes import (
    Seen,
    numbered,
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


def after_a_loss(
    *told: tuple[float, int, int], last: float = 20, captured: bool = False, ends_unseen: bool = False
) -> pd.DataFrame:
    """What is found in a hole from 250 to 700 ms, when MRWs (ms, number, N_LENGTH) tell what was given up.

    The second packet, PDU 1, was lost, and last repeated at `last`. The third, whole at 250 ms, may have waited for
    that, unless the receiver's capture has it. That has the last packet, too, unless the hole `ends_unseen`.
    """
    last_seen = 2 if captured and not ends_unseen else -1
    came = ((0, 60), (10, 260), (20, 710))
    seen = [Seen(sent=sent, came=at_ms, seq=1 + 1000 * n, size=1000) for n, (sent, at_ms) in enumerate(came)]
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50, "frames": 1},
        {"sent": 5, "first": 5, "last": last, "frames": 2, "frame_retransmissions": 1},
        {"sent": 10, "first": 30, "last": 40, "delivered": 250, "frames": 1, "segment": 1 if captured else -1},
        {"sent": 20, "first": 250, "last": 600, "delivered": 700, "frames": 3, "frame_retransmissions": 2,
         "segment": last_seen},
    )  # fmt: skip
    sent = [(0, "AMD", 0, 0, 0), (5, "AMD", 1, 0, 0), (30, "AMD", 2, 0, 0), (250, "AMD", 3, 0, 0)]
    log = numbered(*sent, *((ms, "MRW", number, 0, ends) for ms, number, ends in told))
    found = find(scene(seen, segment_frames=carried, frames=log, link_rtt_ns=100 * MS)).table
    return found[found["kind"] == "link-recovery-hole"]


def waited(*told: tuple[float, int, int], **how: Any) -> list[str]:
    """The verdict on that hole: likely if others may have waited."""
    return after_a_loss(*told, **how)["verdict"].tolist()


def test_what_waited_behind_a_packet_that_was_given_up_may_have_come_in_a_hole() -> None:
    """When the MRW that names it told of it in the hole; not when it did long before, or the log has none."""
    assert waited((300, 2, 0)) == waited((300, 1, 1)) == ["likely"]
    assert waited((100, 2, 0)) == waited() == ["confirmed"]


def test_a_hole_says_why_it_is_likely_only() -> None:
    """Each doubt reads alike."""
    (because,) = after_a_loss((300, 2, 0))["because"]
    assert because.endswith("; likely only, as others may have waited behind a lost packet and come then")


@pytest.mark.parametrize("other", [(300, 1, 0), (300, 0, 1)])
def test_an_mrw_that_names_another_packet_tells_nothing_of_a_lost_one(other: tuple[float, int, int]) -> None:
    """One before it, whose MRW moves no window past it; or one behind it, when its own MRW came long before."""
    assert waited(other) == waited((100, 2, 0), (300, 3, 0)) == ["confirmed"]


def test_the_receiver_may_have_heard_only_the_last_copy_of_an_mrw() -> None:
    """The sender repeats it until it is answered."""
    assert waited((100, 2, 0), (200, 2, 0), (300, 2, 0)) == ["likely"]


def test_an_mrw_without_a_number_may_give_up_what_was_sent_before_it() -> None:
    """Whether or not another names it, as it may be a copy of that."""
    assert waited((300, -1, 0)) == waited((100, 2, 0), (300, -1, 0)) == ["likely"]
    assert waited((100, -1, 0)) == ["confirmed"]


@pytest.mark.parametrize("told_ms", [2, 10])
def test_what_is_still_sent_was_not_given_up_before(told_ms: float) -> None:
    """An MRW without a number that was sent before the last repeat of a packet did not give it up."""
    assert waited((told_ms, -1, 0), last=240) == ["likely"]


def test_what_the_receivers_capture_has_did_not_wait_unseen() -> None:
    """It tells when the third came."""
    assert waited((300, 2, 0), captured=True) == ["confirmed"]


def test_a_hole_that_ends_with_what_the_receivers_capture_lacks_is_likely_only() -> None:
    """The link's log says that it was delivered, TCP's side that it was not."""
    (because,) = after_a_loss(captured=True, ends_unseen=True)["because"]
    assert because.endswith("; likely only, as the receiver's capture does not have that segment")


def at_once(*told: tuple[float, int, int]) -> list[str]:
    """The verdict on such a hole when a lost packet and one that is whole at 100 ms are PDUs 1 and 2, in one TTI.

    The receiver's capture has all packets but both.
    """
    came = ((0, 60), (10, 260), (20, 710))
    seen = [Seen(sent=sent, came=at_ms, seq=1 + 1000 * n, size=1000) for n, (sent, at_ms) in enumerate(came)]
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50, "frames": 1, "segment": 0},
        {"sent": 5, "first": 5, "last": 20, "frames": 2, "frame_retransmissions": 1},
        {"sent": 5, "first": 5, "last": 40, "delivered": 100, "frames": 2, "frame_retransmissions": 1},
        {"sent": 10, "first": 30, "last": 50, "delivered": 250, "frames": 1, "segment": 1},
        {"sent": 20, "first": 250, "last": 600, "delivered": 700, "frames": 3, "frame_retransmissions": 2,
         "segment": 2},
    )  # fmt: skip
    sent = [(ms, "AMD", number, 0, 0) for number, ms in enumerate((0, 5, 5, 30, 250))]
    log = numbered(*sent, *((ms, "MRW", number, 0, ends) for ms, number, ends in told))
    found = find(scene(seen, segment_frames=carried, frames=log, link_rtt_ns=100 * MS)).table
    return found.loc[found["kind"] == "link-recovery-hole", "verdict"].tolist()


def test_what_was_sent_at_once_with_a_lost_packet_may_have_waited_behind_it() -> None:
    """No log tells which of both was before the other."""
    assert at_once((300, 2, 0)) == ["likely"]
    assert at_once((100, 2, 0)) == ["confirmed"]


def test_which_of_the_frames_that_were_sent_at_once_are_a_lost_packets_is_not_known() -> None:
    """It may be the later one, of which only the second MRW tells."""
    assert at_once((100, 2, 0), (300, 3, 0)) == ["likely"]
    assert at_once((100, 3, 0), (300, 4, 0)) == ["confirmed"]


def test_a_lost_packet_that_was_sent_at_once_with_the_next_may_have_been_the_gap() -> None:
    """No link's log tells which of both was first."""
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50},
        {"sent": 10, "first": 50, "last": 50},
        {"sent": 20, "first": 50, "last": 600, "delivered": 700, "frame_retransmissions": 2},
    )
    found = find(scene([Seen(sent=0, came=60, size=1000)], segment_frames=carried, link_rtt_ns=100 * MS)).table
    assert found.loc[found["kind"] == "link-recovery-hole", "verdict"].tolist() == ["likely"]

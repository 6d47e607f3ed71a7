"""What an RLC entity may have given up by itself is not a reset's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from scenes import MS, Seen, at, intervals, numbered, scene, segment_frames

from multitracer.findings import find
from multitracer.findings.directions import Directions
from multitracer.findings.discards import NEVER, NOT, NOT_BY_COUNT, PERHAPS, Until, given_up_before, told_of
from multitracer.findings.observations import Observations

UNTIL = Until(at(0), at(100), at(120))


def carried() -> Observations:
    """Four packets of one PDU each, sent at 1 to 4 ms, that never came out of the link."""
    seen = scene([Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(4)])
    rows = [{"sent": n, "first": n + 1, "last": n + 1, "segment": n, "frames": 1} for n in range(4)]
    return replace(seen, segment_frames=segment_frames(*rows))


NEW = [(n + 1, "AMD", n, 0, 0) for n in range(4)]
NAMED_TWICE = [(20, "AMD", 0, 2, 0), (30, "MRW", 0, 0, 1), (50, "AMD", 1, 2, 0), (60, "MRW", 2, 0, 0)]


@pytest.mark.parametrize(
    ("rows", "given_up"),
    [
        ([], [NOT, NOT, NOT, NOT]),
        ([(60, "MRW", 2, 0, 0), (70, "MRW_ACK", 2, 0, 0)], [PERHAPS, PERHAPS, NOT, NOT]),
        ([(60, "MRW", 2, 0, 1), (70, "MRW_ACK", 3, 0, 0)], [PERHAPS, PERHAPS, PERHAPS, NOT]),
        ([(60, "MRW", 2, 0, 0)], [PERHAPS, PERHAPS, PERHAPS, PERHAPS]),
        ([(60, "MRW", -1, 0, 0)], [PERHAPS, PERHAPS, PERHAPS, PERHAPS]),
        ([*NAMED_TWICE], [PERHAPS, PERHAPS, NOT_BY_COUNT, NOT_BY_COUNT]),
        ([*NAMED_TWICE, (70, "AMD", 2, 2, 0)], [PERHAPS, PERHAPS, PERHAPS, NOT_BY_COUNT]),
        ([*NAMED_TWICE, (70, "AMD", 2, 3, 0)], [PERHAPS, PERHAPS, PERHAPS, PERHAPS]),
        ([*NAMED_TWICE[:2]], [PERHAPS, PERHAPS, PERHAPS, PERHAPS]),
    ],
)
def test_what_may_have_been_given_up(rows: list[tuple[float, str, int, int, int]], given_up: list[int]) -> None:
    """What an MRW names; while it is unanswered all, or by MaxDAT up to the last PDU that was sent as often as any.

    Where a PDU that no MRW gave up was sent more often, no count of transmissions explains the MRWs.
    """
    observed = replace(carried(), frames=numbered(*NEW, *rows))
    assert given_up_before(observed, 0, observed.rows(0, 0, 0), UNTIL).tolist() == given_up


@pytest.mark.parametrize(("transmission", "given_up"), [(2, NOT_BY_COUNT), (1, PERHAPS)])
def test_an_mrw_of_the_other_end_shows_that_transmissions_are_counted(transmission: int, given_up: int) -> None:
    """One of each end names a PDU that was sent three times, as none was more often; or only one of them does."""
    theirs = numbered((10, "AMD", 0, 0, 0), (12, "AMD", 0, transmission, 0), (25, "MRW", 0, 0, 1)).assign(link=1)
    logs = pd.concat([numbered(*NEW, *NAMED_TWICE[:2]), theirs], ignore_index=True)
    observed = replace(carried(), frames=logs)
    assert given_up_before(observed, 0, observed.rows(0, 0, 0), UNTIL).tolist() == [PERHAPS] + [given_up] * 3


@pytest.mark.parametrize(("came_ms", "given_up"), [(30, NOT), (50, PERHAPS)])
def test_what_came_within_a_round_trip_of_the_reset_before_told_of_what_was_before_it(
    came_ms: float, given_up: int
) -> None:
    """The far end's log alone has an MRW; a round trip takes 40 ms."""
    mrw = numbered((came_ms, "MRW", -1, 0, 0)).assign(sent=False)
    observed = replace(carried(), frames=pd.concat([numbered(*NEW), mrw], ignore_index=True), link_rtt_ns=40 * MS)
    assert given_up_before(observed, 0, observed.rows(0, 0, 0), UNTIL).tolist() == [given_up] * 4


@pytest.mark.parametrize(
    ("rows", "told_ms"),
    [
        ([(60, "MRW", 2, 0, 0)], [60, 60, None, None]),
        ([(60, "MRW", 1, 0, 0), (70, "MRW", 2, 0, 1), (80, "MRW", 1, 0, 0)], [80, 80, 80, None]),
        ([(2.5, "MRW", -1, 0, 0)], [2.5, 2.5, None, None]),
        ([(60, "MRW", 2, 0, 0), (70, "MRW", -1, 0, 0)], [70, 70, 70, 70]),
    ],
)
def test_when_a_link_told_of_what_it_gave_up(
    rows: list[tuple[float, str, int, int, int]], told_ms: list[float | None]
) -> None:
    """By the last copy of the MRW that names it, or by one without a number that may name all that was sent before."""
    observed = replace(carried(), frames=numbered(*NEW, *rows))
    assert observed.segment_frames is not None
    told = told_of(observed, 0, observed.segment_frames)
    assert told.tolist() == [NEVER if ms is None else at(ms) for ms in told_ms]


def test_without_numbers_of_pdus_any_mrw_may_give_them_up() -> None:
    """Its number names none of them."""
    observed = replace(carried(), frames=numbered((1, "AMD", -1, 0, 0), (60, "MRW", 0, 0, 0)))
    assert observed.segment_frames is not None
    assert told_of(observed, 0, observed.segment_frames).tolist() == [at(60)] * 4


def lost_together(came: dict[str, Any], **answer: Any) -> pd.DataFrame:
    """What logs of both ends show of two lost segments and an acknowledgement, and whether a later one came."""
    seen = scene([*(Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(4)), Seen(sent=300, came=350, sender=1)])
    points = ("receiver_point", "sender_point")
    alone = [one._replace(**{name: -1}) for one, name in zip(seen.directions, points, strict=True)]
    rows = [{"sent": n, "first": n + 1, "last": n + 2, "segment": n, "seq": 1 + 1000 * n} for n in range(4)]
    rows = [one | ({"delivered": 50} if n in (0, 3) else {}) for n, one in enumerate(rows)]
    answer |= {"first": 60, "last": 61, "link": 1, "payload_bytes": 0, "sender": seen.connections["server"].iat[0]}
    later = answer | {"first": 90, "last": 91} | came
    found = find(replace(seen, directions=Directions.of(alone), segment_frames=segment_frames(*rows, answer, later),
                         frames=numbered(*NEW), link_intervals=intervals())).table  # fmt: skip
    return found[found["kind"].isin(["burst-loss", "ack-loss"])]


@pytest.mark.parametrize(("logged_ns", "came"), [(-1, False), (at(65), True)])
def test_acknowledgements_that_the_links_end_ignored_are_said_to_have_come_to_it(logged_ns: int, came: bool) -> None:
    """By its log it had them whole, though it gave none of them on."""
    lost = lost_together({"delivered": 150}, logged_ns=logged_ns)
    because = lost.loc[lost["kind"] == "ack-loss", "because"].tolist()
    assert ["1 of them came to that end, which ignored them" in one for one in because] == [came]


@pytest.mark.parametrize("acks_logged", [True, False])
def test_logs_of_both_ends_show_what_was_lost_together(acks_logged: bool) -> None:
    """Two segments sent at once never came out of the link, nor did an acknowledgement: likely, by the logs alone.

    Of acknowledgements only where the log of their far end shows that a later one came.
    """
    lost = lost_together({"delivered": 150} if acks_logged else {})
    burst, ack = ["burst-loss", "link", "likely", 2], ["ack-loss", "link", "likely", 1]
    counts = lost["evidence"].map(lambda one: one["count"])
    told = lost[["kind", "layer", "verdict"]].assign(count=counts).to_numpy().tolist()
    assert told == ([burst, ack] if acks_logged else [burst])


def test_a_log_of_the_far_end_alone_that_lacks_what_was_acknowledged_shows_no_loss() -> None:
    """It has the frames as they came: how many were sent is not known, and all may have been."""
    seen = scene([*(Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(4)),
                  Seen(sent=300, came=350, sender=1, ack=4001)])  # fmt: skip
    points = ("receiver_point", "sender_point")
    alone = [one._replace(**{name: -1}) for one, name in zip(seen.directions, points, strict=True)]
    rows = [{"sent": n, "frames": -1, "segment": n, "seq": 1 + 1000 * n} for n in range(4)]
    rows = [one | ({"delivered": 50} if n in (0, 3) else {}) for n, one in enumerate(rows)]
    logs = {"segment_frames": segment_frames(*rows), "frames": numbered(*NEW), "link_intervals": intervals()}
    found = find(replace(seen, directions=Directions.of(alone), **logs)).table
    assert not (found["kind"] == "burst-loss").any()

"""What a reset of the link is charged with, and to which connection."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from scenes import Seen, frames, intervals, scene, segment_frames

from multitracer.findings import find
from multitracer.findings.directions import Directions

DATA = [Seen(sent=t, came=t + 50, seq=1 + 1000 * n, size=1000) for n, t in enumerate(range(0, 200, 10))]


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize(
    ("lost", "acknowledges", "given_up_ms", "flushed"),
    [(1, 0, None, 1), (1, 3, None, 0), (1, 0, 35, None), (1, 0, 2, 1), (2, 2, None, 1), (2, 3, None, 0)],
)
def test_what_the_links_peer_had_acknowledged_no_reset_flushed(
    lost: int, acknowledges: int, given_up_ms: int | None, flushed: int | None, elsewhere: bool
) -> None:
    """The second or last of three segments never came: its frame was acknowledged before the reset, or not.

    Where an MRW told since the reset before, at 5 ms, that something was given up, that may have been too. It does not
    matter whether the log of another link has the same packets.
    """
    sent = [Seen(sent=10 * n, came=None if n == lost else 10 * n + 50, seq=1 + 1000 * n, size=1000) for n in range(3)]
    seen = scene(sent)
    rows = {one: int(row) for row, one in enumerate(seen.segments["seq"]) if seen.segments["point"].iat[row] == 0}
    carried = segment_frames(*(
        {"sent": 10 * n, "first": 10 * n + 1, "last": 10 * n + 1, "segment": rows[1 + 1000 * n], "seq": 1 + 1000 * n,
         "last_sn": n}
        for n in range(3)
    ))  # fmt: skip
    if elsewhere:
        carried = pd.concat([carried.assign(link=2), carried], ignore_index=True)
    log = frames(*((10 * n + 1, True, "I RR", 0) for n in range(3)), (25, False, "RR", 0))
    log = log.assign(sn_unwrapped=[0, 1, 2, -1], nr=[0, 0, 0, acknowledges])
    if given_up_ms is not None:
        log = pd.concat([log, frames((given_up_ms, True, "MRW", 0))], ignore_index=True)
    resets = intervals(("reset", 4, 5), ("reset", 30, 40))
    found = find(replace(seen, segment_frames=carried, frames=log, link_intervals=resets)).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[-1].get("segments_lost") == flushed


@pytest.mark.parametrize(("acknowledges", "flushed"), [(0, 1), (1, 1), (2, 0), (3, 0)])
def test_what_the_link_still_had_open_its_reset_flushed_whatever_came_behind_it(
    acknowledges: int, flushed: int
) -> None:
    """The second of three segments never came, the third did: its frame was acknowledged before the reset, or not."""
    sent = [Seen(sent=n, came=None if n == 1 else n + 10, seq=1 + 1000 * n, size=1000) for n in range(3)]
    seen = scene(sent)
    rows = {one: int(row) for row, one in enumerate(seen.segments["seq"]) if seen.segments["point"].iat[row] == 0}
    carried = segment_frames(*(
        {"sent": n, "first": 3 + n, "last": 3 + n, "segment": rows[1 + 1000 * n], "seq": 1 + 1000 * n, "last_sn": n}
        for n in range(3)
    ))  # fmt: skip
    log = frames(*((3 + n, True, "I RR", 0) for n in range(3)), (25, False, "RR", 0))
    log = log.assign(sn_unwrapped=[0, 1, 2, -1], nr=[0, 0, 0, acknowledges])
    found = find(replace(seen, segment_frames=carried, frames=log, link_intervals=intervals(("reset", 30, 40)))).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[0].get("segments_lost") == flushed


@pytest.mark.parametrize(("packet_bytes", "flushed"), [(1040, 0), (1500, 1)])
def test_what_the_link_had_not_sent_whole_it_cannot_know_to_have_come(packet_bytes: int, flushed: int) -> None:
    """All frames that were sent of the last segment before the reset, 1040 octets, were acknowledged."""
    seen = scene([Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=10, seq=1001, size=1000)])
    carried = segment_frames(
        {"sent": 0, "first": 1, "last": 1, "segment": 0, "last_sn": 0},
        {"sent": 10, "first": 11, "last": 11, "segment": 1, "seq": 1001, "last_sn": 1},
    ).assign(packet_bytes=[1040, packet_bytes])
    log = frames((1, True, "I RR", 0), (11, True, "I RR", 0), (25, False, "RR", 0))
    log = log.assign(sn_unwrapped=[0, 1, -1], nr=[0, 0, 2])
    observed = replace(seen, segment_frames=carried, frames=log, link_intervals=intervals(("reset", 30, 40)))
    found = find(observed).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[0].get("segments_lost") == flushed


@pytest.mark.parametrize(("told_by", "acknowledges", "flushed"), [(1, 2, 0), (2, 2, 1), (2, 3, 0)])
def test_a_segment_whose_end_the_peer_was_not_told_a_reset_flushed(
    told_by: int, acknowledges: int, flushed: int
) -> None:
    """All octets of the second segment were acknowledged: its own frame tells where it ends, or the one behind it."""
    seen = scene([Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=10, seq=1001, size=1000)])
    carried = segment_frames(
        {"sent": 0, "first": 1, "last": 1, "segment": 0, "last_sn": 0},
        {"sent": 10, "first": 11, "last": 11, "segment": 1, "seq": 1001, "last_sn": 1, "end_sn": told_by},
    )
    log = frames(*((ms, True, "AMD", 0) for ms in (1, 11, 12)), (25, False, "STATUS", 0))
    log = log.assign(sn_unwrapped=[0, 1, 2, -1], sn=[0, 1, 2, -1], nr=[-1, -1, -1, acknowledges])
    observed = replace(
        seen, segment_frames=carried, frames=log, links=seen.links.assign(protocol="rlc-umts"),
        link_intervals=intervals(("reset", 30, 40)),
    )  # fmt: skip
    found = find(observed).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[0].get("segments_lost") == flushed


@pytest.mark.parametrize(("kind", "next_reset", "flushed"), [("SABM", 900, 1), ("RESET", 900, 0), ("SABM", 35, 0)])
def test_each_repeat_of_rlps_request_flushes_again(kind: str, next_reset: float, flushed: int) -> None:
    """A segment was sent after the first answer, which the requesting end lost; RLC knows a repeat by its number.

    What follows the beginning of another reset repeats that one's request.
    """
    sent = [Seen(sent=0, came=10, seq=1, size=1000), Seen(sent=50, seq=1001, size=1000)]
    seen = scene(sent)
    carried = segment_frames(
        {"sent": 0, "first": 1, "last": 1, "segment": 0},
        {"sent": 50, "first": 51, "last": 55, "segment": 2, "seq": 1001},
    )
    log = frames((1, True, "I RR", 0), (20, False, kind, 0), (51, True, "I RR", 0), (60, False, kind, 0))
    resets = intervals(("reset", 20, 30), ("reset", next_reset, next_reset + 1))
    found = find(replace(seen, segment_frames=carried, frames=log, link_intervals=resets)).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[0].get("segments_lost") == flushed


def test_the_set_up_of_the_next_call_does_not_flush_for_the_release_before_it() -> None:
    """What was sent after the release was flushed by nothing of it."""
    seen = scene([Seen(sent=0, came=10, seq=1, size=1000), Seen(sent=50, seq=1001, size=1000)])
    log = frames((1, True, "I RR", 0), (20, False, "DISC", 0), (60, False, "SABM", 0))
    found = find(replace(seen, frames=log, link_intervals=intervals(("release", 20, 30)))).table
    assert found.loc[found["kind"] == "link-release", "evidence"].iat[0].get("segments_lost") == 0


@pytest.mark.parametrize(
    ("acknowledged", "kind", "matched_by", "flushed"),
    [(1, "RR", "payload", 1), (2001, "RR", "payload", None), (1, "MRW", "payload", None), (1, "RR", "bytes", None)],
)
def test_without_a_capture_at_the_receiver_the_log_tells_what_a_reset_flushed(
    acknowledged: int, kind: str, matched_by: str, flushed: int | None
) -> None:
    """Of three segments the second was never whole; TCP must not have acknowledged it, nor the link discarded any.

    Sizes alone do not tell which packets were which.
    """
    sent = [Seen(sent=10 * n, seq=1 + 1000 * n, size=1000) for n in range(3)]
    seen = scene([*sent, Seen(sent=0, came=15, sender=1, ack=acknowledged)])
    carried = segment_frames(
        {"sent": 0, "first": 1, "last": 2, "delivered": 5, "segment": 0},
        {"sent": 10, "first": 12, "last": 18, "segment": 2, "seq": 1001},
        {"sent": 20, "first": 60, "last": 70, "delivered": 75, "segment": 4, "seq": 2001},
    ).assign(matched_by=matched_by)
    points = ("receiver_point", "sender_point")
    alone = [one._replace(**{name: -1}) for one, name in zip(seen.directions, points, strict=True)]
    observed = replace(
        seen, directions=Directions.of(alone), segment_frames=carried, frames=frames((3, True, kind, 0)),
        link_intervals=intervals(("reset", 20, 40)),
    )  # fmt: skip
    found = find(observed).table
    assert found.loc[found["kind"] == "link-reset", "evidence"].iat[0].get("segments_lost") == flushed


def test_a_reset_is_attributed_to_an_open_connection() -> None:
    """A reset before the only connection began did not affect it."""
    early = scene(DATA, link_intervals=intervals(("reset", -5000, -4000)))
    found = find(early).table
    assert found.loc[found["kind"] == "link-reset", "connection"].tolist() == [-1]

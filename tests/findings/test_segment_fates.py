"""What the logs of links say of the fate of segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scenes import MS, Seen, at, frames, intervals, links, scene, segment_frames

from multitracer.findings.directions import Direction, Directions
from multitracer.findings.segment_fates import segment_fates
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK

NO_SACKS = pd.DataFrame({"segment": [], "left": [], "right": [], "dsack": []}).astype("int64")
BOTH = Paths(np.array([[0, 1]]), np.array([[1, 0]]), np.empty(0, np.int32), np.empty(0, np.int8))
NEAR = replace(BOTH, sender_point=np.array([[0, 0]]), receiver_point=np.array([[NOWHERE, NOWHERE]]))
LOG = frames((1, True, "I RR", 0))
"""A frame in the log of the link's sender."""
RESET = intervals(("reset", 100, 120))


def fates(
    seen: Sequence[Seen], carried: Sequence[dict[str, Any]], *, far: bool = True, by_log: Sequence[float] = (),
    **parts: Any,
) -> list[str]:  # fmt: skip
    """The fates of the client's segments, 1000 octets each, where they left.

    `carried` are rows of segment_frames, one each; `by_log` when the link's far end had them whole, -1 never, -2
    spoilt.
    """
    sent = [one._replace(size=1000, seq=1 + 1000 * n) if one.sender == 0 and not one.seq > 1 else one
            for n, one in enumerate(seen)]  # fmt: skip
    made = scene(sent if far else [one._replace(came=None) for one in sent])
    point, sender = (made.column(name) for name in ("point", "sender"))
    rows = np.flatnonzero((point == 0) & (sender == 0))
    table = segment_frames(*(
        {"segment": int(row), "seq": one.seq, "sent": one.sent} | more
        for row, one, more in zip(rows, [one for one in sent if one.sender == 0], carried, strict=True)
    ))  # fmt: skip
    if len(by_log):
        whole = [int(ms) if ms < 0 else at(ms) for ms in by_log]
        table = table.assign(logged_ns=whole, delivered_ns=np.where(np.array(whole) >= 0, whole, -1) if not far else -1)
    paths = replace(BOTH if far else NEAR, arrival=made.arrival, arrived=made.arrived)
    if not far:
        kept = made.segments["point"].to_numpy() == 0
        heard = made.segments.assign(point=0)
        made = replace(made, segments=heard, arrived=np.full(len(kept), -1, dtype=np.int8),
                       directions=Directions.of(Direction(0, end, 0, NOWHERE, 100 * MS) for end in (0, 1)))  # fmt: skip
        paths = replace(paths, arrival=np.full(len(kept), -1, dtype=np.int32), arrived=made.arrived)
    given: dict[str, Any] = {"segment_frames": table, "frames": LOG, "link_intervals": RESET}
    found = pd.Series(segment_fates(replace(made, **{**given, **parts}), paths, NO_SACKS))
    return found.astype(object).where(found.notna(), "").to_numpy()[rows].tolist()


def carried(first: float | None, *, repeats: int = 0, **more: Any) -> dict[str, Any]:
    """A row of segment_frames of a segment whose first frame was sent then."""
    never = first is None
    return {"first": first, "last": first, "frames": 0 if never else 3, "frame_retransmissions": repeats,
            "carried_bytes": 0 if never else 1040, **more}  # fmt: skip


def acknowledged(at_ms: float, ack: int) -> Seen:
    """The server's answer, as the client's capture has it."""
    return Seen(at_ms, sender=1, seq=1, ack=ack, flags=ACK)


def test_what_a_link_repeated_and_delivered_was_repeated() -> None:
    """By the receiver's capture; what was not repeated was delivered."""
    seen = [Seen(0, 50), Seen(10, 60)]
    assert fates(seen, [carried(1), carried(11, repeats=2)]) == ["delivered", "repeated"]


def test_what_was_overtaken_before_the_link_was_dropped() -> None:
    """The link never had it on the air, and carried what was sent after it."""
    seen = [Seen(0, 50), Seen(1), Seen(2, 60)]
    assert fates(seen, [carried(1), carried(None), carried(11)]) == ["delivered", "dropped", "delivered"]


def test_what_a_reset_took_from_the_queue_was_flushed_if_that_is_sure() -> None:
    """The queue had taken as many packets before; of one more nothing shows that it was not dropped."""
    came, took = [Seen(0, 30), Seen(1, 35), Seen(2, 37)], [carried(0), carried(10), carried(12)]
    later, rows = Seen(130, 180), [carried(None), carried(None), carried(140)]
    assert fates([*came, Seen(60), Seen(62), later], [*took, *rows])[3:] == ["flushed", "flushed", "delivered"]
    more = [*came, *(Seen(63 + n) for n in range(3)), later]
    assert fates(more, [*took, carried(None), *rows])[3:6] == ["flushed", "flushed", "unknown"]


@pytest.mark.parametrize(("by_log", "fate"), [(-1, "flushed"), (80, "lost"), (-2, "lost")])
def test_the_far_ends_log_tells_what_a_link_gave_up(by_log: float, fate: str) -> None:
    """It never had the second segment whole: the reset flushed it. Else it was lost behind the link, or came spoilt."""
    seen = [Seen(0, 50), Seen(10), Seen(130, 180)]
    rows = [carried(1), carried(11), carried(131)]
    assert fates(seen, rows, by_log=[45, by_log, 170]) == ["delivered", fate, "delivered"]


def test_the_far_ends_log_alone_does_not_tell_what_its_link_delivered() -> None:
    """What came before a packet, and never arrived, is in no log: the link may have had to wait for it."""
    seen, rows = [Seen(0, 50), Seen(10), Seen(130, 180)], [carried(1), carried(11), carried(131)]
    far = LOG.assign(sent=False)
    assert fates(seen, rows, by_log=[45, 80, 170], frames=far) == ["delivered", "unknown", "delivered"]


def test_without_a_reset_nothing_was_given_up() -> None:
    """It may be under way still; an MRW tells that packets were given up."""
    seen, rows = [Seen(0, 50), Seen(10), Seen(20, 70)], [carried(1), carried(11), carried(21)]
    still = intervals()
    assert fates(seen, rows, by_log=[45, -1, 65], link_intervals=still)[1] == "unknown"
    told = frames((1, True, "AMD", 0), (60, True, "MRW", 0))
    assert fates(seen, rows, by_log=[45, -1, 65], link_intervals=still, frames=told)[1] == "flushed"


@pytest.mark.parametrize(("acknowledges", "fate"), [(0, "flushed"), (1, "flushed"), (3, "lost")])
def test_the_senders_log_tells_what_its_peer_had_acknowledged(acknowledges: int, fate: str) -> None:
    """What the link's sender knew to have come was lost behind it; what it still had open its reset flushed."""
    seen = [Seen(10 * n, None if n == 1 else 10 * n + 50) for n in range(3)]
    log = frames(*((10 * n + 1, True, "I RR", 0) for n in range(3)), (75, False, "RR", 0))
    log = log.assign(sn_unwrapped=[0, 1, 2, -1], nr=[0, 0, 0, acknowledges])
    rows = [carried(10 * n + 1, frames=1, last_sn=n) for n in range(3)]
    assert fates(seen, rows, frames=log)[1] == fate


def test_behind_a_logged_link_nothing_is_lost_without_proof() -> None:
    """What the log does not have may have been dropped before it, or lost behind."""
    seen = [Seen(0, 50), Seen(10), Seen(20, 70)]
    rows = [carried(1), carried(None, matched_by="bytes"), carried(21)]
    assert fates(seen, rows)[1] == "unknown"
    monitored = links().assign(protocol="wifi")
    assert fates(seen, rows, links=monitored)[1] == "lost"


def test_at_the_sender_alone_both_logs_tell_what_a_link_gave_up() -> None:
    """It never delivered the second segment, though what was sent later; a reset lies between."""
    seen = [Seen(0), Seen(10), Seen(130), acknowledged(200, 1001)]
    rows = [carried(1), carried(11), carried(131)]
    assert fates(seen, rows, far=False, by_log=[45, -1, 170]) == ["delivered", "flushed", "unknown"]


@pytest.mark.parametrize(("hole", "fate"), [((20, 60), "unknown"), ((125, 128), "flushed"), ((-60, -40), "flushed")])
def test_where_a_packet_went_is_said_only_of_logs_without_a_hole(hole: tuple[float, float], fate: str) -> None:
    """From its first frame to the reset: its frames, or an earlier reset, may be what the log lacks."""
    seen, rows = [Seen(0, 50), Seen(10), Seen(130, 180)], [carried(1), carried(11), carried(131)]
    assert fates(seen, rows, by_log=[45, -1, 170], holes=(hole,)) == ["delivered", fate, "delivered"]


def test_what_a_link_delivered_by_its_log_was_lost_behind_it_only_if_the_log_has_no_hole() -> None:
    """Among what it lacks may be the reset that discarded it."""
    seen, rows = [Seen(0, 50), Seen(10), Seen(130, 180)], [carried(1), carried(11), carried(131)]
    assert fates(seen, rows, by_log=[45, 80, 170], holes=((30, 60),))[1] == "unknown"


def test_a_drop_is_said_only_where_the_log_has_all_frames() -> None:
    """Between when it was sent and the frame that overtook it."""
    seen, rows = [Seen(0, 50), Seen(1), Seen(2, 60)], [carried(1), carried(None), carried(11)]
    assert fates(seen, rows, holes=((5, 9),)) == ["delivered", "unknown", "delivered"]


def test_repeats_count_only_where_a_log_has_all_frames() -> None:
    """Behind a hole numbers that come round look like repeats."""
    seen, rows = [Seen(0, 50), Seen(10, 90)], [carried(1), carried(11, repeats=2, last=60)]
    assert fates(seen, rows) == ["delivered", "repeated"]
    assert fates(seen, rows, holes=((30, 40),)) == ["delivered", "delivered"]


def test_of_two_links_one_lost_what_the_other_delivered_or_it_is_unknown() -> None:
    """Side by side, one copy came; the capture of the receiver would tell."""
    seen = [Seen(0), Seen(10), Seen(130)]
    rows = [carried(1), carried(11), carried(131)]
    whole = [at(45), -1, at(170)]
    table = segment_frames(*({"segment": n, "seq": 1 + 1000 * n, "sent": one.sent} | row
                             for n, (one, row) in enumerate(zip(seen, rows, strict=True))))  # fmt: skip
    first = table.assign(logged_ns=whole, delivered_ns=whole)
    other = table.iloc[1:2].assign(link=2, logged_ns=at(60), delivered_ns=at(60))
    both = pd.concat([first, other], ignore_index=True)
    log = pd.concat([LOG, LOG.assign(link=2)], ignore_index=True)
    # The reset takes the second segment from the first link.
    assert fates(seen, rows, far=False, by_log=[45, -1, 170], frames=log)[1] == "flushed"
    assert fates(seen, rows, far=False, by_log=[45, -1, 170], frames=log, segment_frames=both)[1] == "unknown"


def test_what_left_and_what_came_share_their_fate() -> None:
    """The receiver's row says what the sender's does."""
    made = scene([Seen(0, 50, size=1000), Seen(10, 60, seq=1001, size=1000, checksum_ok=0)])
    found = segment_fates(made, replace(BOTH, arrival=made.arrival, arrived=made.arrived), NO_SACKS)
    assert list(found) == ["delivered", "lost", "delivered", "lost"]


def test_without_any_log_what_did_not_arrive_was_lost() -> None:
    """Wherever that was."""
    made = scene([Seen(0, 50, size=1000), Seen(10, size=1000, seq=1001)])
    found = segment_fates(made, replace(BOTH, arrival=made.arrival, arrived=made.arrived), NO_SACKS)
    assert list(found)[:2] == ["delivered", "lost"]

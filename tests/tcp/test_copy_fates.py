"""What captures, and TCP's own verdicts on resends, prove of each copy of data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from two_ends import START, segments

from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import FATES, MARKS, build
from multitracer.tcp.copies import NO_DATA
from multitracer.tcp.copy_fates import Gone, copy_fates


class One(NamedTuple):
    """A segment of the client, or the server's acknowledgement of what is below `ack`."""

    seq: int = 0
    size: int = 100
    verdict: str = ""
    """Of a resend, whether it was needless."""
    ack: int = 0
    point: int = 0
    sacks: tuple[tuple[int, int], ...] = ()
    arrived: int = -1
    marks: str = ""
    checksum_ok: int = 1


def answer(ack: int, *sacks: tuple[int, int]) -> One:
    """An acknowledgement."""
    return One(0, 0, ack=ack, sacks=sacks)


def fates(
    seen: Sequence[One], *, far: int = NOWHERE, near: int = 0, lost: Sequence[int] = (0, 0, 0), gone: Any = (),
    logged: bool = False,
) -> list[str]:  # fmt: skip
    """The fate of each; an empty text where there is none."""
    marks = [MARKS["retransmission"] if one.verdict else MARKS[one.marks] if one.marks else 0 for one in seen]
    table = segments({
        "time_ns": START + np.arange(len(seen)), "point": [one.point for one in seen],
        "sender": [int(one.ack > 0) for one in seen], "seq": [one.seq for one in seen],
        "ack": [one.ack or 1 for one in seen], "payload_bytes": [one.size for one in seen], "marks": marks,
        "checksum_ok": [one.checksum_ok for one in seen],
    })  # fmt: skip
    blocks = [(row, left, right, False) for row, one in enumerate(seen) for left, right in one.sacks]
    sacks = pd.DataFrame(np.array(blocks, dtype=np.int64).reshape(-1, 4), columns=["segment", "left", "right", "dsack"])
    again = [row for row, one in enumerate(seen) if one.verdict]
    resent = build("retransmissions", {
        "segment": again, "spurious": [seen[row].verdict for row in again],
        **{name: np.zeros(len(again)) for name in ("input", "record", "connection", "time_ns", "seq", "payload_bytes")},
        "sender": ["c"] * len(again), "trigger": ["timeout"] * len(again), "because": [""] * len(again),
    })  # fmt: skip
    arrived = np.array([one.arrived for one in seen], dtype=np.int8)
    paths = Paths(np.array([[near, far]]), np.array([[far, near]]), np.full(len(seen), -1, dtype=np.int32), arrived)
    found = copy_fates(table, sacks, paths, resent, lost, Gone(np.array(gone, dtype=np.int64), np.full(2, logged)))
    return ["" if code == NO_DATA else FATES[code] for code in found.tolist()]


def test_what_was_sent_once_and_acknowledged_was_delivered() -> None:
    """What was not acknowledged may have been lost, or the recording may have ended before."""
    assert fates([One(1), One(101), answer(101)]) == ["delivered", "unknown", ""]


def test_what_was_selectively_acknowledged_was_delivered() -> None:
    """Also where the recording ends before the hole below it is filled."""
    assert fates([One(1), One(101), One(201), answer(1, (101, 201))]) == ["unknown", "delivered", "unknown", ""]


def test_a_needed_resend_shows_that_the_first_copy_was_lost() -> None:
    """And was delivered itself, as its octets were acknowledged."""
    assert fates([One(1), One(1, verdict="no"), answer(101)]) == ["lost", "delivered", ""]


def test_a_needless_resend_shows_that_the_first_copy_was_delivered() -> None:
    """The resend was needless, whether or not it arrived."""
    assert fates([One(1), One(1, verdict="yes"), answer(101)]) == ["delivered", "needless", ""]


def test_of_copies_that_cannot_be_told_apart_nothing_is_said() -> None:
    """Either of both may have been the one that was acknowledged."""
    assert fates([One(1), One(1, verdict="unknown"), answer(101)]) == ["unknown", "unknown", ""]


def test_a_second_resend_tells_of_the_first() -> None:
    """Needed: both copies before it were lost. Needless: with the original lost, the first resend brought it."""
    sent = [One(1), One(1, verdict="no")]
    assert fates([*sent, One(1, verdict="no"), answer(101)])[:3] == ["lost", "lost", "delivered"]
    assert fates([*sent, One(1, verdict="yes"), answer(101)])[:3] == ["lost", "delivered", "needless"]
    assert fates([*sent, One(1, verdict="unknown"), answer(101)])[:3] == ["lost", "unknown", "unknown"]
    doubtful = [One(1), One(1, verdict="unknown"), One(1, verdict="yes"), answer(101)]
    assert fates(doubtful)[:3] == ["unknown", "unknown", "needless"]


def test_a_record_of_several_segments_is_lost_if_a_part_of_it_is() -> None:
    """Only its second segment had to be sent again; where that was needless all of it was delivered."""
    record = One(1, 300)
    assert fates([record, One(101, verdict="no"), answer(301)])[:2] == ["lost", "delivered"]
    assert fates([record, One(101, verdict="yes"), answer(301)])[:2] == ["delivered", "needless"]


def test_a_needed_resend_of_more_than_a_segment_does_not_tell_which_part_was_lost() -> None:
    """The first two segments, sent again as one that was needed: either may have been lost."""
    found = fates([One(1), One(101), One(1, 200, verdict="no"), answer(201)])
    assert found == ["unknown", "unknown", "delivered", ""]


def test_the_receivers_capture_tells_of_each_copy() -> None:
    """Both resends were recognised; that of which the first copy came is needless only if it came itself."""
    sent = [One(1, arrived=1), One(101, arrived=0), One(1, verdict="yes", arrived=1), One(101, verdict="no", arrived=1)]
    assert fates(sent, far=1) == ["delivered", "lost", "needless", "delivered"]
    assert fates([One(1, arrived=1), One(1, verdict="yes", arrived=0)], far=1) == ["delivered", "lost"]


def test_what_came_and_was_not_taken_was_lost() -> None:
    """The resend was needed though the first copy is in the receiver's capture: PAWS, or no room, discarded that."""
    assert fates([One(1, arrived=1), One(1, verdict="no", arrived=1)], far=1) == ["lost", "delivered"]


def test_a_capture_that_lost_records_does_not_show_that_data_was_sent_once() -> None:
    """A copy may be missing at the sender; at the receiver, one that came."""
    assert fates([One(1), answer(101)], lost=(1, 0)) == ["unknown", ""]
    sent = [One(1, arrived=0), answer(101)]
    assert fates(sent, far=1, lost=(0, 1)) == ["delivered", ""]
    assert fates(sent[:1], far=1, lost=(0, 1)) == ["unknown"]


def test_copies_that_a_link_gave_up_leave_the_others() -> None:
    """Nothing tells which of two was acknowledged, but the link dropped the first, or the second."""
    sent = [One(1), One(1, verdict="unknown"), answer(101)]
    assert fates(sent, gone=[0]) == ["lost", "delivered", ""]
    assert fates(sent, gone=[1]) == ["delivered", "lost", ""]


def test_what_a_needless_resend_repeats_cannot_all_be_gone() -> None:
    """The link and TCP contradict one another: then neither is believed."""
    assert fates([One(1), One(1, verdict="yes"), answer(101)], gone=[0])[1] == "unknown"
    assert fates([One(1), One(1, verdict="yes"), One(1, verdict="no"), answer(101)])[1] == "unknown"


def test_octets_that_were_acknowledged_cannot_all_be_gone() -> None:
    """The link's log is not believed of any of their copies; above what was acknowledged it may be right."""
    sent = [One(1), One(1, verdict="no")]
    assert fates([*sent, answer(101)], gone=[0, 1]) == ["unknown", "unknown", ""]
    assert fates([*sent, answer(51)], gone=[0, 1]) == ["unknown", "unknown", ""]
    assert fates([*sent, answer(1, (1, 101))], gone=[0, 1]) == ["unknown", "unknown", ""]
    assert fates([*sent, answer(1)], gone=[0, 1]) == ["lost", "lost", ""]
    parts = [One(1, 200), One(1, verdict="no"), One(101, verdict="no"), answer(201)]
    assert fates(parts, gone=[0, 2]) == ["unknown", "delivered", "unknown", ""]


def test_what_a_link_gave_up_of_data_that_nothing_acknowledged_is_gone() -> None:
    """An acknowledgement proves the contrary, unless that came damaged."""
    assert fates([One(1)], gone=[0]) == ["lost"]
    assert fates([One(1), answer(101)], gone=[0]) == ["delivered", ""]
    assert fates([One(1), answer(101)._replace(checksum_ok=0)], gone=[0]) == ["lost", ""]


def test_what_is_without_data_has_no_fate() -> None:
    """Nor has what counts with another packet, or is left over from an earlier connection."""
    seen = [One(1, 0), One(1, marks="captured_twice"), One(-1, marks="stale"), One(1), answer(101)]
    assert fates(seen) == ["", "", "", "delivered", ""]


def test_at_the_receiver_alone_what_is_captured_has_arrived() -> None:
    """A resend of what is there already is needless if that is sure."""
    seen = [One(1, arrived=1), One(1, verdict="yes", arrived=1), One(101, arrived=1)]
    damaged = One(201, arrived=0, checksum_ok=0)
    assert fates([*seen, damaged], near=NOWHERE, far=0) == ["delivered", "needless", "delivered", "lost"]
    assert fates([One(1, arrived=1), One(1, verdict="unknown", arrived=1)], near=NOWHERE, far=0)[1] == "unknown"


def test_what_came_without_a_partner_at_the_sender_is_there_all_the_same() -> None:
    """A segment of a larger record; that of octets sent twice may be any copy, and a link may have repeated it."""
    seen = [One(1, 200, arrived=1), One(1, point=1), One(101, point=1, checksum_ok=0)]
    assert fates(seen, far=1) == ["delivered", "delivered", "lost"]
    assert fates(seen, far=1, logged=True)[1] == "unknown"
    assert fates([*seen, One(1, verdict="unknown", arrived=-1)], far=1)[1] == "unknown"
    assert fates([One(1, point=2)], far=1) == ["unknown"]


def shares_octets(one: One, two: One) -> bool:
    """Whether two segments have an octet in common."""
    return two.seq < one.seq + one.size and one.seq < two.seq + two.size


PIECES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["yes", "no", "unknown"])), min_size=1, max_size=12
)


@given(PIECES, st.integers(0, 8))
def test_each_octet_is_compared_with_all_its_copies(pieces: list[tuple[int, int, str]], acked: int) -> None:
    """Against a plain count of the copies of each octet: sent once is what shares no octet with another copy."""
    sent, known = [], set[int]()
    for at, size, verdict in pieces:
        octets = set(range(at, at + size))
        sent.append(One(1 + at, size, verdict if octets & known else ""))
        known |= octets
    found = fates([*sent, answer(1 + acked)])[: len(sent)]
    for one, fate in zip(sent, found, strict=True):
        if not any(two is not one and shares_octets(one, two) for two in sent):
            assert fate == ("delivered" if one.seq + one.size <= 1 + acked else "unknown")
        if fate == "needless":
            assert one.verdict == "yes"


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows_are_no_trouble(count: int) -> None:
    """Not even none."""
    assert fates([One(1)][:count]) == ["unknown"][:count]

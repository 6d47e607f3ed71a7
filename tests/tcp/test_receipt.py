"""Whether a retransmission's octets had been received before, by captures of few segments at both ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from two_ends import MS, START
from two_ends import segments as segments_table

from multitracer.compute import kernels
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK, OPTION_SACK, OPTION_TIMESTAMPS
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.receipt import BEFORE, NOT_BEFORE, UNDECIDED, received_before

NEAR, FAR = 0, 1


class Row(NamedTuple):
    """A segment at one of the two points; `copy_of` is the row at the sender of one that came."""

    point: int
    ms: float
    seq: int = 1
    size: int = 0
    ack: int = 1
    stamp: int = 0
    copy_of: int = -1
    intact: int = 1
    arrived: int = -1
    blocks: tuple[tuple[int, int], ...] = ()
    dsack: bool = False


def sent(ms: float, start: int, end: int, *, came: bool | None = None, stamp: int = 0) -> Row:
    """A segment in the sender's capture; `came`: whether the receiver's holds it, None if that cannot be told."""
    return Row(NEAR, ms, start, end - start, stamp=stamp, arrived=-1 if came is None else int(came))


def came(ms: float, start: int, end: int, copy_of: int = -1, *, intact: bool = True, stamp: int = 0) -> Row:
    """A segment in the receiver's capture: row `copy_of` of the sender's, or a part of one."""
    return Row(FAR, ms, start, end - start, stamp=stamp, copy_of=copy_of, intact=int(intact))


def answer(ms: float, number: int, *blocks: tuple[int, int], dsack: bool = False) -> Row:
    """An acknowledgement in the receiver's capture; with `dsack` its block is one."""
    return Row(FAR, ms, ack=number, blocks=blocks, dsack=dsack)


SACK = Row(NEAR, 0.5, ack=1, blocks=((901, 902),))
"""An acknowledgement in the sender's capture that shows that the receiver sends SACK."""


def verdict(resent: int, *rows: Row, lost: int = 0) -> int:
    """The verdict on row number `resent`, which is in the sender's capture."""
    is_answer = [not one.size for one in rows]
    frame = segments_table(
        {
            "time_ns": [START + round(one.ms * MS) for one in rows], "point": [one.point for one in rows],
            "sender": [int(one) for one in is_answer], "seq": [one.seq for one in rows],
            "payload_bytes": [one.size for one in rows], "ack": [one.ack for one in rows],
            "flags": [ACK] * len(rows), "checksum_ok": [one.intact for one in rows],
            "options": [(OPTION_SACK if one.blocks else 0) | (OPTION_TIMESTAMPS if one.stamp else 0) for one in rows],
            "tsval": [one.stamp for one in rows],
        }
    )  # fmt: skip
    blocks = [(n, *block, one.dsack) for n, one in enumerate(rows) for block in one.blocks]
    sacks = pd.DataFrame(np.array(blocks, dtype=np.int64).reshape(-1, 4), columns=["segment", "left", "right", "dsack"])
    arrival = np.full(len(rows), NOWHERE, dtype=np.int32)
    for n, one in enumerate(rows):
        if one.copy_of >= 0:
            arrival[one.copy_of] = n
    arrived = np.array([one.arrived for one in rows], dtype=np.int8)
    paths = Paths(np.array([[NEAR, FAR]]), np.array([[FAR, NEAR]]), arrival, arrived)
    return int(received_before(frame, sacks, Groups(frame, 1), paths, np.array([resent]), [0, lost])[resent])


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


ORIGINAL, RESENT = sent(0, 1, 101, came=True), sent(300, 1, 101, came=True)
LOST = sent(0, 1, 101, came=False)


def test_an_original_that_came_had_been_received():
    """It is in the receiver's capture, and was acknowledged."""
    assert verdict(2, SACK, ORIGINAL, RESENT, came(50, 1, 101, 1), answer(51, 101), came(350, 1, 101, 2)) == BEFORE


def test_an_original_that_never_came_had_not():
    """The receiver's capture holds the retransmission alone."""
    assert verdict(2, SACK, LOST, RESENT, came(350, 1, 101, 2), answer(351, 101)) == NOT_BEFORE


def test_an_original_on_its_way_counts_if_it_comes():
    """It came after the retransmission had been sent."""
    late = (came(320, 1, 101, 1), answer(321, 101), came(350, 1, 101, 2))
    assert verdict(2, SACK, ORIGINAL, RESENT, *late) == BEFORE


def test_a_copy_that_the_receiver_discards_has_not_been_received():
    """PAWS: the receiver answers it, and does not cover it, neither at once nor until the next copy comes."""
    discarded = (came(50, 1, 101, 1), answer(51, 1, (101, 201)), answer(60, 1, (101, 301)), came(350, 1, 101, 2))
    assert verdict(2, SACK, ORIGINAL, RESENT, *discarded) == NOT_BEFORE


def test_a_copy_that_is_selectively_acknowledged_was_received():
    """The block that it is in comes first, others may follow."""
    taken = (came(50, 101, 201, 1), answer(51, 1, (101, 201)), came(350, 101, 201, 2))
    assert verdict(2, SACK, sent(0, 101, 201, came=True), sent(300, 101, 201, came=True), *taken) == BEFORE


def test_a_delayed_acknowledgement_is_no_proof_against_a_copy():
    """Nothing was acknowledged between the two copies."""
    assert verdict(2, SACK, ORIGINAL, RESENT, came(349, 1, 101, 1), came(350, 1, 101, 2), answer(351, 101)) == BEFORE


def test_a_duplicate_report_proves_the_first_copy():
    """The next copy is answered with a DSACK, though an acknowledgement between the two was of before."""
    reported = (came(50, 1, 101, 1), answer(50.1, 1), came(350, 1, 101, 2), answer(351, 101, (1, 101), dsack=True))
    assert verdict(2, SACK, ORIGINAL, RESENT, *reported) == BEFORE


def test_without_sack_an_acknowledgement_below_proves_nothing():
    """The receiver may hold what lies above a hole."""
    later = (came(50, 101, 201, 0), answer(51, 1), came(350, 101, 201, 1))
    assert verdict(1, sent(0, 101, 201, came=True), sent(300, 101, 201, came=True), *later) == BEFORE


def test_a_damaged_copy_was_not_received():
    """Its checksum is wrong."""
    assert verdict(2, SACK, LOST, RESENT, came(50, 1, 101, 1, intact=False), came(350, 1, 101, 2)) == NOT_BEFORE


def test_a_record_of_two_segments_arrives_by_the_segment():
    """Segmentation offload: only the second segment came, so that the first was needed and the second was not."""
    record = sent(0, 1, 201, came=True, stamp=7)
    part = came(50, 101, 201, stamp=7)
    first, second = sent(300, 1, 101, came=True, stamp=9), sent(301, 101, 201, came=True, stamp=9)
    far = (part, answer(51, 1, (101, 201)), came(350, 1, 101, 2, stamp=9), came(351, 101, 201, 3, stamp=9))
    assert [verdict(row, SACK, record, first, second, *far) for row in (2, 3)] == [NOT_BEFORE, BEFORE]


def test_a_part_that_several_records_can_have_had_decides_nothing():
    """Neither the record nor the retransmission has a partner, and the timestamps are equal."""
    record, again = sent(0, 1, 201, came=True, stamp=7), sent(300, 1, 201, came=True, stamp=7)
    assert verdict(2, SACK, record, again, came(350, 1, 101, stamp=7), came(350, 101, 201, stamp=7)) == UNDECIDED


def test_a_capture_that_may_have_missed_it_decides_nothing():
    """Whether the original came cannot be told."""
    assert verdict(2, SACK, sent(0, 1, 101), RESENT, came(350, 1, 101, 2), answer(351, 101)) == UNDECIDED


def test_what_a_capture_lacks_that_lost_records_decides_nothing():
    """What it holds still does."""
    absent = (LOST, RESENT, came(350, 1, 101, 2), answer(351, 101))
    assert verdict(2, SACK, *absent, lost=1) == UNDECIDED
    held = (ORIGINAL, RESENT, came(50, 1, 101, 1), answer(51, 101), came(350, 1, 101, 2))
    assert verdict(2, SACK, *held, lost=1) == BEFORE

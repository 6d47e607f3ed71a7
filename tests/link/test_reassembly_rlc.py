"""Which frames carried a packet of RLC for the first time, and which PDU tells where it ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.link.packets import CarriedPacket
from multitracer.link.reassembly_rlc import reassemble
from multitracer.wire import rlc_nr

SIZE = 100


def carried(*segments: tuple[int, int]) -> list[CarriedPacket]:
    """The packets of one PDU of NR, of which segments (offset, octets) were sent one after the other."""
    count = len(segments)
    so, size = (np.array(column) for column in zip(*segments, strict=True))
    is_first, is_last = so == 0, so + size == SIZE
    si = np.select(
        [is_first & is_last, is_first, is_last], [rlc_nr.SI_FULL, rlc_nr.SI_FIRST, rlc_nr.SI_LAST], rlc_nr.SI_MIDDLE
    )
    frames = pd.DataFrame(
        {
            "time_ns": np.arange(count), "type": "AMD", "sn": 7, "epoch": 0, "so": so, "payload_bytes": size,
            "length_bytes": size + 3, "framing": si, "last_segment": 0,
        }
    ).assign(data=None, lis=None)  # fmt: skip
    return reassemble(frames, np.arange(count), "rlc-nr")


@pytest.mark.parametrize(
    ("segments", "firsts"),
    [(((0, 100), (0, 100)), [0]), (((0, 100), (0, 60), (60, 40)), [0]), (((0, 60), (60, 40), (0, 100)), [0, 1]),
     (((60, 40), (0, 60), (60, 40)), [0, 1])],
    ids=["whole twice", "again in segments", "in segments, then whole", "the log lacks what was first"],
)  # fmt: skip
def test_a_frame_is_a_first_transmission_if_it_brings_octets_that_none_before_it_brought(
    segments: tuple[tuple[int, int], ...], firsts: list[int]
) -> None:
    """In whichever order segments come (38.322 5.2.1.1)."""
    packets = carried(*segments)
    assert [packet.first_transmissions.tolist() for packet in packets] == [firsts]


@given(st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)), min_size=1, max_size=12))
def test_each_packet_has_a_first_transmission(drawn: list[tuple[int, int]]) -> None:
    """Whatever the log has of it: those that bring a new octet, in order."""
    segments = [(so, min(size, SIZE - so)) for so, size in drawn]
    known: set[int] = set()
    new = []
    for at, (so, size) in enumerate(segments):
        octets = set(range(so, so + size))
        new += [at] if octets - known else []
        known |= octets
    for packet in carried(*segments):
        assert packet.first_transmissions.tolist() == [at for at in new if at in packet.rows]


@pytest.mark.parametrize(
    ("pdus", "packets"),
    [
        ([(42, (), 0), (42, (0,), 0)], [(40, False), (39, False)]),
        ([(42, (), 2), (42, (), 0)], [(40, True), (40, False)]),
        ([(42, (20,), 0)], [(20, True), (19, False)]),
        ([(42, (20, 0x7F), 0)], [(20, True)]),
        ([(42, (39,), 0), (42, (), 0)], [(39, True), (40, False)]),
        ([(202, (), 0), (202, (0x7FFB,), 0)], [(199, False), (198, False)]),
        ([(202, (197,), 0), (202, (), 0)], [(197, True), (200, False)]),
    ],
    ids=["full", "HE 10", "two packets", "padding", "full with indicator", "one octet short", "one octet too many"],
)  # fmt: skip
def test_the_end_of_a_umts_packet_is_told_by_its_last_pdu_or_the_next(
    pdus: list[tuple[int, tuple[int, ...], int]], packets: list[tuple[int, bool]]
) -> None:
    """By a length indicator, HE = 10 or padding (25.322 9.2.2.8). A PDU is given as octets, indicators and HE."""
    count, (length, lis, he) = len(pdus), zip(*pdus, strict=True)
    spent = [len(one) * (1 if octets <= 126 else 2) for octets, one in zip(length, lis, strict=True)]
    user = [20 if 0x7F in one else octets - 2 - less for octets, one, less in zip(length, lis, spent, strict=True)]
    frames = pd.DataFrame({
        "time_ns": 0, "type": "AMD", "sn": range(count), "epoch": 0, "so": -1, "payload_bytes": user,
        "length_bytes": length, "framing": he, "last_segment": -1, "data": None, "lis": lis,
    })  # fmt: skip
    found = reassemble(frames, np.arange(count), "rlc-umts")
    assert [(int(one.octets_in_row.sum()), one.end_told) for one in found] == packets

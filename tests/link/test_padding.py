"""When a link's sender had nothing more to send, by the padding of its frames."""

from __future__ import annotations

import pandas as pd
import pytest

from multitracer.link.padding import padded_ns
from multitracer.wire import rlc_umts

PAD, STATUS, LONG_PAD = 0x7F, 0x7E, 0x7FFF
LINKS = pd.DataFrame({"protocol": ["rlc-umts", "rlc-nr"]})


def frames(*rows: tuple[int, str, int, tuple[int, ...] | None]) -> pd.DataFrame:
    """Frames of 44 octets: time, type, transmission, and length indicators as encoded."""
    columns = dict(zip(("time_ns", "type", "transmission", "lis"), zip(*rows, strict=True), strict=True))
    return pd.DataFrame({**columns, "link": 0, "sent": True, "length_bytes": 44, "data": None, "input": 0})


@pytest.mark.parametrize(
    ("lis", "padded"),
    [(None, False), ((), False), ((20,), False), ((20, PAD), True), ((STATUS,), True), ((20, LONG_PAD), True)],
)
def test_a_length_indicator_says_that_the_rest_of_a_frame_is_no_data(lis: tuple[int, ...], padded: bool) -> None:
    """25.322 9.2.2.8: padding, or a status report in its place; an SDU that ends is followed by the next."""
    assert padded_ns(frames((7, "AMD", 0, lis)), LINKS, 0).tolist() == ([7] if padded else [])


def test_only_new_data_of_the_sender_s_log_counts() -> None:
    """A frame that is sent again is padded as at first; a status PDU always is; the peer's log has other times."""
    table = frames((9, "AMD", 0, (PAD,)), (3, "AMD", 0, (PAD,)), (4, "AMD", 1, (PAD,)), (5, "STATUS", -1, (PAD,)))
    assert padded_ns(table, LINKS, 0).tolist() == [3, 9]
    assert padded_ns(table.assign(sent=False), LINKS, 0).tolist() == []


def test_of_two_logs_of_one_end_that_with_more_frames_counts() -> None:
    """As for what the sender's log covers: the other one, whose clock may be another, is left out."""
    more = frames((3, "AMD", 0, (PAD,)), (5, "STATUS", -1, None), (6, "STATUS", -1, None))
    other = frames((4, "AMD", 0, (PAD,)), (5, "AMD", 0, (PAD,))).assign(input=1)
    assert padded_ns(pd.concat([other, more], ignore_index=True), LINKS, 0).tolist() == [3]


def test_protocols_that_cut_frames_to_size_show_nothing() -> None:
    """An NR link has no padding in RLC."""
    assert padded_ns(frames((7, "AMD", 0, (PAD,))).assign(link=1), LINKS, 1).tolist() == []


def test_the_indicators_are_those_that_are_encoded() -> None:
    """What is decoded from a PDU with padding, and from one without."""
    for lis, size, padded in (((8, PAD), 20, True), ((8,), 19, False)):
        pdu = rlc_umts.decode(rlc_umts.encode(rlc_umts.Amd(1, False, bytes(size), lis, 7)))
        assert isinstance(pdu, rlc_umts.Amd)
        assert bool(len(padded_ns(frames((7, "AMD", 0, pdu.lis)), LINKS, 0))) == padded

"""The Raw link: no protocol at all."""

from __future__ import annotations

import pytest
from arq_links import Wires, counters, delivered, log_lines, scene
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.raw.octets import Raw
from multitracer.replay.arq.raw.parameters import RawParameters


def test_an_erased_frame_is_lost_and_the_others_arrive() -> None:
    """The receiver sends nothing back, and nothing is retransmitted."""
    assert log_lines(scene(RawParameters(), offers=([0] * 3, [5]), lost=({1}, set()))) == [
        "0 A SENT DATA 0 echo 0",
        "10 A ERASED DATA 1 echo 0",
        "10 B SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "20 A SENT DATA 2 echo 0",
        "25 A DELIVERED 0",
        "35 B DELIVERED 2",
    ]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.booleans(), max_size=40))
def test_exactly_what_is_not_erased_arrives_in_order(erased: list[bool]) -> None:
    """SDU k goes in opportunity k: it is delivered unless that is erased."""
    lost = {i for i, gone in enumerate(erased) if gone}
    driven = scene(RawParameters(), offers=([0] * 40, []), lost=(lost, set()), opportunities=50)
    assert delivered(driven)[1] == [(k, 100) for k in range(40) if k not in lost]
    a, b = counters(driven)
    assert (a["sent"], a["waiting"], b["delivered_octets"]) == (40, 0, 100 * (40 - len(lost)))


def test_octets_go_through() -> None:
    """A frame is the header and the SDU; the class has the calls of every protocol."""
    wires = Wires(Raw(), Raw())
    for sdu in (b"one", b"two", b"three"):
        wires.sides[0].offer(sdu)
    while wires.send(0, erased=wires.sides[0].entity.counts.sent == 1):
        pass
    wires.step(40)
    assert [sdu.octets for sdu in wires.sides[1].delivered()] == [b"one", b"three"]
    assert wires.sides[1].delivered() == []
    assert wires.sides[0].next_timer() is None


def test_control_frames_and_malformed_octets_deliver_nothing() -> None:
    """An ACK is ignored; what is no frame is a ValueError; SDUs and headers have a least size."""
    side = Raw()
    side.receive(bytes.fromhex("050001000000"), 0)
    assert side.delivered() == []
    with pytest.raises(ValueError, match="at least 4 octets"):
        side.receive(b"\0", 0)
    with pytest.raises(UsageError, match="0 octets"):
        side.offer(b"")
    with pytest.raises(UsageError, match="header_bytes 3 must be a whole number from 4 to 64"):
        Raw(RawParameters(header_bytes=3))

"""An RLP entity in terms of octets: vectors, parameters, and transfers over air that loses frames."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlp import machine, state
from multitracer.replay.arq.rlp.entity import Parameters, frame_of, header_of
from multitracer.replay.arq.rlp.octets import Rlp
from multitracer.wire import rlp

SLOT_NS = 20_000_000
# As in tests/parsers/test_rlp.py: verified by two implementations.
VECTORS = (
    "f91f" + "00" * 25 + "63b2f3", "f833" + "00" * 25 + "29d801", "f923" + "00" * 25 + "7986f2",
    "01001f" + "00" * 24 + "f174ad", "010401661fffffff" + "ff" * 19 + "388cd3", "290c1e" + "41" * 24 + "f80c03",
    "f725" + "00" * 25 + "11b916", "f1a3" + "00" * 25 + "634db2", "f0a3" + "00" * 25 + "31ca3b",
    "eff11f" + "00" * 24 + "136c34", "f95f1100213d313d414e61085106" + "00" * 13 + "c13c6b",
    "0945" + "1e" + bytes(range(66)).hex() + "1044a7",
)  # fmt: skip


@pytest.mark.parametrize("octets", VECTORS)
def test_vectors_keep_their_fields_in_a_header_word(octets: str) -> None:
    """Decoded, packed into the word that the machine works with, unpacked: the same frame."""
    frame = rlp.decode(bytes.fromhex(octets))
    assert frame_of(header_of(frame), frame.information) == frame


@pytest.mark.parametrize("octets", VECTORS)
def test_an_entity_takes_every_vector(octets: str) -> None:
    """Each does to a fresh entity what it says."""
    octets_of_frame = bytes.fromhex(octets)
    end = Rlp(Parameters(frame_bytes=len(octets_of_frame)), fill=True)
    end.receive(octets_of_frame, 0)
    frame, answer = rlp.decode(octets_of_frame), rlp.decode(end.next_frame(0))
    expected = {"SABM": "UA", "DISC": "UA", "UA": "NULL"}.get(frame.type, "NULL")
    if frame.type == "RR" and frame.command:
        expected = "RR"
    elif 0 < frame.ns < 61:
        expected = "SREJ"
    elif frame.ns >= 0:  # the next frame, and one outside the window
        expected = "RR"
    assert answer.type == expected
    assert answer.poll == (expected in ("UA", "RR") and frame.poll)


def test_an_entity_sends_the_vectors() -> None:
    """What a connected entity says first, to the octet: data, a request, the answer to a poll, UA."""
    end = Rlp(fill=True)
    assert rlp.decode(end.next_frame(0)).type == "NULL"
    end.offer(b"A" * 24)
    end.entity.vd = end.entity.vs = end.entity.va = 5
    end.entity.vr = 3
    assert end.next_frame(0).hex() == VECTORS[5]
    end.entity.vr = 9
    end.receive(rlp.encode(rlp.Frame("I RR", 10, 5, 0, 1, b"\x1f" + bytes(24))), 0)
    assert end.next_frame(0).hex() == VECTORS[6]
    end.entity.vr = 40
    end.receive(bytes.fromhex(VECTORS[7]), 0)
    assert end.next_frame(0).hex() == VECTORS[8]
    end.receive(bytes.fromhex(VECTORS[0]), 0)
    assert end.next_frame(0).hex() == VECTORS[1]


def test_sabm_is_sent_as_the_vector() -> None:
    """An end that gives up sends the SABM of the vector."""
    end = Rlp(fill=True)
    machine.begin_reset(end.entity, 0)
    assert end.next_frame(0).hex() == VECTORS[0]
    end.receive(bytes.fromhex(VECTORS[1]), 0)
    assert end.entity.state == state.ABM


def test_an_information_command_that_polls_is_ignored() -> None:
    """24.022 has no such frame."""
    end = Rlp(fill=True)
    end.receive(rlp.encode(rlp.Frame("I RR", 0, 0, 1, 1, b"\x01x\x1f")), 0)
    assert end.delivered() == []
    assert rlp.decode(end.next_frame(0)).type == "NULL"


@pytest.mark.parametrize(
    ("name", "value", "range_"),
    [
        ("window", 62, "1 to 61"), ("window", 0, "1 to 61"), ("t1_ns", 0, "1 to"), ("n2", -1, "0 to"),
        ("frame_bytes", 6, "7 to"), ("drain_bytes_per_s", -1, "0 to"), ("xon_bytes", 2000, "0 to 1119"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(name: str, value: int, range_: str) -> None:
    """The message names the value and its range."""
    with pytest.raises(UsageError, match=f"{name} is {value}; it must be {range_}"):
        Parameters(**{name: value})


def test_the_window_of_the_paper_must_be_asked_for() -> None:
    """62 is one more than the modulus allows."""
    assert Parameters(window=62, as_in_paper=True).window == 62


@pytest.mark.parametrize("room", [1, 5, 25, 67, 55, 1495])
def test_frames_of_any_size_are_coded(room: int) -> None:
    """30 and 72 octets are the specification's; others have the same layout, for those who ask."""
    frame = rlp.Frame("I RR", 61, 1, 0, 1, b"\x1e" + bytes(room - 1))
    octets = rlp.encode(frame, 8 * (room + 5))
    assert rlp.decode(octets, any_size=True) == frame


@pytest.mark.parametrize("bits", [47, 40, 241])
def test_frames_of_no_size_are_refused(bits: int) -> None:
    """Neither parts of octets nor fewer than a status octet needs."""
    with pytest.raises(ValueError, match="whole octets"):
        rlp.encode(rlp.Frame("RR", -1, 0), bits)


def transfer(ends: tuple[Rlp, Rlp], lost: list[tuple[bool, bool]], slots: int, delay: int = 3) -> list[bytes]:
    """Run both ends slot by slot; what each delivered. Every frame is decoded and coded again on its way."""
    air: list[tuple[bytes, bytes]] = []
    out = [b"", b""]
    for slot in range(slots):
        now = slot * SLOT_NS
        if slot >= delay:
            for side in (0, 1):
                if not (slot - delay < len(lost) and lost[slot - delay][1 - side]):
                    ends[side].receive(air[slot - delay][1 - side], now)
        for end in ends:
            due = end.next_timer()
            if due is not None and due <= now:
                end.expire(now)
        air.append((ends[0].next_frame(now), ends[1].next_frame(now)))
        for octets in air[-1]:
            frame = rlp.decode(octets, any_size=True)
            assert frame.type != "BAD"
            assert rlp.encode(frame, 8 * len(octets)) == octets
            assert frame_of(header_of(frame), frame.information) == frame
        for side in (0, 1):
            out[side] += b"".join(each.octets for each in ends[side].delivered())
    return out


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60), st.binary(max_size=700), st.binary(max_size=300),
    st.sampled_from([7, 30, 60, 72, 90]), st.integers(1, 31), st.booleans(), st.booleans(),
)  # fmt: skip
def test_octets_arrive_once_and_in_order(
    lost: list[tuple[bool, bool]], there: bytes, back: bytes, size: int, window: int, reject: bool, piggyback: bool
) -> None:
    """Whatever is lost, as long as something gets through in the end and nobody gives up."""
    parameters = Parameters(
        frame_bytes=size, window=window, reject=reject, piggyback_srej=piggyback, n2=1000, t1_ns=8 * SLOT_NS
    )
    ends = Rlp(parameters, fill=True), Rlp(parameters, fill=True)
    ends[0].offer(there)
    ends[1].offer(back)
    needed = 6 * (len(there) + len(back)) // min(parameters.room, 24) // min(window, 6)
    assert transfer(ends, lost, len(lost) + 150 + 4 * needed) == [back, there]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=150), st.integers(0, 2), st.integers(1, 31))
def test_resets_leave_gaps_only(lost: list[tuple[bool, bool]], n2: int, window: int) -> None:
    """What is delivered is the stream in order with stretches left out, and nothing left out without a reset."""
    parameters = Parameters(n2=n2, window=window, persistent=True, flush_queue=False, t1_ns=8 * SLOT_NS)
    ends = Rlp(parameters, fill=True), Rlp(parameters, fill=True)
    stream = b"".join(number.to_bytes(2, "big") for number in range(600))
    ends[0].offer(stream)
    arrived = transfer(ends, lost, len(lost) + 200)[1]
    places = [stream.find(arrived[at : at + 24]) for at in range(0, len(arrived) - 24, 24)]
    assert places == sorted(set(places))
    if not any(end.entity.resets for end in ends):
        assert stream.startswith(arrived)


@pytest.mark.parametrize("vector", ["f923" + "00" * 25 + "7986f2", None])
def test_a_peer_that_hangs_up_ends_the_link(vector: str | None) -> None:
    """DISC or DM after data: what came is kept, nothing more is delivered, and nothing fails."""
    one = Rlp()
    one.receive(rlp.encode(rlp.Frame("I RR", 0, 0, 0, 1, b"\x01x\x1f" + bytes(22))), 0)
    one.receive(bytes.fromhex(vector) if vector else rlp.encode(rlp.Frame("DM", -1, -1, 1, 0)), 0)
    assert [each.octets for each in one.delivered()] == [b"x"]
    one.receive(rlp.encode(rlp.Frame("I RR", 1, 0, 0, 1, b"\x01y\x1f" + bytes(22))), 0)
    assert one.delivered() == []

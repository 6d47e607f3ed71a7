"""RLP frames: decoding and encoding, against vectors of the specification's implementations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.wire import rlp
from multitracer.wire.rlp import Frame

# Each was checked with two implementations; the last three octets are the frame check sequence.
VECTORS = {
    "f91f" + "00" * 25 + "63b2f3": Frame("SABM", poll=1, command=1, information=bytes(25)),
    "f833" + "00" * 25 + "29d801": Frame("UA", poll=1, command=0, information=bytes(25)),
    "f923" + "00" * 25 + "7986f2": Frame("DISC", poll=1, command=1, information=bytes(25)),
    "01001f" + "00" * 24 + "f174ad": Frame("I RR", 0, 0, 0, 1, b"\x1f" + bytes(24)),
    "010401661f" + "ff" * 22 + "388cd3": Frame("I RR", 0, 1, 0, 1, b"\x01\x66\x1f" + b"\xff" * 22),
    "290c1e" + "41" * 24 + "f80c03": Frame("I RR", 5, 3, 0, 1, b"\x1e" + b"A" * 24),
    "f725" + "00" * 25 + "11b916": Frame("SREJ", -1, 9, 0, 1),
    "f1a3" + "00" * 25 + "634db2": Frame("RR", -1, 40, 1, 1),
    "f0a3" + "00" * 25 + "31ca3b": Frame("RR", -1, 40, 1, 0),
    "eff11f" + "00" * 24 + "136c34": Frame("I SREJ", 61, 60, 0, 1, b"\x1f" + bytes(24)),
    "0945" + "1e" + bytes(range(66)).hex() + "1044a7": Frame("I RR", 33, 17, 0, 1, b"\x1e" + bytes(range(66))),
}


@pytest.mark.parametrize("octets", VECTORS)
def test_vectors_decode(octets: str) -> None:
    """Every vector decodes to its fields."""
    assert rlp.decode(bytes.fromhex(octets)) == VECTORS[octets]


@pytest.mark.parametrize("octets", VECTORS)
def test_vectors_encode(octets: str) -> None:
    """Every frame encodes to its vector, frame check sequence included."""
    bits = 240 if len(octets) == 60 else 576
    assert rlp.encode(VECTORS[octets], bits) == bytes.fromhex(octets)


supervisory = st.sampled_from(rlp.SUPERVISORY)
numbers = st.integers(0, rlp.MODULUS - 1)
bit = st.integers(0, 1)
frames = st.one_of(
    st.builds(lambda kind, nr, p, c: Frame(kind, -1, nr, p, c), supervisory, numbers, bit, bit),
    st.builds(
        lambda kind, ns, nr, p, c, data: Frame(f"I {kind}", ns, nr, p, c, data),
        supervisory, numbers, numbers, bit, bit, st.binary(min_size=25, max_size=25),
    ),
    st.builds(
        lambda kind, p, c, data: Frame(kind, -1, -1, p, c, data),
        st.sampled_from(list(rlp.UNNUMBERED.values())), bit, bit, st.binary(min_size=25, max_size=25),
    ),
)  # fmt: skip


@given(frames)
def test_what_was_encoded_decodes(frame: Frame) -> None:
    """Any frame decodes to what was encoded."""
    assert rlp.decode(rlp.encode(frame)) == frame


@given(frames, st.integers(0, 239))
def test_one_wrong_bit_is_an_erasure(frame: Frame, place: int) -> None:
    """A frame with any single bit flipped has type BAD."""
    octets = bytearray(rlp.encode(frame))
    octets[place // 8] ^= 1 << place % 8
    assert rlp.decode(bytes(octets)).type == "BAD"


@given(st.binary(max_size=80))
def test_other_sizes_are_refused(octets: bytes) -> None:
    """Any 30 or 72 octets decode; every other size raises ValueError."""
    if len(octets) in (30, 72):
        rlp.decode(octets)
    else:
        with pytest.raises(ValueError, match="30 or 72"):
            rlp.decode(octets)


@pytest.mark.parametrize(
    ("information", "stretches"),
    [
        (b"\x1e" + b"A" * 24, [(1, 25)]),
        (b"\x1f" + b"\xff" * 24, []),
        (b"\x3f" + b"\xff" * 24, []),
        (b"\x03abc\x1f" + b"\xff" * 20, [(1, 4)]),
        (b"\x02ab\x01c\x1f" + b"\0" * 19, [(1, 3), (4, 5)]),
        (b"\x17" + b"x" * 23 + b"\x1f", [(1, 24)]),
        (b"\x00" + b"x" * 24, []),
        (b"\x1d" + b"x" * 24, []),
    ],
)
def test_status_octets_are_no_user_data(information: bytes, stretches: list[tuple[int, int]]) -> None:
    """User octets exclude status octets in full, empty and partly filled fields (27.002 5.2)."""
    assert rlp.user_octets(information)[: len(stretches)] == stretches
    assert sum(e - s for s, e in rlp.user_octets(information)) == sum(e - s for s, e in stretches)


@given(st.binary(max_size=70))
def test_user_octets_of_any_field_are_in_order(information: bytes) -> None:
    """For any information field the runs of user octets are inside it and in order."""
    at = 0
    for start, end in rlp.user_octets(information):
        assert at <= start <= end <= len(information)
        at = end

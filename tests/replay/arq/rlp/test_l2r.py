"""L2RCOP: characters to information fields and back, and flow control with hysteresis."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.replay.arq.rlp import l2r
from multitracer.wire import rlp


@pytest.mark.parametrize(
    ("characters", "room", "x", "field"),
    [
        (b"A" * 24, 24, False, "1e" + "41" * 24),
        (b"", 24, False, "1f" + "00" * 24),
        (b"", 24, True, "3f" + "00" * 24),
        (b"abc", 24, True, "23" + "616263" + "3f" + "00" * 20),
        (b"A" * 23, 24, False, "17" + "41" * 23 + "1f"),
        (b"A" * 26, 66, False, "1a" + "41" * 26 + "1f" + "00" * 39),
        (b"A" * 27, 66, False, "1b1b" + "41" * 27 + "1f" + "00" * 37),
        (b"A" * 70, 84, False, "1b3f" + "41" * 63 + "07" + "41" * 7 + "1f" + "00" * 11),
        (b"A" * 83, 84, False, "0141" + "1e" + "41" * 82),
    ],
)
def test_fields_have_the_octets_of_the_specification(characters: bytes, room: int, x: bool, field: str) -> None:
    """Full, empty, partly filled, extended addresses, and what is too full for those."""
    assert l2r.field(characters, room, x).hex() == field


@given(st.integers(1, 1500), st.data(), st.booleans())
def test_any_number_of_characters_goes_there_and_back(room: int, data: st.DataObject, x: bool) -> None:
    """In a field of any size, with the status octet that the kernel names, read by the parser of recordings."""
    characters = data.draw(st.binary(max_size=room))
    field = l2r.field(characters, room, x)
    assert len(field) == room + 1
    assert l2r.characters_of(field) == characters
    assert field[0] == l2r.first_octet(len(characters), room, int(x))
    assert bool(field[0] & rlp.XOFF_BIT) == x


@given(st.integers(1, 300))
def test_every_filling_of_a_field_is_described(room: int) -> None:
    """No number of characters up to the room is without a description."""
    for count in range(room + 1):
        assert len(l2r.characters_of(l2r.field(bytes(count), room))) == count


def test_a_buffer_drains_exactly() -> None:
    """960 octets a second take 1.1 s for 1056, to the nanosecond, and end at nothing."""
    level = 1056 * l2r.NANO
    assert l2r.drained(level, 960, 1_100_000_000) == 0
    assert l2r.drained(level, 960, 1_099_999_999) == 960
    assert l2r.drained(level, 960, 10**12) == 0


def test_flow_control_has_hysteresis() -> None:
    """Between the marks the condition stays what it was."""
    marks = (100, 20)
    assert [l2r.condition(x, level * l2r.NANO, *marks) for x in (0, 1) for level in (20, 21, 99, 100)] == [
        0, 0, 0, 1, 0, 1, 1, 1,
    ]  # fmt: skip

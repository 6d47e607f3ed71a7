"""SR's frames in octets, and what is refused: octets, parameters, links."""

from __future__ import annotations

import pytest
from arq_links import rows, scene
from hypothesis import given
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.sr.frames import ACK, DATA, NACK, Header, decode, encode
from multitracer.replay.arq.sr.octets import Sr
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.source import source

QUICK = SrParameters(timeout_ms=200, ack_delay_ms=40)


def test_log_rebuilds_the_octets_of_each_frame() -> None:
    """A frame encoded from its row of the log decodes to that row; only the SDU's number is not on the air."""
    driven = scene(QUICK, offers=([0] * 6, [20] * 3), lost=({1, 2}, {4}))
    frames = [row.frame for row in rows(driven) if row.event == "RECEIVED"]
    assert {DATA, ACK, NACK} == {int(frame.kind) for frame in frames}
    for frame in frames:
        header, sdu = decode(encode(frame, bytes(int(frame.octets))))
        assert (header, len(sdu)) == (frame.tolist()[:5], frame.octets)


@given(st.binary(max_size=12))
def test_octets_are_a_frame_or_refused(octets: bytes) -> None:
    """What decodes encodes to the same octets; all else is a ValueError."""
    try:
        header, sdu = decode(octets)
    except ValueError:
        return
    assert encode(header, sdu) == octets


@given(
    st.sampled_from([DATA, ACK, NACK]), st.integers(0, 255), st.booleans(), st.integers(0, 255), st.integers(0, 255),
    st.integers(4, 64), st.binary(min_size=1),
)  # fmt: skip
def test_frames_decode_to_themselves(
    kind: int, ns: int, nr: bool, vr: int, identifier: int, size: int, sdu: bytes
) -> None:
    """Every frame that can be sent decodes to itself, for every size of header."""
    carried = sdu if kind == DATA else b""
    has_nr = int(kind == ACK or (kind == DATA and nr))
    header = Header(kind, 0 if kind == ACK else ns, has_nr, vr * has_nr, 0 if kind == ACK else identifier)
    octets = encode(header, carried, size)
    assert len(octets) == size + len(carried)
    assert decode(octets, size, size) == (header, carried)


@pytest.mark.parametrize("octets", ["", "000000", "030000000000ff", "080000000000ff", "000000000000", "000001000000ff",
                                    "010000000000", "020000000000ff", "050100000000", "000000000100ff"])  # fmt: skip
def test_malformed_octets_are_refused(octets: str) -> None:
    """Too short, unknown kind or bits, no SDU, N(R) without its bit or the bit without need, octets left over."""
    with pytest.raises(ValueError, match=r"frame|header|kind|ACK"):
        Sr(SrParameters()).receive(bytes.fromhex(octets), 0)


@pytest.mark.parametrize(
    ("row", "sdu"),
    [([DATA, 256, 0, 0, 0], b"x"), ([4, 0, 0, 0, 0], b""), ([3, 0, 0, 0, 0], b"x"), ([ACK, 0, 1, 0, 0], b"x"),
     ([DATA] * 5, b"")],
)  # fmt: skip
def test_impossible_frames_are_not_encoded(row: list[int], sdu: bytes) -> None:
    """A number above 8 bits, an unknown kind, an ACK with data, data without."""
    with pytest.raises(ValueError, match=r"must be|cannot carry"):
        encode(Header(*row), sdu)
    with pytest.raises(ValueError, match="at least 4"):
        encode(Header(0, 0, 0, 0, 0), b"x", 3)


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [("window", 0, "1 to 128"), ("window", 129, "1 to 128"), ("timeout_ms", 0, "1e-06 to"),
     ("ack_delay_ms", -1, "0 to"),
     ("renack", "often", "none, echo"), ("nack", "two", "multireject, one-outstanding, one-per-frame"),
     ("header_bytes", 3, "4 to 64"), ("control_bytes", 65, "4 to 64"),
     ("window", 1.5, "whole number"), ("timeout_ms", "soon", "a number")],
)  # fmt: skip
def test_nonsense_is_refused_with_its_range(name: str, value: object, bounds: str) -> None:
    """A parameter out of range is named with its value and what it may be."""
    with pytest.raises(UsageError, match=rf"{name} '?{value}'? must be .*{bounds}"):
        SrParameters(**{name: value})  # type: ignore[arg-type]


def test_impossible_links_are_refused() -> None:
    """A link without delay, and SDUs without octets."""
    with pytest.raises(UsageError, match="delay_ns 0"):
        Direction(0, slot_ns=10)
    with pytest.raises(UsageError, match="1 octet or more"):
        source([(1, 0, 0)])
    with pytest.raises(UsageError, match="1 or more"):
        Sr(QUICK).offer(b"")

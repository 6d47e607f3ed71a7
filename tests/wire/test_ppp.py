"""PPP in HDLC-like framing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.wire import ppp


@given(st.sampled_from([ppp.IP, ppp.VJ_COMPRESSED, 0xC021]), st.binary(max_size=80), st.booleans())
def test_what_was_framed_comes_out(protocol: int, payload: bytes, compress: bool) -> None:
    """Between its flags, without escapes, the check right."""
    line = ppp.encode(protocol, payload, compress_header=compress)
    assert line[0] == line[-1] == ppp.FLAG
    assert ppp.FLAG not in line[1:-1]
    frame = ppp.parse(ppp.unescape(line[1:-1]))
    assert frame is not None
    assert (frame.protocol, frame.payload) == (protocol, payload)


def test_a_wrong_check_gives_no_frame() -> None:
    """One octet changed."""
    line = bytearray(ppp.encode(ppp.IP, b"abcdef"))
    line[8] ^= 1
    assert ppp.parse(ppp.unescape(bytes(line[1:-1]))) is None


def test_the_check_is_that_of_rfc_1662() -> None:
    """The register over "123456789" is the known value of this check."""
    assert ppp.fcs16(b"123456789") ^ 0xFFFF == 0x906E


@pytest.mark.parametrize(
    ("head", "size"), [(b"\xff\x03\x00\x21", 4), (b"\x00\x21", 2), (b"\x21", 1), (b"\xff\x03\x21", 3)]
)
def test_header_fields_may_be_compressed(head: bytes, size: int) -> None:
    """RFC 1661 6.5 and 6.6."""
    frame = ppp.parse(head + b"xyz", check=False)
    assert frame == ppp.Frame(0x21, b"xyz", size)


@given(st.binary(max_size=60))
def test_any_octets_are_borne(octets: bytes) -> None:
    """Random input never makes it fail."""
    ppp.parse(ppp.unescape(octets))
    ppp.parse(octets, check=False)

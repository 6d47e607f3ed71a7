"""PPP frames in HDLC-like framing: encoding, escapes and the frame check sequence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.wire import ppp


@given(st.sampled_from([ppp.IP, ppp.VJ_COMPRESSED, 0xC021]), st.binary(max_size=80), st.booleans())
def test_an_encoded_frame_decodes(protocol: int, payload: bytes, compress: bool) -> None:
    """An encoded frame has flags only at its ends, and decodes to the same protocol and payload."""
    line = ppp.encode(protocol, payload, compress_header=compress)
    assert line[0] == line[-1] == ppp.FLAG
    assert ppp.FLAG not in line[1:-1]
    frame = ppp.parse(ppp.unescape(line[1:-1]))
    assert frame is not None
    assert (frame.protocol, frame.payload) == (protocol, payload)


def test_a_wrong_fcs_gives_no_frame() -> None:
    """A frame with one octet changed fails its FCS and gives None."""
    line = bytearray(ppp.encode(ppp.IP, b"abcdef"))
    line[8] ^= 1
    assert ppp.parse(ppp.unescape(bytes(line[1:-1]))) is None


def test_the_fcs_is_that_of_rfc_1662() -> None:
    """The FCS of "123456789" is the published check value 0x906E."""
    assert ppp.fcs16(b"123456789") ^ 0xFFFF == 0x906E


@pytest.mark.parametrize(
    ("head", "size"), [(b"\xff\x03\x00\x21", 4), (b"\x00\x21", 2), (b"\x21", 1), (b"\xff\x03\x21", 3)]
)
def test_header_fields_may_be_compressed(head: bytes, size: int) -> None:
    """Frames with address and control or protocol field compressed (RFC 1661 6.5, 6.6) decode alike."""
    frame = ppp.parse(head + b"xyz", check=False)
    assert frame == ppp.Frame(0x21, b"xyz", size)


@given(st.binary(max_size=60))
def test_random_octets_never_raise(octets: bytes) -> None:
    """Random octets never raise."""
    ppp.parse(ppp.unescape(octets))
    ppp.parse(octets, check=False)

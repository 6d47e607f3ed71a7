"""RLC PDUs of UMTS, LTE and NR: decoding and encoding, against vectors and for generated PDUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.wire import rlc_lte, rlc_nr, rlc_umts
from multitracer.wire.bits import MalformedPduError


def test_a_umts_vector_is_encoded_and_decoded() -> None:
    """An AMD PDU with a poll and two length indicators has the octets of the vector, and decodes from them."""
    data = bytes(range(36))
    pdu = rlc_umts.Amd(0x123, True, data, (10, 127))
    assert rlc_umts.encode(pdu) == bytes.fromhex("891d15fe") + data
    assert rlc_umts.decode(rlc_umts.encode(pdu)) == pdu


LTE = {
    "ae058640c8": rlc_lte.Amd(517, True, 1, bytes(301), (100, 200)),
    "da05812c": rlc_lte.Amd(517, False, 3, b"abc", (), 300, True),
}


@pytest.mark.parametrize("header", LTE)
def test_lte_vectors_are_encoded_and_decoded(header: str) -> None:
    """AMD PDUs with length indicators and AMD PDU segments have the headers of 36.322 6.2.1."""
    pdu = LTE[header]
    octets = rlc_lte.encode(pdu)
    assert octets == bytes.fromhex(header) + pdu.data
    assert rlc_lte.decode(octets) == pdu


def test_lte_status_vectors_are_decoded() -> None:
    """STATUS PDUs decode to ACK_SN 30 without NACKs, and to ACK_SN 8 with four NACKs."""
    assert rlc_lte.decode(bytes.fromhex("0078")) == rlc_lte.Status(30)
    found = rlc_lte.decode(bytes.fromhex("002200400C01C020"))
    assert isinstance(found, rlc_lte.Status)
    assert (found.ack_sn, [nack.sn for nack in found.nacks]) == (8, [0, 1, 3, 4])


def test_a_malformed_lte_status_is_refused() -> None:
    """A STATUS PDU that contradicts itself raises MalformedPduError."""
    with pytest.raises(MalformedPduError):
        rlc_lte.decode(bytes.fromhex("0b776dd6e56f56f8"))


NR = {
    ("c205", 12): rlc_nr.Amd(517, True, 0, b"abc"),
    ("a205012c", 12): rlc_nr.Amd(517, False, 2, b"abc", 300),
    ("b186a0012c", 18): rlc_nr.Amd(100000, False, 3, b"abc", 300),
}


@pytest.mark.parametrize("key", NR, ids=str)
def test_nr_vectors_are_encoded_and_decoded(key: tuple[str, int]) -> None:
    """Whole, last and middle segments, with 12 and 18 bit sequence numbers, match the vectors."""
    header, bits = key
    spec = rlc_nr.am_spec(bits)
    octets = rlc_nr.encode(NR[key], spec)
    assert octets == bytes.fromhex(header) + b"abc"
    assert rlc_nr.decode(octets, spec) == NR[key]


@given(
    st.integers(0, 1023),
    st.booleans(),
    st.integers(0, 3),
    st.lists(st.integers(1, 60), max_size=5),
    st.binary(min_size=1, max_size=40),
)
def test_lte_pdus_round_trip(sn: int, poll: bool, fi: int, lis: list[int], tail: bytes) -> None:
    """Any LTE AMD PDU with any length indicators decodes to what was encoded."""
    pdu = rlc_lte.Amd(sn, poll, fi, bytes(sum(lis)) + tail, tuple(lis))
    assert rlc_lte.decode(rlc_lte.encode(pdu)) == pdu


@given(
    st.integers(0, 4095), st.booleans(), st.integers(0, 3), st.integers(1, 65535), st.binary(min_size=1, max_size=40)
)
def test_nr_pdus_round_trip(sn: int, poll: bool, si: int, so: int, data: bytes) -> None:
    """Any NR AMD PDU decodes to what was encoded."""
    pdu = rlc_nr.Amd(sn, poll, si, data, so if si & 2 else None)
    assert rlc_nr.decode(rlc_nr.encode(pdu)) == pdu


@given(st.integers(0, 4095), st.booleans(), st.binary(min_size=1, max_size=60))
def test_umts_pdus_round_trip(sn: int, poll: bool, data: bytes) -> None:
    """Any UMTS AMD PDU without length indicators decodes to what was encoded."""
    pdu = rlc_umts.Amd(sn, poll, data)
    assert rlc_umts.decode(rlc_umts.encode(pdu)) == pdu


@given(st.binary(max_size=60))
def test_any_octets_decode_or_are_refused(octets: bytes) -> None:
    """Random octets decode or raise MalformedPduError, and no other error."""
    for decode in (
        rlc_umts.decode,
        rlc_umts.decode_um,
        rlc_lte.decode,
        rlc_lte.decode_um,
        rlc_nr.decode,
        rlc_nr.decode_um,
    ):
        try:
            decode(octets)
        except MalformedPduError:
            continue

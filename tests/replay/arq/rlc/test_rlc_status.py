"""STATUS, RESET and AMD octets written and read by the kernels, against the codec and worked examples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.replay.arq.rlc.am_entity import (
    SN_MASK,
)
from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.wire import rlc_umts as codec

BIG = {"pdu_bytes": 600, "rx_window": 2047, "tx_window": 2047}


def reporter(first: int, beyond: int, missing: set[int], **parameters: Any) -> RlcAm:
    """An entity with VR(R) `first` and VR(H) `beyond` that lacks `missing` and is to report."""
    end = RlcAm(Parameters(**parameters))
    v = end.entity.v
    v.vr_r, v.vr_h, v.status_wanted = first, beyond, 1
    for sn in range(first, beyond):
        end.entity.store.slot[sn & SN_MASK].have = sn not in missing
    return end


def reports(end: RlcAm) -> list[codec.Status]:
    """The STATUS PDUs that it sends now."""
    found = []
    while frame := end.next_frame(0):
        pdu = codec.decode(frame)
        assert isinstance(pdu, codec.Status)
        assert codec.encode(pdu) == frame
        found.append(pdu)
    return found


@pytest.mark.parametrize(
    ("status_format", "octets"),
    [
        ("list", "0320640069" + "2206e0"),
        ("bitmap", "04106478ff2064"),
        ("rlist", "053064b15206e0"),
    ],
)
def test_a_report_is_the_worked_example(status_format: str, octets: str) -> None:
    """Missing 100, 105, 106, 107 of those below 110."""
    end = reporter(100, 110, {100, 105, 106, 107}, status_format=status_format)
    assert end.next_frame(0) == bytes.fromhex(octets)


def test_mrw_mrw_ack_and_window_are_the_worked_examples() -> None:
    """MRW of SNs 200 and 203 with N_LENGTH 1; its acknowledgement; WINDOW 128 beside ACK 7."""
    end = RlcAm(Parameters(send_mrw=True))
    e = end.entity
    for number, (sn, n) in enumerate(((200, 1), (203, 1))):
        e.queue.v.sdu[number].end_sn, e.queue.v.sdu[number].end_n = sn, n
    e.queue.v.head, e.v.mrw_to, e.v.mrw_sn, e.v.mrw_n, e.v.mrw_due = 0, 2, 203, 1, 1
    assert end.next_frame(0) == bytes.fromhex("0620c80cb100")
    e.v.mrw_ack_due, e.v.mrw_ack_sn, e.v.mrw_ack_n = 1, 203, 1
    assert end.next_frame(0) == bytes.fromhex("0710cb00")
    other = reporter(7, 7, set())
    other.set_window(128)
    assert other.next_frame(0) == bytes.fromhex("0108020070")


@pytest.mark.slow
def test_reset_and_its_ack_are_the_worked_examples() -> None:
    """RSN 1, HFNI 0x12345."""
    a, b = RlcAm(), RlcAm()
    for end in (a, b):
        end.entity.v.hfn = 0x12345
    a.entity.v.rsn = 1
    a.receive(bytes.fromhex("020090"), 0)
    reset = a.next_frame(0)
    assert reset == bytes.fromhex("18123450")
    b.receive(reset, 0)
    b.entity.v.hfn = 0x12345
    assert b.next_frame(0) == bytes.fromhex("28123450")


@pytest.mark.slow
def test_an_amd_header_is_the_worked_example() -> None:
    """SN 0x123, poll, an SDU of ten octets and padding."""
    end = RlcAm(Parameters(pdu_bytes=40))
    end.entity.v.vt_s = end.entity.v.vt_a = 0x123
    end.offer(bytes(10))
    frame = end.next_frame(0)
    assert frame is not None
    assert frame[:4] == bytes.fromhex("891d15fe")
    assert codec.decode(frame) == codec.Amd(0x123, True, bytes(36), (10, 0x7F))


def test_a_large_rlist_number_takes_two_code_words() -> None:
    """Distance 11: 0110, 0011."""
    end = reporter(100, 120, {100, 111}, status_format="rlist")
    assert reports(end)[0].sufis[0] == codec.Rlist(100, (0b0110, 0b0011))


gaps = st.builds(
    lambda first, holes: (first, sorted({first, *(first + hole for hole in holes)})),
    st.integers(0, 9000),
    st.sets(st.integers(0, 1900), max_size=120),
)


@pytest.mark.slow
@given(gaps, st.sampled_from(("list", "bitmap", "rlist")), st.sampled_from((16, 40, 600)))
@settings(max_examples=60, deadline=None)
def test_a_report_names_every_gap_in_one_or_more_pdus(
    found: tuple[int, list[int]], status_format: str, size: int
) -> None:
    """All PDUs together name what is missing; ACK covers nothing that its own PDU does not name."""
    first, missing = found
    beyond = missing[-1] + 2
    end = reporter(first, beyond, set(missing), **{**BIG, "pdu_bytes": size, "status_format": status_format})
    named: set[int] = set()
    for status in reports(end):
        here = {first + (sn - first) % 4096 for sn in codec.missing(status)}
        lsn = codec.acknowledged(status)
        assert lsn is not None
        assert {sn for sn in missing if sn < first + (lsn - first) % 4096} <= here
        assert len(codec.encode(status)) <= size
        named |= here
    assert named == set(missing)
    assert end.entity.v.report_from == -1


def list_of(sns: Sequence[int]) -> list[codec.List]:
    """LIST SUFIs that report `sns` (ascending, modulo 4096) as missing, up to 15 pairs in each."""
    pairs: list[tuple[int, int]] = []
    for sn in sns:
        if pairs and pairs[-1][1] < 15 and sn == (pairs[-1][0] + pairs[-1][1] + 1) % codec.SPEC.am_modulus:
            pairs[-1] = (pairs[-1][0], pairs[-1][1] + 1)
        else:
            pairs.append((sn, 0))
    step = codec.SPEC.sufi_entries
    return [codec.List(tuple(pairs[i : i + step])) for i in range(0, len(pairs), step)]


def rlist_of(sns: Sequence[int]) -> codec.Rlist:
    """An RLIST SUFI with as many of `sns`, from the first, as fit into 15 code words."""
    codewords: list[int] = []
    distances = [(b - a) % codec.SPEC.am_modulus for a, b in pairwise(sns)]
    index = 0
    while index < len(distances):
        run = next((i for i, d in enumerate(distances[index:]) if d != 1), len(distances) - index)
        words = [1, *_codewords(run)] if run > 1 else _codewords(distances[index])
        if len(codewords) + len(words) > codec.SPEC.sufi_entries:
            break
        codewords += words
        index += max(run, 1)
    return codec.Rlist(sns[0], tuple(codewords))


def _codewords(number: int) -> list[int]:
    """`number` in code words, least significant three bits first, stop bit set in the last."""
    words = []
    while True:
        words.append((number & 7) << 1)
        number >>= 3
        if not number:
            # 0001 is the burst marker. No number ends with it: the last code word of a number above 0 is not 000.
            return [*words[:-1], words[-1] | 1]


@pytest.mark.slow
@given(gaps)
@settings(max_examples=30, deadline=None)
def test_the_sufis_are_those_of_the_codec(found: tuple[int, list[int]]) -> None:
    """LIST and the first RLIST are what the builders above make of the same gaps."""
    first, missing = found
    twelve = [sn & SN_MASK for sn in missing]
    made = reports(reporter(first, missing[-1] + 2, set(missing), **BIG, status_format="list"))
    lists = [sufi for status in made for sufi in status.sufis if isinstance(sufi, codec.List)]
    pairs = [pair for each in lists for pair in each.pairs]
    assert pairs == [pair for each in list_of(twelve) for pair in each.pairs]
    rlist = reports(reporter(first, missing[-1] + 2, set(missing), **BIG, status_format="rlist"))[0].sufis[0]
    assert rlist == rlist_of(twelve)


def sufis(low: int, high: int) -> st.SearchStrategy[codec.Sufi]:
    sn = st.integers(low, high)
    return st.one_of(
        st.builds(codec.List, st.lists(st.tuples(sn, st.integers(0, 15)), min_size=1, max_size=15).map(tuple)),
        st.builds(codec.Bitmap, sn, st.binary(min_size=1, max_size=16)),
        st.builds(lambda sns: rlist_of(sorted(sns)), st.sets(sn, min_size=1, max_size=30)),
    )


@pytest.mark.slow
@given(st.lists(sufis(100, 900), max_size=4), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_what_a_report_says_is_what_the_codec_reads(found: list[codec.Sufi], lsn: int) -> None:
    """The sender marks exactly the PDUs called missing, and moves VT(A) to LSN or the first of them."""
    end = RlcAm(Parameters(tx_window=2047, rx_window=2047))
    end.entity.v.vt_s = 1500
    status = codec.Status((*found, codec.Ack(lsn)))
    end.receive(codec.encode(status), 0)
    missing = set(codec.missing(status))
    assert end.counts["invalid"] == 0
    assert {sn for sn in range(1500) if end.entity.store.slot[sn].nack} == missing
    assert end.window[0] == min(lsn, *missing) if missing else end.window[0] == lsn


@pytest.mark.slow
@given(st.binary(min_size=0, max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_octets_are_read_as_the_codec_reads_them(octets: bytes) -> None:
    """Nothing is read out of bounds, and PDUs that the codec refuses are counted as malformed."""
    end = RlcAm(Parameters(pdu_bytes=max(16, len(octets)), li_bits=7 if len(octets) <= 126 else 15))
    end.receive(octets, 0)
    try:
        pdu = codec.decode(octets, 7)
        if isinstance(pdu, codec.Amd):
            codec.piggybacked(pdu)
        elif isinstance(pdu, codec.Status):
            codec.missing(pdu)
    except codec.MalformedPduError:
        assert end.counts["malformed"] == 1
    else:
        assert end.counts["malformed"] == (1 if octets[0] & 0x80 and len(octets) < 16 else 0)

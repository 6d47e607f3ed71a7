"""What a receiver noted about an 802.11 frame: radiotap, Prism, AVS and PPI headers.

Sources: radiotap.org, tcpdump.org/linktypes (119, 127, 163, 192), CACE PPI specification 1.0.10; rates: IEEE
802.11-2020 19.5 (HT), 21.5 (VHT), 802.11ax-2021 27.5 (HE). Here and not by dpkt, whose radiotap ends before the HT, VHT
and HE fields.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

PLAIN, PRISM, RADIOTAP, AVS, PPI = 105, 119, 127, 163, 192
LINK_TYPES = frozenset({PLAIN, PRISM, RADIOTAP, AVS, PPI})

_HALF_MBPS, _TENTH_MBPS = 500_000, 100_000
_EXTENDED = 1 << 31
# Alignment and size of radiotap's fields by their bits in the first word; a bit beyond ends what is read.
_FIELDS = (
    (8, 8), (1, 1), (1, 1), (2, 4), (2, 2), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2), (1, 1), (1, 1), (1, 1), (1, 1),
    (2, 2), (2, 2), (1, 1), (1, 1), (4, 8), (1, 3), (4, 8), (2, 12), (8, 12), (2, 12),
)  # fmt: skip
_FLAGS, _RATE, _MCS, _VHT, _HE = 1, 2, 19, 21, 23
_FCS_AT_END, _PADDED, _BAD_FCS = 0x10, 0x20, 0x40
# Bits a subcarrier and code rate (numerator, denominator) of each MCS of VHT and HE; HT's are the first eight.
_MODULATION = (
    (1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6),
    (10, 3, 4), (10, 5, 6),
)  # fmt: skip
_HT_CARRIERS = {20: 52, 40: 108, 80: 234, 160: 468}
_VHT_MHZ = {0: 20, 1: 40, 4: 80, 11: 160}
_HE_CARRIERS = (234, 468, 980, 1960, 24, 48, 102, 234, 468, 980, 1960)
_HT_SYMBOL_NS, _SHORT_HT_SYMBOL_NS = 4000, 3600
_HE_SYMBOL_NS = 12_800
_HE_GUARDS_NS = (800, 1600, 3200)
_PRISM_BYTES, _PRISM_RATE_AT = 144, 24 + 7 * 12 + 8
_AVS_MAGIC = b"\x80\x21\x10"
_PPI_COMMON = 2


class Radio(NamedTuple):
    """What precedes a frame, and what it says of it; None where it does not."""

    size: int
    """Octets before the frame."""
    link_type: int = PLAIN
    """What follows: a PPI header may be followed by another link layer."""
    fcs: bool | None = None
    """Whether the frame ends with its check sequence."""
    padded: bool = False
    """Whether the body begins at a multiple of four octets."""
    damaged: bool = False
    rate_bps: int | None = None


def decode(octets: bytes, link_type: int) -> Radio | None:
    """The header of a record of one of LINK_TYPES; None where it is cut or damaged."""
    if link_type == PLAIN:
        return Radio(0)
    if link_type == RADIOTAP:
        return _radiotap(octets)
    if link_type == PPI:
        return _ppi(octets)
    if octets[:3] == _AVS_MAGIC:  # drivers write it under Prism's link type, too
        return _avs(octets)
    return _prism(octets) if link_type == PRISM else None


def wraps_other(octets: bytes, link_type: int) -> bool:
    """Whether a PPI header is before a frame of another link layer than 802.11."""
    radio = _ppi(octets) if link_type == PPI else None
    return radio is not None and radio.link_type not in LINK_TYPES


def _little(octets: bytes, at: int, size: int = 2) -> int:
    return int.from_bytes(octets[at : at + size], "little")


def _radiotap(octets: bytes) -> Radio | None:
    size, present, at = _little(octets, 2), _little(octets, 4, 4), 8
    if len(octets) < 8 or octets[0] != 0 or not 8 <= size <= len(octets):
        return None
    word = present
    while word & _EXTENDED and at + 4 <= size:
        word = _little(octets, at, 4)
        at += 4
    places = _places(present, at, size)
    rate = _rate(octets, places)
    if _FLAGS not in places:
        return Radio(size, rate_bps=rate)
    flags = octets[places[_FLAGS]]
    return Radio(size, PLAIN, bool(flags & _FCS_AT_END), bool(flags & _PADDED), bool(flags & _BAD_FCS), rate)


@lru_cache(maxsize=256)
def _places(present: int, at: int, end: int) -> dict[int, int]:
    """Where the fields are, by their bits, up to the first that does not end before `end`; they begin at `at`."""
    found: dict[int, int] = {}
    for bit, (align, size) in enumerate(_FIELDS):
        if present >> bit & 1:
            at += -at % align
            if at + size > end:
                break
            found[bit] = at
            at += size
    return found


def _rate(octets: bytes, places: dict[int, int]) -> int | None:
    for bit, rate in ((_HE, _he_rate), (_VHT, _vht_rate), (_MCS, _ht_rate)):
        if bit in places:
            return rate(octets[places[bit] : places[bit] + _FIELDS[bit][1]])
    return octets[places[_RATE]] * _HALF_MBPS or None if _RATE in places else None


def _ht_rate(field: bytes) -> int | None:
    known, flags, index = field
    if not known & 0x02 or index > 31:
        return None
    carriers = _HT_CARRIERS[40 if flags & 3 == 1 else 20]
    symbol = _SHORT_HT_SYMBOL_NS if flags & 4 else _HT_SYMBOL_NS
    return _bps(carriers, index % 8, index // 8 + 1, symbol)


def _vht_rate(field: bytes) -> int | None:
    flags, band, user = field[2], field[3], field[4]
    mcs, streams = user >> 4, user & 15
    if band not in _VHT_MHZ or mcs > 9 or not streams:
        return None
    return _bps(_HT_CARRIERS[_VHT_MHZ[band]], mcs, streams, _SHORT_HT_SYMBOL_NS if flags & 4 else _HT_SYMBOL_NS)


def _he_rate(field: bytes) -> int | None:
    known, mcs = _little(field, 0), _little(field, 4) >> 8 & 15
    band, guard, streams = field[8] & 15, field[8] >> 4 & 3, field[10] & 15
    whole = known & 0x0020 and known & 0x4000 and mcs < len(_MODULATION) and streams
    if not whole or band >= len(_HE_CARRIERS) or guard >= len(_HE_GUARDS_NS):
        return None
    half = 2 if field[5] & 0x10 else 1  # dual carrier modulation sends everything twice
    return _bps(_HE_CARRIERS[band], mcs, streams, _HE_SYMBOL_NS + _HE_GUARDS_NS[guard]) // half


def _bps(carriers: int, mcs: int, streams: int, symbol_ns: int) -> int:
    """The bits of a symbol over its time."""
    bits, numerator, denominator = _MODULATION[mcs]
    return carriers * bits * numerator * streams // denominator * 1_000_000_000 // symbol_ns


def _prism(octets: bytes) -> Radio | None:
    if len(octets) < _PRISM_BYTES:
        return None
    order = "little" if _little(octets, 4, 4) == _PRISM_BYTES else "big"
    if int.from_bytes(octets[4:8], order) != _PRISM_BYTES:  # type: ignore[arg-type]
        return None
    rate = int.from_bytes(octets[_PRISM_RATE_AT : _PRISM_RATE_AT + 4], order)  # type: ignore[arg-type]
    return Radio(_PRISM_BYTES, rate_bps=rate * _HALF_MBPS or None)


def _avs(octets: bytes) -> Radio | None:
    size = int.from_bytes(octets[4:8], "big")
    if len(octets) < 36 or not 36 <= size <= len(octets):
        return None
    return Radio(size, rate_bps=int.from_bytes(octets[32:36], "big") * _TENTH_MBPS or None)


def _ppi(octets: bytes) -> Radio | None:
    size, link_type, at = _little(octets, 2), _little(octets, 4, 4), 8
    if len(octets) < 8 or not 8 <= size <= len(octets):
        return None
    made = Radio(size, link_type)
    while at + 4 <= size:
        kind, length = _little(octets, at), _little(octets, at + 2)
        if kind == _PPI_COMMON and length >= 12 and at + 4 + length <= size:
            flags, rate = _little(octets, at + 12), _little(octets, at + 14)
            made = made._replace(fcs=bool(flags & 1), damaged=bool(flags & 4), rate_bps=rate * _HALF_MBPS or None)
        at += 4 + length
    return made

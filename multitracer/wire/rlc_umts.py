"""UMTS RLC PDUs: AMD, UMD, STATUS with its SUFIs, RESET and RESET ACK, decoded and encoded (3GPP TS 25.322).

`decode(octets)` returns an acknowledged mode PDU or raises MalformedPduError; `encode(pdu)` is its inverse.
A status report is a sequence of SUFIs; `missing` and `acknowledged` interpret them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from multitracer.wire.bits import BitReader, BitWriter, MalformedPduError


@dataclass(frozen=True)
class Umts25322:
    """Constants of TS 25.322."""

    am_modulus: int = 4096  # 9.2.2.3
    am_short_li_octets: int = 126  # 9.2.2.8: PDUs up to this size have 7-bit length indicators
    um_short_li_octets: int = 125
    sufi_entries: int = 15  # 9.2.2.11: LENGTH is 4 bits
    # Length indicators with a special meaning, in 15-bit form; the 7-bit form is their last 7 bits.
    ends_before: int = 0
    ends_before_short_one: int = 0x7FFB
    piggyback: int = 0x7FFE
    padding: int = 0x7FFF
    am_reserved: tuple[int, ...] = (0x7FFA, 0x7FFC, 0x7FFD)
    ends_sdu: int = 2  # 9.2.2.7: the HE, 10, of a PDU whose last octet ends an SDU


SPEC = Umts25322()


@dataclass(frozen=True, slots=True)
class Amd:
    """An AMD PDU, 9.2.1.4: `lis` are its length indicators as encoded, `data` all octets that follow them."""

    sn: int
    poll: bool
    data: bytes
    lis: tuple[int, ...] = ()
    li_bits: int = 7
    ends_sdu: bool = False
    """HE = 10: the last octet ends an SDU."""


@dataclass(frozen=True, slots=True)
class Umd:
    """A UMD PDU, 9.2.1.3."""

    sn: int
    data: bytes
    lis: tuple[int, ...] = ()
    li_bits: int = 7


@dataclass(frozen=True, slots=True)
class Window:
    """WINDOW SUFI: sets the peer's transmission window to `size`."""

    size: int


@dataclass(frozen=True, slots=True)
class Ack:
    """ACK SUFI: every PDU below `lsn` was received, except those that the same STATUS PDU reports missing."""

    lsn: int


@dataclass(frozen=True, slots=True)
class List:
    """LIST SUFI: each (sn, more) reports `sn` and the `more` PDUs that follow it as missing."""

    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bitmap:
    """BITMAP SUFI: bit i, from the left, is PDU `fsn` + i: 1 received, 0 missing."""

    fsn: int
    bits: bytes


@dataclass(frozen=True, slots=True)
class Rlist:
    """RLIST SUFI: `fsn` is missing, then distances in code words of three bits and a stop bit, 9.2.2.11.6."""

    fsn: int
    codewords: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mrw:
    """MRW SUFI: the receiver discards SDUs up to the N_LENGTH-th that ends in the last PDU named."""

    sns: tuple[int, ...]
    n_length: int
    beyond_window: bool = False
    """LENGTH = 0: one SDU is discarded, and it extends above the window."""


@dataclass(frozen=True, slots=True)
class MrwAck:
    """MRW_ACK SUFI: the receiving window was moved to `sn`."""

    n: int
    sn: int


@dataclass(frozen=True, slots=True)
class Poll:
    """POLL SUFI: a poll without a data PDU (Release 7)."""

    sn: int


@dataclass(frozen=True, slots=True)
class NoMore:
    """NO_MORE SUFI: the end of the SUFIs."""


Sufi = Window | Ack | List | Bitmap | Rlist | Mrw | MrwAck | Poll | NoMore


@dataclass(frozen=True, slots=True)
class Status:
    """A STATUS PDU, standalone or piggybacked; `size` in octets with zero padding, 0 for the minimum."""

    sufis: tuple[Sufi, ...]
    size: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """A RESET or RESET ACK PDU, 9.2.1.6 and 9.2.1.7."""

    rsn: int
    hfni: int
    ack: bool = False
    size: int = 4


Pdu = Amd | Status | Reset


def decode(octets: bytes, li_bits: int = 0) -> Pdu:
    """Decode an acknowledged mode PDU; `li_bits` 7, 15, or 0 to choose by the PDU's size. Raises MalformedPduError."""
    if len(octets) < 2:
        raise MalformedPduError("shorter than any PDU")
    return _amd(octets, li_bits) if octets[0] & 0x80 else _control(octets)


def decode_um(octets: bytes, li_bits: int = 0) -> Umd:
    """Decode an unacknowledged mode PDU; `li_bits` as in `decode`. Raises MalformedPduError."""
    if len(octets) < 2:
        raise MalformedPduError("shorter than any PDU")
    bits = li_bits or default_li_bits(len(octets), SPEC.um_short_li_octets)
    lis, data = _length_indicators(octets[1:], bits) if octets[0] & 1 else ((), octets[1:])
    return Umd(octets[0] >> 1, data, lis, bits)


def encode(pdu: Pdu | Umd) -> bytes:
    """The octets of a PDU; raises ValueError when a field does not fit."""
    if isinstance(pdu, Status):
        return _encode_status(pdu)
    writer = BitWriter()
    if isinstance(pdu, Reset):
        for value, bits in ((2 if pdu.ack else 1, 4), (pdu.rsn, 1), (0, 3), (pdu.hfni, 20)):
            writer.put(value, bits)
        return writer.octets(pdu.size)
    if isinstance(pdu, Amd):
        he = 1 if pdu.lis else SPEC.ends_sdu if pdu.ends_sdu else 0
        for value, bits in ((1, 1), (pdu.sn, 12), (int(pdu.poll), 1), (he, 2)):
            writer.put(value, bits)
    else:
        writer.put(pdu.sn, 7)
        writer.put(int(bool(pdu.lis)), 1)
    for index, li in enumerate(pdu.lis, start=1):
        writer.put(li, pdu.li_bits)
        writer.put(int(index < len(pdu.lis)), 1)
    return writer.octets() + pdu.data


def default_li_bits(size: int, limit: int = SPEC.am_short_li_octets) -> int:
    """Bits of a length indicator in a PDU of `size` octets, where none is configured: 9.2.2.8."""
    return 7 if size <= limit else 15


def li_bits_in(lis: Sequence[int], pdu_bytes: int, data: bytes | None) -> int:
    """Bits (7 or 15) of the length indicators of an AMD PDU.

    The PDU's size decides, unless an indicator above 127 or the octets show the other form. `data` is what
    follows the first two octets, None when it was not logged.
    """
    bits = default_li_bits(pdu_bytes)
    if bits == 7 and any(li > 0x7F for li in lis):
        return 15
    if data is not None and lis:
        for candidate in (bits, 22 - bits):
            step = (candidate + 1) // 8
            if int.from_bytes(data[:step], "big") >> 1 == lis[0] and len(data) >= step * len(lis):
                return candidate
    return bits


def long_form(li: int, li_bits: int) -> int:
    """A length indicator in its 15-bit form, so that special values compare equal in both forms."""
    return li | 0x7F80 if li_bits == 7 and li >= 0x7C else li


def payload_bytes(lis: Sequence[int], data_bytes: int, li_bits: int) -> int:
    """SDU octets among the `data_bytes` that follow the length indicators; -1 when these contradict each other."""
    end, cut = 0, False
    for raw in lis:
        li = long_form(raw, li_bits)
        if li in (SPEC.padding, SPEC.piggyback):
            cut = True
        elif li < SPEC.am_reserved[0]:
            if li < end or li > data_bytes:
                return -1
            end = li
    return end if cut else data_bytes


def piggybacked(pdu: Amd) -> Status | None:
    """The status report piggybacked in an AMD PDU (9.2.1.5), None without one; raises MalformedPduError."""
    if not any(long_form(li, pdu.li_bits) == SPEC.piggyback for li in pdu.lis):
        return None
    reader = BitReader(pdu.data, 8 * payload_bytes(pdu.lis, len(pdu.data), pdu.li_bits))
    return _status(reader, size=0)


def acknowledged(status: Status) -> int | None:
    """LSN of the report: every PDU below it was received except the missing ones; None without an ACK SUFI."""
    for sufi in status.sufis:
        if isinstance(sufi, Ack):
            return sufi.lsn
    return None


def missing(status: Status) -> tuple[int, ...]:
    """Sequence numbers that the report calls missing, in its order."""
    return tuple(sn for sufi in status.sufis for sn in _missing_in(sufi))


def _amd(octets: bytes, li_bits: int) -> Amd:
    head = octets[0] << 8 | octets[1]
    he = head & 3
    if he == 3:
        raise MalformedPduError("header extension type 11 is reserved")
    bits = li_bits or default_li_bits(len(octets))
    lis: tuple[int, ...] = ()
    data = octets[2:]
    if he == 1:
        lis, data = _length_indicators(data, bits)
        if any(long_form(li, bits) in SPEC.am_reserved for li in lis):
            raise MalformedPduError("a reserved length indicator")
    return Amd(head >> 3 & 0xFFF, bool(head & 4), data, lis, bits, he == SPEC.ends_sdu)


def _length_indicators(octets: bytes, bits: int) -> tuple[tuple[int, ...], bytes]:
    """The length indicators at the front, checked against the data that follows, and that data."""
    step = (bits + 1) // 8
    lis, position, more = [], 0, True
    while more:
        if position + step > len(octets):
            raise MalformedPduError("ends within its length indicators")
        field = int.from_bytes(octets[position : position + step], "big")
        lis.append(field >> 1)
        more, position = bool(field & 1), position + step
    data = octets[position:]
    kinds = [long_form(li, bits) for li in lis]
    if any(li in (SPEC.padding, SPEC.piggyback) for li in kinds[:-1]):
        raise MalformedPduError("a length indicator behind the one for padding or status")
    if any(li in (SPEC.ends_before, SPEC.ends_before_short_one) for li in kinds[1:]):
        raise MalformedPduError("a later length indicator about the PDU before")
    if payload_bytes(lis, len(data), bits) < 0:
        raise MalformedPduError("length indicators that fall, or point behind the end")
    return tuple(lis), data


def _control(octets: bytes) -> Status | Reset:
    kind = octets[0] >> 4
    if kind == 0:
        return _status(BitReader(octets), size=len(octets))
    if kind > 2:
        raise MalformedPduError(f"reserved control PDU type {kind}")
    reader = BitReader(octets, 4)
    rsn, reserved, hfni = reader.take(1), reader.take(3), reader.take(20)
    if reserved:
        raise MalformedPduError("reserved bits set")
    return Reset(rsn, hfni, kind == 2, len(octets))


def _status(reader: BitReader, size: int) -> Status:
    if reader.take(4):
        raise MalformedPduError("is not a status report")
    sufis: list[Sufi] = []
    named = 0
    while not sufis or not isinstance(sufis[-1], Ack | NoMore):
        sufis.append(_sufi(reader))
        named += sum(1 for _ in _missing_in(sufis[-1]))
        if named > SPEC.am_modulus:
            raise MalformedPduError("names more PDUs than there are sequence numbers")
    return Status(tuple(sufis), size)


def _sufi(reader: BitReader) -> Sufi:
    kind = reader.take(4)
    if kind in _ONE_NUMBER:
        return _ONE_NUMBER[kind](reader.take(12))
    if kind == 0:
        return NoMore()
    if kind == 7:
        return MrwAck(reader.take(4), reader.take(12))
    if kind > 8:
        raise MalformedPduError(f"reserved SUFI type {kind}")
    length = reader.take(4)
    if kind == 3:
        if length == 0:
            raise MalformedPduError("an empty LIST")
        return List(tuple((reader.take(12), reader.take(4)) for _ in range(length)))
    if kind == 4:
        return Bitmap(reader.take(12), bytes(reader.take(8) for _ in range(length + 1)))
    if kind == 5:
        return Rlist(reader.take(12), tuple(reader.take(4) for _ in range(length)))
    return Mrw(tuple(reader.take(12) for _ in range(max(length, 1))), reader.take(4), length == 0)


_ONE_NUMBER: dict[int, type[Window] | type[Ack] | type[Poll]] = {1: Window, 2: Ack, 8: Poll}


def _missing_in(sufi: Sufi) -> Iterator[int]:
    if isinstance(sufi, List):
        for sn, more in sufi.pairs:
            yield from ((sn + i) % SPEC.am_modulus for i in range(more + 1))
    elif isinstance(sufi, Bitmap):
        for index in range(8 * len(sufi.bits)):
            if not sufi.bits[index >> 3] >> (7 - (index & 7)) & 1:
                yield (sufi.fsn + index) % SPEC.am_modulus
    elif isinstance(sufi, Rlist):
        yield from _missing_in_rlist(sufi)


def _missing_in_rlist(sufi: Rlist) -> Iterator[int]:
    sn, burst = sufi.fsn, False
    yield sn
    if sufi.codewords and (not sufi.codewords[-1] & 1 or sufi.codewords[-1] == 1):
        raise MalformedPduError("an RLIST that ends within a number")
    number = shift = 0
    for word in sufi.codewords:
        if word == 1 and not shift:
            burst = True
            continue
        number |= (word >> 1) << shift
        shift += 3
        if not word & 1:
            continue
        if number >= SPEC.am_modulus:
            raise MalformedPduError("an RLIST that reaches round the sequence numbers")
        steps = range(1, number + 1) if burst else (number,)
        yield from ((sn + step) % SPEC.am_modulus for step in steps)
        sn, burst, number, shift = sn + number, False, 0, 0


def _encode_status(status: Status) -> bytes:
    writer = BitWriter()
    writer.put(0, 4)
    for sufi in status.sufis:
        for value, bits in _sufi_fields(sufi):
            writer.put(value, bits)
    return writer.octets(status.size)


def _sufi_fields(sufi: Sufi) -> list[tuple[int, int]]:
    match sufi:
        case NoMore():
            return [(0, 4)]
        case Window(size):
            return [(1, 4), (size, 12)]
        case Ack(lsn):
            return [(2, 4), (lsn, 12)]
        case List(pairs):
            return [(3, 4), (len(pairs), 4), *(f for sn, more in pairs for f in ((sn, 12), (more, 4)))]
        case Bitmap(fsn, bits):
            return [(4, 4), (len(bits) - 1, 4), (fsn, 12), *((octet, 8) for octet in bits)]
        case Rlist(fsn, words):
            return [(5, 4), (len(words), 4), (fsn, 12), *((word, 4) for word in words)]
        case Mrw(sns, n_length, beyond):
            return [(6, 4), (0 if beyond else len(sns), 4), *((sn, 12) for sn in sns), (n_length, 4)]
        case MrwAck(n, sn):
            return [(7, 4), (n, 4), (sn, 12)]
        case Poll(sn):
            return [(8, 4), (sn, 12)]

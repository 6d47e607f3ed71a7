"""LTE RLC PDUs: AMD, AMD segment, UMD and STATUS, decoded and encoded (3GPP TS 36.322).

`decode(octets, spec)` returns an acknowledged mode PDU or raises MalformedPduError; `decode_header` does
the same for a log that holds only the first octets of the PDU. `encode` is the inverse, except for padding
bits: handsets do not always send zeros there, and receivers ignore them.
"""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.wire.bits import BitReader, BitWriter, MalformedPduError


@dataclass(frozen=True, slots=True)
class Lte36322:
    """Constants of TS 36.322 for one sequence number length."""

    sn_bits: int
    so_bits: int
    window: int  # 7.2 AM_Window_Size
    li_bits: int = 11  # 6.2.2.5; 15 when extended LIs are configured

    @property
    def modulus(self) -> int:
        """Sequence numbers are modulo this."""
        return 1 << self.sn_bits

    @property
    def so_end(self) -> int:
        """The SOend value that means the last octet of the PDU."""
        return (1 << self.so_bits) - 1


AM10 = Lte36322(sn_bits=10, so_bits=15, window=512)
AM16 = Lte36322(sn_bits=16, so_bits=16, window=32768)


def am_spec(sn_bits: int, extended_li: bool = False) -> Lte36322:
    """The constants for a sequence number of 10 or 16 bits."""
    spec = AM16 if sn_bits == 16 else AM10
    return Lte36322(spec.sn_bits, spec.so_bits, spec.window, 15) if extended_li else spec


@dataclass(frozen=True, slots=True)
class Amd:
    """An AMD PDU, or with `so` an AMD PDU segment: 6.2.1.4 and 6.2.1.5.

    `lis` are the lengths of all data field elements but the last. FI: the left bit is 0 when the data field
    starts with the first octet of an SDU, the right bit is 0 when it ends with the last octet of one.
    """

    sn: int
    poll: bool
    fi: int
    data: bytes
    lis: tuple[int, ...] = ()
    so: int | None = None
    last_segment: bool = False


@dataclass(frozen=True, slots=True)
class Umd:
    """A UMD PDU, 6.2.1.3."""

    sn: int
    fi: int
    data: bytes
    lis: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Nack:
    """A missing PDU, or with SOstart and SOend (both inclusive) the missing octets of one."""

    sn: int
    so_start: int = -1
    so_end: int = -1


@dataclass(frozen=True, slots=True)
class Status:
    """A STATUS PDU, 6.2.1.6: every PDU below `ack_sn` was received, except the `nacks`."""

    ack_sn: int
    nacks: tuple[Nack, ...] = ()


def decode(octets: bytes, spec: Lte36322 = AM10) -> Amd | Status:
    """Decode an acknowledged mode PDU; raises MalformedPduError."""
    return decode_header(octets, len(octets), spec)


def decode_header(octets: bytes, pdu_bytes: int, spec: Lte36322 = AM10) -> Amd | Status:
    """Decode a PDU of `pdu_bytes` octets of which only the first ones are given.

    `octets` must hold the whole header; the PDU's `data` is what is there of it. Raises MalformedPduError.
    """
    if len(octets) < 2:
        raise MalformedPduError("shorter than any PDU")
    return _amd(octets, pdu_bytes, spec) if octets[0] & 0x80 else _status(octets, spec)


def decode_um(octets: bytes, sn_bits: int = 10, li_bits: int = 11) -> Umd:
    """Decode an unacknowledged mode PDU, `sn_bits` 5 or 10; raises MalformedPduError."""
    if not octets or (sn_bits == 10 and len(octets) < 2):
        raise MalformedPduError("shorter than any PDU")
    if sn_bits == 5:
        head, fixed, fi, more = octets[0], 1, octets[0] >> 6, octets[0] & 0x20
    else:
        head, fixed = octets[0] << 8 | octets[1], 2
        fi, more = octets[0] >> 3 & 3, octets[0] & 4
    lis, header = _lengths(octets, fixed, li_bits) if more else ((), fixed)
    _check_lengths(lis, len(octets) - header)
    return Umd(head & ((1 << sn_bits) - 1), fi, octets[header:], lis)


def header_bytes(spec: Lte36322, lis: int = 0, segment: bool = False) -> int:
    """Header size in octets of an AMD PDU with `lis` length indicators."""
    return spec.sn_bits // 8 + 1 + 2 * segment + extension_bytes(lis, spec.li_bits)


def extension_bytes(lis: int, li_bits: int = 11) -> int:
    """Octets of `lis` length indicators with their E bits, padded to a whole octet."""
    return (lis * (li_bits + 1) + 7) // 8


def encode(pdu: Amd | Status, spec: Lte36322 = AM10) -> bytes:
    """The octets of an acknowledged mode PDU; raises ValueError when a field does not fit."""
    return _encode_status(pdu, spec) if isinstance(pdu, Status) else _encode_amd(pdu, spec)


def encode_um(pdu: Umd, sn_bits: int = 10, li_bits: int = 11) -> bytes:
    """The octets of an unacknowledged mode PDU; raises ValueError when a field does not fit."""
    writer = BitWriter()
    fields = ((0, 3 if sn_bits == 10 else 0), (pdu.fi, 2), (int(bool(pdu.lis)), 1), (pdu.sn, sn_bits))
    for value, bits in fields:
        writer.put(value, bits)
    _put_lengths(writer, pdu.lis, li_bits)
    return writer.octets() + pdu.data


def _amd(octets: bytes, pdu_bytes: int, spec: Lte36322) -> Amd:
    first = octets[0]
    if spec.sn_bits == 10:
        sn, fixed = (first & 3) << 8 | octets[1], 2
    else:
        if len(octets) < 3:
            raise MalformedPduError("ends within its header")
        if first & (1 if first & 0x40 else 3):
            raise MalformedPduError("reserved bits set")
        sn, fixed = octets[1] << 8 | octets[2], 3
    so, last = None, False
    if first & 0x40:
        field = octets[fixed : fixed + 2]
        if len(field) < 2:
            raise MalformedPduError("ends within its segment offset")
        so, fixed = int.from_bytes(field, "big"), fixed + 2
        last = bool(so & 0x8000) if spec.sn_bits == 10 else bool(first & 2)
        so &= spec.so_end
    lis: tuple[int, ...] = ()
    header = fixed
    if first & 0x04:
        lis, header = _lengths(octets, fixed, spec.li_bits)
    _check_lengths(lis, pdu_bytes - header)
    return Amd(sn, bool(first & 0x20), first >> 3 & 3, octets[header:], lis, so, last)


def _lengths(octets: bytes, start: int, li_bits: int) -> tuple[tuple[int, ...], int]:
    """The length indicators from octet `start` on, and the offset of the data."""
    reader = BitReader(octets, 8 * start)
    lis, more = [], 1
    while more:
        more = reader.take(1)
        lis.append(reader.take(li_bits))
    return tuple(lis), (reader.position + 7) // 8


def _check_lengths(lis: tuple[int, ...], data_bytes: int) -> None:
    if 0 in lis:
        raise MalformedPduError("length indicator 0 is reserved")
    if data_bytes <= sum(lis):
        raise MalformedPduError("no data behind what the length indicators take")


def _status(octets: bytes, spec: Lte36322) -> Status:
    if octets[0] >> 4:
        raise MalformedPduError(f"reserved control PDU type {octets[0] >> 4 & 7}")
    reader = BitReader(octets, 4)
    ack_sn, more = reader.take(spec.sn_bits), reader.take(1)
    nacks = []
    while more:
        sn, more, segment = reader.take(spec.sn_bits), reader.take(1), reader.take(1)
        nacks.append(Nack(sn, reader.take(spec.so_bits), reader.take(spec.so_bits)) if segment else Nack(sn))
    if reader.left >= 8:
        raise MalformedPduError("octets behind the end of the status report")
    _check_nacks(ack_sn, nacks, spec)
    return Status(ack_sn, tuple(nacks))


def _check_nacks(ack_sn: int, nacks: list[Nack], spec: Lte36322) -> None:
    """NACK_SNs are in order and within one window below ACK_SN: 5.2.3."""
    before = spec.window
    for nack in nacks:
        distance = (ack_sn - nack.sn) % spec.modulus
        if not 0 < distance <= before:
            raise MalformedPduError(f"NACK_SN {nack.sn} out of order, or not below ACK_SN {ack_sn}")
        if nack.so_start > nack.so_end:
            raise MalformedPduError("a segment that ends before it starts")
        before = distance


def _encode_amd(pdu: Amd, spec: Lte36322) -> bytes:
    writer = BitWriter()
    segment = pdu.so is not None
    fields = [(1, 1), (int(segment), 1), (int(pdu.poll), 1), (pdu.fi, 2), (int(bool(pdu.lis)), 1)]
    if spec.sn_bits == 16:
        fields += [(int(segment and pdu.last_segment), 1), (0, 1)]
    fields.append((pdu.sn, spec.sn_bits))
    if segment and spec.sn_bits == 10:
        fields.append((int(pdu.last_segment), 1))
    for value, bits in fields:
        writer.put(value, bits)
    if pdu.so is not None:
        writer.put(pdu.so, spec.so_bits)
    _put_lengths(writer, pdu.lis, spec.li_bits)
    return writer.octets() + pdu.data


def _put_lengths(writer: BitWriter, lis: tuple[int, ...], li_bits: int) -> None:
    for index, li in enumerate(lis, start=1):
        writer.put(int(index < len(lis)), 1)
        writer.put(li, li_bits)


def _encode_status(pdu: Status, spec: Lte36322) -> bytes:
    writer = BitWriter()
    for value, bits in ((0, 4), (pdu.ack_sn, spec.sn_bits), (int(bool(pdu.nacks)), 1)):
        writer.put(value, bits)
    for index, nack in enumerate(pdu.nacks, start=1):
        writer.put(nack.sn, spec.sn_bits)
        writer.put(int(index < len(pdu.nacks)), 1)
        writer.put(int(nack.so_start >= 0), 1)
        if nack.so_start >= 0:
            writer.put(nack.so_start, spec.so_bits)
            writer.put(nack.so_end, spec.so_bits)
    return writer.octets()

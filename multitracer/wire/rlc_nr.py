"""NR RLC PDUs: AMD, UMD and STATUS, decoded and encoded (3GPP TS 38.322).

`decode(octets, spec)` returns an acknowledged mode PDU or raises MalformedPduError; `encode` is its
inverse. A sequence number stands for one SDU; segments of the SDU carry a segment offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from multitracer.wire.bits import BitReader, BitWriter, MalformedPduError


@dataclass(frozen=True, slots=True)
class Nr38322:
    """Constants of TS 38.322 for one sequence number length."""

    sn_bits: int
    window: int  # 7.2 AM_Window_Size
    so_bits: int = 16
    so_end: int = 0xFFFF

    @property
    def modulus(self) -> int:
        """Sequence numbers are modulo this."""
        return 1 << self.sn_bits


AM12 = Nr38322(sn_bits=12, window=2048)
AM18 = Nr38322(sn_bits=18, window=131072)
SI_FULL, SI_FIRST, SI_LAST, SI_MIDDLE = range(4)  # 6.2.3.4


def am_spec(sn_bits: int) -> Nr38322:
    """The constants for a sequence number of 12 or 18 bits."""
    return AM18 if sn_bits == 18 else AM12


@dataclass(frozen=True, slots=True)
class Amd:
    """An AMD PDU, 6.2.2.4: a whole SDU, or the segment of one that begins at octet `so`."""

    sn: int
    poll: bool
    si: int
    data: bytes
    so: int | None = None


@dataclass(frozen=True, slots=True)
class Umd:
    """A UMD PDU, 6.2.2.3; one with a whole SDU has no sequence number."""

    si: int
    data: bytes
    sn: int | None = None
    so: int | None = None


@dataclass(frozen=True, slots=True)
class Nack:
    """A missing SDU, or octets of it (both ends inclusive); with `count` above 0 a NACK range of that many SDUs."""

    sn: int
    so_start: int = -1
    so_end: int = -1
    count: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """A STATUS PDU, 6.2.2.5: every SDU below `ack_sn` was received, except the `nacks`."""

    ack_sn: int
    nacks: tuple[Nack, ...] = ()


def decode(octets: bytes, spec: Nr38322 = AM12) -> Amd | Status:
    """Decode an acknowledged mode PDU; raises MalformedPduError."""
    if not octets:
        raise MalformedPduError("shorter than any PDU")
    return _amd(octets, spec) if octets[0] & 0x80 else _status(octets, spec)


def decode_um(octets: bytes, sn_bits: int = 6) -> Umd:
    """Decode an unacknowledged mode PDU, `sn_bits` 6 or 12; raises MalformedPduError."""
    reader = BitReader(octets)
    si = reader.take(2)
    sn = None
    if si == SI_FULL:
        reserved = reader.take(6)
    else:
        reserved = reader.take(0 if sn_bits == 6 else 2)
        sn = reader.take(sn_bits)
    so = reader.take(16) if si in (SI_LAST, SI_MIDDLE) else None
    _check(reserved, reader)
    return Umd(si, octets[reader.position // 8 :], sn, so)


def header_bytes(spec: Nr38322, segment: bool = False) -> int:
    """Header size in octets of an AMD PDU, with or without a segment offset."""
    return (spec.sn_bits + 11) // 8 + 2 * segment


def encode(pdu: Amd | Status, spec: Nr38322 = AM12) -> bytes:
    """The octets of an acknowledged mode PDU; raises ValueError when a field does not fit."""
    if isinstance(pdu, Status):
        return _encode_status(pdu, spec)
    writer = BitWriter()
    reserved = spec.sn_bits // 18 * 2
    for value, bits in ((1, 1), (int(pdu.poll), 1), (pdu.si, 2), (0, reserved), (pdu.sn, spec.sn_bits)):
        writer.put(value, bits)
    if pdu.si in (SI_LAST, SI_MIDDLE):
        writer.put(pdu.so or 0, 16)
    return writer.octets() + pdu.data


def encode_um(pdu: Umd, sn_bits: int = 6) -> bytes:
    """The octets of an unacknowledged mode PDU; raises ValueError when a field does not fit."""
    writer = BitWriter()
    writer.put(pdu.si, 2)
    writer.put(0, 6 if pdu.si == SI_FULL else 0 if sn_bits == 6 else 2)
    if pdu.si != SI_FULL:
        writer.put(pdu.sn or 0, sn_bits)
    if pdu.si in (SI_LAST, SI_MIDDLE):
        writer.put(pdu.so or 0, 16)
    return writer.octets() + pdu.data


def missing(status: Status, spec: Nr38322 = AM12) -> tuple[tuple[int, int, int], ...]:
    """The missing SDUs of a status report, one (sn, so_start, so_end) each; -1, -1 when a whole SDU is missing.

    In a NACK range SOstart refers to the first SDU and SOend to the last (6.2.3.17).
    """
    found: list[tuple[int, int, int]] = []
    for nack in status.nacks:
        last = max(nack.count, 1) - 1
        for index in range(last + 1):
            start = nack.so_start if index == 0 else 0
            end = nack.so_end if index == last else spec.so_end
            whole = nack.so_start < 0 or (start == 0 and end == spec.so_end)
            found.append(((nack.sn + index) % spec.modulus, *((-1, -1) if whole else (start, end))))
    return tuple(found)


def _amd(octets: bytes, spec: Nr38322) -> Amd:
    reader = BitReader(octets, 1)
    poll, si = reader.take(1), reader.take(2)
    reserved = reader.take(spec.sn_bits // 18 * 2)
    sn = reader.take(spec.sn_bits)
    so = reader.take(16) if si in (SI_LAST, SI_MIDDLE) else None
    _check(reserved, reader)
    return Amd(sn, bool(poll), si, octets[reader.position // 8 :], so)


def _check(reserved: int, reader: BitReader) -> None:
    if reserved:
        raise MalformedPduError("reserved bits set")
    if not reader.left:
        raise MalformedPduError("no data behind the header")


def _status(octets: bytes, spec: Nr38322) -> Status:
    if octets[0] >> 4:
        raise MalformedPduError(f"reserved control PDU type {octets[0] >> 4 & 7}")
    reader = BitReader(octets, 4)
    ack_sn, more = reader.take(spec.sn_bits), reader.take(1)
    reserved = reader.take(-reader.position % 8)
    nacks = []
    while more:
        nack, more, spare = _nack(reader, spec)
        reserved |= spare
        nacks.append(nack)
    if reserved or reader.left:
        raise MalformedPduError("reserved bits set, or octets behind the end of the status report")
    _check_nacks(ack_sn, nacks, spec)
    return Status(ack_sn, tuple(nacks))


def _nack(reader: BitReader, spec: Nr38322) -> tuple[Nack, int, int]:
    """(NACK, its E1, its reserved bits)."""
    sn, more, segment, ranged = reader.take(spec.sn_bits), reader.take(1), reader.take(1), reader.take(1)
    reserved = reader.take(-reader.position % 8)
    start, end = (reader.take(16), reader.take(16)) if segment else (-1, -1)
    count = reader.take(8) if ranged else 0
    if ranged and not count:
        raise MalformedPduError("NACK range 0 is reserved")
    return Nack(sn, start, end, count), more, reserved


def _check_nacks(ack_sn: int, nacks: list[Nack], spec: Nr38322) -> None:
    """NACK_SNs are in order and within one window below ACK_SN: 5.3.4."""
    before = spec.window
    for nack in nacks:
        distance = (ack_sn - nack.sn) % spec.modulus
        if not max(nack.count, 1) <= distance <= before:
            raise MalformedPduError(f"NACK_SN {nack.sn} out of order, or not below ACK_SN {ack_sn}")
        if nack.count < 2 and nack.so_start > nack.so_end:
            raise MalformedPduError("a segment that ends before it starts")
        before = distance - max(nack.count - 1, 0)


def _encode_status(pdu: Status, spec: Nr38322) -> bytes:
    writer = BitWriter()
    for value, bits in ((0, 4), (pdu.ack_sn, spec.sn_bits), (int(bool(pdu.nacks)), 1)):
        writer.put(value, bits)
    writer.put(0, -writer.bits % 8)
    for index, nack in enumerate(pdu.nacks, start=1):
        flags = (int(index < len(pdu.nacks)), int(nack.so_start >= 0), int(nack.count > 0))
        for value, bits in ((nack.sn, spec.sn_bits), *((flag, 1) for flag in flags)):
            writer.put(value, bits)
        writer.put(0, -writer.bits % 8)
        if nack.so_start >= 0:
            writer.put(nack.so_start, 16)
            writer.put(nack.so_end, 16)
        if nack.count:
            writer.put(nack.count, 8)
    return writer.octets()

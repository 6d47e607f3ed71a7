"""Van Jacobson TCP/IP header compression (RFC 1144): compressor and decompressor.

A compressed header holds only the differences to the previous packet of the same connection. When a packet
is lost, the decompressor continues from a stale context and rebuilds wrong sequence numbers, while the TCP
checksum in the packet is still the sender's: the receiver discards every packet until an uncompressed one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from multitracer.wire import ppp

PROTOCOLS = {"ip": ppp.IP, "uncompressed": ppp.VJ_UNCOMPRESSED, "compressed": ppp.VJ_COMPRESSED}
"""PPP's numbers of what a compressor makes of packets (RFC 1332 4)."""
SLOTS = 16
"""Connection slots (RFC 1332 4: the ends may negotiate fewer)."""

# The change mask (RFC 1144 3.2.2).
_CONNECTION, _ID, _PUSH, _SEQ, _ACK, _WINDOW, _URGENT = 0x40, 0x20, 0x10, 0x08, 0x04, 0x02, 0x01
_SPECIALS = _SEQ | _ACK | _WINDOW | _URGENT
_ECHOED = _SEQ | _WINDOW | _URGENT
_UNIDIRECTIONAL = _SEQ | _ACK | _WINDOW | _URGENT
_TCP, _PROTOCOL_AT = 6, 9
_URG_FLAG, _ACK_FLAG, _PSH_FLAG = 0x20, 0x10, 0x08
_NEVER_COMPRESSED = 0x07  # FIN, SYN, RST


@dataclass
class _Context:
    """The headers of a connection's last packet."""

    headers: bytearray

    @property
    def ip_bytes(self) -> int:
        return (self.headers[0] & 15) * 4

    def word(self, at: int) -> int:
        return int.from_bytes(self.headers[at : at + 2], "big")

    def put(self, at: int, value: int, size: int = 2) -> None:
        self.headers[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "big")

    def add(self, at: int, delta: int, size: int = 2) -> None:
        self.put(at, int.from_bytes(self.headers[at : at + size], "big") + delta, size)


def headers_of(packet: bytes) -> bytes | None:
    """The IP and TCP headers of an IPv4 packet, None unless both are complete."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[_PROTOCOL_AT] != _TCP:
        return None
    ip = (packet[0] & 15) * 4
    if ip < 20 or len(packet) < ip + 20:
        return None
    size = ip + (packet[ip + 12] >> 4) * 4
    return packet[:size] if ip + 20 <= size <= len(packet) else None


def ip_checksum(header: bytes | bytearray) -> int:
    """The checksum of an IPv4 header (RFC 791 3.1)."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Decompressor:
    """One direction of a line. After an error `tossing` is True until a packet names its connection."""

    contexts: dict[int, _Context] = field(default_factory=dict)
    last: int = 0
    tossing: bool = True

    def uncompressed(self, octets: bytes) -> bytes | None:
        """The packet of an UNCOMPRESSED_TCP frame (RFC 1144 3.2.3: protocol field = slot); None if malformed."""
        if len(octets) <= _PROTOCOL_AT:
            self.tossing = True
            return None
        slot = octets[_PROTOCOL_AT]
        packet = octets[:_PROTOCOL_AT] + bytes([_TCP]) + octets[_PROTOCOL_AT + 1 :]
        headers = headers_of(packet)
        if headers is None:
            self.tossing = True
            return None
        self.contexts[slot] = _Context(bytearray(headers))
        self.last, self.tossing = slot, False
        return packet

    def compressed(self, octets: bytes, missing: int = 0) -> bytes | None:
        """The packet rebuilt from a COMPRESSED_TCP frame; None when its connection is unknown or its header is cut.

        So many octets of its payload may be `missing`. The rebuilt packet may be wrong after a loss; only its TCP
        checksum shows that.
        """
        try:
            return self._rebuild(octets, missing)
        except IndexError:
            self.tossing = True
            return None

    def error(self) -> None:
        """Note that the framing layer lost or damaged a packet."""
        self.tossing = True

    def _rebuild(self, octets: bytes, missing: int) -> bytes | None:
        mask, at = octets[0], 1
        if mask & _CONNECTION:
            self.last, self.tossing, at = octets[1], False, 2
        if self.tossing or self.last not in self.contexts:
            return None
        context = self.contexts[self.last]
        tcp = context.ip_bytes
        payload_before = context.word(2) - len(context.headers)
        context.put(tcp + 16, octets[at] << 8 | octets[at + 1])
        at += 2
        flags = context.headers[tcp + 13] & ~_PSH_FLAG
        context.headers[tcp + 13] = flags | (_PSH_FLAG if mask & _PUSH else 0)
        at = self._apply(context, tcp, mask, octets, at, payload_before)
        if mask & _ID:
            delta, at = _decode_delta(octets, at)
            context.add(4, delta)
        else:
            context.add(4, 1)
        payload = octets[at:]
        context.put(2, len(context.headers) + len(payload) + missing)
        context.put(10, 0)
        context.put(10, ip_checksum(context.headers[:tcp]))
        return bytes(context.headers) + payload

    def _apply(self, context: _Context, tcp: int, mask: int, octets: bytes, at: int, payload_before: int) -> int:
        """Apply the changes of sequence, acknowledgement, window and urgent pointer; returns the offset after them."""
        special = mask & _SPECIALS
        if special == _ECHOED:
            context.add(tcp + 4, payload_before, 4)
            context.add(tcp + 8, payload_before, 4)
            return at
        if special == _UNIDIRECTIONAL:
            context.add(tcp + 4, payload_before, 4)
            return at
        if mask & _URGENT:
            delta, at = _decode_delta(octets, at)
            context.headers[tcp + 13] |= _URG_FLAG
            context.put(tcp + 18, delta)
        else:
            context.headers[tcp + 13] &= ~_URG_FLAG & 0xFF
        for bit, place, size in ((_WINDOW, 14, 2), (_ACK, 8, 4), (_SEQ, 4, 4)):
            if mask & bit:
                delta, at = _decode_delta(octets, at)
                context.add(tcp + place, delta, size)
        return at


def _decode_delta(octets: bytes, at: int) -> tuple[int, int]:
    """(Delta, offset after it): one octet, or a zero octet and two more (RFC 1144 3.2.2)."""
    if octets[at]:
        return octets[at], at + 1
    return octets[at + 1] << 8 | octets[at + 2], at + 3


@dataclass
class Compressor:
    """One direction of a line. `compress` returns (kind, octets): kind is ip, uncompressed or compressed."""

    slots: int = SLOTS
    contexts: dict[int, bytes] = field(default_factory=dict)
    used: list[int] = field(default_factory=list)
    last: int = -1

    def compress(self, packet: bytes) -> tuple[str, bytes]:
        """(kind, octets): the packet as it is sent on the line."""
        headers = headers_of(packet)
        if headers is None or not _is_compressible(headers, packet):
            return "ip", packet
        slot = self._slot(headers)
        before = self.contexts.get(slot)
        self._use(slot)
        changed = None if before is None or not _same_constants(before, headers) else _encode_changes(before, headers)
        self.contexts[slot] = headers
        if changed is None:
            self.last = slot
            return "uncompressed", packet[:_PROTOCOL_AT] + bytes([slot]) + packet[_PROTOCOL_AT + 1 :]
        mask, deltas = changed
        ip = (headers[0] & 15) * 4
        named = b"" if slot == self.last else bytes([slot])
        head = bytes([mask | (_CONNECTION if named else 0)]) + named + headers[ip + 16 : ip + 18]
        self.last = slot
        return "compressed", head + deltas + packet[len(headers) :]

    def _slot(self, headers: bytes) -> int:
        """The connection's slot, else a free one, else the least recently used."""
        for slot, known in self.contexts.items():
            if _connection(known) == _connection(headers):
                return slot
        if len(self.contexts) < self.slots:
            return len(self.contexts)
        slot = self.used[0]
        del self.contexts[slot]
        return slot

    def _use(self, slot: int) -> None:
        if slot in self.used:
            self.used.remove(slot)
        self.used.append(slot)


def _connection(headers: bytes) -> bytes:
    ip = (headers[0] & 15) * 4
    return headers[12:20] + headers[ip : ip + 4]


def _is_compressible(headers: bytes, packet: bytes) -> bool:
    """Whether RFC 1144 compresses such a packet: not a fragment, ACK set, none of SYN, FIN and RST."""
    ip = (headers[0] & 15) * 4
    fragment = (packet[6] << 8 | packet[7]) & 0x3FFF
    flags = headers[ip + 13]
    whole = (packet[2] << 8 | packet[3]) == len(packet)
    return whole and not fragment and bool(flags & _ACK_FLAG) and not flags & _NEVER_COMPRESSED


def _same_constants(before: bytes, now: bytes) -> bool:
    """Whether all fields that a compressed header cannot change are equal (RFC 1144 3.2.3)."""
    if len(before) != len(now):
        return False
    ip = (now[0] & 15) * 4
    return (
        before[0:2] == now[0:2]
        and before[6:10] == now[6:10]
        and before[20:ip] == now[20:ip]
        and before[ip + 12] == now[ip + 12]
        and (before[ip + 13] | _PSH_FLAG | _URG_FLAG) == (now[ip + 13] | _PSH_FLAG | _URG_FLAG)
        and before[ip + 20 :] == now[ip + 20 :]
    )


def _encode_changes(before: bytes, now: bytes) -> tuple[int, bytes] | None:
    """(Change mask, deltas) between two packets' headers; None when the packet must be sent uncompressed."""
    ip = (now[0] & 15) * 4
    changed = _changed_fields(before, now, ip)
    if changed is None:
        return None
    mask, deltas = changed
    payload = _value(before, 2, 2) - len(before)
    sequence, acknowledged = _moved(before, now, ip + 4, 4), _moved(before, now, ip + 8, 4)
    if mask in (_ECHOED, _UNIDIRECTIONAL):
        return None  # these masks encode the special cases
    if mask == 0 and not (_value(now, 2, 2) != _value(before, 2, 2) and payload == 0):
        return None  # RFC 1144 3.2.3: probably a retransmission
    if mask == _SEQ | _ACK and sequence == acknowledged == payload:
        mask, deltas = _ECHOED, b""
    elif mask == _SEQ and sequence == payload:
        mask, deltas = _UNIDIRECTIONAL, b""
    identification = _moved(before, now, 4, 2)
    if identification != 1:
        mask |= _ID
        deltas += _encode_delta(identification)
    return mask | (_PUSH if now[ip + 13] & _PSH_FLAG else 0), deltas


def _changed_fields(before: bytes, now: bytes, ip: int) -> tuple[int, bytes] | None:
    """The same for the TCP header's numbers alone; None when one changed in a way that cannot be encoded."""
    mask, deltas = 0, b""
    urgent = _value(now, ip + 18, 2)
    if now[ip + 13] & _URG_FLAG:
        mask, deltas = _URGENT, _encode_delta(urgent)
    elif urgent != _value(before, ip + 18, 2):
        return None
    for bit, place, size in ((_WINDOW, 14, 2), (_ACK, 8, 4), (_SEQ, 4, 4)):
        delta = _moved(before, now, ip + place, size)
        if delta > 0xFFFF:
            return None
        if delta:
            mask |= bit
            deltas += _encode_delta(delta)
    return mask, deltas


def _value(headers: bytes, at: int, size: int) -> int:
    return int.from_bytes(headers[at : at + size], "big")


def _moved(before: bytes, now: bytes, at: int, size: int) -> int:
    """By how much a field grew, modulo its width."""
    return (_value(now, at, size) - _value(before, at, size)) & ((1 << 8 * size) - 1)


def _encode_delta(delta: int) -> bytes:
    return bytes([delta]) if 0 < delta < 256 else b"\0" + delta.to_bytes(2, "big")

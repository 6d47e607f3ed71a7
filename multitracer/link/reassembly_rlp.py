"""Reassembly of the IP packets that one direction of an RLP link carried: RLP frames, L2R, PPP, IP.

The information fields of the frames, in the order of their numbers and without L2R status octets,
are a stream of characters (27.002). The stream is PPP in HDLC-like framing (RFC 1662). The frames of an
IP packet are those that carried characters from its opening to its closing flag. A flag between two PPP
frames belongs to the one it closes, and also opens the next if no other flag follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multitracer.link.packets import CarriedPacket, Rows
from multitracer.wire import ppp, rlp
from multitracer.wire.vj import Decompressor

if TYPE_CHECKING:
    import pandas as pd


_EPOCH_NUMBERS = 1 << 40
"""Epoch and frame number are combined to one integer: epoch * _EPOCH_NUMBERS + number."""
_IP = (ppp.IP, ppp.IPV6, ppp.VJ_UNCOMPRESSED, ppp.VJ_COMPRESSED)
"""PPP's protocols that carry IP packets."""


@dataclass
class _Stream:
    """The characters of one direction, and the frame that carried each."""

    octets: bytearray = field(default_factory=bytearray)
    numbers: list[int] = field(default_factory=list)
    """Combined epoch and number of the frame of each octet."""
    breaks: list[int] = field(default_factory=list)
    """Offsets in `octets` before which characters are missing from the log."""


def reassemble(frames: pd.DataFrame, rows: Rows) -> list[CarriedPacket]:
    """The IP packets that `rows` of the frames table carried, in the order of their first transmission.

    `rows` are positions of all frames of one link direction as one end logged them, numbered by
    `link.frames.number_frames`. A packet is not `complete` if a reset flushed it before all of it was sent.
    A packet with a VJ compressed header (RFC 1144) is `garbled` if its TCP checksum is wrong after
    decompression.
    """
    columns = {name: frames[name].to_numpy()[rows] for name in ("epoch", "sn_unwrapped", "record")}
    data = frames["data"].to_numpy(dtype=object)[rows]
    order = np.argsort(columns["record"], kind="stable")
    order = order[columns["sn_unwrapped"][order] >= 0]
    carriers: dict[int, list[int]] = {}
    information: dict[int, bytes] = {}
    for place in order.tolist():
        number = int(columns["epoch"][place]) * _EPOCH_NUMBERS + int(columns["sn_unwrapped"][place])
        carriers.setdefault(number, []).append(int(rows[place]))
        if data[place] is not None:
            information.setdefault(number, data[place])
    stream, headers = _stream(carriers, information), Decompressor()
    packets = []
    for start, end in _between_flags(stream):
        packet = _packet(stream, start, end, headers)
        if packet is not None:
            packets.append(_carried(stream, start, end, packet, carriers))
    return packets


def _stream(carriers: dict[int, list[int]], information: dict[int, bytes]) -> _Stream:
    """The user characters in the order of the frames' numbers; a PPP frame may go on after a reset."""
    stream, expected = _Stream(), -1
    for number in sorted(carriers):
        follows = number == expected or number % _EPOCH_NUMBERS == 0
        if number not in information or not follows:
            stream.breaks.append(len(stream.octets))
        expected = number + 1
        for start, end in rlp.user_octets(information[number]) if number in information else ():
            stream.octets += information[number][start:end]
            stream.numbers += [number] * (end - start)
    return stream


def _between_flags(stream: _Stream) -> Iterator[tuple[int, int]]:
    """(Offset of the opening flag, of the closing flag) of each PPP frame that is whole in the log."""
    opening, after = stream.octets.find(ppp.FLAG), 0
    while opening >= 0:
        closing = stream.octets.find(ppp.FLAG, opening + 1)
        if closing < 0:
            return
        while after < len(stream.breaks) and stream.breaks[after] <= opening:
            after += 1
        broken = after < len(stream.breaks) and stream.breaks[after] <= closing
        if closing > opening + 1 and not broken:
            yield opening, closing
        opening = closing


class _Packet(NamedTuple):
    octets: bytes
    complete: bool = True
    garbled: bool = False


def _packet(stream: _Stream, start: int, end: int, headers: Decompressor) -> _Packet | None:
    """The IP packet of a PPP frame, None when it holds none; without octets where its headers cannot be rebuilt.

    A frame with a wrong FCS was cut off by a flush: it begins with the packet's first octets. The receiver
    discards it, so it is decompressed with a copy and does not change the decompressor's state.
    """
    content = ppp.unescape(bytes(stream.octets[start + 1 : end]))
    frame = ppp.parse(content)
    is_whole = frame is not None
    frame = frame or ppp.parse(content, check=False)
    if frame is None or frame.protocol not in _IP:
        return None
    octets = _decompressed(frame, headers if is_whole else deepcopy(headers)) or b""
    rebuilt = is_whole and octets and frame.protocol == ppp.VJ_COMPRESSED
    return _Packet(octets, complete=is_whole, garbled=bool(rebuilt) and not tcp_checksum_right(octets))


def _decompressed(frame: ppp.Frame, headers: Decompressor) -> bytes | None:
    if frame.protocol == ppp.VJ_UNCOMPRESSED:
        return headers.uncompressed(frame.payload)
    return headers.compressed(frame.payload) if frame.protocol == ppp.VJ_COMPRESSED else frame.payload


def tcp_checksum_right(packet: bytes) -> bool:
    """Whether the TCP checksum of a whole IPv4 packet is right (RFC 9293 3.1)."""
    header = (packet[0] & 15) * 4
    segment = packet[header:]
    pseudo = packet[12:20] + bytes([0, packet[9]]) + len(segment).to_bytes(2, "big")
    padded = pseudo + segment + b"\0" * (len(segment) & 1)
    total = int(np.frombuffer(padded, dtype=">u2").sum(dtype=np.int64))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total == 0xFFFF


def _carried(stream: _Stream, start: int, end: int, packet: _Packet, carriers: dict[int, list[int]]) -> CarriedPacket:
    """The packet with every transmission of every frame that carried any of its characters.

    The opening flag counts unless the packet before ends with it. The flag that ends a packet cut off by
    a flush is the next packet's.
    """
    first = start if start == 0 or stream.octets[start - 1] == ppp.FLAG else start + 1
    last = end + 1 if packet.complete else end
    in_frame = dict.fromkeys(stream.numbers[first:last], 0)
    for place in _payload_places(stream, start, end, packet.complete):
        in_frame[stream.numbers[place]] += 1
    rows = sorted((row, number) for number in in_frame for row in carriers[number])
    return CarriedPacket(
        packet.octets,
        np.array([row for row, _ in rows], dtype=np.int64),
        np.array(sorted(carriers[number][0] for number in in_frame), dtype=np.int64),
        np.array([in_frame[number] for _, number in rows], dtype=np.int32),
        min(in_frame) // _EPOCH_NUMBERS,
        complete=packet.complete,
        garbled=packet.garbled,
    )


def _payload_places(stream: _Stream, start: int, end: int, complete: bool) -> list[int]:
    """Offsets of the PPP frame's payload: all but flags, headers, escapes and FCS."""
    characters = stream.octets
    places = [place for place in range(start + 1, end) if characters[place] != ppp.ESCAPE]
    frame = ppp.parse(ppp.unescape(bytes(characters[start + 1 : end])), check=False)
    header = frame.header_bytes if frame is not None else 0
    return places[header : len(places) - ppp.FCS_BYTES] if complete else places[header:]

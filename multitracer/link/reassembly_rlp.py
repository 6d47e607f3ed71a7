"""What an RLP link carried: information fields put together into PPP frames, those into IP packets.

The frames of one direction make a stream of characters (27.002): first transmissions in order of
their numbers, without L2R status octets. The stream is PPP in HDLC-like framing; each IP packet in
it knows the frames that carried it, from its opening flag to its closing one. A flag between two
frames belongs to the one that it closes, and opens the next as well when no other comes.
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
"""Frame numbers of one epoch are below this: (epoch, number) as one integer."""


@dataclass
class _Stream:
    """The characters of one direction: their octets, and by which frame each came."""

    octets: bytearray = field(default_factory=bytearray)
    numbers: list[int] = field(default_factory=list)
    """Epoch and number of the frame of each octet."""
    breaks: list[int] = field(default_factory=list)
    """Places before which characters are missing from the log."""


def reassemble(frames: pd.DataFrame, rows: Rows) -> list[CarriedPacket]:
    """The IP packets that `rows` of the frames table carried, in the order they first went on the air.

    `rows` are positions of all frames of one link direction as one end logged them, numbered by
    `link.frames`. A packet whose frames were flushed before all of it was sent is not `complete`;
    one rebuilt from a compressed header is `garbled` when its TCP checksum is wrong.
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
    """The user characters in the order of their numbers; a reset does not end a packet begun before it."""
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
    """(Place of the opening flag, of the closing one) of each PPP frame that is whole in the log."""
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
    """The IP packet of a PPP frame, None when it holds none.

    A frame whose check fails was cut by a flush: its beginning is the packet's, and the far end's
    decompressor, whose state is not this one's, never saw it.
    """
    content = ppp.unescape(bytes(stream.octets[start + 1 : end]))
    frame = ppp.parse(content)
    if frame is None:
        cut = ppp.parse(content, check=False)
        if cut is None:
            return None
        octets = _decompressed(cut, deepcopy(headers))
        return None if octets is None else _Packet(octets, complete=False)
    octets = _decompressed(frame, headers)
    if octets is None:
        return None
    compressed = frame.protocol == ppp.VJ_COMPRESSED
    return _Packet(octets, garbled=compressed and not tcp_checksum_right(octets))


def _decompressed(frame: ppp.Frame, headers: Decompressor) -> bytes | None:
    if frame.protocol in (ppp.IP, ppp.IPV6):
        return frame.payload
    if frame.protocol == ppp.VJ_UNCOMPRESSED:
        return headers.uncompressed(frame.payload)
    return headers.compressed(frame.payload) if frame.protocol == ppp.VJ_COMPRESSED else None


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


def _carried(
    stream: _Stream, start: int, end: int, packet: _Packet, carriers: dict[int, list[int]]
) -> CarriedPacket:
    """The packet with every transmission of every frame that had any of its characters.

    The opening flag counts when it is the packet's own: when the character before it is not the end
    of a packet that shares it. The flag that a flush cut a packet off with is the next one's.
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
    """Where the frame's payload is: all but flags, headers, escapes and the check sequence."""
    characters = stream.octets
    places = [place for place in range(start + 1, end) if characters[place] != ppp.ESCAPE]
    frame = ppp.parse(ppp.unescape(bytes(characters[start + 1 : end])), check=False)
    header = frame.header_bytes if frame is not None else 0
    return places[header : len(places) - ppp.FCS_BYTES] if complete else places[header:]

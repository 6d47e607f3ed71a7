"""PPP on the link, and TCP/IP headers compressed by RFC 1144: what a packet measures there, and what a loss breaks.

A compressed header holds what changed since the packet before of its connection. If that one was lost on the link, the
header is rebuilt wrong, TCP's checksum is then wrong, and the receiver discards the segment without an answer; and so
on until a packet comes whose header is whole. TCP itself brings those about: a segment sent again goes back in the
sequence space, which no compressed header can say (RFC 1144 3.2.3).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from multitracer.compute.kernels import inlined, kernel, merged
from multitracer.replay.arq.fields import NEVER, codes, dtype, numbers, record
from multitracer.replay.tcp.packets import DATA, FIN, SYN

PPP_OCTETS = 7
"""Flag, address, control, protocol, FCS (RFC 1662 3.1), one flag between frames; octets are not escaped."""
HEADER_OCTETS, TIMESTAMP_OCTETS = 40, 12
"""IP and TCP headers, and what the timestamp option adds with its padding."""
CONTEXTS = 16
"""Connections that a compressor remembers (RFC 1144 3.2.2)."""
ROOM = 1 << 14
"""Packets on the link of which is known how they were compressed, a power of two."""
PLAIN, WHOLE, LEAST = codes(3, -1)
"""What `compressed_octets` gives for a packet that is sent as it is (TYPE_IP), and for one whose header is whole but
marked (TYPE_UNCOMPRESSED_TCP); other values are the octets of a compressed header."""
MASK_AND_CHECKSUM = 3
LARGEST_DELTA = 65_535
NO_TCP = SYN | FIN | 16
"""Flags of packets that are not compressed: SYN, FIN, and that of packets that are not TCP's."""

RULES = numbers("octets vj header_octets payload_octets stamp_ns")
"""Octets that PPP adds; whether headers are compressed; octets that a compressed header stands for; application octets
of a full segment; how long a timestamp keeps its value (ns)."""
STATE = numbers("discards")
CONTEXT = numbers("connection number place ack window payload id stamp echo blocks")
"""Of one connection in one direction, as its last packet was: connection + 1 (0: none); its number on the link; its
segment, acknowledgement and window in segments, its octets of payload, IP identifier, timestamps and SACK blocks."""
WAY = numbers("ids last")
"""Of one direction: packets of its host so far, whose identifiers go up by 1; the context of the last one."""
MARK = numbers("context form before")
"""Of a packet on the link: its context, how it was sent, and the number of its context's packet before it."""
DECODER = numbers("number")
"""Of one context of a decompressor: the packet that its state was taken from."""


FRAMING = dtype([
    ("rules", RULES), ("state", STATE), ("ways", WAY, (2,)), ("contexts", CONTEXT, (2, CONTEXTS)),
    ("marks", MARK, (2, ROOM)), ("decoders", DECODER, (2, CONTEXTS)),
])  # fmt: skip
"""Both directions of a link, by the side that sends."""

Framing: TypeAlias = Any
"""A record of FRAMING."""


def framing(
    octets: int = 0, *, vj: bool = False, timestamps: bool = False, payload_octets: int = 1, tick_ns: int = NEVER
) -> Framing:
    """Nothing sent yet; `octets` are those that PPP adds to a packet, `tick_ns` that of the timestamps."""
    made = record(FRAMING)
    rules = made.rules
    rules.octets, rules.vj, rules.payload_octets = octets, vj, payload_octets
    rules.header_octets = HEADER_OCTETS + TIMESTAMP_OCTETS * timestamps
    rules.stamp_ns = tick_ns if timestamps else NEVER
    return made


@inlined
def framed_octets(link: Framing, way: int, packet: Any) -> int:
    """Octets of a packet on the link."""
    octets = packet.octets + link.rules.octets
    if link.rules.vj:
        header = compressed_octets(link, way, packet)
        if header >= LEAST:
            octets += header - min(link.rules.header_octets, packet.octets)
    return octets


@kernel
def compressed_octets(link: Framing, way: int, packet: Any) -> int:
    """Octets of the packet's compressed header; WHOLE or PLAIN where it is not compressed (RFC 1144 3.2.3)."""
    rules, at = link.rules, packet.connection & (CONTEXTS - 1)
    c, known = link.contexts[way, at], link.ways[way]
    if packet.bits & NO_TCP:
        return PLAIN
    options = packet.blocks + c.blocks > 0 or (
        packet.sent_ns // rules.stamp_ns != c.stamp or packet.echo_ns // rules.stamp_ns != c.echo
    )
    if c.connection != packet.connection + 1 or options:
        return WHOLE
    place, payload = placed(c, packet), max(packet.octets - rules.header_octets, 0)
    seq = c.payload if place == c.place + 1 and c.payload > 0 else (place - c.place) * rules.payload_octets
    ack = (packet.ack - c.ack) * rules.payload_octets
    window = (packet.limit - packet.ack - c.window) * rules.payload_octets
    if min(seq, ack) < 0 or max(seq, ack) > LARGEST_DELTA:
        return WHOLE
    header = MASK_AND_CHECKSUM + int(known.last != at) + (0 if known.ids - c.id == 0 else 1)
    if seq == ack == window == 0:
        return header if payload > 0 and c.payload == 0 else WHOLE  # else it was sent again, or says nothing new
    if window == 0 and seq == c.payload and seq > 0 and ack in (0, seq):
        return header
    return header + delta_octets(seq) + delta_octets(ack) + delta_octets(window)


@inlined
def placed(context: Any, packet: Any) -> int:
    """The packet's place in the sequence space, in segments; a pure ACK stands after what was sent before it."""
    if packet.bits & DATA:
        return packet.seq
    return context.place + (1 if context.payload > 0 else 0)


@inlined
def delta_octets(delta: int) -> int:
    """Octets in which a change is written: 0 for none, 1 up to 255, else 3; the window's may be negative."""
    if delta == 0:
        return 0
    return 1 if 0 < delta < 256 else 3


@inlined
def remember(link: Framing, way: int, number: int, packet: Any) -> None:
    """The packet went on the link under a number: what later headers are compressed against."""
    if link.rules.vj:
        note_sent_on(link, way, number, packet)


@merged
def note_sent_on(link: Framing, way: int, number: int, packet: Any) -> None:
    """Mark the packet with how it was sent, and keep it as its context's last."""
    rules, at = link.rules, packet.connection & (CONTEXTS - 1)
    c, mark, known = link.contexts[way, at], link.marks[way, number & (ROOM - 1)], link.ways[way]
    mark.form, mark.context, mark.before = compressed_octets(link, way, packet), at, c.number
    known.ids += 1
    if mark.form == PLAIN:
        return
    c.place = placed(c, packet)
    c.connection, c.number, c.ack, c.window = packet.connection + 1, number, packet.ack, packet.limit - packet.ack
    c.payload = max(packet.octets - rules.header_octets, 0)
    c.id, c.stamp, c.echo = known.ids, packet.sent_ns // rules.stamp_ns, packet.echo_ns // rules.stamp_ns
    c.blocks = packet.blocks
    known.last = at


@inlined
def is_read(link: Framing, kind: int, number: int) -> bool:
    """Whether a packet that came, an SDU of this kind (see engine.ledger), has the header that it was sent with."""
    return link.rules.vj == 0 or kind > 1 or rebuild(link, kind, number)


@merged
def rebuild(link: Framing, way: int, number: int) -> bool:
    """Let the decompressor take in a packet that came; whether its header is right, and counted where not."""
    mark = link.marks[way, number & (ROOM - 1)]
    decoder = link.decoders[way, mark.context]
    if mark.form == PLAIN:
        return True
    if mark.form != WHOLE and decoder.number != mark.before:
        link.state.discards += 1
        return False
    decoder.number = number
    return True

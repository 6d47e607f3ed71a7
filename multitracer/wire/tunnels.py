"""IP packets out of tunnels, compressed headers and rare link layers.

Works on one record at a time in plain Python, since captures hold few of them; what is common is opened in compiled
code too (`layers`, `udp_tunnels`), with the same results. Sources: RFC 1661 and 1662 (PPP), RFC 1332 4 (compressed
headers over PPP), RFC 3518 (bridging over PPP), tcpdump.org/linktypes (SLIP, switch tags), and those that the modules
of envelopes name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from multitracer.wire import datagram_envelopes, frame_envelopes, ip_envelopes, juniper
from multitracer.wire.inside import (
    ETHERNET,
    IEEE_802_11,
    IPV4,
    IPV6,
    MPLS,
    PPP,
    Closed,
    Inside,
    Part,
    Step,
    Tunnel,
    if_ip,
    number,
    tunnel_of,
)
from multitracer.wire.layers import PROTOCOL_UDP, RARE_HARDWARE, RAW_IP
from multitracer.wire.rare_links import PKTAP, RareLinkDecoder
from multitracer.wire.reassembly import is_fragment, version_of

if TYPE_CHECKING:
    from multitracer.wire.vj import Decompressor

_SLIP = 8
_SLIP_DIRECTION_BYTES = 16
_MOST_HEADERS = 48
"""Headers around a packet that are looked behind: of some 16 tunnels."""

_IP_KINDS = {0x21: IPV4, 0x57: IPV6, 0x281: MPLS, 0x283: MPLS}
"""EtherTypes of PPP protocols (RFC 1332 2.1, RFC 5072 2, RFC 3032 4.3)."""
_VJ_UNCOMPRESSED, _VJ_COMPRESSED, _BRIDGED = 0x2F, 0x2D, 0x31
_BRIDGED_ETHERNET = 1
_CLOSED_PPP = {
    0x3D: "multilink PPP", 0x53: "encrypted PPP", 0xFB: "compressed PPP", 0xFD: "compressed PPP",
    **dict.fromkeys((0x61, 0x63, 0x2063), "headers compressed by RFC 2507"), **dict.fromkeys((0x03, 0x05), "ROHC"),
}  # fmt: skip
"""By their protocols in PPP: of RFC 2507 those that may be TCP (RFC 3544 2.2), of ROHC both (RFC 3241 3)."""
_CISCO_HDLC = (b"\x0f\x00", b"\x8f\x00")
_NOWHERE = 1 << 20
_HEADERS = {113: (16, 14), 276: (20, 0), 104: (4, 2)}
"""Octets before the payload, and where the EtherType is: both kinds of Linux cooked captures, Cisco's HDLC."""
_HARDWARE_AT = {113: 2, 276: 8, 104: _NOWHERE}
"""Where the ARPHRD is."""
_FDDI, _FDDI_BYTES, _IPNET, _IPNET_BYTES = 10, 13, 226, 24
_BROADCOM, _BROADCOM_FIRST, _MARVELL, _MARVELL_ETHERTYPE = 281, 282, 284, 285
_ADDRESSES_BYTES, _BROADCOM_BYTES = 12, 4
ADDRESS_OCTETS = {1: 12, 113: 14, 276: 20}
"""Octets at the start of a record that name its sender and receiver, by link type."""
_WITH_DIRECTION = (166, 204, 205, 206)
"""Link types whose first octet is 0 in what was received."""
_PKTAP_NAME, _PKTAP_FLAGS, _PKTAP_DIRECTION = slice(12, 36), slice(36, 37), 0x03
_JUNIPER_FLAGS, _JUNIPER_IN = slice(3, 4), 0x01


class Opened(NamedTuple):
    """An IP packet out of a record, and the tunnels that it was in, outermost first."""

    octets: bytes
    steps: tuple[Step, ...]
    part: Part | None = None
    """In place of an IP packet, a fragment that the last tunnel has made."""

    @property
    def is_fragment(self) -> bool:
        """Whether it is a part of what was to be one packet."""
        return self.part is not None or is_fragment(self.octets)

    @property
    def tunnel(self) -> Tunnel | None:
        """The tunnels as flows have them."""
        return tunnel_of(self.steps)


class _Origin(NamedTuple):
    """One direction of a line that a record was captured on, and how many octets were left out at its end."""

    line: Hashable
    missing: int


class TunnelDecoder:
    """Decodes records in capture order, since header decompression keeps state between packets."""

    def __init__(self) -> None:
        self._headers: dict[Hashable, Decompressor] = {}
        self._links = RareLinkDecoder()

    def packets(
        self, octets: bytes, link_type: int, steps: tuple[Step, ...] = (), *, missing: int = 0, place: Hashable = None
    ) -> Iterator[Opened | Closed]:
        """The innermost IP packets of a record, or the envelope that cannot be opened; nothing for what has no IP.

        `steps` are tunnels that the record was taken out of; `missing` octets of the record were left out at its end;
        `place` is where it was captured, and which way it went, as far as its octets do not say so.
        """
        origin = _Origin((place, _way(octets, link_type)), missing)
        for inside in self._link_contents(octets, link_type, origin):
            yield from self._innermost(inside, steps, origin, 0)

    def of_fragments(self, octets: bytes, steps: tuple[Step, ...]) -> Iterator[Opened | Closed]:
        """The innermost IP packets of what fragments were put together to: an IP datagram, or a tunnel's packet."""
        if version_of(octets):
            yield from self.packets(octets, RAW_IP, steps)
            return
        inside = datagram_envelopes.capwap(octets)
        if isinstance(inside, Closed):
            yield inside
        elif isinstance(inside, Inside) and datagram_envelopes.is_consistent(inside, octets, len(octets)):
            yield from self._innermost(inside._replace(label=""), steps, _Origin(None, 0), 0)

    def _innermost(
        self, inside: Inside, steps: tuple[Step, ...], origin: _Origin, depth: int
    ) -> Iterator[Opened | Closed]:
        """The packets within all envelopes, the outermost of which is `inside`."""
        for level in range(depth, _MOST_HEADERS):
            if inside.kind == IEEE_802_11:
                for kind, octets in self._links.payloads(inside.octets, -IEEE_802_11, whole=not origin.missing):
                    yield from self._innermost(Inside(kind, octets), steps, origin, level + 1)
                return
            if inside.kind in (IPV4, IPV6) and is_fragment(inside.octets):
                yield Opened(inside.octets, steps)
                return
            content, step = self._within(inside, steps, origin)
            if isinstance(content, Closed):
                yield content
                return
            if isinstance(content, Part):
                yield Opened(content.octets, steps + step, content)
                return
            if content is None:
                if inside.kind in (IPV4, IPV6) and inside.octets:
                    yield Opened(inside.octets, steps)
                return
            inside, steps = content, steps + step
        yield Closed(f"more than {_MOST_HEADERS} headers")

    def _within(
        self, inside: Inside, steps: tuple[Step, ...], origin: _Origin
    ) -> tuple[Inside | Part | Closed | None, tuple[Step, ...]]:
        """The content of one envelope, and the step into it if it is a tunnel."""
        content: Inside | Part | Closed | None
        source = destination = b""
        if inside.kind == PPP:
            content = self._ppp(inside.octets, steps, origin)
        elif inside.kind in (IPV4, IPV6):
            packet = ip_envelopes.packet_of(inside.octets)
            content = packet and ip_envelopes.opened(packet)
            source, destination = (packet.source, packet.destination) if packet else (b"", b"")
        else:
            content = frame_envelopes.opened(inside.kind, inside.octets)
        if content is None or isinstance(content, Closed) or not content.label:
            return content, ()
        return content, (Step(content.label, content.unique, source, destination),)

    def _link_contents(self, octets: bytes, link_type: int, origin: _Origin) -> list[Inside]:
        """What the link layer of a record carries."""
        content: Inside | None
        if link_type in (12, 14, 101, 228, 229):
            content = if_ip(octets)
        elif link_type in (0, 108):
            content = if_ip(octets[4:])
        elif link_type in (9, 50):
            content = Inside(PPP, octets)
        elif link_type == 1:
            content = Inside(ETHERNET, octets)
        elif link_type == _SLIP:
            content = self._slip(octets, origin)
        elif link_type in _HEADERS and number(octets, _HARDWARE_AT[link_type]) not in RARE_HARDWARE:
            at, kind_at = _HEADERS[link_type]
            content = Inside(number(octets, kind_at), octets[at:])
        elif link_type == _FDDI:
            content = frame_envelopes.llc(octets[_FDDI_BYTES:])
        elif link_type == _IPNET:
            content = if_ip(octets[_IPNET_BYTES:])
        elif link_type in (_BROADCOM, _BROADCOM_FIRST, _MARVELL, _MARVELL_ETHERTYPE):
            content = _switch_tagged(octets, link_type)
        else:
            found = self._links.payloads(octets, link_type, whole=not origin.missing)
            return [Inside(kind, rest) for kind, rest in found]
        return [content] if content else []

    def _stream(self, name: Hashable) -> Decompressor:
        """The compressed headers of one direction of a line (RFC 1144 3.2: each end numbers slots of its own)."""
        from multitracer.wire.vj import Decompressor

        return self._headers.setdefault(name, Decompressor())

    def _ppp(self, frame: bytes, steps: tuple[Step, ...], origin: _Origin) -> Inside | Closed | None:
        """What a PPP frame carries, with or without flag, address and control octets; or Cisco's HDLC in its place."""
        if frame[:2] in _CISCO_HDLC:
            return Inside(number(frame, 2), frame[4:])
        frame = frame.removeprefix(b"\x7e").removeprefix(b"\xff\x03")
        if not frame:
            return None
        size = 1 if frame[0] & 1 else 2  # RFC 1661 6.5: a compressed protocol field is one odd octet
        protocol, rest = number(frame, 0, size), frame[size:]
        if protocol == _VJ_UNCOMPRESSED:
            return if_ip(self._stream((origin.line, steps)).uncompressed(rest) or b"")
        if protocol == _VJ_COMPRESSED:
            return if_ip(self._stream((origin.line, steps)).compressed(rest, origin.missing) or b"")
        if protocol == _BRIDGED and rest[1:2] == bytes([_BRIDGED_ETHERNET]):
            return Inside(ETHERNET, rest[2:])
        if protocol in _IP_KINDS:
            return Inside(_IP_KINDS[protocol], rest)
        return Closed(_CLOSED_PPP[protocol]) if protocol in _CLOSED_PPP else None

    def _slip(self, record: bytes, origin: _Origin) -> Inside | None:
        """Decode a SLIP record: 16 octets of direction and header, then the datagram, compressed or not."""
        body = record[_SLIP_DIRECTION_BYTES:]
        if len(record) < _SLIP_DIRECTION_BYTES + 1:
            return None
        headers = self._stream((origin.line, _SLIP, record[0]))
        if record[1] & 0x80:
            return if_ip(headers.compressed(body, origin.missing) or b"")
        return if_ip((headers.uncompressed(body) or b"") if record[1] & 0xF0 == 0x70 else body)


def _way(octets: bytes, link_type: int) -> Hashable:
    """What a record says of its sender, or of the way that it went: equal for all of one direction of a line."""
    if link_type in _WITH_DIRECTION:
        return octets[:1] not in (b"", b"\0")
    if link_type == PKTAP:
        return octets[_PKTAP_NAME], number(octets[_PKTAP_FLAGS], 0, 1) & _PKTAP_DIRECTION
    if link_type in juniper.LINK_TYPES:
        return number(octets[_JUNIPER_FLAGS], 0, 1) & _JUNIPER_IN
    return octets[: ADDRESS_OCTETS.get(link_type, 0)]


def is_datagram(octets: bytes) -> bool:
    """Whether an IP packet carries UDP."""
    packet = ip_envelopes.packet_of(octets)
    return packet is not None and packet.protocol == PROTOCOL_UDP


def _switch_tagged(octets: bytes, link_type: int) -> Inside | None:
    """A frame with the tag of a switch, before its addresses or behind them."""
    if link_type == _BROADCOM_FIRST:
        return Inside(ETHERNET, octets[_BROADCOM_BYTES:])
    behind = octets[_ADDRESSES_BYTES:]
    if link_type == _BROADCOM:
        return Inside(number(behind, _BROADCOM_BYTES), behind[_BROADCOM_BYTES + 2 :])
    return frame_envelopes.dsa(behind) if link_type == _MARVELL else Inside(ETHERNET, octets)

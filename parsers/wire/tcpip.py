"""From captured octets to TCP header fields in one pass: link layers, IPv4, IPv6 and TCP.

Sources: tcpdump.org/linktypes, IEEE 802.1Q and 802.1ad, RFC 2516 (PPPoE), RFC 791, RFC 8200,
RFC 9293 3.1, RFC 7323, RFC 2018. Lengths are the IP header's, not the capture's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.kernels import kernel
from multitracer.tables import (
    OPTION_MSS,
    OPTION_SACK,
    OPTION_SACK_PERMITTED,
    OPTION_TIMESTAMPS,
    OPTION_WSCALE,
    SYN,
)  # fmt: skip

RAW_IP = 101

# Link types by how the network layer is found (tcpdump.org/linktypes).
(_ETHERNET, _RAW, _SLL, _SLL2, _NULL, _PPP, _CHDLC, _FDDI, _IPNET, _ODD, _USER, _NONE) = range(12)
LINK_TYPES = {
    1: _ETHERNET, 12: _RAW, 14: _RAW, 101: _RAW, 228: _RAW, 229: _RAW, 113: _SLL, 276: _SLL2, 0: _NULL, 108: _NULL,
    9: _PPP, 50: _PPP, 104: _CHDLC, 10: _FDDI, 226: _IPNET, 8: _ODD, 239: _ODD, 258: _ODD,
}  # fmt: skip
_USER_LINK_TYPES = frozenset({*range(147, 163), 252})

# What became of a record.
(TCP, UDP, QUIC, ICMP, OTHER, FRAGMENT, CUT, MALFORMED, EMPTY, UNKNOWN, LINK_FRAME, NO_LINK_TYPE) = range(12)

_PROTOCOL_TCP, _PROTOCOL_UDP, _PROTOCOL_ICMP, _PROTOCOL_ICMP6 = 6, 17, 1, 58
_IPIP, _IPV6_INSIDE, _GRE = 4, 41, 47
_HOP, _ROUTING, _FRAGMENT_HEADER, _AUTHENTICATION, _DESTINATION = 0, 43, 44, 51, 60
_GSMTAP_PORT = 4729
_GTP_PORT = 2152
_HTTPS = 443
_LEAST_TCP = 20

# Columns of one record's result in `wide` (int64): those that need more than the narrow arrays.
_HASH_START = 1 << 12


@dataclass
class Decoded:
    """`status` is per record; `columns` are those of the packets table for `rows`, the TCP records.

    `sack` and `syn` have rows (packet, left, right) and (packet, mss, wscale); `flow_first` holds
    where the IP header of each flow's first packet starts.
    """

    status: Any
    rows: Any
    columns: dict[str, Any]
    sack: Any
    syn: Any
    flow_first: Any
    link_frame_at: dict[int, int]


_COLUMNS = {
    "flow": np.int32, "direction": np.int8, "raw_seq": np.uint32, "raw_ack": np.uint32, "payload_bytes": np.int32,
    "flags": np.uint16, "raw_window": np.uint16, "tsval": np.uint32, "tsecr": np.uint32, "options": np.uint8,
    "ip_id": np.int32, "checksum": np.uint16, "checksum_ok": np.int8, "wire_bytes": np.int32,
}  # fmt: skip


def decode(data: Any, offset: Any, captured: Any, original: Any, interface: Any, link_types: Any) -> Decoded:
    """Decode every record; `link_types` gives each interface's."""
    kinds = np.array([_family(int(kind)) for kind in link_types], dtype=np.int64)
    count = len(offset)
    status = np.zeros(count, dtype=np.int8)
    columns = {name: np.empty(count, dtype=dtype) for name, dtype in _COLUMNS.items()}
    where = np.empty(count, dtype=np.int32)  # of the IP header, from the record's start
    sack, syn = np.empty((1 << 12, 3), dtype=np.int64), np.empty((1 << 10, 3), dtype=np.int64)
    table, first = np.full(_HASH_START, -1, dtype=np.int64), np.empty(_HASH_START // 2, dtype=np.int64)
    state = np.zeros(5, dtype=np.int64)  # next record, TCP packets, SACK blocks, SYN rows, flows
    while state[0] < count:
        decode_rows(
            data, offset, captured, original, interface, kinds, status, where, state, table, first, sack, syn,
            *columns.values(),
        )  # fmt: skip
        if state[2] + 64 > len(sack):
            sack = np.concatenate([sack, np.empty_like(sack)])
        if state[3] + 2 > len(syn):
            syn = np.concatenate([syn, np.empty_like(syn)])
        if 2 * (state[4] + 1) > len(table):
            table, first = _grown(data, first, int(state[4]), 4 * len(table))
    found = int(state[1])
    if found < count:
        # Copied, so that the room for all records is given back.
        columns = {name: values[:found].copy() for name, values in columns.items()}
        rows = np.flatnonzero(status == TCP)
    else:
        rows = np.arange(count)
    frames = np.flatnonzero(status == LINK_FRAME)
    at = {int(row): int(offset[row]) + int(where[row]) for row in frames}
    return Decoded(status, rows, columns, sack[: state[2]].copy(), syn[: state[3]].copy(), first[: state[4]].copy(), at)


def _family(kind: int) -> int:
    return _USER if kind in _USER_LINK_TYPES else LINK_TYPES.get(kind, _NONE)


def _grown(data: Any, first: Any, flows: int, size: int) -> tuple[Any, Any]:
    table = np.full(size, -1, dtype=np.int64)
    bigger = np.empty(size // 2, dtype=np.int64)
    bigger[:flows] = first[:flows]
    rehash(data, bigger, flows, table)
    return table, bigger


def transport_of(data: Any, ip: int) -> int:
    """Where the transport header of the packet at `ip` starts."""
    return int(transport(data, ip, len(data))[1])


@kernel
def big16(data: Any, at: int) -> int:
    """Two octets, most significant first."""
    return int(np.int64(data[at]) << 8 | np.int64(data[at + 1]))


@kernel
def big32(data: Any, at: int) -> int:
    """Four octets, most significant first."""
    return big16(data, at) << 16 | big16(data, at + 2)


@kernel
def by_ethertype(data: Any, at: int, end: int, kind: int) -> int:
    """Where the IP header starts behind an EtherType `kind` whose payload is at `at`; negative: -1 - status."""
    while kind == 0x8100 or kind == 0x88A8 or kind == 0x9100:
        if at + 4 > end:
            return -1 - CUT
        kind = big16(data, at + 2)
        at += 4
    if kind == 0x8864:  # PPPoE session (RFC 2516): six octets, then a PPP protocol
        if at + 8 > end:
            return -1 - CUT
        protocol = big16(data, at + 6)
        if protocol == 0x0021 or protocol == 0x0057:
            return at + 8
        return -1 - (UNKNOWN if protocol == 0x002D or protocol == 0x002F else OTHER)
    if kind == 0x8847 or kind == 0x8848:  # MPLS: labels up to the bottom of the stack
        while at + 4 <= end and data[at + 2] & 1 == 0:
            at += 4
        return at + 4 if at + 4 <= end else -1 - CUT
    if kind == 0x0800 or kind == 0x86DD:
        return at
    if kind <= 1500 and at + 8 <= end and data[at] == 0xAA and data[at + 1] == 0xAA:  # LLC and SNAP
        kind = big16(data, at + 6)
        return at + 8 if kind == 0x0800 or kind == 0x86DD else -1 - OTHER
    return -1 - OTHER


@kernel
def behind_ppp(data: Any, at: int, end: int) -> int:
    """Where the IP header starts in a PPP frame, with or without address, control and flag octets."""
    if at < end and data[at] == 0x7E:
        at += 1
    if at + 1 < end and data[at] == 0xFF and data[at + 1] == 0x03:
        at += 2
    if at >= end:
        return -1 - CUT
    if data[at] & 1:  # RFC 1661 2: a compressed protocol field is one odd octet
        protocol = np.int64(data[at])
        at += 1
    else:
        if at + 2 > end:
            return -1 - CUT
        protocol = big16(data, at)
        at += 2
    if protocol == 0x21 or protocol == 0x57:
        return at
    return -1 - (UNKNOWN if protocol == 0x2D or protocol == 0x2F else OTHER)


@kernel
def network(data: Any, at: int, end: int, kind: int) -> int:
    """Where the IP header of a record starts; -1 - status where there is none."""
    if kind == _RAW:
        return at
    if kind == _ETHERNET:
        return by_ethertype(data, at + 14, end, big16(data, at + 12)) if at + 14 <= end else -1 - CUT
    if kind == _SLL:
        return by_ethertype(data, at + 16, end, big16(data, at + 14)) if at + 16 <= end else -1 - CUT
    if kind == _SLL2:
        return by_ethertype(data, at + 20, end, big16(data, at)) if at + 20 <= end else -1 - CUT
    if kind == _CHDLC:
        return by_ethertype(data, at + 4, end, big16(data, at + 2)) if at + 4 <= end else -1 - CUT
    if kind == _FDDI:
        return by_ethertype(data, at + 13, end, 0) if at + 21 <= end else -1 - CUT
    if kind == _IPNET:
        return at + 24 if at + 24 <= end else -1 - CUT
    if kind == _PPP:
        return behind_ppp(data, at, end)
    if kind == _NULL:
        # The family is the capturing host's, in its own byte order: what follows tells the version.
        return at + 4 if at + 4 <= end else -1 - CUT
    return -1 - (UNKNOWN if kind == _ODD else NO_LINK_TYPE)


@kernel
def transport(data: Any, ip: int, end: int) -> Any:
    """(Protocol or -1 - status, where its header starts, where the datagram ends) of the packet at `ip`.

    The datagram's end is 0 where the length field is (segmentation offload, jumbograms).
    """
    if ip >= end:
        return np.int64(-1 - CUT), np.int64(0), np.int64(0)
    version = np.int64(data[ip]) >> 4
    if version == 4:
        if ip + 20 > end:
            return np.int64(-1 - CUT), np.int64(0), np.int64(0)
        header = np.int64(data[ip] & 15) * 4
        length = big16(data, ip + 2)
        if header < 20 or (length != 0 and length < header):
            return np.int64(-1 - MALFORMED), np.int64(0), np.int64(0)
        if big16(data, ip + 6) & 0x1FFF:
            return np.int64(-1 - FRAGMENT), np.int64(0), np.int64(0)
        return np.int64(data[ip + 9]), np.int64(ip + header), np.int64(0 if length == 0 else ip + length)
    if version != 6:
        return np.int64(-1 - OTHER), np.int64(0), np.int64(0)
    if ip + 40 > end:
        return np.int64(-1 - CUT), np.int64(0), np.int64(0)
    length = big16(data, ip + 4)
    stop = np.int64(0 if length == 0 else ip + 40 + length)
    following, at = np.int64(data[ip + 6]), np.int64(ip + 40)
    while following in (_HOP, _ROUTING, _DESTINATION, _FRAGMENT_HEADER, _AUTHENTICATION):
        if at + 8 > end:
            return np.int64(-1 - CUT), np.int64(0), np.int64(0)
        if following == _FRAGMENT_HEADER:
            if big16(data, at + 2) & 0xFFF8:
                return np.int64(-1 - FRAGMENT), np.int64(0), np.int64(0)
            size = np.int64(8)
        elif following == _AUTHENTICATION:
            size = (np.int64(data[at + 1]) + 2) * 4
        else:
            size = (np.int64(data[at + 1]) + 1) * 8
        following = np.int64(data[at])
        at += size
    return following, at, stop


@kernel
def mixed(one: int, other: int) -> int:
    """A spread of two numbers; factors are kept below 2**31 and 2**32, so that no product overflows."""
    spread = (one & 0x7FFFFFFF) * np.int64(0x9E3779B1)
    spread = ((spread ^ spread >> 31 ^ other) & 0x7FFFFFFF) * np.int64(0x85EBCA77)
    return int(spread ^ spread >> 29)


@kernel
def flow_hash(data: Any, ip: int, tcp: int) -> int:
    """The same number for both directions of a flow."""
    total = np.int64(0)
    if data[ip] >> 4 == 4:
        total = big32(data, ip + 12) + big32(data, ip + 16)
    else:
        for word in range(8, 40, 4):
            total += big32(data, ip + word)
    return mixed(total, big16(data, tcp) * big16(data, tcp + 2))


@kernel
def same_flow(data: Any, ip: int, tcp: int, other: int, its_tcp: int) -> int:
    """0 same flow and direction, 1 the other direction, -1 another flow."""
    version = data[ip] >> 4
    if version != data[other] >> 4:
        return -1
    size = 4 if version == 4 else 16
    source = 12 if version == 4 else 8
    straight, turned = True, True
    for i in range(size):
        here, there = data[ip + source + i], data[ip + source + size + i]
        straight = straight and here == data[other + source + i] and there == data[other + source + size + i]
        turned = turned and there == data[other + source + i] and here == data[other + source + size + i]
    for i in range(2):
        here, there = data[tcp + i], data[tcp + 2 + i]
        straight = straight and here == data[its_tcp + i] and there == data[its_tcp + 2 + i]
        turned = turned and there == data[its_tcp + i] and here == data[its_tcp + 2 + i]
    if straight:
        return 0
    return 1 if turned else -1


@kernel
def rehash(data: Any, first: Any, flows: int, table: Any) -> None:
    """Enter all flows into an empty table."""
    for flow in range(flows):
        ip = first[flow]
        slot = flow_hash(data, ip, transport(data, ip, len(data))[1]) % len(table)
        while table[slot] >= 0:
            slot = (slot + 1) % len(table)
        table[slot] = flow


@kernel
def ones_sum(data: Any, start: int, end: int, total: int) -> int:
    """`total` plus the 16-bit words of data[start:end], the last octet padded (RFC 1071)."""
    at = start
    while at + 1 < end:
        total += big16(data, at)
        at += 2
    if at < end:
        total += int(np.int64(data[at]) << 8)
    return total


@kernel
def folded(total: int) -> int:
    """A sum of words in 16 bits, carries added back (RFC 1071)."""
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@kernel
def checksum_right(data: Any, ip: int, tcp: int, stop: int) -> int:
    """Whether the TCP checksum is right (RFC 9293 3.1): 1, 0, or -1 where the network card was to fill it in.

    A sender that leaves it to the card writes the sum of the pseudo-header alone.
    """
    pseudo = np.int64(_PROTOCOL_TCP) + (stop - tcp)
    if data[ip] >> 4 == 4:
        pseudo = ones_sum(data, ip + 12, ip + 20, pseudo)
    else:
        pseudo = ones_sum(data, ip + 8, ip + 40, pseudo)
    if folded(ones_sum(data, tcp, stop, pseudo)) == 0xFFFF:
        return 1
    return -1 if folded(pseudo) == big16(data, tcp + 16) else 0


@kernel
def udp_status(data: Any, at: int, end: int) -> int:
    """What a UDP datagram is: a link frame's carrier, QUIC, or other UDP."""
    if at + 8 > end:
        return UDP
    source, destination = big16(data, at), big16(data, at + 2)
    if source == _GSMTAP_PORT or destination == _GSMTAP_PORT:
        return LINK_FRAME
    if destination == _GTP_PORT:
        return UNKNOWN
    if at + 14 <= end:
        a, b, c, d = data[at + 8], data[at + 9], data[at + 10], data[at + 11]
        # "umts-rlc", "rlc-lte", "rlc-nr", "mac-lte", "mac-nr" (Wireshark's heuristic framings)
        if (a == 117 and b == 109 and c == 116 and d == 115) or (
            c == 99 and d == 45 and ((a == 114 and b == 108) or (a == 109 and b == 97))
        ):
            return LINK_FRAME
    if (source == _HTTPS or destination == _HTTPS) and at + 9 <= end and data[at + 8] & 0x40:
        return QUIC  # RFC 9000 17: the fixed bit
    return UDP


@kernel
def other_status(protocol: int) -> int:
    """What a packet of another protocol is counted as."""
    if protocol in (_PROTOCOL_ICMP, _PROTOCOL_ICMP6):
        return ICMP
    if protocol in (_IPIP, _IPV6_INSIDE, _GRE):
        return UNKNOWN
    return OTHER


@kernel
def decode_rows(
    data: Any, offset: Any, captured: Any, original: Any, interface: Any, kinds: Any, status: Any, where: Any,
    state: Any, table: Any, first: Any, sack: Any, syn: Any,
    flow: Any, direction: Any, raw_seq: Any, raw_ack: Any, payload_bytes: Any, flags: Any, raw_window: Any,
    tsval: Any, tsecr: Any, options: Any, ip_id: Any, checksum: Any, checksum_ok: Any, wire_bytes: Any,
) -> None:  # fmt: skip
    """Decode records from state[0] on, until done or until an array is full."""
    row = state[0]
    while row < len(offset):
        if state[2] + 64 > len(sack) or state[3] + 2 > len(syn) or 2 * (state[4] + 1) > len(table):
            break
        at = offset[row]
        end = at + captured[row]
        kind = kinds[interface[row]]
        if kind == _USER:
            status[row] = LINK_FRAME
            where[row] = 0
            row += 1
            continue
        if end == at:
            status[row] = EMPTY
            row += 1
            continue
        ip = network(data, at, end, kind)
        if ip < 0:
            status[row] = -1 - ip
            row += 1
            continue
        protocol, tcp, stop = transport(data, ip, end)
        if protocol != _PROTOCOL_TCP:
            if protocol < 0:
                status[row] = -1 - protocol
            elif protocol == _PROTOCOL_UDP:
                status[row] = udp_status(data, tcp, end)
                where[row] = tcp - at
            else:
                status[row] = other_status(protocol)
            row += 1
            continue
        if stop == 0:
            stop = at + original[row]
        header = np.int64(data[tcp + 12] >> 4) * 4 if tcp + _LEAST_TCP <= end else np.int64(_LEAST_TCP)
        if tcp + _LEAST_TCP > end or header < _LEAST_TCP or tcp + header > stop:
            status[row] = CUT if tcp + _LEAST_TCP > end and at + original[row] > end else MALFORMED
            row += 1
            continue
        packet = state[1]
        number, turned = find_flow(data, ip, tcp, table, first, state)
        flow[packet] = number
        direction[packet] = turned
        raw_seq[packet] = big32(data, tcp + 4)
        raw_ack[packet] = big32(data, tcp + 8)
        payload_bytes[packet] = stop - tcp - header
        flags[packet] = big16(data, tcp + 12) & 0x0FFF
        raw_window[packet] = big16(data, tcp + 14)
        checksum[packet] = big16(data, tcp + 16)
        wire_bytes[packet] = stop - ip
        ip_id[packet] = big16(data, ip + 4) if data[ip] >> 4 == 4 else -1
        checksum_ok[packet] = checksum_right(data, ip, tcp, stop) if stop <= end else -1
        read_options(
            data, tcp + _LEAST_TCP, min(tcp + header, end), packet, state, sack, syn, tsval, tsecr, options,
            flags[packet] & SYN,
        )  # fmt: skip
        status[row] = TCP
        state[1] += 1
        row += 1
    state[0] = row


@kernel
def find_flow(data: Any, ip: int, tcp: int, table: Any, first: Any, state: Any) -> Any:
    """(Number of the packet's flow, its direction); a new flow gets the next number."""
    slot = flow_hash(data, ip, tcp) % len(table)
    while table[slot] >= 0:
        known = first[table[slot]]
        its_tcp = transport(data, known, len(data))[1]
        found = same_flow(data, ip, tcp, known, its_tcp)
        if found >= 0:
            return table[slot], np.int64(found)
        slot = (slot + 1) % len(table)
    number = state[4]
    table[slot] = number
    first[number] = ip
    state[4] += 1
    return number, np.int64(0)


@kernel
def read_options(
    data: Any, at: int, end: int, packet: int, state: Any, sack: Any, syn: Any, tsval: Any, tsecr: Any, options: Any,
    is_syn: int,
) -> None:  # fmt: skip
    """TCP options (RFC 9293 3.2); a malformed one ends the list."""
    found = 0
    mss: int = -1
    wscale: int = -1
    tsval[packet] = 0
    tsecr[packet] = 0
    while at < end:
        kind = data[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= end:
            break
        size = int(np.int64(data[at + 1]))
        if size < 2 or at + size > end:
            break
        if kind == 8 and size == 10:
            tsval[packet] = big32(data, at + 2)
            tsecr[packet] = big32(data, at + 6)
            found |= OPTION_TIMESTAMPS
        elif kind == 5 and size >= 10:
            found |= OPTION_SACK
            for block in range(at + 2, at + size - 7, 8):
                sack[state[2], 0] = packet
                sack[state[2], 1] = big32(data, block)
                sack[state[2], 2] = big32(data, block + 4)
                state[2] += 1
        elif kind == 4 and size == 2:
            found |= OPTION_SACK_PERMITTED
        elif kind == 2 and size == 4:
            mss = big16(data, at + 2)
            found |= OPTION_MSS
        elif kind == 3 and size == 3:
            wscale = int(np.int64(data[at + 2]))
            found |= OPTION_WSCALE
        at += size
    options[packet] = found
    if is_syn:
        syn[state[3], 0] = packet
        syn[state[3], 1] = mss
        syn[state[3], 2] = wscale
        state[3] += 1

"""Common tunnels over UDP in compiled code: GTP-U and VXLAN.

What does not look as its port promises is left alone. Sources: 3GPP 29.281 5 (GTP-U), RFC 7348 5 (VXLAN).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.wire.flows import address
from multitracer.wire.labels import DESTINATION, GTPU, SOURCE, VXLAN, labelled
from multitracer.wire.layers import GTPU_PORT, PROTOCOL_UDP, VXLAN_PORTS, ip_after_ethertype, transport
from multitracer.wire.octets import big16, big32

_LEAST_BYTES = 8
"""Octets of a UDP header, and of the shortest header of each tunnel."""
_MOST_NESTED = 4
_NOT_OPENED = -1


@kernel
def innermost(data: Any, ip: int, udp: int, end: int, label: int) -> Any:
    """Protocol, IP header, transport header, end and label of the packet within the datagram at `udp`.

    The protocol is that of the packet in the tunnels opened here: UDP for one that is none of them.
    """
    protocol, stop = np.int64(PROTOCOL_UDP), np.int64(0)
    for _ in range(_MOST_NESTED):
        inner, inner_label = packet_within(data, ip, udp, end, label)
        if inner < 0:
            break
        protocol, at, stop = transport(data, inner, end)
        ip, udp, label = inner, at, inner_label
        if protocol != PROTOCOL_UDP:
            break
    return np.int64(protocol), np.int64(ip), np.int64(udp), np.int64(stop), np.int64(label)


@kernel
def packet_within(data: Any, ip: int, udp: int, end: int, label: int) -> Any:
    """Offset of the IP header that the datagram at `udp` carries, or -1, and its label."""
    if udp + 2 * _LEAST_BYTES > end:
        return np.int64(_NOT_OPENED), np.int64(label)
    stop = udp + big16(data, udp + 4)
    port, at = big16(data, udp + 2), udp + _LEAST_BYTES
    inner = np.int64(_NOT_OPENED)
    if port == GTPU_PORT:
        inner = user_packet(data, at, end, stop)
        label = of_outer_ends(data, ip, labelled(label, GTPU, big32(data, at + 4)))
    elif port in VXLAN_PORTS and data[at] & 0x7F == 0x08 and at + 22 <= end:
        label = labelled(label, VXLAN, big32(data, at + 4) >> 8)
        inner, label = ip_after_ethertype(data, at + 22, end, big16(data, at + 20), label)
    if inner < 0 or not fits(data, inner, end, stop):
        return np.int64(_NOT_OPENED), np.int64(label)
    return np.int64(inner), np.int64(label)


@kernel
def of_outer_ends(data: Any, ip: int, label: int) -> int:
    """`label` with the addresses of the packet at `ip`: who receives a number is a part of it."""
    size, at = (4, ip + 12) if data[ip] >> 4 == 4 else (16, ip + 8)
    return int(labelled(labelled(label, SOURCE, address(data, at, size)), DESTINATION, address(data, at + size, size)))


@kernel
def user_packet(data: Any, at: int, end: int, stop: int) -> int:
    """Offset of the user packet of a G-PDU (29.281 5.1), behind its extension headers; -1 for other messages."""
    if data[at] >> 4 != 3 or data[at + 1] != 255 or at + 8 + big16(data, at + 2) > stop:
        return _NOT_OPENED
    if data[at] & 7 == 0:
        return int(at + 8)
    if at + 12 > end:
        return _NOT_OPENED
    following = np.int64(data[at + 11]) if data[at] & 4 else np.int64(0)
    at += 12
    while following:
        size = 4 * np.int64(data[at]) if at < end else np.int64(0)
        if size == 0 or at + size > end:
            return _NOT_OPENED
        following = np.int64(data[at + size - 1])
        at += size
    return int(at)


@kernel
def fits(data: Any, ip: int, end: int, stop: int) -> bool:
    """Whether a sound IP header is at `ip`, of a packet that ends within the datagram around it, at `stop`."""
    if ip + 20 > end:
        return False
    if data[ip] >> 4 == 4:
        return bool(data[ip] & 15 >= 5 and big16(data, ip + 2) >= 20 and ip + big16(data, ip + 2) <= stop)
    return bool(data[ip] >> 4 == 6 and ip + 40 + big16(data, ip + 4) <= stop)

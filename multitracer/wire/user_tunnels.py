"""The GTP-U tunnels around the first packets of many flows.

A mobile network's captures hold a tunnel for each subscriber and direction. `wire.tunnels` takes some 40 us to open
one in plain Python; here the headers of all are found in compiled code, with the same results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.wire.inside import AT_RECEIVER, Step
from multitracer.wire.layers import GTPU_PORT, PROTOCOL_TCP, PROTOCOL_UDP, transport
from multitracer.wire.link_types import link_kind
from multitracer.wire.octets import big16, big32
from multitracer.wire.tcpip import find_headers
from multitracer.wire.udp_tunnels import packet_within

_NONE = -1
_UDP_BYTES, _TEID_AT = 8, 4


class UserTunnels(NamedTuple):
    """Of each of N records, arrays of shape (N,): the one GTP-U tunnel that its TCP packet is in.

    `outer` is the offset of the IP header around it, -1 where the packet is in no such tunnel, or in more than one;
    `teid` its number; `label` that of the tunnels and VLANs around the IP header, 0 for none.
    """

    outer: Any
    teid: Any
    label: Any


def find_user_tunnels(data: Any, offset: Any, captured: Any, link_type: Any) -> UserTunnels:
    """The tunnels of records that begin at `offset` in `data`, `captured` octets each, of shape (N,) as `link_type`."""
    kinds = np.array([link_kind(int(one)) for one in link_type], dtype=np.int64)
    found = UserTunnels(*(np.empty(len(offset), dtype=np.int64) for _ in UserTunnels._fields))
    read_user_tunnels(data, offset, captured, kinds, found)
    return found


@kernel
def read_user_tunnels(data: Any, offset: Any, captured: Any, kinds: Any, found: UserTunnels) -> None:
    """Fill in `found`."""
    for row in range(len(offset)):
        at, end = offset[row], offset[row] + captured[row]
        found.outer[row] = _NONE
        protocol, ip, udp, _, label = find_headers(data, at, end, kinds[row], 0)
        if protocol != PROTOCOL_UDP or udp + _UDP_BYTES > end or big16(data, udp + 2) != GTPU_PORT:
            continue
        inner, _ = packet_within(data, ip, udp, end, label)
        if inner >= 0 and transport(data, inner, end)[0] == PROTOCOL_TCP:
            found.outer[row], found.label[row] = ip, label
            found.teid[row] = big32(data, udp + _UDP_BYTES + _TEID_AT)


def steps_into(data: Any, found: UserTunnels) -> list[Step | None]:
    """The step into the tunnel of each record, None where `found` has none."""
    steps: list[Step | None] = []
    for outer, teid in zip(found.outer.tolist(), found.teid.tolist(), strict=True):
        if outer == _NONE:
            steps.append(None)
            continue
        at, size = (12, 4) if data[outer] >> 4 == 4 else (8, 16)
        ends = data[outer + at : outer + at + 2 * size].tobytes()
        steps.append(Step(f"gtpu teid {teid}", AT_RECEIVER, ends[:size], ends[size:]))
    return steps

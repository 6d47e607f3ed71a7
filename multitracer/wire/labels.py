"""Labels that tell flows of different tunnels apart: one number for all tunnels around a packet.

0 is a packet outside of any tunnel. Other labels are hashes of 62 bits: of n tunnels that carry packets between the
same addresses and ports, two have the same label with a chance of n * n / 2**63.
"""

from __future__ import annotations

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.wire.octets import hash_pair

VLAN, MPLS, PPPOE, GTPU, VXLAN, SOURCE, DESTINATION = range(1, 8)
"""What a number that enters a label is: of which kind of tunnel, or an address around it."""

_HALF = 0x7FFFFFFF


@kernel
def labelled(label: int, kind: int, value: int) -> int:
    """The label of what has `label`, in one more tunnel, whose number is `value` (below 2**47)."""
    lower, upper = value & 0xFFFF, value >> 16
    one = hash_pair(hash_pair((label & _HALF) ^ kind, upper), lower)
    other = hash_pair(hash_pair((label >> 31 & _HALF) ^ kind << 8, lower), upper)
    return int((one & _HALF) | (other & _HALF) << 31 | np.int64(1) << 62)

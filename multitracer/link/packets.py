"""A packet as the link carried it: its octets, and every frame that had a part in carrying them.

Each link protocol has a reassembly of its own (`reassembly_rlp`, `reassembly_rlc`) that turns the
frames of one link direction, as one end logged them, into a list of these, in the order in which
the packets first went on the air.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Rows = np.ndarray[Any, np.dtype[np.int64]]
Counts = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class CarriedPacket:
    """One packet reassembled from frames; rows are positions in the frames table it was made from.

    `octets` are the packet's own (an IP datagram, or what was left of it): link, L2R and PPP octets,
    length indicators and padding are taken out. When octets are missing from the middle or the ends
    the packet is not `complete` and `octets` holds those that are known, in order; when the
    recording has no payload at all it is empty, while the rows still stand.
    """

    octets: bytes
    rows: Rows
    """Every transmission of every frame with any of its octets, repeats included, in time order."""

    first_transmissions: Rows
    """Those of `rows` that are the first transmission of their frame, in time order."""

    octets_in_row: Counts
    """How many of this packet's octets each of `rows` carried; parallel to `rows`."""

    epoch: int
    """How many resets of the link came before it."""

    complete: bool
    """Whether all of its octets are known."""

    garbled: bool = False
    """Whether its octets are known to be wrong: decompressed on a stale context, or a failed check."""

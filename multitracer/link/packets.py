"""A packet that a link carried: its octets, and the frames that carried them.

`reassembly_rlp` and `reassembly_rlc` make a list of these from the frames of one link direction as one
end logged them, in the order in which the packets were first transmitted.
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

    `octets` are the IP datagram's, or the known part of it: link, L2R and PPP octets, length indicators
    and padding are removed. If octets are missing in the middle or at an end, the packet is not
    `complete` and `octets` holds the known ones in order. If the log has no payload, `octets` is empty
    and the rows are still known.
    """

    octets: bytes
    rows: Rows
    """Every transmission of every frame with any of its octets, retransmissions included, in time order."""

    first_transmissions: Rows
    """Those of `rows` that are the first transmission of their frame, in time order."""

    octets_in_row: Counts
    """How many of this packet's octets each of `rows` carried; parallel to `rows`."""

    epoch: int
    """The number of link resets before it."""

    complete: bool
    """Whether all of its octets are known."""

    garbled: bool = False
    """Whether its octets are known to be wrong: decompressed with a stale VJ context, or a failed checksum."""

    end_told: bool = True
    """Whether its own frames tell where it ends; else the frame behind them has to, as in UMTS (25.322 9.2.2.8)."""

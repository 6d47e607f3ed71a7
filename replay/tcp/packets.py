"""Packets of TCP as the models exchange them, and the box into which an end puts what it sends.

Sequence numbers count segments, as ns-2's do: the SYN is number 0, data are 1, 2, 3 and so on; an acknowledgement names
the next number that is expected. All segments of a transfer have the same size but the last one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import inlined
from multitracer.replay.arq.fields import NEVER, dtype, numbers, record, table

SACK_BLOCKS = 4
"""As many as fit into TCP's options (RFC 2018, 3)."""

PACKET = dtype([
    *((name, np.int64) for name in (
        # Which connection and which of its ends sent it; flags; the segment's number, its octets on the wire, how often
        # it was sent before.
        "connection", "end", "bits", "seq", "octets", "sending",
        # Next number expected; first number that the advertised window does not allow; SACK blocks in use.
        "ack", "limit", "blocks",
        # When it was sent, and the `sent_ns` of the packet that it answers (0: none), in ns, as timestamps carry them.
        "sent_ns", "echo_ns",
    )),
    ("left", np.int64, (SACK_BLOCKS,)),
    ("right", np.int64, (SACK_BLOCKS,)),
])  # fmt: skip
"""SACK block i reports the numbers from left[i] to right[i] - 1."""

SYN, FIN, ACK, DATA, MEDIA = 1, 2, 4, 8, 16
"""Flags: DATA marks a packet with payload, MEDIA one that is not TCP's."""

_STATE = numbers("packets")


class Outbox(NamedTuple):
    """Packets that ends have sent since it was emptied, in their order."""

    state: Any
    rows: Any
    rooms: Any
    """Packets that the interface queues of the wired host and of the terminal's still take."""


def outbox(room: int) -> Outbox:
    """An empty box; `room` is what one call of a kernel can send at most."""
    return Outbox(record(_STATE), table(room, PACKET), np.full(2, NEVER))


@inlined
def posted(out: Any) -> Any:
    """Take the next free row of the box, without SACK blocks; unsigned, as rows of rings are."""
    at = np.uint64(out.state.packets)
    out.state.packets += 1
    out.rows[at].blocks = 0
    return at

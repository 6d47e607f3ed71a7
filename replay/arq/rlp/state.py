"""The words that RLP's machine works with: a frame's header, and the variables of an entity.

A frame is two words: its header packed as below, and the position in the character stream of the
first character it carries. An entity is one record; its fields have the names of 3GPP TS 24.022,
sequence numbers run from 0 to 61.
"""

from __future__ import annotations

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import codes, joined, numbers
from multitracer.replay.arq.notes import OWN
from multitracer.replay.arq.orders import ORDERS
from multitracer.replay.arq.stretches import above_dtype
from multitracer.wire.rlp import MODULUS

# The header word: N(S) field, N(R) or M, S, C/R, P/F, then the content: L2R status octet and characters.
NR_AT, S_AT, COMMAND_AT, POLL_AT, STATUS_AT, COUNT_AT = 6, 12, 14, 15, 16, 24
COMMAND, FINAL, NUMBER, CONTENT = 1 << COMMAND_AT, 1 << POLL_AT, 63, -(1 << STATUS_AT)
S_FRAME, U_FRAME = 62, 63
RR, RNR, REJ, SREJ = range(4)
SABM, UA, DISC, DM, NULL_M = 0x07, 0x0C, 0x08, 0x03, 0x0F
NULL = U_FRAME | NULL_M << NR_AT

ABM, RESETTING, DETACHED, FAILED, RELEASING = range(5)
"""Link states: connected; SABM sent; disconnected; given up, for SABM or DISC was never answered; DISC sent."""
IDLE, POLLING, WAITING = range(3)
"""Poll states: none; the poll is to be sent; its answer is awaited."""
WANTED, ASKED, RECEIVED = 1, 2, 3
"""States of a slot of the receiver (0: idle): SREJ to be sent; sent; frame buffered."""
DUE_UA, DUE_F, DUE_POLL, DUE_SABM = 1, 2, 4, 8
"""What takes precedence over all other frames (URGENT)."""

RESET, FLUSH, XOFF, XON = codes(4, OWN)
"""Events of the log; of FLUSH, `octets` is how many octets of the stream the sender lost, `number` where it goes on."""

COUNTERS = (
    "i_sent", "retransmissions", "srej_sent", "polls", "resets", "resets_seen", "xoffs", "xons", "flushed",
    "delivered", "skipped", "misdelivered", "first_delivery", "last_delivery", "duplicates", "timeouts",
)  # fmt: skip
_SENDER = numbers(
    "state urgent vs va vd filled back resend resend_from peer_busy poll_state poll_count t_due next_octet offered"
)
_RECEIVER = numbers(
    "vr span requests request_from asked_slots t_rcvs_due ack ack_due busy expected xoff x x_sent level level_time",
    "fresh look_due xoff_since xoff_ns reset_ns",
)
"""`x` is the condition to tell the peer, `xoff` the one that the peer sent, since when, and how long before that (ns);
`fresh`: nothing came since a reset; `reset_ns`: when this end heard of the end of one last (-1: never)."""
_PARAMETERS = numbers(
    "window n2 t1 t2 t_rcvs room frame_bytes piggyback reject flush_queue drain high low every_nr persistent release"
)
_NOTED = numbers("noted_resets noted_flushed noted_xoffs noted_xons noted_held")
_SLOTS = (
    "s_position", "s_content", "s_tries", "s_mark", "r_state", "r_position", "r_content", "r_due", "r_tries", "r_first",
)  # fmt: skip
"""One for each sequence number: of the sender, then of the receiver."""
ENTITY = joined(
    _SENDER, _RECEIVER, _PARAMETERS, numbers(*COUNTERS), _NOTED,
    tables=[
        *((name, np.int64, (64,)) for name in _SLOTS), ("orders", ORDERS), ("above", above_dtype(MODULUS, 4)),
    ],
)  # fmt: skip
FRAME = numbers("header position")


@kernel
def after(n: int) -> int:
    """The sequence number that follows n."""
    return n + 1 if n < MODULUS - 1 else 0


@kernel
def ahead(n: int, base: int) -> int:
    """How far n is ahead of base."""
    return n - base if n >= base else n - base + MODULUS

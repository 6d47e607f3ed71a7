"""The words that RLP's machine works with: a frame's header, and the variables of an entity.

A frame is two words: its header packed as below, and the position in the character stream of the
first character it carries. An entity is one int64 array; variables have the names of 3GPP TS 24.022,
sequence numbers run from 0 to 61.
"""

from __future__ import annotations

from multitracer.compute.kernels import kernel
from multitracer.wire.rlp import MODULUS

NEVER = 2**62
UNLIMITED = 2**61
"""Where the stream of a saturated source ends."""

# The header word: N(S) field, N(R) or M, S, C/R, P/F, then the content: L2R status octet and characters.
NR_AT, S_AT, COMMAND_AT, POLL_AT, STATUS_AT, COUNT_AT = 6, 12, 14, 15, 16, 24
COMMAND, FINAL, NUMBER, CONTENT = 1 << COMMAND_AT, 1 << POLL_AT, 63, -(1 << STATUS_AT)
S_FRAME, U_FRAME = 62, 63
RR, RNR, REJ, SREJ = range(4)
SABM, UA, DISC, DM, NULL_M = 0x07, 0x0C, 0x08, 0x03, 0x0F
NULL = U_FRAME | NULL_M << NR_AT

ABM, RESETTING, DETACHED, FAILED = range(4)
"""Link states: connected; SABM sent; disconnected by the peer; given up, for SABM was never answered."""
IDLE, POLLING, WAITING = range(3)
"""Poll states: none; the poll is to be sent; its answer is awaited."""
WANTED, ASKED, RECEIVED = 1, 2, 3
"""States of a slot of the receiver (0: idle): SREJ to be sent; sent; frame buffered."""
DUE_UA, DUE_F, DUE_POLL, DUE_SABM = 1, 2, 4, 8
"""What takes precedence over all other frames (URGENT)."""

# Variables.
STATE, URGENT, VS, VA, VD, FILLED, BACK, RESEND, RESEND_FROM, PEER_BUSY, POLL_STATE, POLL_COUNT, T = range(13)
VR, SPAN, REQUESTS, REQUEST_FROM, ASKED_SLOTS, T_RCVS, ACK, ACK_DUE, BUSY = range(13, 22)
NEXT, OFFERED, EXPECTED, XOFF, X, X_SENT, LEVEL, LEVEL_TIME, FRESH = range(22, 31)
# Parameters.
(
    K, N2, T1, T2, T_RCVS_PERIOD, ROOM, PIGGYBACK, REJECT, FLUSH_QUEUE, DRAIN, HIGH, LOW, EVERY_NR, PERSISTENT,
) = range(31, 45)  # fmt: skip
# Counters.
(
    I_SENT, RETRANSMISSIONS, SREJ_SENT, POLLS, RESETS, RESETS_SEEN, XOFFS, XONS, FLUSHED,
    DELIVERED, SKIPPED, MISDELIVERED, FIRST_DELIVERY, LAST_DELIVERY, DUPLICATES, TIMEOUTS,
) = range(45, 61)  # fmt: skip
COUNTERS = (
    "i_sent", "retransmissions", "srej_sent", "polls", "resets", "resets_seen", "xoffs", "xons", "flushed",
    "delivered", "skipped", "misdelivered", "first_delivery", "last_delivery", "duplicates", "timeouts",
)  # fmt: skip
# Slots, one for each sequence number: of the sender, then of the receiver.
S_POSITION, S_CONTENT, S_TRIES, S_MARK, R_STATE, R_POSITION, R_CONTENT, R_DUE, R_TRIES = range(64, 640, 64)
SIZE = 640


@kernel
def after(n: int) -> int:
    """The sequence number that follows n."""
    return n + 1 if n < MODULUS - 1 else 0


@kernel
def ahead(n: int, base: int) -> int:
    """How far n is ahead of base."""
    return n - base if n >= base else n - base + MODULUS

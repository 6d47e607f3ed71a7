"""The state of ns-2's senders and sinks, in records with named fields.

Sequence numbers count packets; a range's end is the number after its last. Where ns-2 keeps the highest number that is
acknowledged, sent or to be recovered, this is the one after it: `una` is highest_ack_ + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import merged
from multitracer.replay.arq.fields import NEVER, codes, dtype, numbers, table
from multitracer.replay.tcp.interface import Tcp
from multitracer.replay.tcp.ns2.parameters import RULES, Parameters
from multitracer.replay.tcp.packets import SACK_BLOCKS, outbox

SHORTS = 16
"""Segments shorter than full ones that an end can have unacknowledged: one for each write."""

NO_REDUCTION, BY_DUPACKS, BY_TIMEOUT, RECOVERED = codes(4)
"""What reduced the window last, and whether new data was acknowledged since."""

_NUMBERS = (
    # As every model's ends have them (see interface).
    "timer_ns established acked delivered packets retransmissions timeouts fast_retransmits rtt_ns rtts",
    # The connection; its first number; the one after the last that the application has given.
    "connection first written",
    # Sender: una, the same as far as the window reckons (Sack1 holds it back in recovery), next to send (t_seqno_), one
    # after the highest sent, recovery point; duplicate ACKs; window; first window after the first ACK.
    "una window_una next top recover dupacks reduction ssthresh inflation initial_window in_recovery partial",
    # Estimator, in ticks but srtt times 8 and rttvar times 4; whether a packet is timed, which one, and since when.
    "srtt rttvar rtxcur_ns backoff timing timed timed_ns rtx_ns",
    # Scoreboard: see sack1 and fack. `muted`: duplicate ACKs do nothing (Sack1), nothing is sent (Fack), until an ACK
    # of new data, or the timer.
    "muted pipe resent_end sacked_end fack resent board_first board_end",
    # Short segments by number modulo SHORTS: how many writes ended with one, and those acknowledged.
    "shorts short_first",
    # Sink: next number in order, one after the highest that came, what the last ACK acknowledged; the time to echo; a
    # delayed ACK's time and the packet that it answers; blocks reported before.
    "expected highest answered echo_ns ack_ns waiting history",
)
END = dtype([
    *((name, np.int64) for words in _NUMBERS for name in words.split()),
    ("cwnd", np.float64),
    ("short_numbers", np.int64, (SHORTS,)),
    ("short_octets", np.int64, (SHORTS,)),
    ("left", np.int64, (SACK_BLOCKS,)),
    ("right", np.int64, (SACK_BLOCKS,)),
])  # fmt: skip
SEGMENT = numbers("sendings sent_ns sacked resent resent_at here")
"""A sender's: how often it was sent, and when last; whether it was SACKed, or resent since it was found missing, and
what was next to be sent then. A sink's: whether it came out of order."""


def tcp(parameters: tuple[Parameters, Parameters], connections: int) -> Tcp:
    """Ends that have sent and received nothing; `start` makes them ready."""
    rules = table(2, RULES)
    for side, each in enumerate(parameters):
        rules[side] = each.rules()
    window = max(each.window_segments for each in parameters)
    ring = 1 << (2 * window + 1).bit_length()
    made = Tcp(rules, table(2 * connections, END), table((2 * connections, ring), SEGMENT), outbox(4 * window + 16))
    for side in range(2):
        begin.run_plain(made.ends[side], made.rules[side])
        made.ends[side::2] = made.ends[side]
    return made


@merged
def begin(e: Any, rules: Any) -> None:
    """Make an end anew: nothing sent, received or written; its counters are 0."""
    e.established, e.first = 1 - rules.syn, 1 - rules.syn
    e.acked = e.delivered = e.packets = e.retransmissions = e.timeouts = e.fast_retransmits = 0
    e.rtt_ns = e.rtts = 0
    e.written, e.shorts, e.short_first = 1, 0, 0
    begin_sender(e, rules)
    begin_sink(e)
    e.timer_ns = e.rtx_ns = e.ack_ns = NEVER


@merged
def begin_sender(e: Any, rules: Any) -> None:
    """Windows, estimator and scoreboard of a sender that has sent nothing."""
    e.una = e.window_una = e.next = e.top = e.fack = e.first
    e.recover, e.ssthresh, e.initial_window = e.first + 1, rules.ssthresh, rules.initial_window
    e.dupacks = e.inflation = e.in_recovery = e.partial = e.muted = e.pipe = 0
    e.reduction = NO_REDUCTION
    e.cwnd = 1.0 if rules.syn else float(rules.initial_window)
    e.srtt = e.rttvar = e.timing = e.timed = e.timed_ns = 0
    e.rtxcur_ns, e.backoff = rules.initial_rto_ns, 1
    e.resent_end = e.sacked_end = e.resent = e.board_first = e.board_end = 0


@merged
def begin_sink(e: Any) -> None:
    """A sink to which nothing came."""
    e.expected, e.highest, e.answered = e.first, e.first + 1, e.first + 1
    e.echo_ns = e.waiting = e.history = 0

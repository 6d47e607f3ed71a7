"""The state of ends of Linux 2.4's TCP, under the names of the kernel's `tcp_opt` where it has them."""

from __future__ import annotations

from multitracer.replay.arq.fields import codes, joined, numbers, table
from multitracer.replay.tcp import ends
from multitracer.replay.tcp.interface import Tcp
from multitracer.replay.tcp.linux24.parameters import RULES, Parameters
from multitracer.replay.tcp.packets import outbox

OPEN, DISORDER, CWR, RECOVERY, LOSS = codes(5)
"""States of congestion control (`ca`)."""

END = ends.with_fields(
    ends.END,
    "ca cwnd cwnd_cnt ssthresh prior_ssthresh high_seq",
    "sacked_out lost_out retrans_out fackets_out reordering fack retransmits",
    "undo_marker undo_retrans retrans_stamp",
    "srtt mdev mdev_max rttvar rtt_seq rto",
    "quick ato pingpong last_data dsack",
)
"""high_seq: SND.NXT when the state was entered. sacked_out, lost_out, retrans_out: outstanding segments with a mark
(without SACK, duplicate ACKs stand for SACKed ones); fackets_out: segments up to the highest SACKed. fack: whether FACK
is still on; retransmits: timeouts in a row. undo_marker: SND.UNA when the window was reduced (0: nothing to undo);
undo_retrans: retransmissions not yet known to have been needless; retrans_stamp: when the first was sent (ns, or 0).
srtt is 8 times, mdev 4 times its value; the timer's times are in ticks. quick: ACKs still to be sent at once; ato: an
ACK's delay, and last_data: when data came last (ticks); pingpong: whether the application answers; dsack: a duplicate
to be reported (its number; 0: none)."""

SEGMENT = joined(ends.SEGMENT, numbers("lost retrans mark"))
"""lost: marked as lost; retrans: sent again, and that sending is in flight; mark: SND.NXT when it was sent again."""


def tcp(parameters: tuple[Parameters, Parameters], connections: int) -> Tcp:
    """Ends that are not connected; the parameters are those of the wired ends and of the terminals."""
    rules = ends.rules_of_sides(parameters, RULES)
    rules["fack"] &= rules["sack"]
    slots = ends.slots(*(each.window for each in parameters))
    made = ends.closed(connections, END)
    return Tcp(rules, made, table((2 * connections, slots), SEGMENT), outbox(4 * slots + 16))

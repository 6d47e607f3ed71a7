"""The state of ends of TCP by its RFCs."""

from __future__ import annotations

from multitracer.replay.arq.fields import table
from multitracer.replay.tcp import ends
from multitracer.replay.tcp.interface import Tcp
from multitracer.replay.tcp.packets import outbox
from multitracer.replay.tcp.rfc.parameters import RULES, Parameters

END = ends.with_fields(
    ends.END,
    "dupacks recover recovering limited partials",
    "fack sacked high_rxt pipe rescue",
    "srtt rttvar rto_ns backoff timed timed_ns expired",
    doubles=("cwnd", "ssthresh"),
)
"""recover: SND.MAX at the last reduction; limited: segments sent by limited transmit since SND.UNA moved; partials:
partial ACKs of this recovery.
fack: one above the highest number SACKed, SND.UNA if none; sacked: how many are; high_rxt: highest number sent again in
this recovery; pipe: what is taken to be in flight; rescue: the recovery point of the last rescue retransmission.
srtt, rttvar: in ns, or 4.4BSD's integers; rto_ns before back-off; timed: the segment timed (0: none); expired: SND.UNA
at the last timeout (0: none). cwnd and ssthresh are in segments."""


def tcp(parameters: tuple[Parameters, Parameters], connections: int) -> Tcp:
    """Ends that are not connected; the parameters are those of the wired ends and of the terminals."""
    rules = ends.rules_of_sides(parameters, RULES)
    slots = ends.slots(*(each.window for each in parameters))
    made = ends.closed(connections, END)
    return Tcp(rules, made, table((2 * connections, slots), ends.SEGMENT), outbox(4 * slots + 16))

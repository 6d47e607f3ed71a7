"""The kernels that every model of TCP has, as a transport calls them.

They stand here for readers and type checkers alone; a model's own are put in their place where a loop is bound. `tcp`
is a named tuple (`rules`, one row for each side's parameters; `ends`, one row an end; `board`, a ring of segments an
end; `out`, the box for packets). `k` is an end's row: a connection's ends are 2 c (the wired end) and 2 c + 1 (the
terminal). Every end can send and receive. Times are in ns; what is sent is put into `tcp.out`.
`tcp.out.rooms` says what the hosts' interface queues take then.

An end's row has these fields for all models: `timer_ns` (when `expire` wants to be called, NEVER for not at all),
`established`, `acked` (data segments that the other end has acknowledged in order), `delivered` (data segments handed
to the application here in order), and counters: `packets`, `retransmissions`, `timeouts`, `fast_retransmits`, and the
sum and number of round trips, `rtt_ns` and `rtts`, of ACKs for segments that were sent once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.replay.arq.fields import joined, numbers
from multitracer.replay.tcp.packets import Outbox

KERNELS = ("start", "write", "close", "receive", "expire", "local_drop", "observe")
OBSERVED = joined(
    numbers("una top written limit", "srtt_ns rttvar_ns rto_ns", "timeouts fast_retransmits"),
    tables=[("cwnd", np.float64), ("ssthresh", np.float64)],
)
"""What can be seen of an end's sender. Numbers of segments: first not acknowledged, one after the highest sent, one
after the last written, first that the other end's window does not allow. The windows are in segments, with what
duplicate ACKs add to cwnd; an RTO is as long as the timer would now run."""


class Tcp(NamedTuple):
    """All connections of a run; end k is on side k & 1."""

    rules: Any
    """Two rows: those of the wired ends, and of the terminals."""
    ends: Any
    board: Any
    """A ring of segments for each end, of a length that is a power of two."""
    out: Outbox


def start(tcp: Any, k: int, connection: int, now: int) -> None:
    """Make end `k` anew for a connection: closed, all state as before a first packet."""
    raise NotImplementedError


def write(tcp: Any, k: int, segments: int, last_octets: int, now: int) -> None:
    """Let the application of end `k` send data segments, full ones but the last, of `last_octets` on the wire.

    The first write of an end that is not connected opens the connection (SYN), where the parameters have one.
    """
    raise NotImplementedError


def close(tcp: Any, k: int, now: int) -> None:
    """Let the application of end `k` end what it sends: a FIN follows the data, where the parameters have one.

    The other end closes what it sends when that FIN has come.
    """
    raise NotImplementedError


def receive(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Take in a packet that arrived at end `k`."""
    raise NotImplementedError


def expire(tcp: Any, k: int, now: int) -> None:
    """Let the timers of end `k` run out that are due."""
    raise NotImplementedError


def local_drop(tcp: Any, k: int, packet: Any, now: int) -> None:
    """Tell end `k` that its host's interface queue had no room for a packet."""
    raise NotImplementedError


def observe(tcp: Any, k: int, seen: Any) -> None:
    """Fill a row of OBSERVED with what end `k` is like."""
    raise NotImplementedError

"""The words for layers, causes of lost time and kinds of finding: one table each, for every output and the docs."""

from __future__ import annotations

from typing import NamedTuple

LAYERS = {
    "sender": "the data sender: its application, socket and TCP",
    "host": "between the sender's capture and the link: queue and driver",
    "link": "the link whose frames were logged",
    "path": "what lies between two captures and no log describes",
    "receiver": "the data receiver: its application, socket and TCP",
    "capture": "the recording itself, which lost packets",
    "unknown": "not proven by these inputs",
}
"""What can be responsible, with what it covers."""


class Cause(NamedTuple):
    """One cause of the accounting, in words for people."""

    name: str
    """Short, for legends and tables."""
    phrase: str
    """The subject of a sentence about the time that it took."""


CAUSES = {
    "new_data": Cause("new data", "the link carrying new data"),
    "tcp_retransmitted": Cause("sent again by TCP", "TCP sending again what the link had already carried"),
    "link_retransmitted": Cause("repeated by the link", "the link's own repeats"),
    "link_overhead": Cause("link overhead", "the link's headers and padding"),
    "link_control": Cause("link control", "the link's control frames, sent while data waited,"),
    "flow_controlled": Cause(
        "flow controlled", "the link standing still, stopped by its peer or with its own window full,"
    ),
    "link_reset": Cause("link reset", "link resets"),
    "idle_window_limited": Cause("idle: window full", "TCP waiting for a larger window"),
    "idle_sender": Cause("idle: nothing to send", "the sender having nothing to send"),
    "idle_recovery": Cause("idle: TCP waits or repairs", "TCP waiting for its timer or repairing a loss"),
    "path_held": Cause("held on the path", "the path holding data for longer than its rate needs"),
    "unknown": Cause("unknown", "idleness whose cause these inputs cannot tell"),
}
"""The causes of the accounting, in its order."""

FATES = {
    "delivered": "the receiver took it, and no log has a repeat of its frames; a log that lacks some may lack that",
    "dropped": "the link's log never has it on the air, though what was sent later: a queue in the host dropped it",
    "flushed": "a reset, a release or a discard (RLC's MRW) took it from the link, or from the queue before",
    "repeated": "the receiver took it, after the link had repeated at least one of the frames with its octets",
    "lost": "it left the link, or none is logged, and did not arrive, came damaged, or was not taken",
    "needless": "all its octets arrived by an earlier copy; nothing says that it did not arrive itself",
    "unknown": "nothing proves one of these",
}
"""What becomes of a data segment, in the order of the codes, with when it is said."""

LIMIT_NAMES = {
    "application": "the application",
    "receiver_window": "the receiver's window",
    "sender_window": "the sender's window or buffer",
    "timeout_recovery": "waiting for timers, and repairing after them",
    "fast_recovery": "fast recovery",
    "path_stall": "a path that stood still",
    "path_rate": "the path's rate",
    "unknown": "not known",
}
"""What can limit a transfer, in the order of the summary, with its name for people."""

IDLE = ("idle_window_limited", "idle_sender", "idle_recovery")


class Kind(NamedTuple):
    """One kind of finding."""

    phrase: str
    """What happened, as a clause of the story."""
    leaves: tuple[str, ...] = ()
    """The causes of the accounting that it can leave: time with such a cause inside its interval is charged to it."""


_REPEATS = ("link_retransmitted", "link_control")
_TCP_REPAIRS = ("tcp_retransmitted", "idle_recovery", "idle_window_limited")

KINDS = {
    "link-release": Kind("the link was released", ("link_reset", "flow_controlled", *IDLE)),
    "link-reset": Kind("the link was reset", ("link_reset", "link_control", "flow_controlled")),
    "link-outage": Kind("the link was dead", (*_REPEATS, "flow_controlled", "link_reset", *IDLE)),
    "header-decompression-failure": Kind(
        "the header decompressor spoilt segments", ("tcp_retransmitted", "idle_recovery")
    ),
    "path-stall": Kind("the path stood still", ("path_held", *IDLE)),
    "spurious-timeout": Kind("TCP's timer ran out needlessly", _TCP_REPAIRS),
    "local-drop": Kind("a queue in the host dropped segments"),
    "competing-recovery": Kind("TCP resent what the link was repeating", ("tcp_retransmitted",)),
    "flow-control-gap": Kind("the link was stopped", ("flow_controlled",)),
    "timeout": Kind("TCP's timer ran out", _TCP_REPAIRS),
    "burst-loss": Kind("segments were lost together"),
    "excessive-queueing": Kind("segments waited in a queue"),
    "spurious-fast-retransmit": Kind("TCP resent needlessly", _TCP_REPAIRS),
    "link-recovery-hole": Kind("TCP waited for the link's repeats", (*_REPEATS, "flow_controlled", *IDLE)),
    "zero-window": Kind("the receiver closed its window", ("idle_window_limited", "idle_sender", "path_held")),
    "receiver-window-limited": Kind("the receiver's window was full", ("idle_window_limited", "idle_sender")),
    "fast-retransmit": Kind("TCP repaired losses", _TCP_REPAIRS),
    "link-retransmissions": Kind("the link repeated frames", (*_REPEATS, "flow_controlled", *IDLE)),
    "ack-loss": Kind("acknowledgements were lost"),
    "reordering": Kind("segments overtook one another"),
    "application-limited": Kind("the application had nothing to send", ("idle_sender",)),
    "idle-link": Kind("the link stood idle", IDLE),
    "ack-compression": Kind("acknowledgements were compressed"),
    "probe": Kind("TCP sent a tail loss probe", ("tcp_retransmitted", "idle_recovery")),
    "handshake-retry": Kind("the handshake was repeated", IDLE),
}  # fmt: skip
"""Every kind of finding, the most severe first."""

UNEXPLAINED = "unexplained"
"""The name of time that no finding explains."""

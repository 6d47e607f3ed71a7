"""What models of TCP have in common of their parameters: ranges, units, and sizes in segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.replay.arq.fields import numbers
from multitracer.replay.tcp.packets import SACK_BLOCKS
from multitracer.replay.tcp.ranges import Flag, Range, Seconds, Whole, Words, check

LONGEST_S = 86_400
MOST_SEGMENTS = 16_384
LARGEST_PACKET = 65_535
LARGEST_BUFFER = 1 << 30

RULES = numbers(
    "segment_octets ack_octets syn_octets block_octets", "blocks sack", "syn fin", "window buffer",
    "initial_window max_burst quench",
)  # fmt: skip
"""Octets on the wire; SACK blocks an ACK can have; whether the connection has them, begins with SYNs, ends with FINs;
receive window and send buffer (segments; the receive window limits this end's peer); initial window; most segments sent
at one event (0: no limit); whether a local drop is a source quench."""

RANGES: dict[str, Range] = {
    **dict.fromkeys(("segment_bytes", "syn_bytes", "ack_bytes"), Whole(1, LARGEST_PACKET)),
    "sack_block_bytes": Whole(0, 100),
    "sack_blocks": Whole(1, SACK_BLOCKS),
    "window_segments": Whole(1, MOST_SEGMENTS),
    "initial_window": Whole(1, MOST_SEGMENTS),
    "max_burst_segments": Whole(0, MOST_SEGMENTS),
    "local_drop": Words(("quench", "loss")),
    **dict.fromkeys(("syn", "fin"), Flag()),
}
TIMER_RANGES: dict[str, Range] = {
    "tick_s": Seconds(1e-6, 10),
    "tick_phase_s": Seconds(0, 10),
    "min_rto_s": Seconds(0, LONGEST_S),
    "max_rto_s": Seconds(0.001, LONGEST_S),
    "initial_rto_s": Seconds(0.001, LONGEST_S),
    "delayed_ack_s": Seconds(0, 10),
}


@dataclass(frozen=True, kw_only=True)
class TcpParameters:
    """Packets, windows and set-up of one end; the names are those of the keys `tcp.*` of a scenario."""

    segment_bytes: int = 250
    """A whole data packet on the wire."""
    header_bytes: int = 0
    """How much of it is not application data."""
    syn: bool = True
    """Whether connections begin with SYN, SYN and ACK, ACK."""
    fin: bool = False
    """Whether connections end with FINs."""
    syn_bytes: int = 40
    ack_bytes: int = 40
    sack_block_bytes: int = 8
    """What each SACK block adds to an ACK without data."""
    sack_blocks: int = 3
    """SACK blocks that an ACK can have (RFC 2018, 3: four, three with timestamps)."""
    window_segments: int = 20
    """Receive window."""
    receive_window_bytes: int | None = None
    """Receive window in octets of application data, instead of `window_segments`."""
    send_buffer_bytes: int | None = None
    """Octets of application data that can be sent and not acknowledged; None: no limit but the window."""
    initial_window: int = 2
    """Congestion window of a new connection, in segments (RFC 2581, 3.1: at most 2)."""
    max_burst_segments: int = 0
    """Data segments sent at one event at most; 0: no limit."""
    local_drop: str = "quench"
    """What a drop by the host's own interface queue does: `quench`, cwnd falls to one segment as after a source quench
    and ssthresh stays (4.4BSD tcp_quench); `loss`, nothing."""

    def __post_init__(self) -> None:
        check(RANGES, self)
        check({"header_bytes": Whole(0, self.segment_bytes - 1)}, self)
        self._check_given("receive_window_bytes", Whole(self.payload_bytes, MOST_SEGMENTS * self.payload_bytes))
        self._check_given("send_buffer_bytes", Whole(self.payload_bytes, LARGEST_BUFFER))

    def _check_given(self, name: str, allowed: Range) -> None:
        """Raise UsageError if a parameter that can be None is neither that nor in its range."""
        if getattr(self, name) is not None:
            check({name: allowed}, self)

    @property
    def payload_bytes(self) -> int:
        """Application data of a full segment."""
        return self.segment_bytes - self.header_bytes

    @property
    def window(self) -> int:
        """The receive window in whole segments."""
        octets = self.receive_window_bytes
        return self.window_segments if octets is None else octets // self.payload_bytes

    def fill(self, rules: Any) -> Any:
        """Write what all models read into a record of rules, and give it back."""
        rules.segment_octets, rules.ack_octets = self.segment_bytes, self.ack_bytes
        rules.syn_octets, rules.block_octets = self.syn_bytes, self.sack_block_bytes
        rules.blocks = self.sack_blocks
        rules.syn, rules.fin = self.syn, self.fin
        rules.window = self.window
        buffer = self.send_buffer_bytes
        rules.buffer = MOST_SEGMENTS if buffer is None else buffer // self.payload_bytes
        rules.initial_window, rules.max_burst = self.initial_window, self.max_burst_segments
        rules.quench = self.local_drop == "quench"
        return rules

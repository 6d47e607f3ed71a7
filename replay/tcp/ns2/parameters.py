"""Parameters of ns-2's TCP, named as the keys `tcp.*` of a scenario, and the record of rules that its kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import codes, numbers, record
from multitracer.replay.tcp import parameters
from multitracer.replay.tcp.ranges import Flag, Range, Seconds, Whole, Words, check, nanoseconds

VARIANTS = ("reno", "newreno", "sack", "fack")
RENO, NEWRENO, SACK, FACK = codes(4)
"""In the order of VARIANTS."""

RULES = numbers(
    "variant sack", "segment_octets syn syn_octets ack_octets block_octets blocks",
    "window initial_window ssthresh max_burst limited_transmit",
    "tick_ns phase_ns up min_rto_ns max_rto_ns initial_rto_ns", "delays_acks ack_delay_ns",
)  # fmt: skip
"""sack: whether the sink reports SACK blocks. window, initial_window, ssthresh, max_burst: segments. up: a round trip
is rounded up to ticks, not counted by those crossed."""

LACKING = ("fin", "local_drop")
"""What the other models have besides: ns-2's one-way agents end no connection, and are told of no drop."""
RANGES: dict[str, Range] = {
    **{name: allowed for name, allowed in (parameters.RANGES | parameters.TIMER_RANGES).items() if name not in LACKING},
    "variant": Words(VARIANTS),
    "limited_transmit": Flag(),
    "sack_rule": Words(("pipe",)),
    "tick_s": Seconds(0.001, 10),  # a round trip is 16 bits of ticks
    "rounding": Words(("crossed", "up")),
    "delayed_ack": Words(("none", "second")),
}
"""What each parameter may be; `initial_ssthresh_segments` may also be None."""
_SSTHRESH = Whole(1, parameters.MOST_SEGMENTS)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """One end: its sender and its sink. The defaults are ns-2.35's but for the size of packets and the shortest RTO."""

    variant: str = "reno"
    """Agent/TCP/Reno, Newreno, Sack1 or Fack; the sinks of the last two report SACK blocks."""
    segment_bytes: int = 250
    """A whole data packet on the wire."""
    syn: bool = True
    """Whether a connection begins with a SYN, which the sink acknowledges like data."""
    syn_bytes: int = 40
    ack_bytes: int = 40
    sack_block_bytes: int = 8
    """What each SACK block adds to an ACK."""
    sack_blocks: int = 3
    """Blocks that an ACK can have, and those reported before that a sink remembers."""
    window_segments: int = 20
    """ns-2's window_: the sender's limit; sinks advertise none."""
    initial_window: int = 2
    """Congestion window after the first ACK; 1 if the first packet's timer expired before that."""
    initial_ssthresh_segments: int | None = None
    """None: the window."""
    max_burst_segments: int = 0
    """Packets sent at one event at most; 0: no limit."""
    limited_transmit: bool = True
    """The first two duplicate ACKs let one new packet out each (singledup_); Fack has none."""
    sack_rule: str = "pipe"
    """ns-2's Sack1 has no other; RFC 6675's belongs to the model `rfc`."""
    tick_s: float = 0.01
    """Unit of round trips, and so of the RTO; timers expire at any time. A difference of round trips is kept in 16
    bits."""
    tick_phase_s: float = 0
    """How long before time 0 the clock ticked last. ns-2 draws it for each agent (boot_time_)."""
    rounding: str = "crossed"
    """A round trip is as many ticks as the clock made meanwhile (`crossed`), or rounded up to whole ticks (`up`)."""
    min_rto_s: float = 1
    """Shortest RTO before back-off; ns-2.35's own is 0.2, it was 1 until 2004. No RTO is below two ticks."""
    max_rto_s: float = 60
    initial_rto_s: float = 3
    delayed_ack: str = "none"
    """`none`: an ACK for each packet; `second`: the sink DelAck."""
    delayed_ack_s: float = 0.1

    def __post_init__(self) -> None:
        check(RANGES, self)
        if self.initial_ssthresh_segments is not None:
            check({"initial_ssthresh_segments": _SSTHRESH}, self)
        if self.tick_phase_s >= self.tick_s:
            raise UsageError(f"tick_phase_s {self.tick_phase_s!r} must be below tick_s {self.tick_s!r}")
        if self.max_rto_s < max(self.min_rto_s, 2 * self.tick_s):
            low = max(self.min_rto_s, 2 * self.tick_s)
            raise UsageError(f"max_rto_s {self.max_rto_s!r} must be at least {low:g}: min_rto_s, and two ticks")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = record(RULES)
        rules.variant = VARIANTS.index(self.variant)
        rules.sack = self.variant in ("sack", "fack")
        rules.segment_octets, rules.syn, rules.syn_octets = self.segment_bytes, self.syn, self.syn_bytes
        rules.ack_octets, rules.block_octets, rules.blocks = self.ack_bytes, self.sack_block_bytes, self.sack_blocks
        rules.window, rules.initial_window = self.window_segments, self.initial_window
        rules.ssthresh = self.initial_ssthresh_segments or self.window_segments
        rules.max_burst, rules.limited_transmit = self.max_burst_segments, self.limited_transmit
        rules.tick_ns, rules.phase_ns = nanoseconds(self.tick_s), nanoseconds(self.tick_phase_s)
        rules.up = self.rounding == "up"
        rules.min_rto_ns, rules.max_rto_ns = nanoseconds(self.min_rto_s), nanoseconds(self.max_rto_s)
        rules.initial_rto_ns = nanoseconds(self.initial_rto_s)
        rules.delays_acks, rules.ack_delay_ns = self.delayed_ack == "second", nanoseconds(self.delayed_ack_s)
        return rules

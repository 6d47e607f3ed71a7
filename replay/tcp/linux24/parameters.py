"""Parameters of Linux 2.4's TCP, and the record of rules that its kernels read.

Source: net/ipv4/tcp_input.c, tcp_output.c and tcp_timer.c of Linux 2.4; Sarolahti & Kuznetsov, Congestion Control in
Linux TCP, USENIX 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import joined, numbers, record
from multitracer.replay.tcp import parameters as common
from multitracer.replay.tcp.parameters import MOST_SEGMENTS, TIMER_RANGES, TcpParameters
from multitracer.replay.tcp.ranges import Flag, Range, Whole, Words, check, nanoseconds

UNLIMITED = 1 << 30
"""ssthresh before any loss."""

RULES = joined(
    common.RULES,
    numbers(
        "fack timestamps reordering metrics_kept ssthresh first_window",
        "tick_ns phase_ns min_rto max_rto initial_rto", "linux_acks least_ato most_ato",
    ),
)  # fmt: skip
"""Times are in ticks of tick_ns. first_window: the receive window of a new connection (segments); linux_acks: quick and
delayed ACKs, else one for each segment; least_ato, most_ato: bounds of the delay (TCP_ATO_MIN, TCP_DELACK_MAX)."""

RANGES: dict[str, Range] = {
    **common.RANGES,
    **TIMER_RANGES,
    "variant": Words(("linux-2.4",)),
    "delayed_ack": Words(("none", "linux")),
    "reordering": Whole(1, 127),
    **dict.fromkeys(("timestamps", "sack", "fack", "metrics_kept"), Flag()),
}
"""What each parameter may be; some may also be None."""


@dataclass(frozen=True, kw_only=True)
class Parameters(TcpParameters):
    """The defaults are those of Linux 2.4 with HZ = 100 on Ethernet."""

    variant: str = "linux-2.4"
    """There is no other."""
    segment_bytes: int = 1500
    header_bytes: int = 52
    ack_bytes: int = 52
    syn_bytes: int = 60
    window_segments: int = 45
    """64 kB, as large as the window can be that the field of 16 bits says."""
    receive_window_initial_bytes: int | None = None
    """The window of a new connection (Linux: 5840); it grows by two segments with each one that arrives in order. None:
    all of it."""
    initial_ssthresh_segments: int | None = None
    """None: no limit."""
    tick_s: float = 0.01
    tick_phase_s: float = 0
    min_rto_s: float = 0.2
    """How much longer than the smoothed round trip the RTO is, at least (TCP_RTO_MIN)."""
    max_rto_s: float = 120
    initial_rto_s: float = 3
    delayed_ack: str = "linux"
    """`linux`: quick ACKs at first and after gaps, then every second segment or after 40 ms to `delayed_ack_s`;
    `none`: an ACK for each segment."""
    delayed_ack_s: float = 0.2
    timestamps: bool = True
    sack: bool = True
    """tcp_sack; without it NewReno."""
    fack: bool = True
    """tcp_fack; only with `sack`."""
    reordering: int = 3
    """tcp_reordering: the first value of the distance up to which segments may overtake one another."""
    metrics_kept: bool = False
    """Whether an end's next connection begins with the reordering that the one before it found."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(RANGES, self)
        self._check_given("initial_ssthresh_segments", Whole(1, MOST_SEGMENTS))
        most = MOST_SEGMENTS * self.payload_bytes
        self._check_given("receive_window_initial_bytes", Whole(self.payload_bytes, most))
        if self.max_rto_s < max(self.min_rto_s, self.initial_rto_s):
            raise UsageError(f"max_rto_s {self.max_rto_s!r} is below min_rto_s or initial_rto_s")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = self.fill(record(RULES))
        rules.sack, rules.fack = self.sack, self.sack and self.fack
        rules.timestamps, rules.metrics_kept = self.timestamps, self.metrics_kept
        rules.reordering = self.reordering
        rules.ssthresh = self.initial_ssthresh_segments or UNLIMITED
        first = self.receive_window_initial_bytes
        rules.first_window = self.window if first is None else min(first // self.payload_bytes, self.window)
        rules.tick_ns, rules.phase_ns = nanoseconds(self.tick_s), nanoseconds(self.tick_phase_s)
        rules.min_rto, rules.max_rto = self._ticks(self.min_rto_s), self._ticks(self.max_rto_s)
        rules.initial_rto = self._ticks(self.initial_rto_s)
        rules.linux_acks = self.delayed_ack == "linux"
        rules.least_ato, rules.most_ato = self._ticks(min(0.04, self.delayed_ack_s)), self._ticks(self.delayed_ack_s)
        return rules

    def _ticks(self, seconds: float) -> int:
        """A time in whole ticks, at least one."""
        return max(-(-nanoseconds(seconds) // nanoseconds(self.tick_s)), 1)

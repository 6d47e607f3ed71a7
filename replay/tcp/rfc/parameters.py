"""Parameters of TCP by its RFCs, and the record of rules that its kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import codes, joined, numbers, record
from multitracer.replay.tcp import parameters as common
from multitracer.replay.tcp.parameters import MOST_SEGMENTS, TIMER_RANGES, TcpParameters
from multitracer.replay.tcp.ranges import Flag, Range, Whole, Words, check, nanoseconds

VARIANTS = ("reno", "newreno", "sack", "fack")
RENO, NEWRENO, SACK, FACK = codes(4)
"""In the order of VARIANTS."""

RULES = joined(
    common.RULES,
    numbers(
        "variant pipe_rule dupthresh", "ssthresh limited_transmit careful half_window restarts",
        "tick_ns phase_ns up bsd_estimator", "min_rto_ns max_rto_ns initial_rto_ns timestamps",
        "ack_every ack_delay_ns ack_grid_ns",
    ),
)  # fmt: skip
"""pipe_rule: SACK's `pipe` is counted, not computed from the scoreboard; ssthresh: its first value (segments).
careful: no fast retransmit for data sent before a timeout (RFC 6582, 3.2); half_window: a reduction halves the window,
not the flight; restarts: a fast retransmit restarts the timer. up: ticks are rounded up, not counted as crossed;
bsd_estimator: RTO in 4.4BSD's integers. ack_every: data segments an ACK; ack_grid_ns: the ACK timer expires at
multiples of this (0: ack_delay_ns after the segment)."""

RANGES: dict[str, Range] = {
    **common.RANGES,
    **TIMER_RANGES,
    "variant": Words(VARIANTS),
    "sack_rule": Words(("rfc6675", "pipe")),
    "rounding": Words(("crossed", "up")),
    "delayed_ack": Words(("none", "second")),
    "reordering": Whole(1, 127),
    **dict.fromkeys(("limited_transmit", "timestamps"), Flag()),
}
"""What each parameter may be; some may also be None."""


@dataclass(frozen=True, kw_only=True)
class Parameters(TcpParameters):
    """TCP by RFC 5681 (Reno), 6582 (NewReno), 6675 (SACK), 6298 (RTO), 3042 (limited transmit); FACK by its paper.

    FACK: Mathis & Mahdavi, Forward Acknowledgement, SIGCOMM 1996.
    """

    variant: str = "reno"
    sack_rule: str = "rfc6675"
    """With variant `sack`: `rfc6675`, or `pipe`: the count of Fall & Floyd (CCR 26 (3), 1996), which goes down by one
    with each duplicate ACK and by two with each partial one."""
    initial_ssthresh_segments: int | None = None
    """None: the receive window."""
    limited_transmit: bool = True
    tick_s: float = 0.01
    """Granularity of the clock; timers expire at its ticks."""
    tick_phase_s: float = 0
    """How long before time 0 the clock ticked last."""
    min_rto_s: float = 1
    max_rto_s: float = 60
    initial_rto_s: float = 3
    rounding: str = "crossed"
    """`crossed`: a round trip or a timer is as many ticks long as the clock makes meanwhile; `up`: it is rounded up to
    whole ticks, so that no timer expires early."""
    delayed_ack: str = "none"
    """`none`: an ACK for each segment; `second`: for each second one, or `delayed_ack_s` after the first (RFC 5681,
    4.2)."""
    delayed_ack_s: float = 0.1
    timestamps: bool = False
    reordering: int = 3
    """Duplicate ACKs that mean a loss (DupThresh)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check(RANGES, self)
        self._check_given("initial_ssthresh_segments", Whole(1, MOST_SEGMENTS))
        if self.max_rto_s < max(self.min_rto_s, self.initial_rto_s):
            raise UsageError(f"max_rto_s {self.max_rto_s!r} is below min_rto_s or initial_rto_s")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = self.fill(record(RULES))
        rules.variant = VARIANTS.index(self.variant)
        rules.sack = self.variant in ("sack", "fack")
        rules.pipe_rule = self.sack_rule == "pipe"
        rules.dupthresh = self.reordering
        ssthresh = self.initial_ssthresh_segments
        rules.ssthresh = self.window if ssthresh is None else ssthresh
        rules.limited_transmit, rules.timestamps = self.limited_transmit, self.timestamps
        rules.careful = 1
        rules.tick_ns, rules.phase_ns = nanoseconds(self.tick_s), nanoseconds(self.tick_phase_s)
        rules.up = self.rounding == "up"
        rules.min_rto_ns, rules.max_rto_ns = nanoseconds(self.min_rto_s), nanoseconds(self.max_rto_s)
        rules.initial_rto_ns = nanoseconds(self.initial_rto_s)
        rules.ack_every = 2 if self.delayed_ack == "second" else 1
        rules.ack_delay_ns = nanoseconds(self.delayed_ack_s)
        return rules

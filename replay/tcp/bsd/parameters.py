"""Parameters of 4.4BSD's TCP.

Source: McKusick et al., The Design and Implementation of the 4.4BSD Operating System, 13; Wright & Stevens, TCP/IP
Illustrated 2, 24 to 28: timers in ticks of the slow timer (500 ms), ACKs by the fast timer (200 ms).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.replay.tcp.ranges import Range, Words, check, nanoseconds
from multitracer.replay.tcp.rfc import parameters as rfc

RANGES: dict[str, Range] = {**rfc.RANGES, "variant": Words(("reno", "bsd")), "rounding": Words(("crossed",))}


@dataclass(frozen=True, kw_only=True)
class Parameters(rfc.Parameters):
    """Reno with the RTO in whole ticks, which are counted as the slow timer makes them.

    An RTO of n ticks expires at the n-th tick from now, so up to a tick early. A reduction halves the smaller of both
    windows, not the flight; duplicate ACKs after a timeout are not told from others.
    """

    variant: str = "reno"
    """Of senders there is no other; `bsd` says the same."""
    initial_window: int = 1
    limited_transmit: bool = False
    tick_s: float = 0.5
    """The slow timer."""
    min_rto_s: float = 1
    """TCPTV_MIN."""
    max_rto_s: float = 64
    """TCPTV_REXMTMAX."""
    initial_rto_s: float = 6
    delayed_ack: str = "second"
    delayed_ack_s: float = 0.2
    """The fast timer: an ACK that is owed goes at its next expiry, a multiple of this."""
    timestamps: bool = True

    def __post_init__(self) -> None:
        if self.variant == "bsd":
            object.__setattr__(self, "variant", "reno")
        super().__post_init__()
        check(RANGES, self)

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = super().rules()
        rules.careful, rules.half_window, rules.restarts, rules.bsd_estimator = 0, 1, 1, 1
        rules.ack_grid_ns = nanoseconds(self.delayed_ack_s)
        return rules

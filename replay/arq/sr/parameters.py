"""Parameters of selective repeat, and the record of rules that its kernels read.

Source of the defaults: Xylomenos & Makidis, Link Layer Adaptation for Shared Wireless Links, MONET 13 (3-4),
2008; it states neither header sizes nor the width of sequence numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import joined, numbers, record
from multitracer.replay.arq.sdu_queue import ROOM
from multitracer.replay.arq.sr.frames import MODULUS, SMALLEST_HEADER

MS = 1_000_000
"""Nanoseconds in a millisecond."""

NACKS = ("multireject", "one-outstanding", "one-per-frame")
RENACK = ("none", "echo", "rtt", "every")
NO_RENACK, BY_ECHO, BY_TIME = range(3)
"""Values of `renacks` in the rules: every is by time too, after 0 ns."""
TIMER_STARTS = ("hand-down", "sent")
PIGGYBACKS = ("due", "late")
SHORTEST_MS, LONGEST_MS = 1e-6, 3_600_000
"""A nanosecond, in which times are counted, and an hour."""
LARGEST_HEADER = 64
MOST_RETRANSMISSIONS = 10_000

RULES = joined(
    numbers(
        "window ack_delay_ns", "one_outstanding renacks renack_ns", "late_acks timer_on_air most_sendings",
        "header_bytes control_bytes", "timeout_ns", "tick_ns srtt_ticks karn new_srtt least_ns most_ns",
    ),
    tables=[("alpha", np.float64), ("beta", np.float64)],
)  # fmt: skip
"""one_outstanding: whether a NACK waits for the frame that the NACK before it asked for; renacks: whether a frame may
have several, and by what, renack_ns: how long after the last; late_acks: whether an ACK goes with data only once its
timer expired; timer_on_air: whether a frame's timer starts when it has been sent; most_sendings: 0 for no limit. From
tick_ns on they are ASR's; it is 0 when the timeout is constant (timeout_ns)."""


def within(name: str, value: int, low: int, high: int) -> None:
    """Raise UsageError unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} {value!r} must be a whole number from {low} to {high}")


def within_ms(name: str, value: float, low: float, high: float) -> None:
    """Raise UsageError unless `value` is a number of milliseconds from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        said = f"{value:.10g}" if isinstance(value, float) else repr(value)
        raise UsageError(f"{name} {said} must be a number from {low:.10g} to {high:.10g}")


def nanoseconds(ms: float) -> int:
    """Milliseconds as whole nanoseconds."""
    return round(ms * MS)


@dataclass(frozen=True, kw_only=True)
class WindowParameters:
    """What SR and ASR have in common; both sides of a link have the same."""

    window: int = 127
    """Frames that may be sent and not acknowledged, and that a receiver keeps (paper: 127)."""
    ack_delay_ms: float = 500
    """So long an ACK waits for a data frame to travel with (paper: 0.5 s)."""
    nack: str = "multireject"
    """How missing frames are reported. `multireject`: a NACK for each at once, and again by the rule of `renack`;
    `one-per-frame`: one NACK for each at once, as with `renack` none; `one-outstanding`: one NACK for each, which
    waits until the frame that the NACK before asked for has arrived. What is lost again the sender's timer repairs."""
    renack: str = "echo"
    """With `multireject`, `echo`: a frame still missing after the sender answered its NACK gets another; `rtt`: one
    still missing `renack_ms` after its last NACK does when the next data frame comes; `every`: each data frame that
    comes while it is missing makes another; `none`: one NACK each."""
    renack_ms: float = 133
    """With `rtt`: the link's round trip (paper: twice 50 ms, a frame and an ACK at 64 kbit/s)."""
    timer_starts: str = "hand-down"
    """A frame's timer, and ASR's sample, start when it is handed down (paper), or when it has been `sent`."""
    piggyback: str = "due"
    """Any data frame takes an ACK along that is owed, or (`late`) only one that is to be sent when `ack_delay_ms` are
    over."""
    max_retransmissions: int = -1
    """Times that a frame is sent again; then its SDU is given up, and a frame without it (SKIP) goes in its place until
    that is acknowledged. -1: no limit (paper: none is stated)."""
    header_bytes: int = 6
    """Octets in front of the SDU in a data frame."""
    control_bytes: int = 6
    """Octets of an ACK, NACK or SKIP frame."""
    queue_sdus: int = ROOM
    """SDUs that wait, at most."""

    def __post_init__(self) -> None:
        within("window", self.window, 1, MODULUS // 2)
        within_ms("ack_delay_ms", self.ack_delay_ms, 0, LONGEST_MS)
        within("header_bytes", self.header_bytes, SMALLEST_HEADER, LARGEST_HEADER)
        within("control_bytes", self.control_bytes, SMALLEST_HEADER, LARGEST_HEADER)
        within_ms("renack_ms", self.renack_ms, 0, LONGEST_MS)
        within("queue_sdus", self.queue_sdus, 1, ROOM)
        within("max_retransmissions", self.max_retransmissions, -1, MOST_RETRANSMISSIONS)
        for name, words in (
            ("nack", NACKS), ("renack", RENACK), ("timer_starts", TIMER_STARTS), ("piggyback", PIGGYBACKS),
        ):  # fmt: skip
            if getattr(self, name) not in words:
                raise UsageError(f"{name} {getattr(self, name)!r} must be one of {', '.join(words)}")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = record(RULES)
        rules.window = self.window
        rules.ack_delay_ns = nanoseconds(self.ack_delay_ms)
        rules.one_outstanding = self.nack == "one-outstanding"
        rules.renacks = (NO_RENACK, BY_ECHO, BY_TIME, BY_TIME)[RENACK.index(self.renack)]
        if self.nack != "multireject":
            rules.renacks = NO_RENACK
        rules.renack_ns = nanoseconds(self.renack_ms) if self.renack == "rtt" else 0
        rules.late_acks, rules.timer_on_air = self.piggyback == "late", self.timer_starts == "sent"
        rules.most_sendings = 1 + self.max_retransmissions
        rules.header_bytes, rules.control_bytes = self.header_bytes, self.control_bytes
        return rules


@dataclass(frozen=True, kw_only=True)
class SrParameters(WindowParameters):
    """SR: every frame is sent again after the same timeout."""

    timeout_ms: float = 1100
    """From handing a frame down to sending it again (paper: 900 to 1300, comparisons at 1100)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        within_ms("timeout_ms", self.timeout_ms, SHORTEST_MS, LONGEST_MS)

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = super().rules()
        rules.timeout_ns = nanoseconds(self.timeout_ms)
        return rules

"""Parameters of selective repeat, and the record of rules that its kernels read.

Source of the defaults: Xylomenos & Makidis, Link Layer Adaptation for Shared Wireless Links, MONET 13 (3-4),
2008; it states neither header sizes nor the width of sequence numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import numbers, record
from multitracer.replay.arq.sr.frames import MODULUS, SMALLEST_HEADER

MS = 1_000_000
"""Nanoseconds in a millisecond."""

NACKS = ("multireject", "one-outstanding", "one-per-frame")
RENACK = ("none", "echo")
LONGEST_MS = 3_600_000
LARGEST_HEADER = 64

RULES = numbers(
    "window ack_delay_ns", "one_outstanding renacks", "header_bytes control_bytes", "timeout_ns",
    "tick_ns alpha beta srtt_ticks karn new_srtt most_ns",
)  # fmt: skip
"""one_outstanding: whether a NACK waits for the frame that the NACK before it asked for; renacks: whether a frame may
have several. The last seven are ASR's; tick_ns is 0 when the timeout is constant (timeout_ns)."""


def within(name: str, value: int, low: int, high: int) -> None:
    """Raise UsageError unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} {value!r} must be a whole number from {low} to {high}")


@dataclass(frozen=True, kw_only=True)
class WindowParameters:
    """What SR and ASR have in common; both sides of a link have the same."""

    window: int = 127
    """Frames that may be sent and not acknowledged, and that a receiver keeps (paper: 127)."""
    ack_delay_ms: int = 500
    """So long an ACK waits for a data frame to travel with (paper: 0.5 s)."""
    nack: str = "multireject"
    """How missing frames are reported. `multireject`: a NACK for each at once, and again by the rule of `renack`;
    `one-per-frame`: one NACK for each at once, as with `renack` none; `one-outstanding`: one NACK for each, which
    waits until the frame that the NACK before asked for has arrived. What is lost again the sender's timer repairs."""
    renack: str = "echo"
    """With `multireject`, `echo`: a frame still missing after the sender answered its NACK gets another; `none`: one
    NACK each."""
    header_bytes: int = 6
    """Octets in front of the SDU in a data frame."""
    control_bytes: int = 6
    """Octets of an ACK or NACK frame."""

    def __post_init__(self) -> None:
        within("window", self.window, 1, MODULUS // 2)
        within("ack_delay_ms", self.ack_delay_ms, 0, LONGEST_MS)
        within("header_bytes", self.header_bytes, SMALLEST_HEADER, LARGEST_HEADER)
        within("control_bytes", self.control_bytes, SMALLEST_HEADER, LARGEST_HEADER)
        for name, value, words in (("nack", self.nack, NACKS), ("renack", self.renack, RENACK)):
            if value not in words:
                raise UsageError(f"{name} {value!r} must be one of {', '.join(words)}")

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = record(RULES)
        rules.window = self.window
        rules.ack_delay_ns = self.ack_delay_ms * MS
        rules.one_outstanding = self.nack == "one-outstanding"
        rules.renacks = self.nack == "multireject" and self.renack == "echo"
        rules.header_bytes, rules.control_bytes = self.header_bytes, self.control_bytes
        return rules


@dataclass(frozen=True, kw_only=True)
class SrParameters(WindowParameters):
    """SR: every frame is sent again after the same timeout."""

    timeout_ms: int = 1100
    """From handing a frame down to sending it again (paper: 900 to 1300, comparisons at 1100)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        within("timeout_ms", self.timeout_ms, 1, LONGEST_MS)

    def rules(self) -> Any:
        """The parameters as kernels read them."""
        rules = super().rules()
        rules.timeout_ns = self.timeout_ms * MS
        return rules

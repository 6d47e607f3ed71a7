"""What one direction of a link is set to: when it may send, what waits below the entity, and what the air loses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multitracer.model.errors import UsageError
from multitracer.replay.engine import way
from multitracer.replay.engine.way import Way

MOST_PER_SLOT, LONGEST_QUEUE = 1000, 1 << 20
LONGEST_NS = 10**13
MOST_DRAWN = 1 << 16
"""Random numbers drawn at once: each time costs as much as some hundred frames, as the loop is left and entered."""


class Channel:
    """What loses frames; its numbers are drawn outside the kernels."""

    def begin(self, made: Way) -> Way:
        """The way with this channel's arrays and settings."""
        raise NotImplementedError

    def go_on(self, made: Way) -> Way:
        """The way with more numbers: those that it has are used up."""
        return made

    def cover(self, made: Way, until: int) -> Way:  # noqa: ARG002
        """The way with all the channel's times up to `until` (ns)."""
        return made


@dataclass(frozen=True)
class Erased(Channel):
    """Erasures (1) by opportunity, or by frame on a serialised link; after its end nothing is lost."""

    trace: Any = ()

    def begin(self, made: Way) -> Way:
        """The way with this trace."""
        made.state.channel = way.TRACE
        return made._replace(trace=np.ascontiguousarray(self.trace, dtype=np.uint8))


@dataclass(frozen=True)
class RandomErasures(Channel):
    """A frame is lost with a probability of its own or by its bits; `draw(n)` gives the next n uniform numbers.

    Number k belongs to the k-th frame on the air.
    """

    draw: Callable[[int], Any]
    loss_rate: float = 0.0
    bit_error_rate: float = 0.0
    block: int = 4096

    def begin(self, made: Way) -> Way:
        """The way with the first numbers."""
        made.state.channel, made.state.threshold = way.RANDOM, math.ceil(self.loss_rate * way.SCALE)
        made.state.log_good_bit = math.log1p(-self.bit_error_rate)
        return made._replace(numbers=self._numbers(self.block))

    def go_on(self, made: Way) -> Way:
        """The way with the numbers not used yet and more where none are left: ever more, up to MOST_DRAWN."""
        if made.state.made - made.state.first_number < len(made.numbers):
            return made
        left = made.numbers[int(made.state.sent - made.state.first_number) :]
        made.state.first_number = made.state.sent
        more = self._numbers(max(self.block, min(2 * len(made.numbers), MOST_DRAWN)))
        return made._replace(numbers=np.concatenate([left, more]))

    def _numbers(self, count: int) -> Any:
        return (np.asarray(self.draw(count)) * way.SCALE).astype(np.int64)


@dataclass(frozen=True)
class BadTimes(Channel):
    """Nothing gets through in bad times: [times[0], times[1]), [times[2], times[3]) and so on, in ns."""

    times: Any
    rule: str = "touch"
    """A frame is lost that touches a bad time, or (end) that ends in one."""

    def begin(self, made: Way) -> Way:
        """The way with these times."""
        times = np.array(self.times, dtype=np.int64)
        if len(times) % 2 or (np.diff(times) < 0).any() or self.rule not in ("touch", "end"):
            raise UsageError("bad times need a begin and an end each, in order, and the rule touch or end")
        made.state.channel, made.state.rule = way.BAD_TIMES, way.TOUCH if self.rule == "touch" else way.END
        return made._replace(times=times)


@dataclass(frozen=True)
class TwoStates(RandomErasures):
    """Good and bad times by turns, each with a bit error rate (`bit_error_rate` is the good one's).

    `sojourns(n)` gives the lengths of the next n pairs of a good time and a bad one, in ns; where `starts_bad`, the
    first good one is left out.
    """

    bad_bit_error_rate: float = 0.0
    sojourns: Callable[[int], Any] = field(kw_only=True)
    rule: str = "product"
    starts_bad: bool = False

    def begin(self, made: Way) -> Way:
        """The way with the first numbers; its times come by `cover`."""
        made = super().begin(made)
        made.state.channel, made.state.rule = way.STATES, RULES[self.rule]
        made.state.log_bad_bit = math.log1p(-self.bad_bit_error_rate)
        return made

    def cover(self, made: Way, until: int) -> Way:
        """The way with times that go beyond `until` by more than any frame waits and lasts."""
        times = made.times
        while not len(times) or times[-1] < until + LONGEST_NS:
            lengths = np.asarray(self.sojourns(self.block), dtype=np.int64)
            if not len(times) and self.starts_bad:
                lengths[0, 0] = 0
            begun = int(times[-1]) if len(times) else 0
            times = np.concatenate([times, begun + np.cumsum(lengths.ravel())])
        return made._replace(times=times)


RULES = {"touch": way.TOUCH, "end": way.END, "product": way.PRODUCT}


@dataclass(frozen=True)
class Direction:
    """One direction: slotted (`slot_ns`) with frames that arrive `delay_ns` after the opportunity's begin, or
    serialised by octets (`rate_bps`) with frames that arrive `delay_ns` after their last bit."""

    delay_ns: int
    slot_ns: int = 0
    per_slot: int = 1
    rate_bps: int = 0
    channel: Channel = field(default_factory=Erased)
    eager: bool = False
    """Frames are made when the entity has them, and wait in the device's queue; else when they are sent."""
    queue_frames: int = 0
    """Frames that may wait in that queue, beside the one on the air; 0: any number."""
    drops: bool = True
    """A full queue drops frames; else none are made until there is room."""
    control_first: bool = False
    """Control frames pass what waits in that queue with data."""
    hits_control: bool = True
    """The channel loses any frame; else neither control frames nor packets that go past the entity."""
    whole_slots: bool = False
    """All frames of an opportunity are lost together: by the first one's luck."""
    late: tuple[tuple[int, int], ...] = ()
    """Frames that arrive later than others: the number of each, from 0 as they are sent, and by how much (ns)."""

    def __post_init__(self) -> None:
        if (self.slot_ns > 0) == (self.rate_bps > 0):
            raise UsageError("a direction needs either slot_ns or rate_bps, above 0")
        if not 1 <= self.delay_ns <= LONGEST_NS or not 0 <= self.slot_ns <= LONGEST_NS:
            raise UsageError(f"slot_ns {self.slot_ns} and delay_ns {self.delay_ns} must be 1 or more, 10^13 at most")
        if not 1 <= self.per_slot <= MOST_PER_SLOT:
            raise UsageError(f"frames of an opportunity are {self.per_slot}; they must be 1 to {MOST_PER_SLOT}")
        if not 0 <= self.queue_frames <= LONGEST_QUEUE:
            raise UsageError(f"queue_frames is {self.queue_frames}; it must be 0 to {LONGEST_QUEUE}")
        if self.whole_slots and not self.slot_ns:
            raise UsageError("whole_slots needs slot_ns: frames serialised by octets have no opportunity in common")
        if any(not 0 <= by <= LONGEST_NS for _, by in self.late):
            raise UsageError("frames can be late by 0 to 10^13 ns")

    def way(self, side: int, frames: Callable[[int], Any]) -> Way:
        """The direction that `side` sends in, at rest; `frames` makes tables of the protocol's frames."""
        flying = (self.delay_ns // self.slot_ns + 2) * self.per_slot if self.slot_ns else 8
        size = 1 << int(flying + self.queue_frames).bit_length()
        state = way.idle_state()
        state.side = side
        state.slotted, state.eager, state.drops = self.slot_ns > 0, self.eager, self.drops
        state.slot_ns, state.per_slot, state.rate_bps = self.slot_ns, self.per_slot, self.rate_bps
        state.delay_ns, state.limit, state.mask = self.delay_ns, self.queue_frames, size - 1
        state.control_first, state.hits_all, state.whole_slots = self.control_first, self.hits_control, self.whole_slots
        state.asks = int(not self.eager)
        state.next_ns = 0
        made = Way(
            state, way.ring(size), frames(size),
            np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64),
            np.array(sorted(self.late), dtype=np.int64).ravel(),
        )  # fmt: skip
        return self.channel.begin(made)

"""A source of media that talks and is silent in turns: when its packets are sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_NS_PER_S = 1_000_000_000
_BITS = 8
_BLOCK = 256
"""Talks that are drawn at a time, at most: no more than it takes, as talks may be long."""


@dataclass(frozen=True)
class Voice:
    """How a source talks."""

    rate_bps: float = 56_000.0
    packet_bytes: int = 250
    talk_s: float = 1.0
    silent_s: float = 1.35
    whole_bursts: bool = True
    """A talk has a whole number of packets, at least one, as ns-2's exponential on/off source; else its time is kept
    to the nanosecond, and the clock of the packets goes on where the talk before left it."""
    stationary: bool = False
    """At time 0 it is in the middle of whatever it does; else silence begins."""

    @property
    def interval_ns(self) -> float:
        """From packet to packet while it talks."""
        return self.packet_bytes * _BITS * _NS_PER_S / self.rate_bps

    @property
    def talks_percent(self) -> float:
        """How much of the time it talks, on the average."""
        return 100 * self.talk_s / (self.talk_s + self.silent_s)


class Talker:
    """The packets of one seed, in blocks: the same however many are taken at a time.

    `stream` makes the stream of a part of the media's random numbers.
    """

    def __init__(self, stream: Callable[[int], Any], voice: Voice) -> None:
        self._talks, self._silences, start = map(stream, range(3))
        self._voice = voice
        # What was silence, what was talk, and how many packets went before: times follow from these whole numbers, so
        # that nothing is summed up differently in other blocks.
        self._silent_ns, self._talked_ns, self._sent = 0, 0, 0
        self._taken = np.zeros(0, np.int64)
        self._talking = voice.stationary and bool(100 * start.uniform(1)[0] < voice.talks_percent)

    def times(self, until_ns: int) -> Any:
        """The times of all packets from the first on, up to `until_ns` and some beyond, in ns; int64, rising."""
        while not len(self._taken) or self._taken[-1] <= until_ns:
            reached = int(self._taken[-1]) if len(self._taken) else 0
            turns = (until_ns - reached) / _NS_PER_S / (self._voice.talk_s + self._voice.silent_s)
            self._taken = np.concatenate([self._taken, self.take(int(min(turns + 1, _BLOCK)))])
        return self._taken

    def take(self, talks: int) -> Any:
        """The times of the packets of the next talks, in ns from the start; int64, rising."""
        voice = self._voice
        silent = _ns(self._silences.exponential(talks, voice.silent_s))
        talking = _ns(self._talks.exponential(talks, voice.talk_s))
        if self._talking and talks:
            silent[0], self._talking = 0, False
        silent = self._silent_ns + silent.cumsum()
        times = self._bursts(silent, talking) if voice.whole_bursts else self._stretches(silent, talking)
        self._silent_ns = int(silent[-1]) if talks else self._silent_ns
        self._sent += len(times)
        return times

    def _bursts(self, silent: Any, talking: Any) -> Any:
        """Whole packets: each comes an interval after what was before it, silence or packet (ns-2, expoo.cc)."""
        packets = np.maximum(np.floor(talking / self._voice.interval_ns + 0.5), 1).astype(np.int64)
        return np.repeat(silent, packets) + self._beats(int(packets.sum()))

    def _stretches(self, silent: Any, talking: Any) -> Any:
        """Packet n is sent when the source has talked n intervals altogether."""
        talked = self._talked_ns + talking.cumsum()
        self._talked_ns = int(talked[-1]) if len(talked) else self._talked_ns
        beats = self._beats(max(int(self._talked_ns / self._voice.interval_ns) + 1 - self._sent, 0))
        beats = beats[beats <= self._talked_ns]
        return silent[np.searchsorted(talked, beats)] + beats

    def _beats(self, count: int) -> Any:
        """When the next packets would be sent if all silence were left out."""
        nth = np.arange(self._sent + 1, self._sent + count + 1)
        return np.rint(nth * self._voice.interval_ns).astype(np.int64)


def _ns(seconds: Any) -> Any:
    return np.rint(seconds * _NS_PER_S).astype(np.int64)

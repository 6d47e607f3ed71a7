"""What a detector needs: which tables it reads, and which inputs give them.

A detector's NEEDS lists Needs that must all be met; `either` joins alternatives into one. The runner
calls a detector only when its needs are met: a detector need not check for missing tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from multitracer.findings.observations import Observations


@dataclass(frozen=True)
class Need:
    """Something that a detector cannot do without."""

    input: str
    """The input that gives it, in words for the user."""
    met: Callable[[Observations], bool]
    made_from: tuple[Need, ...] = ()
    """Needs that it depends on: where one of these is not met, that one's input is asked for instead."""

    def inputs_asked_for(self, observed: Observations) -> Iterator[str]:
        """The inputs that would meet it; none where it is met."""
        if self.met(observed):
            return
        deeper = [text for need in self.made_from for text in need.inputs_asked_for(observed)]
        yield from deeper or [self.input]


def either(*needs: Need) -> Need:
    """A need that is met when one of these is."""
    return Need(
        " or ".join(dict.fromkeys(need.input for need in needs)),
        lambda observed: any(need.met(observed) for need in needs),
    )


def inputs_asked_for(needs: Iterable[Need], observed: Observations) -> str:
    """The inputs that would meet all of the needs, as text; empty where all are met."""
    texts = [text for need in needs for text in need.inputs_asked_for(observed)]
    return " and ".join(dict.fromkeys(texts))


SEGMENTS = Need("a packet capture of the transfer", lambda observed: len(observed.segments) > 0)

ROUND_TRIPS = Need(
    "a packet capture beside the data sender",
    lambda observed: bool(observed.directions.beside_sender.any()),
)

ROUND_TRIPS_OUTSIDE_WINDOW = Need(ROUND_TRIPS.input, lambda observed: observed.usual_rtt_ns > 0)

BOTH_ENDS = Need(
    "packet captures of the same transfer at both ends",
    lambda observed: bool(observed.directions.beside_both.any()),
)

FRAMES = Need("a log of the link's frames", lambda observed: observed.frames is not None)

LIMITS = Need(ROUND_TRIPS.input, lambda observed: observed.limits is not None and ROUND_TRIPS.met(observed))

LINK_INTERVALS = Need(FRAMES.input, lambda observed: observed.link_intervals is not None)

LINK_RTT = Need(
    "a log of the link's frames that shows when the peer acknowledged them",
    lambda observed: observed.link_rtt_ns is not None,
    made_from=(FRAMES,),
)

SEGMENT_FRAMES = Need(
    "a log of the link's frames and a packet capture of the same transfer",
    lambda observed: observed.segment_frames is not None and len(observed.segment_frames) > 0,
    made_from=(SEGMENTS, FRAMES),
)

ACCOUNTING = Need(
    "a log of the link's frames from the end that sends the data, or the link's rate (--link-rate BPS)",
    lambda observed: observed.accounting is not None and len(observed.accounting) > 0,
)

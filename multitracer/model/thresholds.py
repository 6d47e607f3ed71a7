"""Thresholds of the detectors: when an observation becomes a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """When an observation becomes a finding. Times in round trips or frame times wherever possible."""

    hole_link_rtts: float = 2.0
    """link-recovery-hole: a gap in arrivals of more link round trips than this."""
    outage_link_rtts: float = 2.0
    """link-outage: no frame through either way for more link round trips than this."""
    queue_pipes: float = 1.0
    """excessive-queueing: the wait exceeds this many times the round trip of the empty path."""
    queue_rtts: float = 10.0
    """excessive-queueing: and lasts for this many round trips."""
    queue_least_ms: float = 20.0
    """excessive-queueing: and exceeds this where only round trips show it, because hosts add delay of their own."""
    idle_rtts: float = 1.0
    """idle-link: an idle interval of more round trips than this."""
    burst_rtts: float = 1.0
    """burst-loss: segments sent within this many round trips are lost together."""
    burst_segments: int = 2
    """burst-loss: at least this many segments."""
    compression_ratio: float = 0.5
    """ack-compression: acknowledgements come at less than this share of the spacing they left with."""
    compression_acks: int = 4
    """ack-compression: at least this many in a row."""
    group_rtts: float = 1.0
    """Events of one kind that are closer together than this many round trips make one finding."""

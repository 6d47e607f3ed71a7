"""The thresholds of all detectors: from which size on something is reported as a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """From which size on something is a finding. Times in round trips or frame times wherever possible."""

    hole_link_rtts: float = 2.0
    """link-recovery-hole: a gap in arrivals of more link round trips than this."""
    outage_link_rtts: float = 2.0
    """link-outage: no frame through either way for more link round trips than this."""
    queue_pipes: float = 1.0
    """excessive-queueing: the wait is longer than this many least round trips."""
    queue_rtts: float = 10.0
    """excessive-queueing: and such waits go on for this many least round trips."""
    queue_least_ms: float = 20.0
    """excessive-queueing: and the wait exceeds this where only round trips show it, as hosts delay packets too."""
    idle_rtts: float = 1.0
    """idle-link: an idle interval of more round trips than this."""
    stall_rtts: float = 2.0
    """path-stall: nothing arrives for more round trips than this; what limits say begins at two."""
    limited_rtts: float = 1.0
    """receiver-window-limited, application-limited: a stretch of more round trips than this."""
    burst_rtts: float = 1.0
    """burst-loss: segments sent within this many round trips are lost together."""
    burst_segments: int = 2
    """burst-loss: at least this many segments."""
    compression_ratio: float = 0.5
    """ack-compression: acknowledgements come at less than this share of the spacing they left with."""
    compression_acks: int = 4
    """ack-compression: the least number in a row."""
    decompression_segments: int = 2
    """header-decompression-failure: the least number of segments in a row with the same shift of sequence numbers."""
    group_rtts: float = 1.0
    """Events of one kind closer together than this many round trips make one finding."""

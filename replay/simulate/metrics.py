"""The metrics of a run, and what each means; a run gives None for one that its scenario cannot have."""

from __future__ import annotations

from typing import Any

EVENTS, ENDED, LOSSLESS = BESIDE = ("events", "ended", "lossless")
"""What a run may give beside metrics: how many events it took, why it could not go on to its end, and from where on its
channel lost nothing because a trace was over."""
METRICS: dict[str, str] = {
    "throughput_bps": "application octets, each once, over the time of the workload",
    "goodput_bps": "application octets of complete transfers over that time",
    "tcp_retransmissions": "data segments that TCP sent again",
    "tcp_timeouts": "retransmission timers that ran out",
    "media_delay_ms": "one-way delay of the media packets that arrived",
    "media_loss_percent": "media packets that did not arrive",
    "frame_loss_percent": "frames on the air that were lost",
    "link_transmissions_per_frame": "transmissions of a data frame, the first included",
    "rtt_ms": "TCP's round trips, as the sender measures them",
    "queue_drops": "packets and frames that found a queue full, of a host, the wired hop or a device",
    "connection_goodput_bps": "mean of the connections' octets over time",
    "page_goodput_bps": "octets of all pages over the sum of their times",
    "completion_s": "first packet of the connection to the last acknowledgement at the sender",
    "packets_sent": "data packets that TCP sent",
    "media_delay_with_lost_ms": "the same, those that did not arrive counted as late as the latest that did",
    "link_queue_drop_percent": "of the frames that the link protocol handed down, media past it left out, those that "
    "found the device's queue full",
    "link_timeouts": "timers of the link protocol that ran out",
    "link_resets": "resets of the link",
    "link_discards": "SDUs that the link protocol gave up",
    "link_flushed_bytes": "octets that resets dropped",
    "tcp_retransmissions_of_held_per_mb": "octets sent again by TCP of which the link had an earlier copy, neither "
    "delivered nor given up, per megabyte of replies",
    "tcp_retransmissions_of_delivered_percent": "of the data segments sent again, those of which an earlier copy came, "
    "before or after",
    "tcp_spurious_timeouts": "timeouts after which data was sent again of which an earlier copy came, before or after",
    "tcp_timeouts_outside_resets": "timeouts after a connection's first ten round trips, but for those from TCP's last "
    "progress before the end of a reset of the link to the acknowledgement of something sent after it",
    "competing_recoveries": "data segments sent again while the link had an earlier copy that it had sent, and that it "
    "delivered after repeating a frame of it",
    "repair_s": "from when a data frame listed as lost would have arrived to when a copy of it did",
    "page_goodput_mean_bps": "mean of the pages' octets over time",
    "connection_goodput_weighted_bps": "octets of all connections over the sum of their times",
    "connection_goodput_quartile_bps": "the same for four classes of size",
    "utilization_percent": "of RLP: share of the session in which the link was neither idle nor carrying what "
    "TCP had sent before",
    "idle_s": "of RLP: time of the session in which nothing used the link",
    "link_recovery_hole_s": "of RLP: longest time without a delivery of data while the link repaired, or was reset",
    "flow_controlled_s": "time in which the far end had stopped the sender",
    "max_outstanding_bytes": "most octets sent and not acknowledged",
    "max_interface_queue_segments": "most segments in the sending host's queue",
    "burst_after_repair_segments": "segments sent at once when what the first fast retransmit repaired was "
    "acknowledged, the first after a local drop where there is one",
    "syn_retransmission_s": "how long after its first SYN a connection sent another",
    "cwnd_after_local_drop_segments": "congestion window after the first segment that the host's queue dropped",
    "cwnd_before_local_drop_segments": "congestion window before that",
    "local_drops": "packets that the hosts' own queues dropped",
    "fast_retransmits_after_local_drop": "fast retransmits after the first of those drops",
    "cwnd_after_repair_segments": "congestion window when what that fast retransmit repaired was acknowledged",
    "header_discards": "segments lost to compressed headers",
    "discarded_segment_dupacks": "duplicate acknowledgements of such segments: none, as TCP does not answer them",
}
"""In the order in which results are listed."""


def sample(value: Any) -> float | None:
    """A run's value of a metric as one number: of several samples their mean; None where there is none."""
    if isinstance(value, list | tuple):
        known = [one for one in value if one is not None]
        return sum(known) / len(known) if known else None
    return None if value is None else float(value)

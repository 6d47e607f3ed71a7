"""No octet appears or vanishes: at every queue what was sent was delivered, dropped, or waits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from octet_books import unbalanced
from simulations import scenario, simulated

LINKS: dict[str, dict[str, Any]] = {
    "raw": {"link__protocol": "raw"},
    "sr": {"link__protocol": "sr", "link__sr__timeout_s": 0.4},
    "rlc-tm": {"link__protocol": "rlc-tm"},
    "rlp": {"link__protocol": "rlp", "link__ppp": False, "link__frame_bytes": 100},
    "asr": {"link__protocol": "asr", "link__asr__max_retransmissions": 3},
    "rlc-am": {"link__protocol": "rlc-am", "link__rlc_am__max_dat": 4, "link__rlc_am__mrw_s": 0.2},
    "rlc-am without indicators": {
        "link__protocol": "rlc-am",
        "link__rlc_am__length_indicators": False,
        "link__rlc_am__after_max_dat": "reset",
        "link__rlc_am__max_dat": 3,
    },
    "rlc-um": {"link__protocol": "rlc-um", "link__frame_bytes": 80},
}
SENDERS: dict[str, dict[str, Any]] = {
    "ns-2": {"tcp__local_drop": "loss"}, "rfc": {"tcp__model": "rfc", "tcp__variant": "sack", "tcp__fin": True},
    "bsd": {"tcp__variant": "bsd"}, "linux": {"tcp__variant": "linux-2.4", "tcp__delayed_ack": "linux"},
}  # fmt: skip
WORKLOADS: dict[str, dict[str, Any]] = {
    "file": {"workload__file_bytes": 8000},
    "files": {"workload__file_bytes": 2000, "workload__files": 3, "workload__second_connection_at_s": 1},
    "pages": {"workload__kind": "web-sessions", "workload__off_s": 0.5, "workload__off_sd_s": 0.5,
              "workload__object_bytes": 1500, "workload__seconds": 30, "workload__server_s": 0.1},
    "browsing": {"workload__kind": "web-browsing", "workload__seconds": 30, "workload__parallel_connections": 2},
}  # fmt: skip
MEDIA: dict[str, dict[str, Any]] = {
    "none": {},
    "past": {"contention__enabled": True, "contention__direction": "both"},
    "carried": {"contention__enabled": True, "contention__direction": "both", "link__media_past_arq": False},
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    link=st.sampled_from(sorted(LINKS)), sender=st.sampled_from(sorted(SENDERS)),
    workload=st.sampled_from(sorted(WORKLOADS)), media=st.sampled_from(sorted(MEDIA)),
    direction=st.sampled_from(["down", "up"]), loss=st.sampled_from([0.0, 0.1]), seed=st.integers(1, 99),
    queues=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(0, 4)), eager=st.booleans(),
    until_s=st.sampled_from([1.5, 4.0, 30.0]),
)  # fmt: skip
def test_what_was_sent_was_delivered_or_dropped_or_waits(
    link: str, sender: str, workload: str, media: str, direction: str, loss: float, seed: int,
    queues: tuple[int, int, int], eager: bool, until_s: float,
) -> None:  # fmt: skip
    """In octets, at the hosts, their interface queues, the wired hop, the link and its queues, at any time."""
    device, wire, interface = queues
    done = simulated(scenario(
        **LINKS[link], **SENDERS[sender], **WORKLOADS[workload], **MEDIA[media], workload__direction=direction,
        channel__model="uniform", channel__frame_loss_rate=loss, link__queue_frames=device,
        link__hand_down="eager" if eager else "lazy", wired__queue_packets=wire, wired__rate_bps=100_000,
        tcp__interface_queue_packets=interface,
    ), seed, until_s)  # fmt: skip
    assert unbalanced(done) == []
    assert done.source.traffic["sent"].min() > 0

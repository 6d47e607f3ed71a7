"""The interface queue of a host: what it takes, what it drops, and what TCP does when it is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import scenario, simulated

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.interface_queue import (
    ROOM,
    go,
    has_waiting,
    interface_queue,
    join,
    longest_waiting,
    places,
)
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.run import setting

PHONE = {
    "tcp__variant": "bsd", "tcp__segment_bytes": 512, "tcp__header_bytes": 52, "tcp__receive_window_bytes": 8192,
    "tcp__initial_window": 1, "tcp__tick_s": 0.5, "tcp__initial_rto_s": 6, "tcp__timestamps": True,
    "tcp__limited_transmit": False, "tcp__delayed_ack": "second", "tcp__delayed_ack_s": 0.2, "tcp__ack_bytes": 52,
    "tcp__syn_bytes": 60, "link__frame_bytes": 512, "link__rate_bps": 9600, "link__delay_s": 0.2,
    "link__hand_down": "lazy", "wired__queue_packets": 0,
}  # fmt: skip
"""A host of BSD with 17 segments of window, on a link that takes a packet when it can send it."""


def phone(direction: str = "up", **more: Any) -> Any:
    """The scenario of a file that such a host sends."""
    down = {"wired__rate_bps": 9600} if direction == "down" else {}
    return scenario(**(PHONE | {"workload__direction": direction, "workload__file_bytes": 60_000} | down | more))


@pytest.mark.slow
@given(
    packets=st.lists(st.tuples(st.booleans(), st.integers(1, 600)), max_size=60), limit=st.integers(0, 5),
    most=st.sampled_from([0, 600, 2000]),
)  # fmt: skip
def test_packets_wait_in_their_order_up_to_the_limits(packets: list[tuple[bool, int]], limit: int, most: int) -> None:
    """As a list does, by packets and octets; what it takes is known before."""
    queue, waiting, highest, dropped = interface_queue(limit, most), [], 0, 0
    if not queue.state.used:
        return
    for comes, octets in packets:
        if comes:
            fits = (not limit or len(waiting) < limit) and (not most or sum(waiting) + octets <= most)
            assert (places(queue, octets) > 0) == fits
            at = join(queue, octets)
            assert (at >= 0) == fits
            if fits:
                queue.packets[at].octets = octets
                waiting.append(octets)
                highest = max(highest, len(waiting))
            dropped += 0 if fits else octets
        elif waiting:
            assert queue.packets[longest_waiting(queue)].octets == waiting.pop(0)
            go(queue)
        assert has_waiting(queue) == bool(waiting)
        assert queue.state.waiting == sum(waiting)
    assert (int(queue.state.most), int(queue.state.dropped_octets)) == (highest, dropped)


def test_without_limits_there_is_no_queue() -> None:
    """One in octets alone holds as many packets as there is room for."""
    assert not interface_queue(0, 0).state.used
    assert len(interface_queue(0, 10**6).packets) == ROOM


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_window_beyond_the_pipe_waits_in_the_queue(direction: str) -> None:
    """Seventeen segments, less those on their way: no queue of fifty overflows."""
    made = phone(direction, tcp__interface_queue_packets=50)
    found = measures(made, simulated(made))
    assert 13 <= found["max_interface_queue_segments"] <= 16
    assert (found["local_drops"], found["queue_drops"], found["tcp_retransmissions"]) == (0, 0, 0)
    assert found["max_outstanding_bytes"] == 17 * 460


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("limit", [{"tcp__interface_queue_packets": 10}, {"tcp__interface_queue_bytes": 5400}])
def test_a_sender_that_is_told_of_a_local_drop_begins_with_one_segment(direction: str, limit: dict[str, Any]) -> None:
    """One segment is lost a time, a fast retransmit repairs it, the timer does not run out; the queue holds ten."""
    made = phone(direction, **limit)
    found = measures(made, simulated(made))
    assert found["local_drops"] > 0
    assert found["max_interface_queue_segments"] == 10
    assert found["queue_drops"] == found["local_drops"] == found["tcp_retransmissions"]
    assert found["cwnd_after_local_drop_segments"] == 1 < found["cwnd_before_local_drop_segments"]
    assert found["fast_retransmits_after_local_drop"] == found["local_drops"]
    assert found["tcp_timeouts"] == 0
    assert found["cwnd_after_repair_segments"] == found["cwnd_before_local_drop_segments"] // 2
    assert found["burst_after_repair_segments"] > 0


def test_half_a_window_leaves_at_once_when_the_repair_is_acknowledged() -> None:
    """Where the receiver's window, and not the sender's, has kept everything back meanwhile."""
    made = phone(tcp__interface_queue_packets=14)
    found = measures(made, simulated(made))
    assert found["cwnd_before_local_drop_segments"] == 17
    assert (found["cwnd_after_repair_segments"], found["burst_after_repair_segments"]) == (8, 8)


def test_a_sender_that_is_not_told_loses_what_the_queue_has_no_room_for() -> None:
    """Its window stays as it is."""
    made = phone(tcp__interface_queue_packets=10, tcp__local_drop="loss")
    found = measures(made, simulated(made))
    assert found["local_drops"] > 0
    assert found["cwnd_after_local_drop_segments"] == found["cwnd_before_local_drop_segments"]


def test_a_device_with_a_full_queue_leaves_packets_in_the_interface_queue() -> None:
    """An eager link drops none of them; without an interface queue it does."""
    eager = {"link__hand_down": "eager", "link__queue_frames": 4}
    made = phone(tcp__interface_queue_packets=50, **eager)
    found = measures(made, simulated(made))
    assert (found["queue_drops"], found["tcp_retransmissions"]) == (0, 0)
    assert 8 < found["max_interface_queue_segments"] < 14
    made = phone(**eager)
    assert measures(made, simulated(made))["queue_drops"] > 0


def test_hosts_without_an_interface_queue_have_no_metrics_of_it() -> None:
    """Null, not 0."""
    made = phone()
    found = measures(made, simulated(made))
    assert not {"max_interface_queue_segments", "local_drops", "cwnd_after_local_drop_segments"} & set(found)


def test_a_model_that_cannot_be_told_is_refused() -> None:
    """ns-2's senders lose what their host drops; they have to be asked for that."""
    with pytest.raises(UsageError, match="not told what its host drops"):
        setting(scenario(tcp__interface_queue_packets=5), 1)
    setting(scenario(tcp__interface_queue_packets=5, tcp__local_drop="loss"), 1)

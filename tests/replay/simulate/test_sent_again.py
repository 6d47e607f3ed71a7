"""Data that TCP sends again, in runs in which what happens is known: single segments, listed losses, pauses."""

from __future__ import annotations

from typing import Any

import pytest
from simulations import scenario

from multitracer.compute import kernels
from multitracer.replay.simulate.run import run

ONE_AT_A_TIME: dict[str, Any] = {
    "tcp__window_segments": 1, "tcp__syn": False, "tcp__model": "rfc", "tcp__variant": "reno", "tcp__initial_rto_s": 1,
    "workload__segments": 3, "channel__model": "listed",
}  # fmt: skip
"""Segments of 250 octets, each sent when the one before is acknowledged; frame k of the data's way is segment k + 1."""
BULK: dict[str, Any] = {
    "link__protocol": "rlp", "link__frame_bytes": 30, "link__tti_s": 0.02, "link__blocks_per_tti": 1,
    "link__delay_s": 0.2, "link__queue_frames": 0, "link__hand_down": "lazy", "link__ppp": False,
    "tcp__variant": "bsd", "tcp__window_segments": 8, "workload__file_bytes": 20_000,
}  # fmt: skip
"""Over RLP without a loss: 18 s without a timeout, the tenth round trip after 7 s."""


def found(**keys: Any) -> dict[str, Any]:
    """The metrics of a run."""
    kernels.choose(0)
    return run(scenario(**keys), 1)


def test_what_is_truly_lost_was_neither_held_nor_delivered() -> None:
    """The second of three segments is lost on a link that repairs nothing: its timer is right to send it again."""
    one = found(link__protocol="raw", channel__forward__frames=(1,), **ONE_AT_A_TIME)
    assert (one["tcp_timeouts"], one["tcp_retransmissions"]) == (1, 1)
    assert one["tcp_spurious_timeouts"] == 0
    assert one["tcp_retransmissions_of_delivered_percent"] == 0
    assert one["tcp_retransmissions_of_held_per_mb"] == 0
    assert one["competing_recoveries"] is None
    assert one["tcp_timeouts_outside_resets"] is None


def test_a_link_slower_than_the_timer_competes_with_it() -> None:
    """The link holds the second segment until its own timer, after TCP's: 250 of 750 octets, one of one."""
    one = found(link__protocol="sr", link__sr__timeout_s=1.5, channel__forward__frames=(1,), **ONE_AT_A_TIME)
    assert (one["tcp_timeouts"], one["tcp_retransmissions"]) == (1, 1)
    assert one["tcp_spurious_timeouts"] == 1
    assert one["tcp_retransmissions_of_delivered_percent"] == 100
    assert one["tcp_retransmissions_of_held_per_mb"] == pytest.approx(1e6 / 3)
    assert one["competing_recoveries"] == 1


def test_a_link_that_repairs_in_time_leaves_nothing_to_tcp() -> None:
    """Its timer runs out first: nothing is sent again, and no share of nothing is given."""
    one = found(link__protocol="sr", link__sr__timeout_s=0.5, channel__forward__frames=(1,), **ONE_AT_A_TIME)
    assert one["tcp_retransmissions"] == one["tcp_spurious_timeouts"] == one["competing_recoveries"] == 0
    assert one["tcp_retransmissions_of_delivered_percent"] is None
    assert one["tcp_retransmissions_of_held_per_mb"] == 0


def test_a_repair_takes_as_long_as_the_links_timer() -> None:
    """Nothing follows the lost frame that would show its loss; a copy is as long on the air."""
    one = found(link__protocol="sr", link__sr__timeout_s=0.5, channel__forward__frames=(1,), **ONE_AT_A_TIME)
    assert one["repair_s"] == [pytest.approx(0.5)]
    assert found(link__protocol="raw", channel__forward__frames=(1,), **ONE_AT_A_TIME)["repair_s"] is None
    assert found(link__protocol="sr", **ONE_AT_A_TIME | {"channel__model": "none"})["repair_s"] is None


def test_a_stopped_link_holds_what_it_does_not_repeat() -> None:
    """TCP's timer runs out while RLP waits: the timeouts are spurious, but nothing was lost and repaired."""
    assert found(**BULK)["tcp_timeouts"] == 0
    one = found(link__stop_at_s=(12,), link__stop_s=(12,), **BULK)
    assert one["tcp_spurious_timeouts"] == one["tcp_timeouts"] >= 1
    assert one["tcp_retransmissions_of_held_per_mb"] > 0
    assert one["competing_recoveries"] == 0


def test_timeouts_of_a_pause_are_not_a_resets() -> None:
    """All timeouts come after the first ten round trips: those of a reset are explained, those of a pause are not."""
    paused = found(link__stop_at_s=(12,), link__stop_s=(12,), **BULK)
    reset = found(link__reset_at_s=(12,), **BULK)
    assert paused["tcp_timeouts_outside_resets"] == paused["tcp_timeouts"] >= 1
    assert reset["tcp_timeouts"] >= 1
    assert reset["tcp_timeouts_outside_resets"] == 0
    assert reset["link_resets"] == 1


def test_timeouts_before_ten_round_trips_are_a_timer_that_has_not_learnt() -> None:
    """A pause at the beginning is not counted."""
    early = found(link__stop_at_s=(0.6,), link__stop_s=(15,), **BULK)
    assert early["tcp_timeouts"] >= 1
    assert early["tcp_timeouts_outside_resets"] == 0


def test_what_was_sent_again_before_the_end_of_the_warm_up_is_not_counted() -> None:
    """TCP and the link compete in the first second or two; the metrics begin after five."""
    slow = {"link__protocol": "sr", "link__sr__timeout_s": 1.5, "channel__forward__frames": (1,)}
    longer = ONE_AT_A_TIME | {"workload__segments": 60}
    whole, later = found(**slow, **longer), found(**slow, **longer, workload__warmup_s=5)
    assert whole["competing_recoveries"] == whole["tcp_spurious_timeouts"] == 1
    assert later["competing_recoveries"] == later["tcp_spurious_timeouts"] == 0
    assert later["tcp_retransmissions_of_held_per_mb"] == 0
    assert later["tcp_retransmissions_of_delivered_percent"] is None

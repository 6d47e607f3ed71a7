"""What set each resend of a recorded run off."""

from __future__ import annotations

from sent_again import recorded
from simulations import scenario

from multitracer.replay.record.known_run import FAST
from multitracer.replay.record.tcp_truth import resends


def test_the_first_resend_of_a_recovery_is_the_fast_one_though_a_later_acknowledgement_made_room_for_it() -> None:
    """All but one of the duplicate acknowledgements are lost; Linux 2.4 has begun to recover when that one comes."""
    run = recorded(
        scenario(
            link__rate_bps=128_000, link__delay_s=0.086, wired__delay_s=0.074, wired__rate_bps=10_000_000,
            link__queue_frames=30, link__frame_bytes=1500, channel__model="two-state", channel__good_s=6.4,
            channel__bad_s=0.437, channel__bad_ber=0.01, tcp__variant="linux-2.4", tcp__segment_bytes=500,
            tcp__window_segments=8, workload__file_bytes=30_000,
        ),
        7021,
    ).run  # fmt: skip
    first = next(resends(run))
    begun = min(state.time_ns for state in run.states if state.seen.fast_retransmits == 1)
    assert begun < first.copy.sent_ns
    assert first.trigger == FAST

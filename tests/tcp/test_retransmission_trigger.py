"""What made the replayed sender retransmit: scripts of a few segments, one trigger each."""

from __future__ import annotations

import pytest
from sending import FLIGHT, Replayed, ack, again, data, replayed, syn_ack
from two_ends import MS

from multitracer.compute import kernels
from multitracer.tcp.retransmission_trigger import FAST, PROBE, RECOVERY, TIMEOUT, UNKNOWN
from multitracer.tcp.scoreboard import R_DUPACKS, R_ELAPSED, R_OLDEST, R_SACKED_ABOVE, R_SINCE_ACK, R_TRIGGER
from multitracer.tcp.sender_state import RECOVERY_END


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def triggers(found: Replayed) -> list[int]:
    """The trigger of every retransmission."""
    return found.events[:, R_TRIGGER].tolist()


def test_the_oldest_data_after_long_silence_is_a_timeout():
    """RFC 6298 5: a timeout retransmits the oldest data, and begins a recovery of all outstanding data."""
    found = replayed(*FLIGHT, ack(50, 101), again(400, 101, 201))
    assert triggers(found) == [TIMEOUT]
    assert found.events[0, [R_SINCE_ACK, R_ELAPSED, R_OLDEST]].tolist() == [350 * MS, 350 * MS, 1]
    assert found[RECOVERY_END] == 501


def test_before_the_first_acknowledgement_the_wait_counts_from_the_first_segment():
    """The wait begins at the first data or at the SYN+ACK, whichever was captured first."""
    for before in ((), (syn_ack(0),)):
        found = replayed(*before, data(1, 1, 101), data(2, 101, 201), again(6, 1, 101))
        assert found.events[0, R_SINCE_ACK] == (6 if before else 5) * MS
        assert found.events[0, R_TRIGGER] == UNKNOWN


def test_duplicate_acknowledgements_make_a_fast_retransmission():
    """After duplicate ACKs and SACK blocks the trigger is fast, with both counts in the event."""
    found = replayed(*FLIGHT, ack(50, 1, (101, 201)), ack(51, 1, (101, 401)), again(51.1, 1, 101))
    assert triggers(found) == [FAST]
    assert found.events[0, [R_DUPACKS, R_SACKED_ABOVE]].tolist() == [2, 300]


def test_further_resends_belong_to_the_recovery_until_it_ends():
    """A recovery ends when all data is acknowledged that was outstanding when it began."""
    lost = [*FLIGHT, ack(50, 1, (201, 301)), again(51, 1, 101), again(52, 101, 201)]
    assert triggers(replayed(*lost)) == [FAST, RECOVERY]
    assert replayed(*lost, ack(100, 301))[RECOVERY_END] == 501
    assert replayed(*lost, ack(100, 501))[RECOVERY_END] == -1


def test_the_same_data_again_in_a_recovery_is_a_timeout_after_a_wait():
    """Within a recovery, a second retransmission of the oldest data after a long silence is a timeout."""
    found = replayed(*FLIGHT, ack(50, 1, (101, 501)), again(51, 1, 101), again(700, 1, 101))
    assert triggers(found) == [FAST, TIMEOUT]


def test_the_last_segment_alone_is_a_probe_once():
    """RFC 8985 7: a resend of the last segment before the RTO is a probe; the next resend is a timeout."""
    found = replayed(*FLIGHT, ack(50, 101), again(160, 401, 501), again(900, 101, 201))
    assert triggers(found) == [PROBE, TIMEOUT]


def test_a_resend_without_a_signal_has_an_unknown_trigger():
    """A retransmission without a wait, duplicate ACKs or SACK, and not of the last segment, is unknown."""
    assert triggers(replayed(*FLIGHT, ack(50, 101), again(51, 201, 301))) == [UNKNOWN]

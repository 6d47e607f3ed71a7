"""What made the replayed sender retransmit: scripts of a few segments, one trigger each."""

from __future__ import annotations

import itertools

import pytest
from sending import FLIGHT, Replayed, ack, again, data, replayed, syn_ack
from two_ends import MS

from multitracer.compute import kernels
from multitracer.tcp.retransmission_trigger import (
    ANEW,
    DOUBTFUL,
    FAST,
    OVERDUE,
    PROBE,
    RECOVERED_AND_DUE,
    RECOVERY,
    TIMEOUT,
    UNKNOWN,
)
from multitracer.tcp.scoreboard import R_DUPACKS, R_ELAPSED, R_OLDEST, R_RTO, R_SACKED_ABOVE, R_SINCE_ACK, R_TRIGGER
from multitracer.tcp.sender_state import BACKOFF, LEAST_RTT, RECOVERY_END, RTO, SRTT

SACK = syn_ack(-1)


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
    """RFC 8985 7: a timer's first resend of the last segment is a probe; the next resend is a timeout."""
    found = replayed(SACK, *FLIGHT, ack(50, 101), again(160, 401, 501), again(900, 101, 201))
    assert triggers(found) == [PROBE, TIMEOUT]


def test_the_only_outstanding_segment_is_probed_first_too():
    """PTO = min(2 SRTT + 200 ms, RTO): where a timeout is expected, a probe comes; the timeout is one RTO later."""
    found = replayed(SACK, *FLIGHT, ack(50, 401), again(400, 401, 501), again(900, 401, 501))
    assert triggers(found) == [PROBE, TIMEOUT]


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ((400, 800, 1600), [TIMEOUT, TIMEOUT, TIMEOUT]),
        ((400, 420, 840), [UNKNOWN, TIMEOUT, TIMEOUT]),
        ((90, 420), [PROBE, TIMEOUT]),
        ((400,), [UNKNOWN]),
    ],
)
def test_without_a_round_trip_a_wait_that_doubles_shows_the_timer(waits: tuple[int, ...], expected: list[int]) -> None:
    """One segment alone, sent again and again: neither the timer nor the time of a probe is known."""
    times = itertools.accumulate((1, *waits))
    first, *later = times
    found = replayed(SACK, data(first, 1, 101), *(again(time, 1, 101) for time in later))
    assert triggers(found) == expected


@pytest.mark.parametrize("start", [(), (syn_ack(-1)._replace(options=0),)])
def test_without_sack_nothing_is_a_probe(start):
    """RFC 8985 7.3: probes need SACK."""
    assert triggers(replayed(*start, *FLIGHT, ack(50, 401), again(400, 401, 501))) == [TIMEOUT]


def test_before_probes_were_known_nothing_is_one():
    """A trace of 1999: the sender cannot have had tail loss probes."""
    years = -24 * 365 * 86_400_000.0
    script = [one._replace(ms=one.ms + years) for one in (SACK, *FLIGHT, ack(50, 401), again(400, 401, 501))]
    assert triggers(replayed(*script)) == [TIMEOUT]


PROBED = (SACK, *FLIGHT, ack(50, 401), again(400, 401, 501))


@pytest.mark.parametrize(
    ("answers", "then"),
    [
        ([ack(450, 501)], TIMEOUT), ([ack(450, 501, dsack=(401, 501))], PROBE), ([ack(450, 501), ack(451, 501)], PROBE),
        ([ack(450, 501), ack(460, 501)._replace(size=50)], TIMEOUT),
    ],
)  # fmt: skip
def test_no_probe_is_sent_while_an_earlier_one_is_open(answers, then):
    """RFC 8985 7.4: one answered exactly, without DSACK, stays open, as data may have been lost; so the RTO acts."""
    found = replayed(*PROBED, *answers, data(500, 501, 601), again(900, 501, 601))
    assert triggers(found) == [PROBE, then]


def test_an_acknowledgement_of_later_data_closes_a_probe():
    """The next loss at the tail is probed again."""
    later = (data(500, 501, 601), data(501, 601, 701), ack(550, 601))
    assert triggers(replayed(*PROBED, ack(450, 501), *later, again(900, 601, 701))) == [PROBE, PROBE]


def test_a_timer_that_runs_out_in_a_recovery_is_a_timeout():
    """Also where the oldest data was not sent again before (without SACK a partial acknowledgement stops at it)."""
    lost = (*FLIGHT, ack(50, 1), ack(51, 1), ack(52, 1), again(52.1, 1, 101), ack(100, 201))
    found = replayed(*lost, again(700, 201, 301), ack(750, 301), again(751, 301, 401))
    assert triggers(found) == [FAST, TIMEOUT, RECOVERY]


@pytest.mark.parametrize(("duplicates", "trigger"), [(1, RECOVERY), (3, FAST), (4, RECOVERY)])
def test_a_sender_without_sack_may_count_duplicates_anew_after_its_timer(duplicates, trigger):
    """4.4BSD forgets those that came before its timer ran out, and sends again after the third of the others."""
    came = [ack(800 + n, 1) for n in range(duplicates)]
    found = replayed(*FLIGHT, ack(50, 1), again(700, 1, 101), *came, again(800 + duplicates, 1, 101))
    assert triggers(found) == [TIMEOUT, trigger]


SLOW = (SACK, *FLIGHT, ack(300, 101))
"""A round trip of 300 ms, and a timer that runs from then on."""


@pytest.mark.parametrize(("ms", "trigger"), [(2460, RECOVERY), (3700, TIMEOUT)])
def test_a_recovery_may_go_on_at_its_own_pace_until_the_timer_runs_out(ms, trigger):
    """Some time after an acknowledgement that told of a lost resend, and set off another packet; RTO is 3 s."""
    found = replayed(
        SACK, *FLIGHT, ack(1000, 101), ack(1001, 101, (201, 301)), again(1001.1, 101, 201),
        ack(1500, 101, (401, 501)), again(1500.1, 301, 401), ack(2400, 101, (301, 401)), data(2400.1, 501, 601),
        again(ms, 101, 201),
    )  # fmt: skip
    assert triggers(found) == [FAST, RECOVERY, trigger]


@pytest.mark.parametrize(
    ("start", "ms", "trigger"), [((), 350, TIMEOUT), ((), 220, RECOVERY), ((SACK,), 350, RECOVERY)]
)
def test_partial_acknowledgements_but_the_first_need_not_restart_the_timer(start, ms, trigger):
    """RFC 6582 4: the impatient variant; without SACK nothing else sends again what was since the latest of them."""
    lost = [*FLIGHT, ack(50, 101), *(ack(51 + n, 101) for n in range(3)), again(53, 101, 201)]
    partial = [ack(100, 201), again(100, 201, 301), ack(300, 301), again(300, 301, 401)]
    found = replayed(*start, *lost, *partial, again(100 + ms, 301, 401))
    assert triggers(found)[-1] == trigger
    assert trigger == RECOVERY or found.events[-1, R_ELAPSED] == ms * MS


def test_a_timer_that_was_doubled_often_has_a_longest_value():
    """RFC 6298 2.5: 60 s or more; a sender that keeps to 60 s resends sooner than the doublings say."""
    times = [round(1e3 * sum(min(2**n, 60) for n in range(1, 1 + count))) for count in range(1, 14)]
    lost = (*FLIGHT, ack(50, 1, (101, 201)), again(51, 1, 101), *(again(51 + ms, 1, 101) for ms in times))
    assert triggers(replayed(*lost)) == [FAST, *[TIMEOUT] * len(times)]


PACED = (
    SACK, *FLIGHT, ack(1000, 101), ack(1001, 101, (201, 301)), again(1001.1, 101, 201), data(1500, 501, 601),
    data(1500.1, 601, 701),
)  # fmt: skip
"""A recovery with a round trip of 1 s, and a timer that has run since then and would last 3 s by the model."""


@pytest.mark.parametrize(
    ("sent_ms", "later_ms", "trigger"), [(2050, 2430.1, TIMEOUT), (2050, 2400.1, RECOVERY), (1900, 2430.1, RECOVERY)]
)
def test_a_recovery_that_sends_other_data_first_repairs_no_lost_resend(sent_ms, later_ms, trigger):
    """RFC 6675 4: what is lost goes first; long after the timer was restarted the oldest data is then the timer's.

    That the resend was lost shows when data has come that was sent a round trip later.
    """
    told = (ack(2400, 101, (701, 801), (201, 301)), ack(2430, 101, (501, 601), (701, 801), (201, 301)))
    script = sorted((*PACED, data(sent_ms, 701, 801), *told, data(later_ms, 801, 901)), key=lambda one: one.ms)
    assert triggers(replayed(*script, again(2460, 101, 201))) == [FAST, trigger]


@pytest.mark.parametrize(("before", "trigger"), [((), TIMEOUT), ((ack(2390, 101, (401, 501)),), RECOVERY)])
def test_before_anything_sent_after_a_resend_has_come_only_the_timer_sends_another(before, trigger):
    """However many other resends are under way: (401, 501) was sent after it, and any copy may have come."""
    others = again(1002, 301, 401), again(1800, 401, 501)
    told = ack(2400, 101, (201, 301)), data(2400.1, 501, 601)
    flight = (SACK, *FLIGHT, ack(1000, 101), ack(1001, 101, (201, 251)), again(1001.1, 101, 201))
    found = replayed(*flight, *others, *before, *told, again(2460, 101, 201))
    assert triggers(found) == [FAST, RECOVERY, RECOVERY, trigger]


@pytest.mark.parametrize("trigger", [RECOVERY, TIMEOUT])
@pytest.mark.parametrize("between", [(), (ack(2500, 101, (401, 501), (201, 301)),)])
def test_a_wait_that_doubles_shows_the_timer_in_a_recovery(trigger, between):
    """RFC 6298 5.5, 5.1: a resend need not have restarted the timer, which had run for 1460 ms since UNA advanced."""
    told = ack(2400, 101, (501, 601), (201, 301)), data(2400.1, 701, 801), again(2460, 101, 201)
    second = again(2460 + (2 * 1460 if trigger == TIMEOUT else 2700), 101, 201)
    found = replayed(*PACED, *told, *between, second)
    assert triggers(found) == [FAST, trigger, TIMEOUT]
    assert trigger == RECOVERY or found.events[1, R_ELAPSED] == 1460 * MS
    doublings = 0 if trigger == RECOVERY else 1
    assert found[BACKOFF] == doublings + 1
    assert found.events[2, R_RTO] == found[RTO] << doublings


@pytest.mark.parametrize(("second_ms", "trigger"), [(5450, TIMEOUT), (5250, RECOVERY)])
def test_a_wait_that_doubles_may_count_from_the_copy_before(second_ms, trigger):
    """RFC 6298 5.1: the fast retransmission at 1400 ms restarted the timer, which ran out after 1350 ms."""
    told = data(1450, 501, 601), data(1500, 601, 701), ack(2700, 101, (501, 601), (201, 301)), data(2700.1, 701, 801)
    flight = (SACK, *FLIGHT, ack(1000, 101), ack(1399, 101, (201, 251)), again(1400, 101, 201))
    found = replayed(*flight, *told, again(2750, 101, 201), again(second_ms, 101, 201))
    assert triggers(found) == [FAST, trigger, TIMEOUT]
    assert trigger == RECOVERY or found.events[1, R_ELAPSED] == 1350 * MS


@pytest.mark.parametrize(("ms", "trigger"), [(2460, DOUBTFUL), (2402, FAST)])
def test_what_may_be_part_of_a_timeouts_recovery_is_no_sure_fast_retransmission(ms, trigger):
    """RFC 6675 5.1: after a timeout, what was sent before it is resent without a fast retransmission."""
    told = ack(2400, 101, (501, 601), (201, 301)), data(2400.1, 701, 801), again(ms, 101, 201)
    lost = ack(3400, 601, (701, 801)), again(3400.1, 601, 701)
    newer = (
        ack(3500, 801), data(3500, 801, 901), data(3501, 901, 1001), ack(4500, 801, (901, 1001)),
        again(4500.1, 801, 901),
    )  # fmt: skip
    assert triggers(replayed(*PACED, *told, *lost, *newer)) == [FAST, RECOVERY, trigger, FAST]


@pytest.mark.parametrize(
    ("top", "ms", "trigger"), [(501, 2000, RECOVERED_AND_DUE), (501, 700, FAST), (601, 2000, FAST)]
)
def test_duplicates_of_what_ended_a_recovery_are_no_sure_fast_retransmission_when_the_timer_is_due(top, ms, trigger):
    """RFC 6582 3.2: the number has to cover more than what was outstanding when the recovery began."""
    resent = (again(500, 1, 101), ack(550, 501))
    more = tuple(data(560 + n, 501 + 100 * n, 601 + 100 * n) for n in range(5))
    further = (ack(600, 601),) if top == 601 else ()
    repeated = tuple(ack(ms + n / 10, top) for n in range(3))
    script = (*FLIGHT, *resent, *more, *further, *repeated, again(ms + 1, top, top + 100))
    assert triggers(replayed(*script)) == [TIMEOUT, trigger]


def test_a_recovery_that_may_have_been_undone_counts_too():
    """RFC 6582 knows no undo: its sender goes on with the recovery, though an echo shows that it is needless."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n, stamp=10 + n) for n in range(6)]
    needless = (again(1500, 1, 101, stamp=1500), ack(1501, 101, echo=10), ack(1502, 601, echo=15))
    more = [data(1510 + n, 601 + 100 * n, 701 + 100 * n, stamp=1510 + n) for n in range(5)]
    repeated = [ack(4000 + n / 10, 601, echo=15) for n in range(3)]
    found = replayed(*flight, *needless, *more, *repeated, again(4001, 601, 701, stamp=4001))
    assert triggers(found) == [TIMEOUT, RECOVERED_AND_DUE]


@pytest.mark.parametrize(("ms", "trigger"), [(399.9, OVERDUE), (395, TIMEOUT)])
def test_overdue_data_may_be_resent_when_a_duplicate_is_reported(ms, trigger):
    """Linux with FACK does so when that data is older than its timeout (tcp_head_timedout)."""
    assert triggers(replayed(*FLIGHT, ack(50, 101), ack(ms, 101, dsack=(1, 101)), again(400, 101, 201))) == [trigger]


def test_octets_sent_again_sooner_than_they_can_be_answered_are_a_timers():
    """The resend before need not have restarted the timer (RFC 6298 5.1)."""
    found = (ack(900, 101, (201, 301)), ack(901, 101, (201, 401)), ack(902, 101, (201, 501)), again(902.1, 101, 201))
    assert triggers(replayed(*SLOW, *found, again(1150, 101, 201))) == [FAST, TIMEOUT]


@pytest.mark.parametrize(("news", "trigger"), [((401, 501), TIMEOUT), ((501, 601), RECOVERY)])
def test_a_lost_resend_shows_by_what_was_sent_after_it_else_by_the_timer(news, trigger):
    """No acknowledgement of earlier octets tells a recovery that its resend was lost too (RFC 8985 6.2)."""
    lost = (*SLOW, ack(900, 101, (201, 301)), ack(901, 101, (201, 401)), again(901.1, 101, 201), data(902, 501, 601))
    assert triggers(replayed(*lost, ack(1200, 101, news, (201, 401)), again(1250, 101, 201))) == [FAST, trigger]


@pytest.mark.parametrize(("third", "trigger"), [((401, 501), FAST), ((501, 601), RECOVERY)])
def test_three_duplicates_after_a_timeout_begin_a_recovery_that_no_news_of_the_resend_explains(third, trigger):
    """What the timer sent again needs no other copy (RFC 6675 4) before octets sent after it are acknowledged."""
    waited = (*SLOW, again(1400, 101, 201), data(1401, 501, 601))
    acks = (ack(1450, 101, (201, 301)), ack(1451, 101, (201, 401)), ack(1750, 101, third, (201, 401)))
    assert triggers(replayed(*waited, *acks, again(1750.1, 101, 201))) == [TIMEOUT, trigger]


@pytest.mark.parametrize(
    ("before", "after", "trigger"), [(1, 3, FAST), (2, 3, FAST), (1, 2, RECOVERY), (2, 1, RECOVERY)]
)
def test_with_sack_three_duplicates_have_to_come_after_a_timeout(before, after, trigger):
    """Those before it told too little to begin a recovery, and are no part of what begins one now."""
    blocks = [(201, 211 + 10 * n) for n in range(before + after)]
    early = [ack(900 + n, 101, block) for n, block in enumerate(blocks[:before])]
    late = [ack(1710 + n, 101, block) for n, block in enumerate(blocks[before:])]
    found = replayed(*SLOW, *early, again(1700, 101, 201), *late, again(1710 + after - 0.9, 101, 201))
    assert triggers(found) == [TIMEOUT, trigger]


@pytest.mark.parametrize(("ms", "trigger"), [(1000.5, FAST), (1040, FAST), (1400, TIMEOUT)])
def test_a_resend_long_after_too_few_duplicates_is_a_timers(ms, trigger):
    """A quarter of a round trip after a SACK it may be RACK's (RFC 8985 6.2), later only a timer acts."""
    assert triggers(replayed(*SLOW, ack(1000, 101, (201, 301)), again(ms, 101, 201))) == [trigger]


def test_packets_that_acknowledge_nothing_new_do_not_end_the_wait():
    """What the peer sends meanwhile repeats the acknowledgement: the timer is not restarted by it."""
    chatter = [ack(100 + 50 * n, 101)._replace(size=10) for n in range(6)]
    assert triggers(replayed(*FLIGHT, ack(50, 101), *chatter, again(400, 101, 201))) == [TIMEOUT]


def test_after_an_undo_what_is_resent_is_a_new_recovery():
    """Eifel or DSACK show that the first was needless: the sender is as before, and its next resend is fast."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n, stamp=10 + n) for n in range(6)]
    first = (*flight, ack(50, 1, (101, 401)), again(51, 1, 101, stamp=51))
    second = (ack(70, 401, (501, 601)), again(71, 401, 501, stamp=71))
    for answer in (ack(60, 401, echo=10), ack(60, 401, dsack=(1, 101))):
        assert triggers(replayed(SACK, *first, answer, *second)) == [FAST, FAST]
    assert triggers(replayed(SACK, *first, ack(60, 401, echo=51), *second)) == [FAST, RECOVERY]


def test_a_needless_recovery_goes_on_at_the_senders_own_pace():
    """No timer sends again what is neither the oldest data nor the last."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n, stamp=10 + n) for n in range(6)]
    found = replayed(
        SACK, *flight, again(1500, 1, 101, stamp=1500), ack(1501, 101, echo=10), again(1506, 201, 301, stamp=1506),
        again(1514, 301, 401, stamp=1514), again(1522, 501, 601, stamp=1522),
    )  # fmt: skip
    assert triggers(found)[1:] == [RECOVERY, RECOVERY, PROBE]


@pytest.mark.parametrize(
    ("beside", "trigger"), [((), ANEW), ((again(1101, 201, 301),), RECOVERY), ((data(1102, 301, 401),), RECOVERY)]
)
def test_a_resend_alone_after_a_timeout_was_undone_begins_a_recovery(beside, trigger):
    """Slow start would send two when the first acknowledgement comes; and what follows is the recovery's."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(3)]
    script = (SACK, *flight, again(1000, 1, 101), ack(1100, 101, dsack=(1, 101)), again(1100, 101, 201), *beside)
    assert triggers(replayed(*script))[1] == trigger
    if not beside:
        assert triggers(replayed(*script, ack(1200, 201), again(1200, 201, 301)))[1:] == [ANEW, RECOVERY]


@pytest.mark.parametrize("segments", [1, 2])
def test_all_that_is_left_after_a_timeout_was_undone_tells_nothing(segments):
    """Whether the sender undid it or not, there is no more to be sent again, in one record of the capture."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(1 + segments)]
    answered = (again(1000, 1, 101), ack(1100, 101, dsack=(1, 101)), again(1100, 101, 101 + 100 * segments))
    assert triggers(replayed(SACK, *flight, *answered))[1] == UNKNOWN


def test_two_segments_in_one_record_after_a_needless_timeout_are_slow_starts():
    """As a capture before segmentation has what leaves at once."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(5)]
    answered = (again(1000, 1, 101), ack(1100, 101, dsack=(1, 101)), again(1100, 101, 301))
    assert triggers(replayed(SACK, *flight, *answered))[1] == RECOVERY


def test_a_timeout_within_what_was_undone_begins_no_other_recovery_by_an_undo():
    """Some of it had been sent again before (Linux tcp_enter_loss keeps no state to undo to): the sender goes on."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(4)]
    undone = (again(1000, 1, 101), ack(1100, 101, dsack=(1, 101)), again(1100, 101, 201))
    second = (ack(1200, 201, dsack=(101, 201)), again(4000, 201, 301), ack(4100, 301, dsack=(201, 301)))
    found = triggers(replayed(SACK, *flight, *undone, *second, again(4100, 301, 401)))
    assert ANEW not in found[3:]


def test_a_timeout_that_came_twice_is_not_undone_by_one_duplicate():
    """One of the two resends may have been needed (Linux tcp_enter_loss): the sender goes on."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(3)]
    resends = (again(1000, 1, 101), again(3000, 1, 101), ack(3100, 101, dsack=(1, 101)), again(3100, 101, 201))
    assert triggers(replayed(SACK, *flight, *resends)) == [TIMEOUT, TIMEOUT, RECOVERY]


def test_a_selective_acknowledgement_gives_a_round_trip_sample_when_it_comes():
    """Not when the cumulative one comes, after the hole below was filled."""
    found = replayed(*FLIGHT, ack(50, 1, (101, 201)), again(51, 1, 101), ack(900, 501))
    assert found[LEAST_RTT] == 49 * MS
    assert found[SRTT] == 49 * MS


def test_a_resend_without_a_signal_has_an_unknown_trigger():
    """A retransmission without a wait, duplicate ACKs or SACK, and not of the last segment, is unknown."""
    assert triggers(replayed(*FLIGHT, ack(50, 101), again(51, 201, 301))) == [UNKNOWN]


@pytest.mark.parametrize(("quiet_ms", "expected"), [(1100, FAST), (1700, TIMEOUT)])
def test_a_reordering_timer_waits_for_the_newest_data(quiet_ms, expected):
    """The last round trip after the newest data was sent, and no longer: sooner than a round trip no timeout can be."""
    steady = [step for k in range(16) for step in (
        data(3100 * k, 100 * k + 1, 100 * k + 101), ack(3100 * k + (3000 if k else 50), 100 * k + 101))]  # fmt: skip
    at, first = 50_000, 1601
    sent = [data(at + wait, first + 100 * k, first + 100 * (k + 1)) for k, wait in enumerate((0, 10, 1000, 1010))]
    told = ack(at + 3000, first + 100, (first + 300, first + 400))
    resent = again(at + 3000 + quiet_ms, first + 100, first + 200)
    found = replayed(SACK, *steady, *sent, told, resent)
    assert found[SRTT] > 1700 * MS
    assert found[LEAST_RTT] == 50 * MS
    assert triggers(found) == [expected]


@pytest.mark.parametrize(("sack", "expected"), [(True, FAST), (False, TIMEOUT), (None, FAST)])
def test_without_sack_no_reordering_timer_explains_a_resend(sack, expected):
    """Two duplicates, and 2 s later a resend, in round trips of 3 s, the least of which took 100 ms.

    Where the handshake was not captured, SACK may be permitted.
    """
    slow = [one for n in range(16) for one in (data(100 + 3000 * n, 101 + 100 * n, 201 + 100 * n),
                                               ack(3100 + 3000 * n, 201 + 100 * n))]  # fmt: skip
    flight = [data(48_100, 1701 + 100 * n, 1801 + 100 * n) for n in range(5)]
    block = ((1801, 1901),) if sack else ()
    duplicates = [ack(48_900, 1701, *block), ack(48_910, 1701, *block)]
    handshake = () if sack is None else (syn_ack(-1, sack=sack),)
    script = (*handshake, data(0, 1, 101), ack(100, 101), *slow, *flight, *duplicates)
    assert triggers(replayed(*script, again(50_300, 1701, 1801))) == [expected]

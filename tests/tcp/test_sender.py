"""What one kind of segment does to a sender: scenes of a few segments, one behaviour each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending import Followed, ack, again, data, followed, syn_ack
from two_ends import MS, START

from multitracer.compute import kernels
from multitracer.model.schema import ACK, FIN
from multitracer.tcp import sender as sending
from multitracer.tcp.scoreboard import (
    BOARD,
    CLEAN,
    COVER_EDGE,
    COVERED,
    DSACKS,
    NOTE,
    R_ABOVE,
    R_DUPACKS,
    R_EDGE,
    R_ELAPSED,
    R_PAIRS,
    R_PAIRS_END,
    R_SINCE_ACK,
    R_TRIGGER,
    SACKED,
    WHOLE,
)  # fmt: skip
from multitracer.tcp.sender import (
    ANSWERED,
    DUPACKS,
    EDGE,
    FAST,
    HIGH_SACK,
    LEAST_RTT,
    NEWEST,
    PROBE,
    RECOVERY,
    RECOVERY_END,
    REORDERED,
    REPORTS,
    ROWS,
    RTO,
    RTTVAR,
    SENDER_FIELDS,
    SRTT,
    TIMEOUT,
    TOP,
    UNA,
    UNKNOWN,
    begin_sender,
    update_rto,
)  # fmt: skip

FLIGHT = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(5)]
"""Five segments of 100 bytes, 1 ms apart from 0 ms on."""


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def at(ms: float) -> int:
    """An instant."""
    return START + round(ms * MS)


def triggers(found: Followed) -> list[int]:
    """The trigger of every retransmission."""
    return found.events[:, R_TRIGGER].tolist()


def test_new_data_fills_the_scoreboard():
    """A row a segment, nothing of it acknowledged."""
    found = followed(*FLIGHT)
    assert found.ends.tolist() == [101, 201, 301, 401, 501]
    assert [found[UNA], found[TOP], found[EDGE]] == [1, 501, 0]


def test_an_acknowledgement_times_the_last_segment_it_covers():
    """Delayed acknowledgements answer the later of two segments."""
    found = followed(*FLIGHT, ack(50, 201))
    assert [found[UNA], found[EDGE]] == [201, 2]
    assert found[ANSWERED] == found[NEWEST] == at(1)
    assert found[SRTT] == found[LEAST_RTT] == 49 * MS


def test_what_was_resent_is_not_timed():
    """Karn: which copy was answered cannot be told, nor is what arrived with it."""
    found = followed(*FLIGHT, again(40, 1, 101), ack(50, 201))
    assert found[SRTT] == 0
    assert found.facts[0, COVERED] == at(50)


def test_only_the_oldest_bytes_missing_stand_at_the_edge():
    """One acknowledgement covers two segments that were resent: the receiver's echo answers the first."""
    found = followed(*FLIGHT, again(40, 1, 201), ack(150, 201))
    assert found.facts[:, COVER_EDGE].tolist() == [1, 0]


def test_a_resend_of_what_was_sacked_comes_too_late():
    """It counts as acknowledged when it was first sent."""
    found = followed(*FLIGHT, ack(50, 1, (101, 201)), again(60, 101, 201), ack(70, 1, (101, 201)))
    assert found.facts[0, COVERED] == at(1)


def test_the_timer_follows_the_round_trip():
    """RFC 6298 2.2, 2.3: variance a quarter, average an eighth, and never less than 200 ms beyond."""
    sender = np.zeros(SENDER_FIELDS, dtype=np.int64)
    begin_sender(sender, 100 * MS)
    assert sender[[SRTT, RTTVAR, RTO]].tolist() == [100 * MS, 50 * MS, 300 * MS]
    update_rto(sender, 180 * MS)
    assert sender[[SRTT, RTTVAR, RTO]].tolist() == [110 * MS, 57_500_000, 340 * MS]
    assert sender[LEAST_RTT] == 100 * MS


def test_bytes_acknowledged_before_they_were_captured_are_no_answer():
    """The capture has the segment behind its acknowledgement: it gives no round trip."""
    found = followed(data(0, 1, 101), ack(10, 201), data(11, 101, 201), ack(12, 301))
    assert found[EDGE] == found[ROWS] == 2
    assert found[ANSWERED] == -1
    assert found[LEAST_RTT] == 10 * MS


def test_only_a_bare_repeat_is_a_duplicate_acknowledgement():
    """RFC 5681 2: no data, no FIN, data outstanding; and an advance starts anew."""
    with_data, fin = ack(51, 101)._replace(size=10), ack(52, 101)._replace(flags=ACK | FIN)
    assert followed(*FLIGHT, ack(50, 101), ack(51, 101), ack(52, 101))[DUPACKS] == 2
    assert followed(*FLIGHT, ack(50, 101), with_data, fin)[DUPACKS] == 0
    assert followed(*FLIGHT, ack(50, 501), ack(51, 501))[DUPACKS] == 0
    assert followed(*FLIGHT, ack(50, 101), ack(51, 101), ack(52, 201))[DUPACKS] == 0


def test_a_resend_is_a_pair_with_each_row_it_repeats():
    """One segment over the second row, the third, and half of the fourth."""
    found = followed(*FLIGHT, again(60, 101, 351))
    assert found.events[0, [R_PAIRS, R_PAIRS_END]].tolist() == [0, 3]
    assert found.pairs[:, [BOARD, WHOLE]].tolist() == [[1, 1], [2, 1], [3, 0]]
    assert found.notes[:, NOTE].tolist() == [CLEAN, 0, 1, 2, CLEAN]


def test_what_a_resend_carries_beyond_the_top_is_new():
    """The row of the new bytes begins at the old top, and is no part of the retransmission."""
    found = followed(*FLIGHT, again(60, 401, 601), again(90, 501, 601))
    assert found.ends[-1] == 601
    assert found.pairs[:, [BOARD, WHOLE]].tolist() == [[4, 1], [5, 1]]


def test_bytes_that_were_not_seen_before_make_no_retransmission():
    """Another point saw them first; here they are new."""
    found = followed(data(0, 1, 101), again(10, 101, 201), again(20, 301, 401))
    assert len(found.events) == 0
    assert found.ends.tolist() == [101, 201, 401]
    # The gap belongs to no row.
    assert len(followed(data(0, 1, 101), data(1, 301, 401), again(9, 101, 201)).events) == 0


def test_a_block_covers_whole_segments_only():
    """RFC 6675 4: half of the fourth segment is not SACKed."""
    found = followed(*FLIGHT, ack(50, 1, (101, 351)))
    assert found.notes[:, NOTE].tolist() == [CLEAN, SACKED, SACKED, CLEAN, CLEAN]
    assert found[HIGH_SACK] == 351
    assert found[NEWEST] == at(2)


def test_a_block_is_the_first_answer_to_what_was_resent():
    """The number that follows changes nothing."""
    found = followed(*FLIGHT, again(40, 201, 301), ack(150, 1, (201, 301)), ack(160, 501))
    assert found.facts[0, COVERED] == at(150)


def test_a_hole_that_fills_by_itself_shows_that_the_path_reorders():
    """Nothing was resent: by number, and by a block below another; a resend that fills it shows nothing."""
    assert followed(*FLIGHT, ack(50, 1, (101, 201)), ack(51, 201))[REORDERED] == 1
    assert followed(*FLIGHT, ack(50, 1, (301, 401)), ack(51, 1, (101, 201)))[REORDERED] == 1
    assert followed(*FLIGHT, ack(50, 1, (101, 201)), again(51, 1, 101), ack(90, 201))[REORDERED] == 0
    assert followed(*FLIGHT, ack(50, 101), ack(51, 201))[REORDERED] == 0


def test_a_duplicate_report_counts_for_what_was_resent():
    """RFC 2883: within the block, and for no segment that left once."""
    found = followed(*FLIGHT, again(60, 101, 201), ack(90, 501, dsack=(101, 301)))
    assert found.facts[:, DSACKS].tolist() == [1]
    assert found[REPORTS] == 1


def test_a_receiver_that_permits_sack_reports_duplicates():
    """Its SYN says so before any block comes; a plain acknowledgement does not."""
    assert followed(syn_ack(0), *FLIGHT)[REPORTS] == 1
    assert followed(*FLIGHT, ack(50, 101))[REPORTS] == 0


def test_time_that_runs_backwards_does_not_hide_the_newest():
    """The latest time of what is acknowledged counts, whichever row it stands in."""
    found = followed(data(5, 1, 101), data(3, 101, 201), ack(50, 201))
    assert found[NEWEST] == at(5)
    assert found[ANSWERED] == at(3)


def test_the_oldest_data_after_long_silence_is_a_timeout():
    """RFC 6298 5: it restarts the timer, and begins a recovery of all that is outstanding."""
    found = followed(*FLIGHT, ack(50, 101), again(400, 101, 201))
    assert triggers(found) == [TIMEOUT]
    assert found.events[0, [R_SINCE_ACK, R_ELAPSED, R_EDGE]].tolist() == [350 * MS, 350 * MS, 1]
    assert found[RECOVERY_END] == 501


def test_before_the_first_answer_only_the_time_since_the_first_data_counts():
    """Nothing was waited for since the clock's beginning, with a handshake or without one."""
    for before in ((), (syn_ack(0),)):
        found = followed(*before, data(1, 1, 101), data(2, 101, 201), again(6, 1, 101))
        assert found.events[0, R_SINCE_ACK] == (6 if before else 5) * MS
        assert found.events[0, R_TRIGGER] == sending.UNKNOWN


def test_duplicate_acknowledgements_make_a_fast_retransmission():
    """And what they count is kept with it."""
    found = followed(*FLIGHT, ack(50, 1, (101, 201)), ack(51, 1, (101, 401)), again(51.1, 1, 101))
    assert triggers(found) == [FAST]
    assert found.events[0, [R_DUPACKS, R_ABOVE]].tolist() == [2, 300]


def test_further_resends_belong_to_the_recovery_until_it_ends():
    """It ends when all is acknowledged that was outstanding when it began."""
    lost = [*FLIGHT, ack(50, 1, (201, 301)), again(51, 1, 101), again(52, 101, 201)]
    assert triggers(followed(*lost)) == [FAST, RECOVERY]
    assert followed(*lost, ack(100, 301))[RECOVERY_END] == 501
    assert followed(*lost, ack(100, 501))[RECOVERY_END] == -1


def test_the_same_data_again_in_a_recovery_is_a_timeout_after_a_wait():
    """The resend was lost too."""
    found = followed(*FLIGHT, ack(50, 1, (101, 501)), again(51, 1, 101), again(700, 1, 101))
    assert triggers(found) == [FAST, TIMEOUT]


def test_the_last_segment_alone_is_a_probe_once():
    """RFC 8985 7: before the timer could have run out; the second time it has."""
    found = followed(*FLIGHT, ack(50, 101), again(160, 401, 501), again(900, 101, 201))
    assert triggers(found) == [PROBE, TIMEOUT]


def test_a_resend_for_no_reason_has_none():
    """No wait, no signal, not the last."""
    assert triggers(followed(*FLIGHT, ack(50, 101), again(51, 201, 301))) == [UNKNOWN]


def test_want_of_room_changes_nothing():
    """Room for one fact at first: following goes on where it stopped."""
    story = [*FLIGHT, ack(50, 1, (201, 301)), again(51, 1, 301), ack(70, 1), again(80, 1, 701), ack(99, 701)]
    scarce, ample = followed(*story, room=1), followed(*story)
    for name in ("sender", "ends", "notes", "facts", "pairs"):
        assert getattr(scarce, name).tolist() == getattr(ample, name).tolist(), name
    columns = slice(0, R_PAIRS_END + 1)
    assert scarce.events[:, columns].tolist() == ample.events[:, columns].tolist()


STEPS = st.one_of(
    st.builds(lambda start, size, late: ("new", start, size, late), st.just(0), st.integers(1, 3), st.booleans()),
    st.builds(lambda start, size, late: ("again", start, size, late), st.integers(0, 9), st.integers(1, 3), st.just(0)),
    st.builds(lambda start, size, late: ("ack", start, size, late), st.integers(0, 4), st.just(0), st.just(0)),
    st.builds(lambda start, size, late: ("sack", start, size, late), st.integers(0, 9), st.integers(1, 3), st.just(0)),
)


def story(steps):
    """Segments of ten bytes and their like: what the steps say, 10 ms apart; `late` ones are stamped too early."""
    top, una, segments = 0, 0, []
    for n, (kind, start, size, late) in enumerate(steps):
        if kind == "new":
            segments.append(data(10 * n - 25 * late, 1 + 10 * top, 1 + 10 * (top + size)))
            top += size
        elif kind == "again" and start < top:
            segments.append(again(10 * n, 1 + 10 * start, 1 + 10 * min(top, start + size)))
        elif kind == "ack":
            una = min(una + start, top)
            segments.append(ack(10 * n, 1 + 10 * una))
        elif kind == "sack":
            segments.append(ack(10 * n, 1 + 10 * una, (1 + 10 * start, 1 + 10 * (start + size))))
    return segments


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=25))
def test_the_short_way_over_clear_bytes_changes_nothing(steps):
    """Whatever happens, a look at each row that is acknowledged comes to the same."""
    segments = story(steps)
    short = followed(*segments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "_PLAIN", -1)  # no word has this kind
        long = followed(*segments)
    assert short.sender.tolist() == long.sender.tolist()
    assert short.facts.tolist() == long.facts.tolist()
    assert short.events.tolist() == long.events.tolist()

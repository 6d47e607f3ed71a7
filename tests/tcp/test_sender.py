"""What each kind of segment does to the replayed sender: scripts of a few segments, one behaviour each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending import FLIGHT, ack, again, data, replayed, syn_ack
from two_ends import MS, START

from multitracer.compute import kernels
from multitracer.model.schema import ACK, FIN
from multitracer.tcp import sender as sending
from multitracer.tcp.scoreboard import (
    ACK_OLDEST,
    ACKED_AT,
    BOARD_ROW,
    DSACKS,
    NOTE,
    R_PAIRS,
    R_PAIRS_END,
    SACKED,
    SENT_ONCE,
    WHOLE,
)  # fmt: skip
from multitracer.tcp.sender_state import (
    ACKED_SEND_TIME,
    DUPACKS,
    FIRST_UNACKED,
    HIGH_SACK,
    LEAST_RTT,
    NEWEST_ARRIVED,
    REORDERED,
    ROWS,
    RTO,
    RTTVAR,
    SACK_CAPABLE,
    SENDER_FIELDS,
    SENDS_DSACKS,
    SRTT,
    TOP,
    UNA,
    new_sender,
    update_rto,
)  # fmt: skip


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def at(ms: float) -> int:
    """The time `ms` after the start, in ns."""
    return START + round(ms * MS)


def test_new_data_fills_the_scoreboard():
    """Each new segment gets a scoreboard row, and none is acknowledged."""
    found = replayed(*FLIGHT)
    assert found.ends.tolist() == [101, 201, 301, 401, 501]
    assert [found[UNA], found[TOP], found[FIRST_UNACKED]] == [1, 501, 0]


def test_an_acknowledgement_samples_the_round_trip_of_the_last_segment_it_covers():
    """A delayed acknowledgement of two segments gives the round trip of the later one."""
    found = replayed(*FLIGHT, ack(50, 201))
    assert [found[UNA], found[FIRST_UNACKED]] == [201, 2]
    assert found[ACKED_SEND_TIME] == found[NEWEST_ARRIVED] == at(1)
    assert found[SRTT] == found[LEAST_RTT] == 49 * MS


def test_retransmitted_segments_give_no_sample():
    """Karn: an acknowledgement that covers a retransmitted segment gives no round trip."""
    found = replayed(*FLIGHT, again(40, 1, 101), ack(50, 201))
    assert found[SRTT] == 0
    assert found.facts[0, ACKED_AT] == at(50)


def test_only_the_oldest_unacknowledged_bytes_are_marked_oldest():
    """When one acknowledgement covers two retransmitted segments, only the first was the oldest data."""
    found = replayed(*FLIGHT, again(40, 1, 201), ack(150, 201))
    assert found.facts[:, ACK_OLDEST].tolist() == [1, 0]


def test_sacked_data_that_is_resent_counts_as_acknowledged_before():
    """A segment retransmitted after it was SACKed counts as acknowledged at its first transmission."""
    found = replayed(*FLIGHT, ack(50, 1, (101, 201)), again(60, 101, 201), ack(70, 1, (101, 201)))
    assert found.facts[0, ACKED_AT] == at(1)


def test_the_timer_follows_the_round_trip():
    """RFC 6298 2.2, 2.3: RTTVAR with gain 1/4, SRTT with gain 1/8, and the RTO at least 200 ms above SRTT."""
    sender = np.zeros(SENDER_FIELDS, dtype=np.int64)
    new_sender(sender, 100 * MS)
    assert sender[[SRTT, RTTVAR, RTO]].tolist() == [100 * MS, 50 * MS, 300 * MS]
    update_rto(sender, 180 * MS)
    assert sender[[SRTT, RTTVAR, RTO]].tolist() == [110 * MS, 57_500_000, 340 * MS]
    assert sender[LEAST_RTT] == 100 * MS


def test_segments_captured_after_their_acknowledgement_give_no_sample():
    """A segment recorded after its acknowledgement gives no round trip, the next one does."""
    found = replayed(data(0, 1, 101), ack(10, 201), data(11, 101, 201), ack(12, 301))
    assert found[FIRST_UNACKED] == found[ROWS] == 2
    assert found[ACKED_SEND_TIME] == -1
    assert found[LEAST_RTT] == 10 * MS


def test_only_a_bare_repeat_is_a_duplicate_acknowledgement():
    """RFC 5681 2: no data, no FIN, data outstanding, not a DSACK alone; one that advances resets the count."""
    with_data, fin = ack(51, 101)._replace(size=10), ack(52, 101)._replace(flags=ACK | FIN)
    assert replayed(*FLIGHT, ack(50, 101), ack(51, 101, dsack=(1, 101)))[DUPACKS] == 0
    assert replayed(*FLIGHT, ack(50, 101), ack(51, 101), ack(52, 101))[DUPACKS] == 2
    assert replayed(*FLIGHT, ack(50, 101), with_data, fin)[DUPACKS] == 0
    assert replayed(*FLIGHT, ack(50, 501), ack(51, 501))[DUPACKS] == 0
    assert replayed(*FLIGHT, ack(50, 101), ack(51, 101), ack(52, 201))[DUPACKS] == 0


def test_a_resend_is_a_pair_with_each_row_it_repeats():
    """A retransmission over two rows and half of a third makes three pairs: the third row is split."""
    found = replayed(*FLIGHT, again(60, 101, 351))
    assert found.events[0, [R_PAIRS, R_PAIRS_END]].tolist() == [0, 3]
    assert found.pairs[:, [BOARD_ROW, WHOLE]].tolist() == [[1, 1], [2, 1], [3, 1]]
    assert found.ends.tolist() == [101, 201, 301, 351, 401, 501]
    assert found.notes[:, NOTE].tolist() == [SENT_ONCE, 0, 1, 2, SENT_ONCE, SENT_ONCE]


def test_a_row_that_was_sent_again_is_not_split():
    """The second retransmission repeats the half of it: that pair is not whole."""
    found = replayed(*FLIGHT, again(60, 101, 201), again(90, 101, 151))
    assert found.pairs[:, [BOARD_ROW, WHOLE]].tolist() == [[1, 1], [1, 0]]


def test_a_split_moves_the_rows_above_with_what_is_known_of_them():
    """The pair of a row that was sent again follows its row when one below it is split."""
    found = replayed(*FLIGHT, again(60, 401, 501), again(70, 101, 151), ack(80, 151))
    assert found.pairs[:, BOARD_ROW].tolist() == [5, 1]
    assert found.ends.tolist() == [101, 151, 201, 301, 401, 501]
    assert found.notes[:, NOTE].tolist() == [SENT_ONCE, 1, SENT_ONCE, SENT_ONCE, SENT_ONCE, 0]


def test_bytes_above_the_top_in_a_resend_are_new():
    """New bytes in a retransmitted segment get a row of their own, which does not count as retransmitted."""
    found = replayed(*FLIGHT, again(60, 401, 601), again(90, 501, 601))
    assert found.ends[-1] == 601
    assert found.pairs[:, [BOARD_ROW, WHOLE]].tolist() == [[4, 1], [5, 1]]


def test_bytes_that_were_not_seen_before_make_no_retransmission():
    """A segment marked as a retransmission at another point is new data where its bytes were not seen before."""
    found = replayed(data(0, 1, 101), again(10, 101, 201), again(20, 301, 401))
    assert len(found.events) == 0
    assert found.ends.tolist() == [101, 201, 401]
    # No row covers the gap.
    assert len(replayed(data(0, 1, 101), data(1, 301, 401), again(9, 101, 201)).events) == 0


def test_a_record_of_several_segments_is_sacked_by_the_segment():
    """Segmentation offload: a row is split where a SACK block begins or ends within it."""
    found = replayed(*FLIGHT, ack(50, 1, (151, 351)))
    assert found.ends.tolist() == [101, 151, 201, 301, 351, 401, 501]
    assert found.notes[:, NOTE].tolist() == [SENT_ONCE, SENT_ONCE, SACKED, SACKED, SACKED, SENT_ONCE, SENT_ONCE]
    assert found[HIGH_SACK] == 351
    assert found[NEWEST_ARRIVED] == at(3)


def test_a_sack_block_may_be_the_first_acknowledgement_of_a_resend():
    """A SACK block sets the time of the first acknowledgement; a later cumulative one does not change it."""
    found = replayed(*FLIGHT, again(40, 201, 301), ack(150, 1, (201, 301)), ack(160, 501))
    assert found.facts[0, ACKED_AT] == at(150)


def test_a_hole_that_fills_by_itself_shows_that_the_path_reorders():
    """A hole filled without a retransmission, by ACK or SACK, shows reordering; one filled by a resend does not."""
    assert replayed(*FLIGHT, ack(50, 1, (101, 201)), ack(51, 201))[REORDERED] == 1
    assert replayed(*FLIGHT, ack(50, 1, (301, 401)), ack(51, 1, (101, 201)))[REORDERED] == 1
    assert replayed(*FLIGHT, ack(50, 1, (101, 201)), again(51, 1, 101), ack(90, 201))[REORDERED] == 0
    assert replayed(*FLIGHT, ack(50, 101), ack(51, 201))[REORDERED] == 0


def test_a_duplicate_report_counts_for_what_was_resent():
    """RFC 2883: a DSACK counts for the retransmitted rows in its block only."""
    found = replayed(*FLIGHT, again(60, 101, 201), ack(90, 501, dsack=(101, 301)))
    assert found.facts[:, DSACKS].tolist() == [1]
    assert found[SENDS_DSACKS] == 1


def test_a_receiver_that_permits_sack_need_not_report_duplicates():
    """RFC 2883 is optional: neither a SYN+ACK that permits SACK nor SACK itself shows that DSACKs are sent."""
    for script in ((syn_ack(0), *FLIGHT), (*FLIGHT, ack(50, 1, (101, 201)))):
        found = replayed(*script)
        assert (found[SACK_CAPABLE], found[SENDS_DSACKS]) == (1, 0)
    assert replayed(*FLIGHT, ack(50, 101))[SACK_CAPABLE] == 0


def test_a_clock_set_back_keeps_the_newest_send_time():
    """The latest send time of the acknowledged rows counts, in whichever row it is."""
    found = replayed(data(5, 1, 101), data(3, 101, 201), ack(50, 201))
    assert found[NEWEST_ARRIVED] == at(5)
    assert found[ACKED_SEND_TIME] == at(3)


def test_short_arrays_change_nothing():
    """When `facts` and `pairs` begin with one row and grow, the replay gives the same."""
    script = [*FLIGHT, ack(50, 1, (201, 301)), again(51, 1, 301), ack(70, 1), again(80, 1, 701), ack(99, 701)]
    scarce, ample = replayed(*script, room=1), replayed(*script)
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


def script(steps):
    """Segments of tens of bytes from generated steps, 10 ms apart; `late` ones have a time that is too early."""
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


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(STEPS, max_size=25))
def test_the_fast_path_of_plain_acknowledgements_changes_nothing(steps):
    """For any script, the fast path gives what the full processing of each acknowledged row gives."""
    segments = script(steps)
    short = replayed(*segments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "_PLAIN_ACK", -1)  # no word matches
        long = replayed(*segments)
    assert short.sender.tolist() == long.sender.tolist()
    assert short.facts.tolist() == long.facts.tolist()
    assert short.events.tolist() == long.events.tolist()

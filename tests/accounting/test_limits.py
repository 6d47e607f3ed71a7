"""What limited a direction: scripts of a few segments, one cause each, and what must hold for any transfer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limiting import NOWHERE, at_both_ends, found, measured, milliseconds, paths_of
from sending import Segment, ack, again, blocks, data, judged, syn_ack, table
from two_ends import START, Path, transfer

from multitracer.accounting import limits as limits_of_directions
from multitracer.accounting import sending_state
from multitracer.accounting.limits import find_limits
from multitracer.accounting.sending_events import add_cause
from multitracer.compute import kernels
from multitracer.model.schema import ACK, RST
from multitracer.tcp.connection_rows import Groups


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def test_what_leaves_without_an_acknowledgement_waited_for_the_application() -> None:
    """Pauses between writes, with data outstanding or not, and the wait for the last acknowledgement."""
    first, second = (ack(-1, 1), data(0, 1, 101), ack(100, 101)), (data(500, 101, 201), data(550, 201, 301))
    limits = found(*first, *second, ack(650, 301))
    assert milliseconds(limits) == {"application": 650}


def test_what_an_acknowledgement_sets_off_waited_for_the_senders_window() -> None:
    """Each segment leaves 1 ms after the acknowledgement of the one before, in that ms nothing is outstanding."""
    first, second = (ack(-1, 1), data(0, 1, 101), ack(100, 101)), (data(101, 101, 201), ack(200, 201))
    limits = found(*first, *second, data(201, 201, 301), ack(300, 301))
    assert milliseconds(limits) == {"sender_window": 100 + 99, "application": 1 + 1 + 99}


def test_a_full_congestion_window_in_a_log_is_the_senders() -> None:
    """Although the next segment leaves later than at once after the acknowledgement, as with pacing."""
    script = (ack(-1, 1), data(0, 1, 101), data(1, 101, 201), ack(100, 101), data(110, 201, 301), ack(200, 301))
    frame = table(script)
    for cwnd, sender_ms in ((200, 100 - 1), (400, 0)):
        logged = frame.assign(cwnd_bytes=[cwnd, cwnd, cwnd, 400, 400, 400])
        limits = find_limits(logged, blocks(script), measured(frame), Groups(frame, 1), paths_of(6), judged())
        assert milliseconds(limits).get("sender_window", 0) == sender_ms


def test_a_closed_window_is_the_receivers() -> None:
    """From the acknowledgement that closes it to the one that opens it, although nothing is outstanding."""
    limits = found(data(0, 1, 101), ack(100, 101, window=0), ack(600, 101), data(601, 101, 201), ack(700, 201))
    assert milliseconds(limits)["receiver_window"] == 500


def test_a_window_too_small_for_the_next_segment_is_the_receivers() -> None:
    """Room for a part of the next segment is no room; enough for all of it is."""
    script = [ack(-10, 1, window=150), data(0, 1, 101), ack(100, 101, window=150), data(101, 101, 201), ack(200, 201)]
    assert milliseconds(found(*script))["receiver_window"] == 100
    script[0] = ack(-10, 1, window=200)
    assert "receiver_window" not in milliseconds(found(*script))


def test_with_an_unscaled_window_what_the_sender_waited_for_is_unknown() -> None:
    """The receiver's window comes before the sender's; without it neither can be told while data is outstanding."""
    limits = found(
        data(0, 1, 101), ack(50, 101, window=-1), data(51, 101, 201), ack(100, 201, window=-1), data(101, 201, 301),
        ack(150, 301, window=-1),
    )  # fmt: skip
    assert milliseconds(limits)["unknown"] == 50 + 49


WARM = (data(0, 1, 101), ack(100, 101))
"""A round trip of 100 ms."""
LOST = (
    syn_ack(-1), data(0, 1, 101, stamp=1), ack(100, 101, echo=1), ack(100.5, 101, dsack=(1, 101), echo=1),
    data(101, 101, 201, stamp=101), again(700, 101, 201, stamp=700), ack(800, 201, echo=700),
)  # fmt: skip
"""Of a receiver that reports duplicates, and does not report the resend as one."""


def test_the_wait_for_a_timer_that_resends_lost_data_is_timeout_recovery() -> None:
    """From when the data was outstanding until its resend was acknowledged."""
    assert milliseconds(found(*LOST))["timeout_recovery"] == 800 - 101


def test_a_needless_resend_is_no_recovery() -> None:
    """The acknowledgement echoes the first copy: the path held it, and nothing had to be repaired."""
    script = (*LOST[:-1], ack(750, 201, echo=101), ack(751, 201, dsack=(101, 201), echo=101))
    spent = milliseconds(found(*script))
    assert spent["path_stall"] == 750 - 101
    assert "timeout_recovery" not in spent


def test_where_acknowledgements_are_lost_a_timer_need_not_have_resent_lost_data() -> None:
    """The first resend is undecided, but the second came twice: something that had arrived was acknowledged in vain."""
    sent = (
        *LOST[:4],
        data(101, 101, 201, stamp=101),
        again(700, 101, 201, stamp=700),
        again(1900, 101, 201, stamp=1900),
    )
    spent = milliseconds(found(*sent, ack(2000, 201, echo=1900)))
    assert spent["timeout_recovery"] == 2000 - 101
    spent = milliseconds(found(*sent, ack(2000, 201, dsack=(101, 201), echo=1900)))
    assert spent["unknown"] == 2000 - 101


def test_the_wait_for_a_timer_counts_if_it_resent_what_had_arrived_while_other_data_was_lost() -> None:
    """The acknowledgement of 101..200 was lost, and 201..300: without the timer nothing would have come back."""
    lost = (*LOST[:5], data(102, 201, 301, stamp=102), again(700, 101, 201, stamp=700))
    found_by_acks = (
        ack(800, 201, dsack=(101, 201), echo=101), *(data(801, n, n + 100, stamp=801) for n in (301, 401, 501, 601)),
        ack(901, 201, (301, 401), echo=101), ack(902, 201, (301, 501), echo=101), ack(903, 201, (301, 601), echo=101),
        again(903.1, 201, 301, stamp=903), ack(904, 201, (301, 701), echo=101), ack(1003, 701, echo=903),
    )  # fmt: skip
    # Some of it may have gone into sending: no rate is known.
    assert 0.99 * (700 - 101) < milliseconds(found(*lost, *found_by_acks))["timeout_recovery"] <= 700 - 101


def test_a_needless_timer_within_a_fast_recovery_was_waited_for_where_more_was_lost() -> None:
    """1..300 was lost; the acknowledgement of 101..200, sent again, was, too: only the timer told that 201..300 was."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(7)]
    told = [ack(100 + n, 1, (301, 401 + 100 * n)) for n in range(4)]
    script = (
        *flight, *told, again(103.1, 1, 101, received=0), ack(203, 101, (301, 701)), again(203.1, 101, 201, received=0),
        again(900, 101, 201, received=1), ack(1000, 201, (301, 701), dsack=(101, 201)),
        again(1000.1, 201, 301, received=0), ack(1100, 701),
    )  # fmt: skip
    frame, resent = table(script), judged(*script)
    assert resent["spurious"].tolist() == ["no", "no", "yes", "no"]
    triggers = pd.Categorical(["fast", "recovery", "timeout", "recovery"], resent["trigger"].cat.categories)
    by_kernel = resent.assign(trigger=triggers)
    limits = find_limits(frame, blocks(script), measured(frame), Groups(frame, 1), paths_of(len(frame)), by_kernel)
    assert milliseconds(limits)["timeout_recovery"] >= 0.99 * (900 - 203)


def test_a_timer_within_a_fast_recovery_was_waited_for() -> None:
    """That the repair before it was lost is likelier than that only its acknowledgement was."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(5)]
    told = [ack(100 + n, 1, (101, 201 + 100 * n)) for n in range(4)]
    limits = found(*flight, *told, again(103.1, 1, 101), again(900, 1, 101), ack(1000, 501))
    spent = milliseconds(limits)
    assert "fast_recovery" not in spent
    assert spent["timeout_recovery"] >= 1000 - 103


def test_what_is_repaired_after_a_timer_had_been_waited_for_though_its_own_resend_is_undecided() -> None:
    """Whether 101..200 was lost is not known, but 201..300 was: the acknowledgements of the resend show it."""
    script = (*WARM, data(101, 101, 201), data(102, 201, 301), again(700, 101, 201), ack(800, 201))
    limits = found(*script, again(801, 201, 301, received=0), ack(900, 301))
    assert milliseconds(limits)["timeout_recovery"] == 900 - 101


def test_what_later_data_passed_without_sack_is_taken_for_lost() -> None:
    """Acknowledgements that repeat their number show a hole, as the sender itself takes them to (RFC 5681 3.2)."""
    flight = [data(101 + n, 101 + 100 * n, 201 + 100 * n) for n in range(4)]
    repeated = [ack(202 + n, 101) for n in range(3)]
    script = (syn_ack(-1, sack=False), *WARM, *flight, *repeated, again(204.1, 101, 201), ack(404, 501))
    assert judged(*script)["spurious"].tolist() == ["unknown"]
    spent = milliseconds(found(*script))
    # Its data may have been on a bottleneck of no known rate before.
    assert spent["fast_recovery"] >= 99


def test_by_an_unsure_rate_it_is_not_known_when_lost_packets_left() -> None:
    """Too few acknowledgements show the rate for what the bottleneck did with the fifteen that never arrived."""
    flight = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(20)]
    acks = [ack(100 + 10 * n, 961 + 960 * n) for n in range(5)]
    resent = [one._replace(ms=1500, resent=True, received=0) for one in flight[5:]]
    spent = milliseconds(found(*flight, *acks, *resent, ack(1700, 19201)))
    assert spent == {"unknown": 200, "timeout_recovery": 1500 - 110, "path_rate": 1610 - 1500}


def test_where_no_rate_is_known_what_data_takes_longer_than_other_packets_is_unknown() -> None:
    """Of 90 ms one without data takes 40: in the other 50 the bottleneck may send it, or they may be its way."""
    script = (
        Segment(0, 0), ack(50, 1), data(100, 1, 101), ack(200, 101), data(200, 101, 201), ack(300, 201),
        data(300, 201, 301), ack(400, 301),
    )  # fmt: skip
    spent = milliseconds(at_both_ends(*script, arrivals={0: 40, 2: 190, 4: 290, 6: 390}))
    assert spent == {"unknown": 150, "sender_window": 100, "application": 50}


def test_a_resend_that_acknowledgements_set_off_begins_fast_recovery() -> None:
    """From the resend until all that was sent before it is acknowledged."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n, stamp=1 + n) for n in range(5)]
    limits = found(
        *flight, ack(101, 1, (101, 201), echo=1), ack(102, 1, (101, 301), echo=1), ack(103, 1, (101, 401), echo=1),
        again(103.1, 1, 101, stamp=103), ack(104, 1, (101, 501), echo=1), ack(203.1, 501, echo=103),
    )  # fmt: skip
    assert milliseconds(limits)["fast_recovery"] == 100


def test_a_path_that_stood_still_is_told_from_a_delayed_acknowledgement() -> None:
    """Longer than two round trips, and by more than a receiver may delay an acknowledgement."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(4)]
    assert milliseconds(found(*flight, ack(101, 201), ack(2101, 401)))["path_stall"] == 2000
    assert "path_stall" not in milliseconds(found(*flight, ack(101, 201), ack(601, 401)))


def test_a_path_may_stand_still_before_acknowledgements_are_lost() -> None:
    """By the receiver's capture the data came after 2 s; then its acknowledgements were lost, and a timer ran out."""
    flight = [data(0, 1, 101), ack(100, 101), *(data(100, 101 + 100 * n, 201 + 100 * n) for n in range(4))]
    script = (*flight, again(3500, 101, 201), ack(3600, 501), data(3600, 501, 601), ack(3700, 601))
    came = {0: 50, **dict.fromkeys(range(2, 6), 2150), 6: 3550, 8: 3650}
    assert milliseconds(at_both_ends(*script, arrivals=came))["path_stall"] == 2050


def test_an_acknowledgement_of_what_was_sent_twice_is_no_round_trip() -> None:
    """Karn's algorithm, also where it is plain which copy it answers: the path then stood still again."""
    slow = (again(700, 101, 201, stamp=700), ack(2101, 201, echo=101))
    script = (data(0, 1, 101, stamp=1), ack(100, 101, echo=1), data(101, 101, 201, stamp=101), *slow)
    limits = found(*script, data(2102, 201, 301, stamp=2102), ack(3200, 301, echo=2102))
    assert milliseconds(limits)["path_stall"] == 2000 + 1098


def test_a_repeated_acknowledgement_shows_that_something_arrived() -> None:
    """Though nothing new is acknowledged, the path does not stand still; a new window alone says nothing."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(4)]
    for window, stood_ms in ((65535, 0), (65000, 999)):
        limits = found(*flight, ack(101, 101), ack(600, 101, window=window), ack(1100, 401))
        assert milliseconds(limits).get("path_stall", 0) == stood_ms


def test_what_is_acknowledged_late_is_in_flight_until_then() -> None:
    """From one capture: the third segment came after the second acknowledgement left, or this was held on its way."""
    flight = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(3)]
    limits = found(*flight, ack(100, 961), ack(590, 1921), ack(600, 2881), told_bps=800_000)
    assert milliseconds(limits) == {"path_rate": 500, "application": 100}


def test_a_resend_that_is_acknowledged_late_is_in_flight_until_then() -> None:
    """Whichever copy came, and whatever the path's rate: later than a round trip and a delayed acknowledgement."""
    script = (*WARM, data(101, 101, 201), data(102, 201, 301), again(700, 101, 201), ack(1900, 201), ack(2000, 301))
    assert milliseconds(found(*script))["path_rate"] == 1100


@pytest.mark.parametrize(("queued", "unknown_ms"), [(6, 20), (1, 0)])
def test_what_is_lost_though_the_queue_had_room_may_have_been_on_the_bottleneck(queued: int, unknown_ms: int) -> None:
    """Of a path that loses single packets, of 10 ms each, two that nothing follows; where no more ever waited before
    they were dropped by the queue."""
    script: list[Segment] = [ack(-1, 1)]
    arrivals: dict[int, float] = {}

    def send(ms: float, number: int, came_ms: float = -1, *, resent: bool = False) -> None:
        one = again(ms, 1 + 960 * number, 961 + 960 * number, received=0) if resent else data(
            ms, 1 + 960 * number, 961 + 960 * number)  # fmt: skip
        arrivals.update({len(script): came_ms} if came_ms >= 0 else {})
        script.append(one)

    for number in range(queued):
        send(0, number, 60 + 10 * number)
    script.append(ack(160, 1 + 960 * queued))
    for number, ms in ((queued, 200), (queued + 2, 800), (queued + 4, 1400)):
        send(ms, number)
        send(ms, number + 1, ms + 60)
        send(ms + 400, number, ms + 460, resent=True)
        script.append(ack(ms + 510, 1 + 960 * (number + 2)))
    for ms, came_ms in ((2000, -1), (2600, 2660)):
        send(ms, queued + 6, came_ms, resent=came_ms > 0)
        send(ms, queued + 7, came_ms + 10 if came_ms > 0 else -1, resent=came_ms > 0)
    lost = [at for at, one in enumerate(script) if one.sender == 0 and at not in arrivals]
    script.append(ack(2720, 1 + 960 * (queued + 8)))
    limits = at_both_ends(*script, arrivals=arrivals, lost=lost, told_bps=800_000)
    assert milliseconds(limits).get("unknown", 0) == unknown_ms


@pytest.mark.parametrize(("received", "by_arrivals"), [(1, True), (-1, False)])
def test_needless_resends_may_be_on_their_way_when_the_receivers_capture_ends(received: int, by_arrivals: bool) -> None:
    """They would have brought nothing; where it is not known whether they did, arrivals are not known either."""
    flight = [data(n, 1 + 100 * n, 101 + 100 * n) for n in range(4)]
    resends = [one._replace(ms=900 + one.ms, resent=True, received=received) for one in flight]
    limits = at_both_ends(*flight, *resends, ack(1000, 401), arrivals={n: 800.0 + n for n in range(4)})
    assert limits.by_arrivals[0] == by_arrivals


def test_data_in_flight_waits_also_where_a_needless_copy_comes_before_it() -> None:
    """The path stood still until then, whatever comes first."""
    script = (data(0, 1, 101), ack(100, 101), again(105, 1, 101, received=1), data(110, 101, 201), ack(1050, 201))
    limits = at_both_ends(*script, arrivals={0: 50.0, 2: 1000.0, 3: 1000.1})
    assert milliseconds(limits)["path_stall"] == 1000 - 110


def test_the_receivers_capture_alone_tells_a_closed_window_only() -> None:
    """With all that arrived acknowledged nothing is on the way; everything else is unknown."""
    script = (data(0, 1, 101), ack(1, 101, window=0), ack(500, 101), data(600, 101, 201), ack(601, 201))
    limits = found(*script, paths=paths_of(len(script), sender=NOWHERE, receiver=0))
    assert milliseconds(limits) == {"receiver_window": 499, "unknown": 102}


KINDS = st.sampled_from(["data", "ack", "ack", "reset"])
WINDOWS = st.sampled_from([-1, 0, 99, 500])
STEPS = st.lists(
    st.tuples(KINDS, st.integers(-40, 40), st.integers(0, 600), st.integers(1, 120), WINDOWS), min_size=1, max_size=25
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(STEPS, st.booleans())
def test_from_beside_the_receiver_an_open_window_leaves_all_unknown(
    steps: list[tuple[Any, ...]], clock_is_set: bool
) -> None:
    """Times and shares are those that following the rows one by one gives.

    Whatever is sent and acknowledged, with probes and resets, and though the clock is set back.
    """
    times = np.cumsum([wait if clock_is_set else abs(wait) for _, wait, *_ in steps]).tolist()
    script = [
        data(at, number, number + size) if kind == "data"
        else ack(at, number, window=window)._replace(flags=ACK | RST if kind == "reset" else ACK)
        for at, (kind, _, number, size, window) in zip(times, steps, strict=True)
    ]  # fmt: skip
    paths = paths_of(len(script), sender=NOWHERE, receiver=0)
    short = found(*script, paths=paths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits_of_directions, "_settle_open_windows", lambda directions, *_: directions)
        whole = found(*script, paths=paths)
    for name in ("shares", "start_ns", "end_ns"):
        np.testing.assert_array_equal(getattr(short, name), getattr(whole, name))


@pytest.mark.parametrize(("window", "followed"), [(-1, False), (100, False), (99, True)])
def test_rows_are_followed_only_where_a_window_had_no_room_for_the_longest_segment(window: int, followed: bool) -> None:
    """Where every window of a known scale had room all is unknown, and no direction is left to follow."""
    script = (data(0, 1, 101), ack(1, 101, window=window), data(50, 101, 151), ack(60, 151, window=200))
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits_of_directions, "limit_directions", lambda directions, *_: calls.append(directions.end))
        limits = found(*script, paths=paths_of(len(script), sender=NOWHERE, receiver=0))
    assert np.concatenate(calls).tolist() == ([0] if followed else [])
    assert np.isnan(limits.shares[0]).all() if followed else milliseconds(limits) == {"unknown": 60}


def test_an_end_without_acknowledged_data_has_no_limits() -> None:
    """Neither one that sent nothing, nor one whose data was never acknowledged."""
    assert np.isnan(found(data(0, 1, 101), data(10, 101, 201)).shares).all()
    assert np.isnan(found(data(0, 1, 101), ack(100, 101)).shares[1]).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0, 0.2), st.floats(1, 40))
def test_every_instant_has_one_cause(seed: int, loss: float, spacing_ms: float) -> None:
    """Shares of any transfer add up to 1, from the sender's capture alone."""
    frame, _, _ = transfer(Path(loss=loss), 2.0, spacing_ms, seed)
    frame["time_ns"] = np.maximum.accumulate(frame["time_ns"].to_numpy())
    paths, sacks = paths_of(len(frame)), blocks(())
    limits = find_limits(frame, sacks, measured(frame), Groups(frame, 1), paths, judged())
    assert (limits.shares[0] >= 0).all()
    assert limits.shares[0].sum() == pytest.approx(1, abs=1e-9)
    assert limits.start_ns[0] >= START


def test_causes_that_begin_centuries_apart_keep_their_order():
    """A capture may hold times of two centuries: what begins that late has the latest time that is kept."""
    causes = np.zeros(2, dtype=np.int64)
    made = sending_state.Events(*[causes] * len(sending_state.Events._fields))
    state = np.zeros(sending_state.FIELDS, dtype=np.int64)
    for start, cause in ((5, sending_state.STALL), (9_000_000_000_000_000_000, sending_state.APPLICATION)):
        add_cause(start, cause, made, state)
    starts, kinds = causes // sending_state.CODES, causes % sending_state.CODES
    assert starts.tolist() == [5, sending_state.MOST_CAUSE_NS]
    assert kinds.tolist() == [sending_state.STALL, sending_state.APPLICATION]


def test_nothing_above_a_hole_arrives_that_nobody_answers() -> None:
    """Of 30 segments behind the first one 10 arrive: the bottleneck had those for 10 ms each, the rest perhaps."""
    opening = [data(0, 1 + 100 * n, 101 + 100 * n) for n in range(40)]
    acks = [ack(110 + 10 * n, 101 + 100 * n) for n in range(40)]
    flight = [data(600, 4001 + 100 * n, 4101 + 100 * n) for n in range(31)]
    answers = [ack(720 + 10 * n, 4001) for n in range(10)]
    spent = milliseconds(found(*opening, *acks, *flight, *answers, again(2000, 4001, 4101), ack(2110, 7101)))
    assert 390 + 100 <= spent["path_rate"] <= 400 + 140
    assert spent["unknown"] >= 150

"""What limited a direction: scripts of a few segments, one cause each, and what must hold for any transfer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending import Segment, ack, again, blocks, data, judged, syn_ack, table
from two_ends import MS, START, Path, transfer

from multitracer.accounting import sending_events
from multitracer.accounting.limits import find_limits
from multitracer.compute import kernels
from multitracer.model.limits import LIMITS, Limits
from multitracer.model.paths import Paths
from multitracer.tcp.connection_rows import Groups

NEAR, NOWHERE = 0, -1
ROUND_TRIP_MS = 100.0


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def paths_of(rows: int, *, sender: int = NEAR, receiver: int = NOWHERE) -> Paths:
    """Where the client's data, and the server's acknowledgements, were captured."""
    near, far = np.array([[sender, receiver]]), np.array([[receiver, sender]])
    return Paths(near, far, np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int8))


def measured(frame: pd.DataFrame, sender: int = 0, point: int = 0) -> pd.DataFrame:
    """The part of the measures that says who sent data where."""
    count = int((frame["payload_bytes"] > 0).sum())
    return pd.DataFrame(
        {
            "connection": [0],
            "sender": [sender],
            "point": [point],
            "data_segments": [count],
            "rtt_min_ms": [ROUND_TRIP_MS],
        }
    )


def found(*segments: Segment, paths: Paths | None = None, told_bps: float | None = None) -> Limits:
    """What limited the client in a script, from the capture beside it unless `paths` says otherwise."""
    frame = table(segments)
    where = paths or paths_of(len(frame))
    return find_limits(frame, blocks(segments), measured(frame), Groups(frame, 1), where, judged(*segments), told_bps)


def milliseconds(limits: Limits, end: int = 0) -> dict[str, float]:
    """How long each cause limited an end, without those that never did."""
    lasted = (limits.end_ns[end] - limits.start_ns[end]) / MS
    shares = dict(zip(LIMITS, limits.shares[end].tolist(), strict=True))
    return {name: round(share * lasted, 3) for name, share in shares.items() if share}


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


LOST = (
    syn_ack(-1), data(0, 1, 101, stamp=1), ack(100, 101, echo=1), data(101, 101, 201, stamp=101),
    again(700, 101, 201, stamp=700), ack(800, 201, echo=700),
)  # fmt: skip


def test_the_wait_for_a_timer_that_resends_lost_data_is_timeout_recovery() -> None:
    """From when the data was outstanding until its resend was acknowledged."""
    assert milliseconds(found(*LOST))["timeout_recovery"] == 800 - 101


def test_a_needless_resend_is_no_recovery() -> None:
    """The acknowledgement echoes the first copy: the path held it, and nothing had to be repaired."""
    script = (*LOST[:-1], ack(750, 201, echo=101), ack(751, 201, dsack=(101, 201), echo=101))
    spent = milliseconds(found(*script))
    assert spent["path_stall"] == 750 - 101
    assert "timeout_recovery" not in spent


def test_the_wait_for_a_timer_counts_if_it_resent_what_had_arrived_while_other_data_was_lost() -> None:
    """The acknowledgement of 101..200 was lost, and 201..300: without the timer nothing would have come back."""
    lost = (*LOST[:4], data(102, 201, 301, stamp=102), again(700, 101, 201, stamp=700))
    found_by_acks = (
        ack(800, 201, dsack=(101, 201), echo=101), *(data(801, n, n + 100, stamp=801) for n in (301, 401, 501, 601)),
        ack(901, 201, (301, 401), echo=101), ack(902, 201, (301, 501), echo=101), ack(903, 201, (301, 601), echo=101),
        again(903.1, 201, 301, stamp=903), ack(904, 201, (301, 701), echo=101), ack(1003, 701, echo=903),
    )  # fmt: skip
    # Some of it may have gone into sending: no rate is known.
    assert 0.99 * (700 - 101) < milliseconds(found(*lost, *found_by_acks))["timeout_recovery"] <= 700 - 101


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


def queue(*spacing: float) -> tuple[pd.DataFrame, Paths]:
    """Segments sent at once, which arrive so many ms after one another, captured at both ends and acknowledged."""
    count = len(spacing)
    sent = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(count)]
    seen = [one._replace(ms=50 + sum(spacing[: n + 1])) for n, one in enumerate(sent)]
    acks = [ack(100 + sum(spacing[: n + 1]), 961 + 960 * n) for n in range(count)]
    paths = paths_of(3 * count, receiver=1)
    paths.arrival[:count], paths.arrived[:count] = np.arange(count) + count, 1
    frame = table((*sent, *seen, *acks))
    frame["point"] = np.repeat([0, 1, 0], count).astype(np.int16)
    return frame, paths


def queued(*spacing: float, told_bps: float | None = None) -> Limits:
    """What limited the client of such a queue."""
    frame, paths = queue(*spacing)
    return find_limits(frame, blocks(()), measured(frame), Groups(frame, 1), paths, judged(), told_bps)


def test_a_queue_at_the_bottleneck_is_the_paths_rate() -> None:
    """The bottleneck is busy until the last packet left it, a path's delay before that arrived."""
    limits = queued(*[10] * 40)
    assert milliseconds(limits) == {"path_rate": 400, "application": 100}
    assert limits.rate_bps[0] == pytest.approx(800_000)
    assert limits.rate_from[0] == 2


def test_without_an_agreed_rate_a_short_wait_is_no_queue_for_certain() -> None:
    """It may be jitter, unless it is longer than a round trip."""
    assert milliseconds(queued(*[10] * 5)) == {"unknown": 50, "application": 100}
    assert milliseconds(queued(*[10] * 15)) == {"path_rate": 150, "application": 100}


def test_a_told_rate_stands_in_only_where_arrivals_do_not_contradict_it() -> None:
    """A rate found from many arrivals wins; without any the told one counts."""
    for told in (400_000, 1_600_000):
        assert queued(*[10] * 40, told_bps=told).rate_bps[0] == pytest.approx(800_000)
    alone = found(data(0, 1, 961), ack(100, 961), told_bps=800_000)
    assert (alone.rate_bps[0], alone.rate_from[0]) == (800_000, 1)
    assert milliseconds(alone)["path_rate"] == 10


def test_a_change_of_the_rate_is_found() -> None:
    """Each rate with the time from which it holds; the path is busy all the time."""
    limits = queued(*[10] * 120, *[30] * 120)
    start, rates = limits.changes.of(0)
    assert rates == pytest.approx([800_000, 800_000 / 3], rel=0.01)
    assert abs(start[1] - START - (50 + 1200) * MS) <= 16 * 30 * MS
    assert milliseconds(limits)["path_rate"] == 1200 + 3600


def test_a_rate_that_varies_without_holding_has_no_changes() -> None:
    """Neither a few packets at another rate nor jitter is a change."""
    for spacing in ([10] * 100 + [30] * 20 + [10] * 100, [6, 14] * 120, [9.8, 10.2] * 120):
        assert len(queued(*spacing).changes.of(0)[0]) == 0


def test_the_receivers_capture_alone_tells_a_closed_window_only() -> None:
    """With all that arrived acknowledged nothing is on the way; everything else is unknown."""
    script = (data(0, 1, 101), ack(1, 101, window=0), ack(500, 101), data(600, 101, 201), ack(601, 201))
    limits = found(*script, paths=paths_of(len(script), sender=NOWHERE, receiver=0))
    assert milliseconds(limits) == {"receiver_window": 499, "unknown": 102}


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
    made = sending_events.Events(*[causes] * len(sending_events.Events._fields))
    state = np.zeros(sending_events.FIELDS, dtype=np.int64)
    for start, cause in ((5, sending_events.STALL), (9_000_000_000_000_000_000, sending_events.APPLICATION)):
        sending_events.add_cause(start, cause, made, state)
    starts, kinds = causes // sending_events.CODES, causes % sending_events.CODES
    assert starts.tolist() == [5, sending_events.MOST_CAUSE_NS]
    assert kinds.tolist() == [sending_events.STALL, sending_events.APPLICATION]

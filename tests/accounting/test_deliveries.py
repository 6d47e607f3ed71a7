"""When segments came, by a capture at the receiver or by the log of the link's far end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from limiting import measured
from sending import Segment, ack, again, blocks, data, judged, table
from two_ends import MS, START

from multitracer import accounting
from multitracer.accounting.deliveries import Deliveries, LinkLog, delivered_before, deliveries
from multitracer.accounting.limits import Told, find_limits
from multitracer.correlation.delivery import MISSING
from multitracer.model.limits import LIMITS
from multitracer.model.paths import Paths
from multitracer.model.schema import MARKS
from multitracer.tcp.connection_rows import Groups

NOWHERE = -1
SCRIPT = (data(0, 1, 101), data(1, 101, 201), data(2, 201, 301), again(500, 101, 201), ack(600, 101))
ANSWER = 4
"""The row of the acknowledgement."""


def paths_of(receiver: int = NOWHERE) -> Paths:
    """A capture beside the sender, and one beside the receiver where there is a point for it."""
    rows = len(SCRIPT)
    near, far = np.array([[0, receiver]]), np.array([[receiver, 0]])
    return Paths(near, far, np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int8))


def log(*rows: tuple[int, float, float, float, int], script: tuple[Segment, ...] = SCRIPT) -> LinkLog:
    """Of each segment its row, when its first and last frame was sent and when it was whole, in ms, and its frames."""
    segment, first, last, whole, frames = (np.array(column) for column in zip(*rows, strict=True))
    ns = {"first_frame_ns": first, "last_frame_ns": last, "delivered_ns": whole}
    times = {name: np.where(ms >= 0, START + (ms * MS).astype(np.int64), -1) for name, ms in ns.items()}
    queue = np.where(first >= 0, times["first_frame_ns"] - table(script)["time_ns"].to_numpy()[segment], -1)
    repeats = np.maximum(frames - 1, 0)
    return LinkLog(0, pd.DataFrame({
        "link": 0, "segment": segment, **times, "queue_ns": queue, "frames": frames,
        "frame_retransmissions": repeats, "last_new_frame_ns": times["first_frame_ns"], "logged_ns": -1,
    }), 10 * MS)  # fmt: skip


def found(receiver: int = NOWHERE, *, duplicate: int | None = None, in_sequence: bool = False) -> Deliveries:
    """A link that repeats the second segment, so that the third comes with it, and never gets the fourth.

    The acknowledgement may be a duplicate one, with a number.
    """
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, 200.0, 260.0, 2), (2, 25.0, 25.0, 85.0, 1), (3, -1.0, -1.0, -1.0, 0)
    segments = table(SCRIPT)
    if duplicate is not None:
        segments.loc[ANSWER, ["marks", "ack"]] = MARKS["duplicate_ack"], duplicate
    return deliveries(segments, paths_of(receiver), [log(*rows)._replace(in_sequence=in_sequence)])


def milliseconds(times: np.ndarray) -> list[int]:  # type: ignore[type-arg]
    """Since the start, -1 where unknown."""
    return [int((time - START) // MS) if time >= 0 else -1 for time in times.tolist()]


def test_a_links_log_stands_in_for_a_capture_at_the_receiver() -> None:
    """In the order of sending: what was whole before sooner data had come with that."""
    one = found()
    assert milliseconds(one.came_ns) == [65, 260, 260, -1, -1]
    assert one.arrived.tolist() == [1, 1, 1, 0, -1]
    assert one.ends.tolist() == [True, False]


def test_a_link_that_may_deliver_out_of_sequence_says_nothing_of_arrivals() -> None:
    """The third segment was whole before the second, and the sender heard a duplicate acknowledgement.

    Nor of when the link was done with a segment; the way to it is known all the same.
    """
    one = found(duplicate=101)
    assert milliseconds(one.came_ns) == milliseconds(one.left_ns) == [-1, -1, -1, -1, -1]
    assert milliseconds(one.given_ns) == [5, 6, 7, -1, -1]
    assert not one.ends.any()


def test_of_a_protocol_that_keeps_the_order_no_duplicate_acknowledgement_tells_the_contrary() -> None:
    """RLP's: what it took for another frame is missing at the receiver."""
    assert milliseconds(found(duplicate=101, in_sequence=True).came_ns) == [65, 260, 260, -1, -1]


@pytest.mark.parametrize("stands_in", [False, True])
@pytest.mark.parametrize(
    ("third_came", "duplicate", "left"),
    [(90, True, [15, -1, 35]), (265, True, [15, -1, -1]), (90, False, [15, -1, 35]), (265, False, [15, 210, 210])],
)
def test_what_was_captured_once_it_was_whole_had_left_a_link_out_of_sequence(
    third_came: int, left: list[int], *, duplicate: bool, stands_in: bool
) -> None:
    """The third passes the second, which no capture has; later than 5 ms behind the link, something else held it up.

    That the link keeps no order a duplicate acknowledgement tells, or that it came before the second was whole. Of
    another the log lacks when it was whole, so that its arrival stands for that.
    """
    segments = table((data(0, 1, 101), data(1, 101, 201), data(2, 201, 301), data(3, 301, 401), ack(300, 101),
                      *(data(ms, 1, 101) for ms in (70, third_came, 300))))  # fmt: skip
    segments.loc[4, "marks"] = MARKS["duplicate_ack"] * duplicate
    arrival = np.array([5, -1, 6, 7 if stands_in else -1, -1, -1, -1, -1], dtype=np.int32)
    paths = replace(paths_of(1), arrival=arrival, arrived=np.where(arrival >= 0, 1, -1).astype(np.int8))
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, 200.0, 260.0, 2), (2, 25.0, 25.0, 85.0, 1), (3, 30.0, 30.0, 300.0, 1)
    assert milliseconds(deliveries(segments, paths, [log(*rows)]).left_ns)[:3] == left


def keeps_order(
    lost: int | None, *duplicates: tuple[float, int], first: float = 65,
    copy_ms: tuple[float, float, float] = (4.5, 8, 70),
) -> bool:  # fmt: skip
    """Whether a link is said to, of five segments, that repeats the second and the fourth, or loses one of them.

    What it lost comes at 370 ms; without a loss the first segment comes a second time: when that was sent, and when it
    was in the link and whole behind it. The third is whole at 85 ms and may have to wait until 210 ms, the fifth from
    105 to 220 ms. Of duplicate acknowledgements the time and the number; what is below a loss is acknowledged 50 ms
    after it was given, all at 500 ms.
    """
    copy_sent, copy_in, copy_whole = copy_ms
    sent_again = again(copy_sent, 1, 101) if lost is None else again(300, 1 + 100 * lost, 101 + 100 * lost)
    known = (115, 101) if lost == 1 else (260, 301)
    twice = [ack(ms, number) for ms, number in duplicates]
    sent = [*(data(n, 1 + 100 * n, 101 + 100 * n) for n in range(5)), sent_again]
    script = tuple(sorted([*sent, *twice, ack(*known), ack(500, 501)], key=lambda one: one.ms))
    segments, row_of = table(script), [script.index(one) for one in sent]
    segments.loc[[script.index(one) for one in twice], "marks"] = MARKS["duplicate_ack"]
    rows = [
        (5.0, 5.0, first, 1), (15.0, 150.0, 210.0, 2), (25.0, 25.0, 85.0, 1), (35.0, 160.0, 220.0, 2),
        (45.0, 45.0, 105.0, 1), (copy_in, copy_in, copy_whole, 1) if lost is None else (310.0, 310.0, 370.0, 1),
    ]  # fmt: skip
    carried = [(row_of[number], *row) for number, row in enumerate(rows) if number != lost]
    none = np.full(len(script), -1)
    paths = replace(paths_of(), arrival=none.astype(np.int32), arrived=none.astype(np.int8))
    return bool(deliveries(segments, paths, [log(*carried, script=script)]).ends[0])


def test_a_duplicate_acknowledgement_from_below_a_lost_packet_shows_no_delivery_out_of_sequence() -> None:
    """The fifth was given above the lost fourth; that the third set off none while it waited shows the order."""
    assert keeps_order(3, (290, 301))
    assert keeps_order(3, (290, 301), (380, 301))


def test_a_duplicate_acknowledgement_from_below_a_late_packet_shows_delivery_out_of_sequence() -> None:
    """Or one that was heard before what was above the lost packet was given."""
    assert not keeps_order(3, (140, 101), (290, 301))
    assert not keeps_order(1, (88, 101), first=90)


def test_where_each_packet_that_waited_may_have_been_acknowledged_nothing_tells_the_order() -> None:
    """The second was lost: all that comes above it is answered by duplicates, in order or not, however late."""
    assert not keeps_order(1, (240, 101))
    assert not keeps_order(1, (120, 101), (240, 101))
    assert not keeps_order(1, (235, 101), (255, 101), (370, 101))


def test_one_duplicate_acknowledgement_answers_a_needless_resend() -> None:
    """The first segment came twice; a second duplicate is from below what waited."""
    assert keeps_order(None, (100, 101))
    assert not keeps_order(None, (100, 101), (101, 101))


def test_a_needless_resend_that_waited_is_answered_with_what_was_given_just_before_it() -> None:
    """It came third, and waited for the second as the third did: all three are given at once, in their order."""
    assert keeps_order(None, (261, 301), copy_ms=(2.5, 28, 88))
    assert not keeps_order(None, (261, 301), (262, 301), copy_ms=(2.5, 28, 88))


def test_the_answer_to_a_needless_resend_does_not_show_a_delivery_out_of_sequence() -> None:
    """It repeats a number above all that was whole too soon."""
    assert found(duplicate=301).ends.tolist() == [True, False]


def test_a_capture_at_the_receiver_is_not_overruled() -> None:
    """The log says only until when the link had each segment."""
    one = found(receiver=1)
    assert one.arrived.tolist() == [-1, -1, -1, -1, -1]
    assert not one.ends.any()


def test_the_link_had_a_segment_until_its_last_octet_had_left() -> None:
    """From 5 ms after it was sent on, the least way to the link, until 50 ms before it was delivered."""
    assert milliseconds(found().given_ns) == [5, 6, 7, -1, -1]
    assert milliseconds(found().left_ns) == [15, 210, 210, -1, -1]


def test_the_log_of_the_links_other_direction_tells_when_it_had_what_went_back() -> None:
    """Its way to the link took 5 ms, and it was on the air for 10."""
    back = log((ANSWER, 605.0, 605.0, 665.0, 1))
    back = back._replace(link=1, segment_frames=back.segment_frames.assign(link=1))
    one = deliveries(table(SCRIPT), paths_of(), [log((0, 5.0, 5.0, 65.0, 1)), back])
    assert milliseconds(one.left_ns) == [15, -1, -1, -1, 615]


@pytest.mark.parametrize(("others", "known"), [(8, False), (9, True)])
def test_arrivals_well_before_the_link_delivered_do_not_hide_when_it_was_done_with_others(
    others: int, known: bool
) -> None:
    """The fourth came 60 ms too soon for its log; the others came 5 ms after it, but for the last, 90 ms after it."""
    count = others + 2
    came = [70 + 20 * n - 65 * (n == 3) + 85 * (n == count - 1) for n in range(count)]
    times = [float(n) for n in range(count)], came
    script = tuple(data(ms, 1 + 100 * n, 101 + 100 * n) for one in times for n, ms in enumerate(one))
    arrival = np.array([*range(count, 2 * count), *[-1] * count], dtype=np.int32)
    paths = replace(paths_of(1), arrival=arrival, arrived=np.where(arrival >= 0, 1, -1).astype(np.int8))
    rows = [(n, 5.0 + 20 * n, 5.0 + 20 * n, 65.0 + 20 * n, 1) for n in range(count)]
    logged = log(*rows, script=script)._replace(in_sequence=True)
    left = milliseconds(deliveries(table(script), paths, [logged]).left_ns)[:count]
    told = [15 + 20 * n if n not in (3, count - 1) else -1 for n in range(count)]
    assert left == (told if known else [75 if n == 3 else -1 for n in range(count)])


@pytest.mark.parametrize(("last", "left"), [(60.0, 70), (75.0, 85), (76.0, -1)])
def test_the_link_had_what_it_never_delivered_until_it_last_sent_of_it(last: float, left: int) -> None:
    """Its second segment, and for a frame longer; what it sends after the 60 ms that others took it may send anew.

    It had it at least until its only frame had been on the air once.
    """
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, last, -1.0, 2), (2, 25.0, 25.0, 85.0, 1)
    one = deliveries(table(SCRIPT), paths_of(), [log(*rows)])
    assert milliseconds(one.held_ns) == [-1, 25, -1, -1, -1]
    assert milliseconds(one.left_ns) == [15, left, 35, -1, -1]
    assert milliseconds(one.came_ns) == [65, -1, 85, -1, -1]


@pytest.mark.parametrize(
    ("in_sequence", "reset_ms", "silent_ms", "answered_ms", "left"),
    [
        (True, 595, 15, -1, 590), (True, 300, 15, -1, 50), (True, 595, 40, -1, 50), (True, 595, 15, 592, 50),
        (False, 595, 15, -1, 50),
    ],
)  # fmt: skip
def test_a_link_in_order_keeps_what_it_has_not_delivered_until_a_reset(
    in_sequence: bool, reset_ms: int, silent_ms: int, answered_ms: int, left: int
) -> None:
    """To the end of its log, at 590 ms, if nothing sent later came; not what it last sent before a reset or silence."""
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, 15.0, 75.0, 1), (2, 25.0, 40.0, -1.0, 2), (3, 505.0, 590.0, answered_ms, 2)
    resets, silences = (START + reset_ms * MS,), (START + silent_ms * MS,)
    logged = log(*rows)._replace(in_sequence=in_sequence, resets_ns=resets, silences_ns=silences)
    assert milliseconds(deliveries(table(SCRIPT), paths_of(), [logged]).left_ns)[:3] == [15, 25, left]


@pytest.mark.parametrize(("logged_ns", "last", "left"), [(MISSING, 370, 380), (MISSING, 380, -1), (-1, 370, -1)])
def test_what_lacked_a_frame_that_never_came_was_in_the_link_while_it_was_repeated(
    logged_ns: int, last: float, left: int
) -> None:
    """Six times as long as anything that was delivered took, 60 ms; else a repeat may be of what was acknowledged."""
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, last, -1.0, 2), (2, 25.0, 25.0, 85.0, 1)
    logged = log(*rows)
    logged.segment_frames.loc[1, "logged_ns"] = logged_ns
    assert milliseconds(deliveries(table(SCRIPT), paths_of(), [logged]).left_ns) == [15, left, 35, -1, -1]


@pytest.mark.parametrize(("silent_ms", "left"), [(10, 380), (15, -1), (200, -1), (370, 380)])
def test_what_is_sent_again_after_a_silence_had_been_taken_for_acknowledged(silent_ms: int, left: int) -> None:
    """The second segment is first sent at 15 ms and again at 370 ms; frames last 10 ms."""
    rows = (0, 5.0, 5.0, 65.0, 1), (1, 15.0, 370.0, -1.0, 2), (2, 25.0, 25.0, 85.0, 1)
    logged = log(*rows)._replace(silences_ns=[START + silent_ms * MS])
    logged.segment_frames.loc[1, "logged_ns"] = MISSING
    one = deliveries(table(SCRIPT), paths_of(), [logged])
    assert (milliseconds(one.left_ns)[1], milliseconds(one.held_ns)[1]) == (left, 25)


@pytest.mark.parametrize("delivered_ms", [-1.0, 460.0])
def test_a_log_that_shows_no_delivery_only_adds_to_when_the_path_was_busy(delivered_ms: float) -> None:
    """Each segment takes it 20 ms; of the first the last new octets were sent 105 ms after it, in a frame of 10 ms.

    The way to the link takes 5 ms. The second is in one frame; the log of the far end is missing, or begins with that.
    """
    script = (data(0, 1, 101), ack(400, 101), data(400, 101, 201), ack(800, 201))
    frame = table(script)
    logged = log((0, 5.0, 155.0, -1.0, 3), (2, 405.0, 405.0, delivered_ms, 1), script=script)
    logged.segment_frames.loc[0, "last_new_frame_ns"] = START + 105 * MS
    rate_bps, sizes = 8 * int(frame["wire_bytes"].max()) / 0.02, len(frame)
    near, far = np.array([[0, NOWHERE]]), np.array([[NOWHERE, 0]])
    paths = Paths(near, far, np.full(sizes, -1, np.int32), np.full(sizes, -1, np.int8))
    shares = [
        find_limits(
            frame, blocks(script), measured(frame), Groups(frame, 1), paths, judged(*script), Told(rate_bps, logs)
        ).shares[0, LIMITS.index("path_rate")] * 800
        for logs in ([], [logged])
    ]  # fmt: skip
    assert shares == pytest.approx([40, 110 + (20 if delivered_ms < 0 else 10)], abs=0.01)


@pytest.mark.parametrize("in_order", [True, False])
def test_the_wait_for_a_window_begins_when_the_link_is_done_and_ends_when_it_has_data_again(
    in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way to the link takes 40 ms: it has each segment for 20 ms from then on, by its log or else by its rate."""
    if not in_order:
        monkeypatch.setattr(accounting.deliveries, "perhaps_out_of_sequence", lambda rows, *_: np.ones(len(rows), bool))
    script = (
        ack(-10, 1, window=100), data(0, 1, 101), ack(200, 101, window=100), data(200, 101, 201),
        ack(400, 201, window=0), ack(600, 201, window=100), data(600, 201, 301), ack(800, 301),
    )  # fmt: skip
    frame = table(script)
    rows = ((row, ms + 40.0, ms + 50.0, ms + 110.0, 1) for row, ms in ((1, 0), (3, 200), (6, 600)))
    none = np.full(len(frame), -1)
    paths = replace(paths_of(), arrival=none.astype(np.int32), arrived=none.astype(np.int8))
    measures = measured(frame, round_trip_ms=9)
    told = Told(rate_bps=8 * int(frame["wire_bytes"].max()) / 0.02, logs=[log(*rows, script=script)])
    kept = find_limits(frame, blocks(script), measures, Groups(frame, 1), paths, judged(*script), told).stretches
    window = kept.cause == LIMITS.index("receiver_window")
    spans = zip(milliseconds(kept.start_ns[window]), milliseconds(kept.stop_ns[window]), strict=True)
    assert list(spans) == [(0, 40), (60, 240), (260, 600)]


@pytest.mark.parametrize(("verdict", "expected"), [("unknown", True), ("no", False)])
def test_what_is_sent_again_after_the_link_delivered_it_is_needless(verdict: str, expected: bool) -> None:
    """Where the capture does not tell."""
    resent = pd.DataFrame({"segment": [3], "spurious": [verdict]})
    assert delivered_before(table(SCRIPT), resent, found()).tolist() == [expected]


@pytest.mark.parametrize(
    ("resets_ms", "left_ms"), [((), -1), ((100.0,), 100), ((0.5, 100.0, 300.0), 100), ((550.0,), -1)]
)
def test_what_a_reset_flushed_was_in_the_link_until_then(resets_ms: tuple[float, ...], left_ms: int) -> None:
    """It was never on the air, and what was sent later was, after the reset; without one between it is not known."""
    script = (data(0, 1, 101), data(1, 101, 201), data(500, 201, 301), ack(600, 101))
    rows = (0, 5.0, 5.0, 65.0, 1), (1, -1.0, -1.0, -1.0, 0), (2, 505.0, 505.0, 565.0, 1)
    logged = log(*rows, script=script)._replace(resets_ns=[START + round(ms * MS) for ms in resets_ms])
    segments = table(script)
    near, far = np.array([[0, NOWHERE]]), np.array([[NOWHERE, 0]])
    paths = Paths(near, far, np.full(4, -1, np.int32), np.full(4, -1, np.int8))
    left = deliveries(segments, paths, [logged]).left_ns[1]
    assert (left if left < 0 else (left - START) // MS) == left_ms

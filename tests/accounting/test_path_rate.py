"""The rate of a path, found from arrivals: in queues, between bursts, told, and where it changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from limiting import at_both_ends, found, milliseconds, queued
from sending import Segment, ack, data
from two_ends import MS, START

from multitracer.accounting.path_rate import BINS, middle_rate
from multitracer.compute import kernels


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


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


def in_order(count: int, lost: Sequence[int], repeated_ms: float) -> list[float]:
    """The spacing of packets that a link sends every 10 ms; those behind a lost one are held until it was repeated.

    A repeat takes its 10 ms, too; what was held comes 0.1 ms after one another.
    """
    slots = np.arange(1, count + 1) + np.searchsorted(np.asarray(lost) + repeated_ms / 10, np.arange(count))
    whole = 10.0 * slots + repeated_ms * np.isin(np.arange(count), lost)
    given = [0.0]
    for ms in whole.tolist():
        given.append(max(ms, given[-1] + 0.1))
    return np.diff(given).tolist()


@pytest.mark.parametrize(
    ("samples", "rate"),
    [
        ([], 0.0),
        ([(9, 0)], 0.0),
        ([(100, 10_000)], 80e6),
        ([(100, 10_000), (50, 0), (1, 10**9)], 80e6),
        ([(2, 1)], 16e9),
    ],
)
def test_the_middle_rate_is_that_of_the_samples_whatever_was_counted_before(
    samples: list[tuple[int, int]], rate: float
) -> None:
    """Bins of the histogram that hold none of them are not looked at."""
    rows = np.array([(0, octets, lasted, 1) for octets, lasted in samples], dtype=np.int64).reshape(-1, 4)
    histogram = np.full(BINS, 12_345_678)
    assert middle_rate(rows, len(rows), histogram) == pytest.approx(rate)


SENT_AGAIN = (20, 50, 61, 90, 127, 133, 170, 215, 251, 280, 291, 333)


def test_the_rate_of_a_link_that_delivers_in_order_is_that_between_its_bursts() -> None:
    """No sixteen packets in a row take as long as others: some wait 300 ms for a repeat, and come at once after it."""
    limits = queued(*in_order(400, SENT_AGAIN, 300))
    assert limits.rate_from[0] == 2
    assert limits.rate_bps[0] == pytest.approx(800_000, rel=0.01)
    assert milliseconds(limits) == {"path_rate": pytest.approx(4120, abs=1), "application": pytest.approx(100, abs=1)}


def test_by_the_rate_between_the_bursts_of_acknowledgements_the_path_is_busy() -> None:
    """They came as the packets did. The rate is not reported: how long the link repeated frames they do not tell."""
    came = np.cumsum(in_order(400, SENT_AGAIN, 300)).tolist()
    sent = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(400)]
    limits = found(*sent, *(ack(50 + ms, 961 + 960 * n) for n, ms in enumerate(came)))
    assert limits.rate_from[0] == 0
    assert milliseconds(limits)["path_rate"] >= 0.97 * came[-1]


def test_what_is_behind_the_link_is_not_its_rate() -> None:
    """Aggregates of four to forty packets of 1000 octets: on the link a packet takes 9.1 ms, and behind it 1 ms.

    The link begins with an aggregate when the one before has come out as a whole: its rate is that of the 9.1 ms alone.
    """
    sizes = np.random.default_rng(1).integers(4, 41, 40).tolist()
    spacing = [gap for size in sizes for gap in (9.1 * size, *([1.0] * (size - 1)))]
    limits = queued(*spacing)
    assert limits.rate_from[0] == 2
    assert limits.rate_bps[0] == pytest.approx(8 * 1000 / 9.1e-3)


@pytest.mark.parametrize(("share", "found_from"), [(0.6, 0), (0.9, 2)])
def test_of_two_rates_between_bursts_neither_is_the_paths_if_both_are_frequent(share: float, found_from: int) -> None:
    """The spacing is 10 ms or 30 ms at random, in bursts of which each begins late."""
    draw = np.random.default_rng(2)
    spacing = [10.0 if often else 30.0 for often in (draw.random(800) < share).tolist()]
    for at in range(0, 800, 20):
        spacing[at] = float(draw.uniform(100, 900))
    assert queued(*spacing).rate_from[0] == found_from


def test_a_rate_that_only_some_bursts_have_is_not_the_paths() -> None:
    """Fifteen of a hundred, and all others differ."""
    draw = np.random.default_rng(3)
    assert queued(*np.where(draw.random(800) < 0.15, 10.0, np.exp(draw.uniform(1.5, 5, 800)))).rate_from[0] == 0


def test_packets_as_close_as_those_of_a_queue_keep_to_its_rate() -> None:
    """What acknowledgements set off follows at the path's rate without waiting; few in a queue show it."""
    for count, cause in ((40, "path_rate"), (20, "unknown")):
        sent = [data(max(0, 10 * (n - 4)), 1 + 960 * n, 961 + 960 * n) for n in range(count)]
        script = (*sent, ack(10 * count + 200, 1 + 960 * count))
        limits = at_both_ends(*script, arrivals={n: 100.0 + 10 * n for n in range(count)})
        assert milliseconds(limits) == {cause: 10 * count, "application": 200}


FLIGHTS = [(10, 10, 10)] * 6 + [(10, 14, 19), (12, 11, 22), (16, 13, 10), (10, 25, 13), (21, 10, 15)]
"""How many ms after one another packets come that were sent at once; each of them takes 10 ms on the bottleneck."""
LATER_MS = sum(sum(flight) - 30 for flight in FLIGHTS)


def flights() -> tuple[list[Segment], dict[int, float]]:
    """Four packets every 300 ms, the first of which comes after 110 ms and the others as FLIGHTS says.

    Returns what the sender sent and heard, each acknowledgement 50 ms after the packet came, and the arrivals.
    """
    script, arrivals = [ack(-1, 1)], {}
    for number, flight in enumerate(FLIGHTS):
        tops = [1 + 960 * (4 * number + place) for place in range(4)]
        came = [300.0 * number + 110 + sum(flight[:place]) for place in range(4)]
        arrivals |= dict(enumerate(came, len(script)))
        script += [data(300 * number, top, top + 960) for top in tops]
        script += [ack(ms + 50, top + 960) for ms, top in zip(came, tops, strict=True)]
    return script, arrivals


def test_where_packets_keep_to_no_rate_the_bottleneck_is_busy_at_least_as_at_the_fastest() -> None:
    """For how much longer it had what came later may be jitter."""
    script, arrivals = flights()
    limits = at_both_ends(*script, arrivals=arrivals)
    spent = milliseconds(limits)
    assert limits.rate_from[0] == 0
    assert (spent["path_rate"], spent["unknown"]) == (pytest.approx(len(FLIGHTS) * 40), pytest.approx(LATER_MS))


def test_acknowledgements_tell_as_well_how_long_the_bottleneck_was_busy_at_least() -> None:
    """But for how much longer they leave open more: they may have been late themselves."""
    spent = milliseconds(found(*flights()[0]))
    assert spent["path_rate"] == pytest.approx(len(FLIGHTS) * 40)
    assert spent["unknown"] > LATER_MS


def test_what_was_sent_as_it_came_does_not_show_how_fast_the_bottleneck_is() -> None:
    """An application sends every 10 ms; twenty packets take 22 ms longer, and what follows them comes at once."""
    came, arrivals = 0.0, {}
    for n in range(300):
        came = arrivals[n] = max(came + 0.1, 50 + 10 * n + (22 if 100 <= n < 120 else 0))
    sent = [data(10 * n, 1 + 960 * n, 961 + 960 * n) for n in range(300)]
    answers = [ack(50 + arrivals[n], 961 + 960 * n) for n in range(300)]
    assert "path_rate" not in milliseconds(at_both_ends(*sent, *answers, arrivals=arrivals))


def test_acknowledgements_that_were_not_delayed_show_the_rate_though_another_was() -> None:
    """Each second segment is acknowledged at once, and sets off two; of an odd one the acknowledgement is 20 ms late.

    After one segment alone, and eleven at once, the bottleneck sends five pairs in 100 ms, and waits 20 ms for others.
    """
    starts = [(0.0, 1), (110.0, 11)]
    starts += [(230.0 + 120 * flight + 20 * place, 2) for flight in range(11) for place in range(5)]
    answered = [(110.0, 1), *((230.0 + 20 * place, 2) for place in range(5)), (340.0, 1)]
    answered += [(ms + 120, 2) for ms, _ in starts[2:]]
    sent, answers, top, una = [], [ack(-1, 1)], 0, 0
    for ms, count in starts:
        sent += [data(ms, 1 + 960 * n, 961 + 960 * n) for n in range(top, top + count)]
        top += count
    for ms, count in answered:
        una += count
        answers.append(ack(ms, 1 + 960 * una))
    spent = milliseconds(found(*sorted([*answers, *sent], key=lambda one: one.ms)))
    assert spent == {"path_rate": 10 + 110 + 11 * 100, "sender_window": 100 + 10 + 10 * 20, "application": 100}


def test_a_rate_is_measured_from_one_acknowledgement_that_was_not_delayed_to_the_next() -> None:
    """Of six packets, one each 10 ms, the first and the fourth are acknowledged by a timer, 5 ms after they came.

    The third and the sixth are at once, three packets in 30 ms: those between look faster. As none came in less time
    than the first, its 5 ms are taken for the way.
    """
    script = [ack(-1, 1)]
    for now, top in ((200 * n, 6 * n) for n in range(15)):
        script += [data(now, 1 + 960 * n, 961 + 960 * n) for n in range(top, top + 6)]
        script += [ack(now + ms, 961 + 960 * (top + n)) for n, ms in ((0, 105), (2, 120), (3, 135), (5, 150))]
    spent = milliseconds(found(*script))
    assert spent == {"path_rate": 15 * 55, "application": 14 * 145 + 95}


def test_most_acknowledgements_that_were_not_delayed_show_the_rate_though_a_link_held_others() -> None:
    """Of forty times six packets as above the last three of every fourth come 300 ms later, all at once.

    Of every eighth the fifth is acknowledged at once, so that two follow one another.
    """
    script = [ack(-1, 1)]
    for number in range(40):
        now, top, later = 1000 * number, 6 * number, 300 if number % 4 == 3 else 0
        script += [data(now, 1 + 960 * n, 961 + 960 * n) for n in range(top, top + 6)]
        third = (4, 140) if number % 8 == 1 else (3, 135 + later)
        last = (5, 436 if later else 155 if number % 8 == 1 else 150)
        script += [ack(now + ms, 961 + 960 * (top + n)) for n, ms in ((0, 105), (2, 120), third, last)]
    spent = milliseconds(found(*script))
    assert spent["path_rate"] == 30 * 55 + 10 * (55 + 286)
    assert "unknown" not in spent


def test_acknowledgements_in_clumps_show_no_rate() -> None:
    """A link that is served every 10 ms delivers some segments then: the first two took as long each time."""
    script, top = [ack(-1, 1)], 0
    for number, pairs in enumerate(np.random.default_rng(0).geometric(0.2, 200).tolist()):
        count = 2 * pairs
        script += [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(top, top + count)]
        script += [ack(100 + 10 * number + 0.1 * n, 961 + 960 * (top + n)) for n in range(1, count, 2)]
        top += count
    limits = found(*sorted(script, key=lambda one: one.ms))
    assert not limits.sure[0]


def test_the_pace_of_an_application_is_not_the_paths_rate() -> None:
    """It writes two segments every 20 ms, all of which take 50 ms, or up to 120 ms more for five writes at a time."""
    script, came = [ack(-1, 1)], 0.0
    for number in range(300):
        more = 20 * (number // 5 * 3 % 7)
        came = max(came + 0.1, 20 * number + 50 + more)
        script += [data(20 * number, 1 + 960 * n, 961 + 960 * n) for n in (2 * number, 2 * number + 1)]
        script.append(ack(came, 1921 + 1920 * number))
    limits = found(*sorted(script, key=lambda one: one.ms))
    assert not limits.sure[0]


def test_the_timer_that_delays_acknowledgements_is_not_the_paths_rate() -> None:
    """Of three segments that the application writes every 200 ms the last is acknowledged 40 ms after the others.

    At a bottleneck that a packet takes 40 ms it would have waited until 80 ms after it was sent: that is left open.
    """
    script = []
    for round_ms, top in ((200 * n, 1 + 3 * 960 * n) for n in range(40)):
        script += [data(round_ms, top + 960 * n, top + 960 * (n + 1)) for n in range(3)]
        script += [ack(round_ms + 100, top + 1920), ack(round_ms + 140, top + 2880)]
    limits = found(ack(-1, 1), *script)
    assert limits.rate_from[0] == 0
    assert milliseconds(limits) == {"unknown": 40 * 80, "application": 39 * 200 + 140 - 40 * 80}


@pytest.mark.parametrize(("sooner_ms", "rate_from"), [(0.1, 2), (20, 0)])
def test_jitter_does_not_show_that_a_receiver_delays_acknowledgements(sooner_ms: float, rate_from: int) -> None:
    """One acknowledgement of two segments comes a little sooner than all others, which are of one; or clearly so."""
    script = [ack(-1, 1), data(0, 1, 961), data(1, 961, 1921), ack(101 - sooner_ms, 1921), data(200, 1921, 2881)]
    script.append(ack(300, 2881))
    for n in range(3, 100):
        script += [data(400 + max(0, 10 * (n - 9)), 1 + 960 * n, 961 + 960 * n), ack(500 + 10 * (n - 3), 961 + 960 * n)]
    assert found(*sorted(script, key=lambda one: one.ms)).rate_from[0] == rate_from


def test_what_came_sooner_behind_a_delayed_acknowledgement_contradicts_a_rate() -> None:
    """An application sends every 10 ms; twenty packets take 22 ms longer, and what follows them comes at once.

    Every second packet is acknowledged, and every thirtieth, of which one is the first that comes in time again.
    """
    came, answers = 0.0, [ack(-1, 1)]
    for n in range(300):
        came = max(came + 0.1, 50 + 10 * n + (22 if 100 <= n < 120 else 0))
        if n % 2 or n % 30 == 0:
            answers.append(ack(50 + came, 961 + 960 * n))
    sent = [data(10 * n, 1 + 960 * n, 961 + 960 * n) for n in range(300)]
    assert "path_rate" not in milliseconds(found(*sorted([*answers, *sent], key=lambda one: one.ms)))


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


def test_two_averages_over_a_pause_that_agree_are_no_other_rate() -> None:
    """The link waits for 500 ms before the 162nd packet and the 178th, and delivers what it held at once."""
    came, arrivals = 50.0, {}
    for n in range(400):
        came += 500 if n in (161, 177) else 0.1 if 161 < n < 193 else 10
        arrivals[n] = came
    sent = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(400)]
    answers = [ack(50 + arrivals[n], 961 + 960 * n) for n in range(400)]
    limits = at_both_ends(*sent, *answers, arrivals=arrivals)
    assert limits.rate_bps[0] == 800_000
    assert len(limits.changes.of(0)[0]) == 0


def test_a_rate_that_varies_without_holding_has_no_changes() -> None:
    """Neither a few packets at another rate nor jitter is a change."""
    for spacing in ([10] * 100 + [30] * 20 + [10] * 100, [6, 14] * 120, [9.8, 10.2] * 120):
        assert len(queued(*spacing).changes.of(0)[0]) == 0

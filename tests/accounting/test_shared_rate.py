"""The rate of a path by all connections between its hosts; samples are (end, octets, ns, deliveries, time in ns)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from limiting import measured, milliseconds
from sending import Segment, ack, blocks, data, judged, table

from multitracer.accounting.limits import Told, find_limits
from multitracer.accounting.shared_rate import shared_rates
from multitracer.model.limits import Floats, Limits, RateChanges
from multitracer.model.paths import Paths
from multitracer.tcp.connection_rows import Groups
from multitracer.vantage.paths import path_numbers

OCTETS, RATE_BPS = 1000, 64_000


def sample(end: int, rate_bps: float, deliveries: int, came_s: float | None = None) -> list[int]:
    """So many deliveries of an end at a rate, the last at a time; ends take turns if that is not given."""
    octets = OCTETS * deliveries
    came = 1000.0 * end if came_s is None else came_s
    return [end, octets, round(8e9 * octets / rate_bps), deliveries, round(came * 1e9)]


def shared(*samples: list[int], unsure: tuple[int, ...] = (0, 2, 4), several: tuple[int, ...] = ()) -> list[float]:
    """The rates of the paths of some ends; those below 100 share one."""
    found = shared_rates(
        np.array(samples, dtype=np.int64).reshape(-1, 5), np.empty((0, 5), dtype=np.int64), np.array(unsure),
        np.array(several, dtype=np.int64), lambda ends: ends // 100,
    )  # fmt: skip
    return [pytest.approx(one, rel=0.01) for one in found.rate_bps.tolist()]


def test_deliveries_of_several_connections_show_together_what_none_shows_alone() -> None:
    """Thirty of them, of which the rest came slower: behind what another host sent."""
    slow = [sample(end, RATE_BPS / 3, 5, 1000 * end + 100) for end in (0, 2, 4)]
    assert shared(*(sample(end, RATE_BPS, 10) for end in (0, 2, 4)), *slow) == [RATE_BPS] * 3


def test_a_few_deliveries_show_a_rate_if_all_agree() -> None:
    """Ten of them, of two ends; nine do not, nor ten of eleven, nor those of one end, averaged."""
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS * 1.02, 5)) == [RATE_BPS * 1.01] * 3
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS, 4)) == [0] * 3
    assert shared(sample(0, RATE_BPS, 5), sample(2, RATE_BPS, 5), sample(4, RATE_BPS / 2, 1)) == [0] * 3
    assert shared(sample(0, RATE_BPS, 10)) == [0] * 3


def test_connections_that_take_turns_packet_by_packet_show_no_rate() -> None:
    """Each has a share of it; what one of them has alone afterwards counts."""
    parallel = [sample(end, RATE_BPS / 2, 15, 10 + end) for end in (0, 2)]
    assert shared(*parallel) == [0] * 3
    assert shared(*parallel, sample(0, RATE_BPS, 30, 100)) == [RATE_BPS] * 3


def test_a_rate_is_that_of_its_own_path_alone() -> None:
    """Ends of a path without samples, and of one whose rate changed, get none."""
    assert shared(sample(0, RATE_BPS, 30), unsure=(2, 102)) == [RATE_BPS, 0]
    assert shared(sample(0, RATE_BPS, 30), unsure=(2,), several=(4,)) == [0]
    assert shared(unsure=(0,)) == [0]


def test_a_path_is_from_one_host_to_another() -> None:
    """Whichever of them opened the connection; addresses count, not ports."""
    connections = pd.DataFrame(
        {
            "client": ["10.0.0.1:1024", "10.0.0.1:1025", "10.0.0.2:1024", "10.0.0.3:1024"],
            "server": ["10.0.0.2:80", "10.0.0.2:443", "10.0.0.1:80", "10.0.0.2:80"],
            "flow": [0, 0, 0, 0],
        }
    )
    number = path_numbers(connections, pd.DataFrame({"tunnel": [""]}), np.arange(8)).tolist()
    assert number[0] == number[2] == number[5]
    assert number[1] == number[3] == number[4]
    assert len(set(number)) == 4


def test_hosts_with_one_address_in_two_tunnels_are_two() -> None:
    """As two subscribers of a mobile network may be."""
    ends = {"client": ["10.0.0.1:1024"] * 2, "server": ["10.0.0.2:80"] * 2, "flow": [0, 1]}
    number = path_numbers(pd.DataFrame(ends), pd.DataFrame({"tunnel": ["TEID 1", "TEID 3"]}), np.array([0, 2]))
    assert number[0] != number[1]


def flight(begin: float, spacing: float, count: int = 6) -> tuple[Segment, ...]:
    """Segments sent at once, acknowledged from 100 ms later on, one after the other so many ms apart."""
    sent = [data(begin, 1 + 960 * n, 961 + 960 * n) for n in range(count)]
    return (*sent, *(ack(begin + 100 + spacing * n, 961 + 960 * n) for n in range(count)))


def limits_of(
    *connections: tuple[Segment, ...], told_bps: float | None = None, path_bps: Floats | None = None
) -> Limits:
    """What limited the clients of some connections between the same hosts, captured beside them."""
    frames = [table(script).assign(connection=np.int32(number)) for number, script in enumerate(connections)]
    frame, count = pd.concat(frames, ignore_index=True), len(frames)
    near, far = np.tile([0, -1], (count, 1)), np.tile([-1, 0], (count, 1))
    paths = Paths(near, far, np.full(len(frame), -1, np.int32), np.full(len(frame), -1, np.int8))
    measures = pd.concat([measured(one).assign(connection=at) for at, one in enumerate(frames)], ignore_index=True)
    told = Told(told_bps, path_of=lambda ends: ends % 2, path_bps=path_bps)
    return find_limits(frame, blocks(()), measures, Groups(frame, count), paths, judged(), told)


def test_what_is_not_known_of_one_connection_is_known_by_others() -> None:
    """Four flights of six segments, each 10 ms behind the one before: the bottleneck had them for 60 ms."""
    flights = [flight(1000 * number, 10) for number in range(4)]
    assert "path_rate" not in milliseconds(limits_of(flights[0]))
    assert milliseconds(limits_of(*flights))["path_rate"] == pytest.approx(60, rel=0.05)


def test_timers_of_receivers_are_no_rate_of_the_path_though_all_connections_agree_on_them() -> None:
    """Each acknowledges two segments at once, and the third one 140 ms later: it waited for another."""
    sent = [tuple(data(1000 * at, 1 + 960 * n, 961 + 960 * n) for n in range(3)) for at in range(12)]
    delayed = [(*one, ack(1000 * at + 100, 1921), ack(1000 * at + 240, 2881)) for at, one in enumerate(sent)]
    assert "path_rate" not in milliseconds(limits_of(*delayed))


def test_acknowledgements_of_one_segment_that_come_in_time_show_the_rate_too() -> None:
    """Of one segment and of two in turn, all 10 ms a segment behind one another: no timer ran out."""
    sent = [tuple(data(1000 * at, 1 + 960 * n, 961 + 960 * n) for n in range(6)) for at in range(4)]
    acks = ((100, 1), (120, 3), (130, 4), (150, 6))
    flights = [(*one, *(ack(1000 * at + ms, 1 + 960 * n) for ms, n in acks)) for at, one in enumerate(sent)]
    assert milliseconds(limits_of(*flights))["path_rate"] == pytest.approx(60, rel=0.05)


def test_connections_show_together_how_long_the_bottleneck_was_busy_at_least() -> None:
    """Three segments each, 10 ms after one another or more: on no rate do enough agree, but the fastest is clear."""
    flights = [flight(1000 * number, apart, 3) for number, apart in enumerate((10, 10, 10, 10, 12, 14, 17, 20, 24, 28))]
    assert "path_rate" not in milliseconds(limits_of(flights[0]))
    assert milliseconds(limits_of(*flights))["path_rate"] == pytest.approx(30, rel=0.05)


def test_a_part_of_a_trace_has_the_rates_that_the_whole_shows() -> None:
    """One of four flights alone shows none: it is looked at with the rate that all of them show together."""
    flights = [flight(1000 * number, 10) for number in range(4)]
    whole = limits_of(*flights)
    part = limits_of(flights[0], path_bps=whole.shown_bps())
    assert part.shares[0].tolist() == whole.shares[0].tolist()
    assert part.rate_bps[0] == whole.rate_bps[0]


def test_a_part_may_show_a_rate_where_the_whole_shows_none() -> None:
    """Four flights behind a faster link, and four behind a slower one later: each four show theirs."""
    early, late = ([flight(1000 * at, apart) for at in range(first, first + 4)] for first, apart in ((0, 10), (4, 20)))
    whole = limits_of(*early, *late)
    assert whole.shown_bps().tolist() == [0] * 16
    part = limits_of(*early, path_bps=whole.shown_bps()[:8])
    assert milliseconds(part)["path_rate"] == pytest.approx(60, rel=0.05)


def test_a_path_that_had_several_rates_has_none_for_a_part() -> None:
    """Which of them holds in it its own deliveries tell."""
    one = limits_of(*(flight(1000 * number, 10) for number in range(4)))
    assert one.shown_bps()[0] > 0
    changed = replace(one, changes=RateChanges(np.array([0]), np.array([0]), np.array([1e6])))
    assert changed.shown_bps()[:3].tolist() == [0, 0, one.shown_bps()[2]]


def test_a_rate_that_nothing_shows_is_none_of_the_whole() -> None:
    """What few deliveries of one end may mean is no rate for a part of it."""
    alone = limits_of(flight(0, 10))
    assert alone.rate_bps[0] > 0
    assert alone.shown_bps().tolist() == [0, 0]


def test_no_rate_is_taken_from_others_that_an_ends_own_deliveries_contradict() -> None:
    """They came slower, or sooner than one segment takes at that rate; and one that is told is used instead."""
    others = [flight(1000 * number, 10) for number in range(1, 9)]
    slower, sooner = flight(0, 15), (data(0, 1, 961), ack(5, 961), data(500, 961, 1921), ack(600, 1921))
    assert milliseconds(limits_of(slower, *others)) == milliseconds(limits_of(slower))
    assert milliseconds(limits_of(sooner, *others)) == milliseconds(limits_of(sooner))
    told = limits_of(flight(0, 10), *others, told_bps=1e6)
    assert milliseconds(told) == milliseconds(limits_of(flight(0, 10), told_bps=1e6))

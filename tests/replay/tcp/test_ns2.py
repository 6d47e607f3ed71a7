"""The TCP of ns-2: completion times of transfers with listed losses, its rules one by one, and what always holds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ns2_path import CLIENT, MS, SERVER, Path
from shared_data import shared

from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.tcp.ns2.parameters import RANGES, VARIANTS, Parameters
from multitracer.replay.tcp.packets import ACK, DATA, SYN

AGENTS = {"Reno": "reno", "Newreno": "newreno", "Sack1": "sack", "Fack": "fack"}
SECOND = 1000 * MS


def rows(agent: str) -> Iterator[dict[str, str]]:
    """Transfers of 200 packets by ns-2.35."""
    with shared("..", "facts", "ns2_deterministic.csv").open(newline="") as file:
        yield from (row for row in csv.DictReader(file) if row["tcp"] == agent)


def numbers(text: str) -> set[int]:
    return set(map(int, text.split()))


@pytest.mark.data
@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_transfers_take_as_long_as_in_ns_2(agent: str) -> None:
    """To the millisecond that is printed, with as many packets sent and sent again; ns-2's clock ticks 0.5 ms early."""
    ours, theirs = [], []
    for row in rows(agent):
        parameters = Parameters(
            variant=AGENTS[agent], segment_bytes=290 if row["hdr"] == "1" else 250, min_rto_s=float(row["minrto_s"]),
            window_segments=int(row["window"]), delayed_ack="second" if row["sink"] == "delack" else "none",
            tick_phase_s=0.0005,
        )  # fmt: skip
        path = Path(parameters, row["wired"], (numbers(row["drop_data_packets"]), numbers(row["drop_acks"])))
        path.write(SERVER, 200, parameters.segment_bytes)
        e, at = path.tcp.ends[SERVER], path.finish(SERVER, 200)
        ours.append((f"{at / SECOND:.3f}", int(e.packets), int(e.retransmissions)))
        theirs.append((row["time_s"], int(row["sent"]), int(row["rexmit"])))
    assert len(theirs) > 14
    assert ours == theirs


def transfer(parameters: Parameters, segments: int, *lost: int, acks: tuple[int, ...] = ()) -> tuple[Path, list[Any]]:
    """A finished transfer from the server, and what arrived."""
    path = Path(parameters, lost=(lost, acks))
    path.write(SERVER, segments, parameters.segment_bytes)
    arrivals = []
    for each in path.run():
        arrivals.append(each)
        if path.tcp.ends[SERVER].acked == segments:
            break
    return path, arrivals


def sent_at(arrivals: list[Any]) -> list[tuple[int, int]]:
    """The data that the client got: when it was sent (ms), and its number."""
    return [(int(p.packet.sent_ns) // MS, int(p.packet.seq)) for p in arrivals if p.end == CLIENT]


def acks(arrivals: list[Any]) -> list[int]:
    return [int(each.packet.ack) for each in arrivals if each.end == SERVER]


@pytest.mark.parametrize(("wrong", "said"), [
    ({"variant": "vegas"}, "variant 'vegas' must be one of reno, newreno, sack, fack"),
    ({"window_segments": 0}, "window_segments 0 must be a whole number from 1 to 16384"),
    ({"segment_bytes": 2.5}, "segment_bytes 2.5 must be a whole number"),
    ({"min_rto_s": -1}, "min_rto_s -1 must be a number of seconds from 0 to 86400"),
    ({"syn": 1}, "syn 1 must be true or false"),
    ({"initial_ssthresh_segments": 0}, "initial_ssthresh_segments 0 must be a whole number from 1"),
    ({"tick_phase_s": 0.01}, "tick_phase_s 0.01 must be below tick_s 0.01"),
    ({"max_rto_s": 0.5}, "max_rto_s 0.5 must be at least 1: min_rto_s, and two ticks"),
    ({"sack_rule": "rfc6675"}, "sack_rule 'rfc6675' must be one of pipe"),
])  # fmt: skip
def test_parameters_out_of_range_are_named(wrong: dict[str, Any], said: str) -> None:
    """The error says which, what it is, and what it may be."""
    with pytest.raises(UsageError, match=said):
        Parameters(**wrong)


def test_every_parameter_has_a_range() -> None:
    """So that whoever makes parameters out of keys can say what each may be."""
    assert set(RANGES) | {"initial_ssthresh_segments"} == set(Parameters.__dataclass_fields__)


def test_a_connection_begins_with_a_syn_and_two_segments() -> None:
    """The SYN is number 0 and is acknowledged like data; nothing else is sent before that."""
    _, arrivals = transfer(Parameters(), 4)
    assert [int(each.packet.bits) for each in arrivals[:3]] == [SYN, ACK, DATA]
    assert sent_at(arrivals) == [(0, 0), (112, 1), (112, 2), (250, 3), (250, 4)]
    assert acks(arrivals) == [1, 2, 3, 4, 5]


def test_a_lost_syn_costs_the_first_timeout_and_the_initial_window() -> None:
    """After 3 s it is sent again; then one segment goes, where two would go."""
    _, arrivals = transfer(Parameters(), 3, 0)
    assert sent_at(arrivals)[0] == (3000, 0)
    assert [at for at, _ in sent_at(arrivals)].count(3112) == 1


def test_without_a_syn_data_is_sent_at_once() -> None:
    """The initial window of it."""
    _, arrivals = transfer(Parameters(syn=False, initial_window=3), 5)
    assert sent_at(arrivals)[:3] == [(0, 1), (0, 2), (0, 3)]


def test_the_last_segment_is_short_each_time_it_is_sent() -> None:
    """Also with another write behind it."""
    path = Path(Parameters(), lost=((3,), ()))
    path.write(SERVER, 3, 99)
    path.write(SERVER, 2, 70)
    got = [each.packet for each in path.run(10 * SECOND) if each.end == CLIENT]
    assert [(int(p.seq), int(p.octets), int(p.sending)) for p in got] == [
        (0, 40, 0), (1, 250, 0), (2, 250, 0), (4, 250, 0), (5, 70, 0), (3, 99, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("variant", "allowed", "let_out"), [
    ("reno", True, [1, 1]), ("newreno", True, [1, 1]), ("sack", True, [1, 1]), ("reno", False, [0, 0]),
    ("fack", True, [0, 0]),
])  # fmt: skip
def test_limited_transmit_sends_a_segment_for_each_of_two_duplicates(
    variant: str, allowed: bool, let_out: list[int]
) -> None:
    """If it is allowed; Fack has none."""
    _, arrivals = transfer(Parameters(variant=variant, limited_transmit=allowed), 40, 8)
    sent = [int(each.packet.sent_ns) for each in arrivals if each.end == CLIENT]
    same = [int(each.time_ns) for each in arrivals if each.end == SERVER and each.packet.ack == 8]
    assert [sent.count(at) for at in same[1:3]] == let_out
    assert [int(each.packet.seq) for each in arrivals if each.packet.sending] == [8]


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_loss_is_repaired_without_the_timer(variant: str) -> None:
    """By one fast retransmit; the window of the four is halved, Fack's falls to one segment."""
    path, _ = transfer(Parameters(variant=variant), 100, 30)
    e = path.tcp.ends[SERVER]
    assert (int(e.fast_retransmits), int(e.timeouts), int(e.retransmissions)) == (1, 0, 1)
    assert int(e.ssthresh) == 10


@pytest.mark.parametrize(("longest_s", "seconds"), [(60, 1 + 2 + 4 + 8 + 16), (6, 1 + 2 + 4 + 6 + 6)])
def test_timeouts_double_up_to_the_longest(longest_s: float, seconds: int) -> None:
    """A segment that is lost five times is sent again after 1, 2, 4, 8 and 16 s, to the nanosecond."""
    path, arrivals = transfer(Parameters(max_rto_s=longest_s), 1, *range(1, 6))
    assert path.tcp.ends[SERVER].timeouts == 5
    assert arrivals[2].packet.sent_ns - arrivals[1].time_ns == seconds * SECOND


def test_an_idle_sender_begins_again_with_one_segment() -> None:
    """The timer that runs after the last ACK cuts the window, but not its threshold; it does not run on."""
    path, _ = transfer(Parameters(), 50)
    e = path.tcp.ends[SERVER]
    assert e.cwnd > 20
    assert list(path.run(path.now + 5 * SECOND)) == []
    assert (float(e.cwnd), int(e.timer_ns), int(e.timeouts), int(e.ssthresh)) == (1.0, NEVER, 0, 20)


def test_every_second_segment_is_acknowledged_or_one_after_a_tenth_of_a_second() -> None:
    """The SYN at once; a segment alone waits 100 ms."""
    _, arrivals = transfer(Parameters(delayed_ack="second"), 3)
    assert acks(arrivals) == [1, 3, 4]
    came = [each.time_ns for each in arrivals if each.end == CLIENT][-1]
    assert arrivals[-1].time_ns - came == 100 * MS + 5 * MS + 50 * MS + 1 * MS + 32_000


def test_blocks_name_what_came_out_of_order() -> None:
    """The newest first, as many as are allowed; none when nothing is missing."""
    _, arrivals = transfer(Parameters(variant="sack", sack_blocks=2), 60, 30, 32, 34, 36)
    said = [each.packet for each in arrivals if each.end == SERVER and each.packet.blocks]
    blocks = [[(int(p.left[n]), int(p.right[n])) for n in range(p.blocks)] for p in said]
    assert blocks[:4] == [[(31, 32)], [(33, 34), (31, 32)], [(35, 36), (33, 34)], [(37, 38), (35, 36)]]
    assert blocks[4] == [(37, 39), (35, 36)]
    assert {int(p.octets) for p in said} == {48, 56}
    assert arrivals[-1].packet.blocks == 0


LOSSES = st.frozensets(st.integers(0, 50), max_size=15)
ANY = st.builds(
    Parameters, variant=st.sampled_from(VARIANTS), delayed_ack=st.sampled_from(["none", "second"]),
    window_segments=st.sampled_from([1, 2, 4, 20, 64]), initial_window=st.integers(1, 4), syn=st.booleans(),
    max_burst_segments=st.integers(0, 3), limited_transmit=st.booleans(), min_rto_s=st.sampled_from([0, 0.2, 1.0]),
    sack_blocks=st.integers(1, 4), rounding=st.sampled_from(["crossed", "up"]),
)  # fmt: skip


@settings(max_examples=15)
@given(parameters=ANY, lost=LOSSES, lost_acks=LOSSES, segments=st.integers(1, 25))
def test_all_data_arrives_once_and_in_order(
    parameters: Parameters, lost: frozenset[int], lost_acks: frozenset[int], segments: int
) -> None:
    """Whatever is lost: transfers end, and as many packets are sent as are needed and sent again."""
    path = Path(parameters, lost=(lost, lost_acks))
    path.write(SERVER, segments, 250)
    delivered, arrived = [0], set()
    for each in path.run():
        if each.end == CLIENT:
            arrived.add(int(each.packet.seq))
            delivered.append(each.delivered)
            assert {*range(1, each.delivered + 1)} <= arrived
        if path.tcp.ends[SERVER].acked == segments:
            break
    sender, sink = path.tcp.ends
    assert all(before <= after for before, after in pairwise(delivered))
    assert (int(sink.delivered), int(sender.packets)) == (segments, segments + parameters.syn + sender.retransmissions)
    assert sender.top == segments + 1


@settings(max_examples=5)
@given(parameters=ANY, lost=LOSSES, lost_acks=LOSSES)
def test_both_ends_can_send_at_once(parameters: Parameters, lost: frozenset[int], lost_acks: frozenset[int]) -> None:
    """Each opens its own direction; neither disturbs the other."""
    path = Path(replace(parameters, segment_bytes=100), lost=(lost, lost_acks))
    path.write(SERVER, 12, 80)
    path.write(CLIENT, 7, 100)
    for _ in path.run():
        if [int(e.acked) for e in path.tcp.ends] == [12, 7]:
            break
    assert [int(e.delivered) for e in path.tcp.ends] == [7, 12]


def test_an_end_that_starts_anew_remembers_nothing() -> None:
    """A second connection takes as long as the first, whatever was left of that."""
    path, arrivals = transfer(Parameters(variant="sack"), 60, 30, 33)
    again = Path(Parameters(variant="sack"), lost=((30, 33), ()))
    again.write(SERVER, 45, 250)
    for each in again.run():
        if each.packet.blocks:
            break
    used = again.tcp
    again = Path(Parameters(variant="sack"), lost=((30, 33), ()))
    again.tcp = used
    used.out.state.packets = 0
    again.start()
    again.write(SERVER, 60, 250)
    assert again.finish(SERVER, 60) == arrivals[-1].time_ns
    assert path.tcp.ends[SERVER].packets == used.ends[SERVER].packets

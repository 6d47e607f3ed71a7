"""Files over every link protocol: what the link carries of them, what becomes of losses, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from simulations import NS, scenario, simulated

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.rlc.parameters import PAPER_UNIFORM
from multitracer.replay.simulate.entities import LONGEST_SDU, entities
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.run import run, setting
from multitracer.replay.simulate.scenario_files import load
from multitracer.replay.simulate.simulation import Simulation
from multitracer.replay.simulate.variants import plan

SEGMENT, CONTROL, RATE_BPS, DELAY_NS = 250, 40, 64_000, 50_000_000
WIRED_BPS, WIRED_NS = 10_000_000, 1_000_000
QUIET = {
    "link__rlc_am__poll_last_new": False, "link__rlc_am__poll_last_retransmission": False,
    "link__rlc_am__poll_s": 0.2, "link__rlc_am__window": 128,
}  # fmt: skip
"""RLC AM polls by its timer alone."""
WHOLE = {"link__protocol": "rlc-am", "link__rlc_am__length_indicators": False, **QUIET}
"""One SDU a PDU, two octets of header beside it."""
LINKS: dict[str, tuple[dict[str, Any], int, int]] = {
    "raw": ({}, 250, 40),
    "sr": ({"link__protocol": "sr", "link__sr__timeout_s": 0.4}, 256, 46),
    "asr": ({"link__protocol": "asr"}, 256, 46),
    "rlc-am": (WHOLE, 252, 42),
    "rlc-am with indicators": ({"link__protocol": "rlc-am", "link__frame_bytes": 254, **QUIET}, 254, 254),
    "rlc-um": ({"link__protocol": "rlc-um", "link__frame_bytes": 255}, 255, 255),
    "rlc-tm": ({"link__protocol": "rlc-tm"}, 250, 40),
    "rlp": ({"link__protocol": "rlp", "link__ppp": False, "link__frame_bytes": 257}, 257, 257),
}
"""The keys of each link, and the octets on the air of a full segment and of an acknowledgement. RLC AM with indicators
has two octets of header and two of an indicator, UM one and two indicators, RLP seven beside the characters. SR's timer
is above the round trip of a link that is handed frames lazily, and below TCP's."""
RELIABLE = ("sr", "asr", "rlc-am", "rlp")
SEGMENTS = {"rlc-am": 60, "rlc-am with indicators": 60}
"""Plain Python takes longest for these."""


@cache
def sent(link: str, loss: float, seed: int = 1) -> Simulation:
    """A file over a link with this loss rate, run to the end."""
    lossy = {"channel__model": "uniform", "channel__frame_loss_rate": loss} if loss else {}
    return simulated(described(link, **lossy), seed)


def described(link: str, **more: Any) -> Any:
    """The scenario of a file over a link, whose window of TCP is open from the beginning."""
    given = {"workload__segments": segments(link), "tcp__initial_window": 20, "link__hand_down": "lazy"}
    return scenario(**(given | LINKS[link][0] | more))


def segments(link: str) -> int:
    """Of the file over this link."""
    return SEGMENTS.get(link, 200)


def one_way_ns(octets: int, on_air: int) -> float:
    """From one end of TCP to the other, on idle hops."""
    return 8e9 * octets / WIRED_BPS + WIRED_NS + 8e9 * on_air / RATE_BPS + DELAY_NS


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
def test_a_file_has_the_payload_share_of_the_link(link: str) -> None:
    """SYN and its answer, then one frame after the other, then the way of the last one's acknowledgement."""
    _, full, short = LINKS[link]
    handshake = 2 * one_way_ns(CONTROL, short)
    first = one_way_ns(SEGMENT, full) + one_way_ns(CONTROL, short)
    expected = handshake + first + (segments(link) - 1) * 8e9 * full / RATE_BPS
    found = sent(link, 0)
    assert found.ended_ns == pytest.approx(expected, rel=0.005)
    assert found.counted("retransmissions") == 0


@pytest.mark.slow
@pytest.mark.parametrize("link", RELIABLE)
def test_what_a_reliable_link_loses_tcp_need_not_send_again(link: str) -> None:
    """Everything arrives at one frame lost in twenty, and TCP sends less again than over the raw link."""
    found = sent(link, 0.05)
    assert found.ended_ns is not None
    assert found.source.tcp.ends[1].delivered == segments(link)
    ways = found.engine.link.forth.state, found.engine.link.back.state
    assert min(int(way.erased) for way in ways) > 0
    raw = sent("raw", 0.05).counted("retransmissions") / segments("raw")
    assert found.counted("retransmissions") / segments(link) < raw
    assert measures(described(link), found)["link_transmissions_per_frame"] > 1


QUEUE = "link_queue_drop_percent"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "counted"),
    [
        ("raw", set()),
        ("sr", {"link_timeouts"}),
        ("rlc-am", {"link_resets", "link_discards"}),
        ("rlc-um", {"link_discards"}),
        ("rlc-tm", {"link_discards"}),
        ("rlp", {"link_timeouts", "link_resets", "link_flushed_bytes"}),
    ],
)
def test_a_link_has_the_metrics_that_its_machine_counts(link: str, counted: set[str]) -> None:
    """Transmissions per frame, 1 where nothing is lost, and the queue's drops for all; nothing else is counted then."""
    found = measures(described(link), sent(link, 0))
    assert {name for name in found if name.startswith("link_")} == counted | {"link_transmissions_per_frame", QUEUE}
    assert all(found[name] == 0 for name in counted | {QUEUE})
    repeats = 0.1 if link == "rlc-am" else 0.0  # the last PDU, for polls with nothing left to send
    assert 1 <= found["link_transmissions_per_frame"] <= 1 + repeats


def held(done: Simulation) -> int:
    """Octets that entity A of RLC AM keeps: unacknowledged, or not sent yet."""
    queue = done.engine.a.queue.v
    return sum(int(queue.sdu[k % int(queue.sdus)].length) for k in range(int(queue.head), int(queue.tail)))


def link_books(done: Simulation) -> tuple[int, int, int]:
    """Octets that were offered to the link on the way down, what B counted as delivered, and what A gave up.

    B may have been given what A gave up, without A knowing.
    """
    books, counted = done.engine.link.upper.books, done.engine.protocol.counters(done.engine.b)
    delivered = counted.get("delivered_octets", counted.get("delivered", 0))
    given_up = books.rows[0][books.rows[0]["lost"] > 0]
    return int(books.state[0].end), delivered, int((given_up["octets"] - given_up["handed"]).sum())


@pytest.mark.slow
@pytest.mark.parametrize("link", ["raw", *RELIABLE])
def test_every_packet_sent_went_on_the_wired_hop_and_to_the_link(link: str) -> None:
    """Those that the wired hop dropped or still has are all that the link was not offered."""
    done = sent(link, 0.05)
    hop = done.source.wired.hops[0]
    offered = int(done.engine.link.upper.books.state[0].offered)
    assert int(done.source.tcp.ends[0].packets) == offered + int(hop.dropped) + int(hop.end - hop.first)


@pytest.mark.slow
@pytest.mark.parametrize("link", ["raw", "rlc-tm"])
def test_a_frame_of_an_unreliable_link_came_or_was_lost_or_is_under_way(link: str) -> None:
    """Counted by the receiver, by the air and by the device's queue."""
    done = sent(link, 0.05)
    way, counted = done.engine.link.forth.state, done.engine.protocol.counters(done.engine.b)
    came = counted.get("delivered_sdus", counted.get("delivered", 0))
    under_way = int(way.made - way.arrived)
    lost_under_way = sum(int(done.engine.link.forth.air[k & int(way.mask)].lost) for k in range(way.arrived, way.sent))
    waiting = int(done.engine.link.upper.books.state[0].offered) - int(way.made + way.dropped)
    assert waiting >= 0
    assert came == int(way.arrived) - (int(way.erased) - lost_under_way)
    assert came + int(way.erased) - lost_under_way + under_way + int(way.dropped) + waiting == int(
        done.engine.link.upper.books.state[0].offered
    )


@pytest.mark.slow
@pytest.mark.parametrize("link", RELIABLE)
def test_every_octet_of_a_reliable_link_is_delivered_at_the_end(link: str) -> None:
    """None is missing, none came twice."""
    offered, delivered, gone = link_books(sent(link, 0.05))
    assert (delivered, gone) == (offered, 0)


@pytest.mark.slow
def test_an_octet_is_delivered_or_discarded_or_still_held_by_rlc() -> None:
    """In the middle of a transfer in which a PDU is sent once, and given up when it is reported missing."""
    lossy = {"channel__model": "uniform", "channel__frame_loss_rate": 0.2, "link__rlc_am__max_dat": 2}
    under_way, given_up = [], []
    for until_s in (0.5, 1.5):
        done = simulated(described("rlc-am", **lossy), until_s=until_s)
        offered, delivered, gone = link_books(done)
        assert 0 <= offered - delivered - gone <= held(done)
        under_way.append(offered - delivered - gone)
        given_up.append(gone)
    assert max(under_way) > 0
    assert max(given_up) > 0
    assert measures(described("rlc-am"), done)["link_discards"] > 0


@pytest.mark.compiled
@pytest.mark.slow
def test_compiled_and_plain_runs_agree() -> None:
    """All metrics of a short transfer with losses; over the raw link, whose loop compiles in the shortest time."""
    short = described("raw", workload__segments=12, channel__model="uniform", channel__frame_loss_rate=0.1)
    plain = measures(short, simulated(short))
    kernels.choose(10**6)
    compiled = run(short, 1)
    assert {name: compiled[name] for name in plain} == plain


def test_the_keys_of_rlc_am_are_the_parameters_of_the_paper() -> None:
    """The built-in scenario is that of papers 000 and 003, one SDU a PDU."""
    first = plan(load("rlc-am-file-transfer"), {}, {}).variants[0].scenario
    expected = replace(
        PAPER_UNIFORM, pdu_bytes=252, length_indicators=False, discard="max_dat", max_dat=3, max_mrw=0,
        tti_ns=8 * NS * SEGMENT // RATE_BPS, max_sdu_bytes=LONGEST_SDU,
    )  # fmt: skip
    found = entities(first)
    assert found[0] == found[1]
    kept = {"queue_sdus": found[0].queue_sdus, "queue_bytes": found[0].queue_bytes}
    assert found[0] == replace(expected, **kept)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"link__protocol": "raw", "tcp__segment_bytes": 251}, "packets of 251 octets do not go into frames of 250"),
        ({"link__protocol": "sr", "tcp__ack_bytes": 300}, "tcp.ack_bytes: packets of 300"),
        ({"link__protocol": "rlc-tm", "link__down__frame_bytes": 100}, "frames of 100"),
        ({**WHOLE, "tcp__segment_bytes": 1500}, "rlc-am does not cut them"),
        ({"link__protocol": "raw", "link__ppp": True}, "packets of 250 octets, with 7 of PPP, do not go into frames"),
        ({"link__protocol": "rlp", "link__upper_queue_packets": 5}, "link.upper_queue_packets cannot be set with rlp"),
        ({"link__protocol": "rlp", "link__far_buffer_bytes": 1000}, "link.far_drain_bps need each other"),
        (
            {"link__protocol": "rlp", "link__far_buffer_bytes": 5000, "link__far_drain_bps": 8000,
             "link__stop_at_s": 1, "link__stop_s": 1}, "both stop the sender",
        ),
        ({"link__protocol": "rlp", "link__stop_at_s": "1,2", "link__stop_s": "1.5,1"}, "the stop at 2 s begins before"),
        ({"channel__unit": "tti"}, "channel.unit = tti needs link.tti_s"),
        ({"link__protocol": "rlc-am", "link__header_bytes": 6}, "link.header_bytes cannot be set with rlc-am"),
        ({"link__protocol": "rlc-um", "link__header_bytes": 6}, "link.header_bytes cannot be set with rlc-um"),
        ({"link__protocol": "asr", "link__asr__alpha": 17}, "link.asr.alpha = 17\nIt must be a number from 1 to 16"),
        (
            {"link__protocol": "rlc-am", "link__rlc_am__poll_timer_starts": "periodic",
             "link__rlc_am__poll_periodic_s": 1}, "poll_periodic_s must be 0",
        ),
        (
            {"link__protocol": "rlc-am", "link__rlc_am__discard_s": 1, "link__rlc_am__max_dat": 4},
            "link.rlc-am.max_dat has no part",
        ),
    ],
)  # fmt: skip
def test_what_a_link_cannot_do_is_refused_by_name(given: dict[str, Any], words: str) -> None:
    """Nothing that was asked for is left out in silence."""
    with pytest.raises(UsageError, match=words):
        setting(scenario(**given), 1)


def test_rlc_cuts_packets_that_are_longer_than_a_pdu() -> None:
    """A segment of 1500 octets in PDUs of 250 is accepted."""
    setting(scenario(link__protocol="rlc-am", tcp__segment_bytes=1500), 1)

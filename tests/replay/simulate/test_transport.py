"""Above the link: connections in both directions, closed and late ones, servers that take time, rates without loss."""

from __future__ import annotations

from typing import Any

import pytest
from octet_books import unbalanced
from simulations import NS, scenario, simulated

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.measures import measures
from multitracer.replay.simulate.run import run, setting
from multitracer.replay.simulate.work import CLOSING

SHORT = {"workload__file_bytes": 5000}


@pytest.fixture(autouse=True)
def _plain() -> None:
    kernels.choose(0)


PAGES = {
    "workload__kind": "web-sessions", "workload__off_s": 1, "workload__off_sd_s": 1, "workload__objects": 3,
    "workload__objects_sd": 2, "workload__object_bytes": 2000, "workload__connections": 12, "tcp__model": "rfc",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("model", [{}, {"tcp__model": "rfc"}])
def test_a_file_moves_at_the_payload_share_of_the_link(direction: str, model: dict[str, Any]) -> None:
    """250 of 290 octets of a packet, within half a per cent, whoever sends it: 100 kB more take so much longer."""
    keys = {"tcp__segment_bytes": 290, "tcp__header_bytes": 40, "link__frame_bytes": 290} | model
    found = []
    for octets in (50_000, 150_000):
        made = scenario(workload__direction=direction, workload__file_bytes=octets, **keys)
        found.append(measures(made, simulated(made))["completion_s"][0])
    assert 8 * 100_000 / (found[1] - found[0]) == pytest.approx(64_000 * 250 / 290, rel=0.005)


@pytest.mark.parametrize("direction", ["down", "up"])
def test_both_directions_of_a_symmetric_path_take_the_same_time(direction: str) -> None:
    """But for the last acknowledgement's way, whose end is the data sender's."""
    assert simulated(scenario(workload__direction=direction, **SHORT)).ended_ns == simulated(scenario(**SHORT)).ended_ns


def test_a_second_connection_shares_the_link() -> None:
    """It begins at its time with a file of the same size, and both take longer than one alone."""
    alone = simulated(scenario(workload__file_bytes=20_000))
    done = simulated(scenario(workload__file_bytes=20_000, workload__second_connection_at_s=0.5))
    first, second = done.source.work.objects
    assert (int(second.begin_ns), int(second.reply)) == (NS // 2, 20_000)
    assert first.begin_ns < second.begin_ns < first.end_ns < second.end_ns == done.ended_ns
    assert first.end_ns > (alone.ended_ns or 0) > 0
    assert second.end_ns - first.begin_ns >= 40_000 * 8 * NS // 64_000
    assert unbalanced(done) == []


def test_a_second_connection_whose_syn_waits_sends_it_again() -> None:
    """Behind a queue that takes longer than the timer."""
    made = scenario(
        workload__direction="up", workload__file_bytes=40_000, workload__second_connection_at_s=8, link__rate_bps=8000,
        link__hand_down="lazy", tcp__window_segments=64, tcp__interface_queue_packets=60, tcp__model="rfc",
    )  # fmt: skip
    found = measures(made, simulated(made))
    assert found["syn_retransmission_s"] == [3.0]


def test_connections_that_are_closed_end_with_fins() -> None:
    """One of each end; only those that still close at the end of the run may lack theirs."""
    done, plain = simulated(scenario(tcp__fin=True, **PAGES)), simulated(scenario(**PAGES))
    fins = int(done.source.totals.packets) - int(plain.source.totals.packets)
    connections, closing = len(done.source.work.objects), int((done.source.work.slots["phase"] == CLOSING).sum())
    assert 2 * (connections - closing) <= fins <= 2 * connections
    assert closing <= 2
    assert done.source.traffic["late"].sum() == 0


def test_an_end_of_a_closed_connection_sends_one_fin() -> None:
    """A file's sender after its data, its receiver in answer: two packets more than without."""
    counted = []
    for fin in (False, True):
        made = scenario(tcp__fin=fin, tcp__model="rfc", workload__second_connection_at_s=30, **SHORT)
        counted.append(int(simulated(made).source.totals.packets))
    assert counted[1] - counted[0] in (3, 4)  # the second connection's own may still be under way at the end


@pytest.mark.slow
def test_packets_of_a_connection_that_is_over_are_late() -> None:
    """What comes for an object before does not disturb the one that has its connection now."""
    made = scenario(
        workload__kind="web-browsing", workload__seconds=60, channel__model="uniform", channel__frame_loss_rate=0.15,
        workload__parallel_connections=1,
    )  # fmt: skip
    done = simulated(made, seed=3)
    assert done.source.traffic["late"].sum() > 0
    assert unbalanced(done) == []
    whole = [thing for thing in done.source.work.objects if thing.end_ns < NEVER]
    assert len(whole) > 2


@pytest.mark.parametrize("model", ["ns-2", "rfc"])
def test_a_frame_that_comes_after_its_connection_is_over_disturbs_no_other(model: str) -> None:
    """A segment of the first file, 2 s late: its copy ends the file, it comes while another one is sent."""
    files = {"workload__files": 9, "workload__file_bytes": 1000, "tcp__model": model}
    late = {"channel__forward__delayed_frames": [3], "channel__forward__extra_delay_s": [2.0]}
    plain, done = simulated(scenario(**files)), simulated(scenario(**files, **late))
    (first, *others), objects = plain.source.work.objects, done.source.work.objects
    assert objects[0].end_ns - objects[0].begin_ns > first.end_ns - first.begin_ns
    times = [int(each.end_ns - each.begin_ns) for each in others]
    assert [int(each.end_ns - each.begin_ns) for each in objects[1:]] == times
    assert done.source.traffic["late"].tolist() == [0, 1]
    assert unbalanced(done) == []


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_frame_that_is_a_little_late_is_only_overtaken(direction: str) -> None:
    """By two segments: two duplicate acknowledgements, nothing is sent again."""
    keys = {"workload__direction": direction, **SHORT}
    late = {"channel__forward__delayed_frames": [10], "channel__forward__extra_delay_s": [0.07]}
    plain, done = simulated(scenario(**keys)), simulated(scenario(**keys, **late))
    assert done.counted("retransmissions") == plain.counted("retransmissions") == 0
    assert done.source.traffic["came"].tolist() == plain.source.traffic["came"].tolist()


@pytest.mark.parametrize("model", ["ns-2", "rfc"])
def test_a_server_takes_its_time(model: str) -> None:
    """An object takes longer by as much."""
    times = []
    for server_s in (0, 0.25):
        done = simulated(scenario(**PAGES | {"tcp__model": model, "workload__server_s": server_s}))
        first = done.source.work.objects[0]
        times.append(int(first.end_ns - first.begin_ns))
    assert times[1] - times[0] == pytest.approx(NS / 4, abs=12e6)  # the request's ACKs delay an immediate reply


def test_pages_have_as_many_connections_at_a_time_as_stated() -> None:
    """Two; the next begins when one of them ends; pages are apart by their times off."""
    done = simulated(scenario(**PAGES))
    work = done.source.work
    objects = work.objects[work.objects["end_ns"] < NEVER]
    assert len(objects) >= 12
    for thing in objects:
        running = [other for other in objects if other.begin_ns <= thing.begin_ns < other.end_ns]
        assert len(running) <= 2
    for before, page in zip(work.pages, work.pages[1:], strict=False):
        assert page.begin_ns == before.end_ns + page.pause_ns
    assert max(page.end - page.first for page in work.pages) > 2


def test_the_time_of_a_page_may_begin_with_its_first_request() -> None:
    """A round trip after its first SYN: 2 x 106 ms and 40 octets each way on both hops."""
    found = [run(scenario(**PAGES | {"workload__page_from": first}), 1) for first in ("syn", "request")]
    assert found[0]["page_goodput_bps"] < found[1]["page_goodput_bps"]
    assert found[0]["connection_goodput_bps"] == found[1]["connection_goodput_bps"]
    work = simulated(scenario(**PAGES)).source.work
    trip = 2 * (NS // 20 + NS // 1000 + 8 * 40 * NS // 64_000 + 8 * 40 * NS // 10_000_000)
    assert int(work.pages[0].asked_ns - work.pages[0].begin_ns) == trip


def test_goodput_of_connections_by_size() -> None:
    """Four classes; small objects are slower, as most of their time is round trips."""
    found = run(scenario(**PAGES), 1)
    small, *_, large = found["connection_goodput_quartile_bps"]
    assert small < found["connection_goodput_bps"] < found["connection_goodput_weighted_bps"] < large


def test_the_window_is_no_larger_than_the_send_buffer() -> None:
    """In whole segments."""
    made = scenario(tcp__model="rfc", tcp__send_buffer_bytes=1400, **SHORT)
    assert measures(made, simulated(made))["max_outstanding_bytes"] == 5 * 250
    with pytest.raises(UsageError, match=r"tcp\.send_buffer_bytes = 1400"):
        setting(scenario(tcp__send_buffer_bytes=1400, **SHORT), 1)


@pytest.mark.slow
def test_what_is_before_the_end_of_the_warm_up_is_left_out() -> None:
    """The rate of a long file without its slow beginning; nothing is known of one that was there before."""
    slow = {"tcp__initial_window": 1, "link__delay_s": 0.3, "tcp__window_segments": 40, "workload__file_bytes": 50_000}
    found = [run(scenario(**slow, workload__warmup_s=warmup_s), 1) for warmup_s in (0, 6, 500)]
    assert found[0]["throughput_bps"] < 55_000 < found[1]["throughput_bps"] < 64_500
    assert (found[1]["completion_s"], found[2]["throughput_bps"]) == (None, None)
    assert found[1]["packets_sent"] < found[0]["packets_sent"] == 201


@pytest.mark.slow
def test_every_octet_may_count_at_the_end() -> None:
    """Of the page that is not complete, those that have come."""
    web = {"workload__kind": "web-browsing", "workload__seconds": 20}
    found = [run(scenario(**web, workload__end=end), 1)["throughput_bps"] for end in ("last-complete", "cut")]
    done = simulated(scenario(**web), until_s=20)
    came = int(done.source.traffic[1].came)
    assert 0 < found[1] <= 8 * came / 20
    assert found[0] != found[1]


def test_a_request_may_be_one_packet() -> None:
    """No more of it is sent than a full one holds."""
    web = {"workload__kind": "web-browsing", "workload__seconds": 60}
    made = [scenario(workload__request=how, **web) for how in ("cut", "one-packet")]
    cut, one = (simulated(each, until_s=1).source.work.objects for each in made)
    assert one["request"].max() == 250 < cut["request"].max()
    assert one["reply"].tolist() == cut["reply"].tolist()

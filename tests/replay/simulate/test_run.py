"""One seed of a scenario: what is refused, what a run without progress says, and that every model of TCP runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulations import scenario, simulated

from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate import applications
from multitracer.replay.simulate import run as runs
from multitracer.replay.simulate.run import run
from multitracer.replay.simulate.scenario_files import built_in, load
from multitracer.replay.simulate.variants import plan

SHORT = {"workload__file_bytes": 5000}


@pytest.fixture(autouse=True)
def _plain() -> None:
    kernels.choose(0)


@pytest.mark.parametrize("protocol", ["raw", "sr", "asr"])
def test_segments_that_no_frame_can_carry_are_refused(protocol: str) -> None:
    """With the key to be given; one that fits is run."""
    with pytest.raises(UsageError, match=re.escape("packets of 300 octets do not go into frames of 250")):
        run(scenario(link__protocol=protocol, tcp__segment_bytes=300, **SHORT), 1)
    found = run(scenario(link__protocol=protocol, tcp__segment_bytes=300, link__frame_bytes=300, **SHORT), 1)
    assert found["throughput_bps"] > 0


@pytest.mark.parametrize("keys", [
    {"tcp__timestamps": True}, {"tcp__variant": "fack", "tcp__reordering": 5}, {"tcp__receive_window_bytes": 5000},
    {"tcp__model": "rfc", "tcp__metrics_kept": True}, {"tcp__sack": True}, {"tcp__forward__sack": True},
    {"tcp__fin": True}, {"tcp__variant": "linux-2.4", "tcp__rounding": "up"},
])  # fmt: skip
def test_what_a_model_does_not_have_is_refused_by_name(keys: dict[str, Any]) -> None:
    """Nothing that a scenario asks for is left out in silence."""
    *_, asked = keys
    with pytest.raises(UsageError, match=re.escape(asked.replace("__forward", "").replace("__", "."))):
        run(scenario(**{"workload__seconds": 20, **keys}), 1)


@pytest.mark.parametrize(("keys", "sent"), [
    ({"tcp__model": "rfc"}, 20), ({"tcp__model": "rfc", "tcp__variant": "sack"}, 20), ({"tcp__variant": "bsd"}, 20),
    ({"tcp__variant": "linux-2.4"}, 20), ({"tcp__variant": "fack"}, 20),
])  # fmt: skip
def test_every_model_of_tcp_carries_a_file(keys: dict[str, Any], sent: int) -> None:
    """Without a loss each segment is sent once."""
    done = simulated(scenario(**SHORT, **keys))
    assert done.ended_ns is not None
    assert done.source.tcp.ends[0].acked == sent
    assert done.counted("retransmissions") == 0


def test_a_run_without_progress_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Throughput 0, no time of completion."""
    monkeypatch.setattr(runs, "LONGEST_S", 200)
    found = run(scenario(channel__model="uniform", channel__frame_loss_rate=1, workload__segments=1), 1)
    assert found["throughput_bps"] == 0
    assert found["completion_s"] is None
    assert found["ended"] == "no transfer was complete after 200 s"


def trace(folder: Path, text: str) -> dict[str, str]:
    """A channel that loses frames forward as an erasure trace says, and none in reverse."""
    (folder / "trace.txt").write_text(text)
    return {"channel__forward__model": "trace", "channel__forward__trace": str(folder / "trace.txt")}


def test_a_run_that_stops_halfway_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of three files the link carries one and a half, and then nothing more: what was complete, and since when not."""
    monkeypatch.setattr(runs, "LONGEST_S", 400)
    dead = trace(tmp_path, "0" * 32 + "1" * 5000)
    found = run(scenario(workload__files=3, **SHORT, **dead), 1)
    said = re.fullmatch(
        r"the last of 1 complete transfers ended at ([0-9.]+) s, the run after 400 s; "
        r"nothing was acknowledged from ([0-9.]+) s on", found["ended"],
    )  # fmt: skip
    assert said
    assert 0.6 < float(said[1]) < float(said[2]) < 2


def test_a_web_run_over_a_link_that_died_says_since_when_nothing_came(tmp_path: Path) -> None:
    """Its rate up to the last page is that of a link that lives; one whose time is over says nothing."""
    web = {"workload__kind": "web-browsing", "workload__seconds": 300}
    found = run(scenario(**web, **trace(tmp_path, "0" * 500 + "1" * 5000)), 1)
    assert found["throughput_bps"] > 0
    assert "the run after 300 s; nothing was acknowledged from" in found["ended"]
    assert "ended" not in run(scenario(**web), 1)


def test_a_run_that_outlasts_its_erasure_trace_says_that_nothing_was_lost_after_it(tmp_path: Path) -> None:
    """Of each direction that has one; one that is as long as the run is not over."""
    short = run(scenario(**SHORT, **trace(tmp_path, "0001")), 1)
    assert short["lossless"] == (
        "the erasure trace was over before the run, forward of 4 frames: nothing was lost after that"
    )
    both = {"channel__model": "trace", "channel__trace": str(tmp_path / "trace.txt"), "link__tti_s": 0.04}
    assert "forward of 4 opportunities and reverse of 4 opportunities" in run(scenario(**SHORT, **both), 1)["lossless"]
    assert "lossless" not in run(scenario(**SHORT, **trace(tmp_path, "0" * 1000)), 1)
    assert "lossless" not in run(scenario(**SHORT, channel__model="listed", channel__frames="0"), 1)


def test_both_directions_lose_the_same_places_of_one_trace_and_their_own_of_two(tmp_path: Path) -> None:
    """As the key says."""
    for name, text in (("one", "0100"), ("two", "0010")):
        (tmp_path / name).write_text(text)
    one, two = ({f"channel__{side}trace": str(tmp_path / name)} for side, name in (("", "one"), ("reverse__", "two")))
    for keys, up in ((one, [0, 1, 0, 0]), (one | two, [0, 0, 1, 0])):
        made = runs.setting(scenario(channel__model="trace", **keys), 1).radio
        assert [way.channel.trace.tolist() for way in made] == [[0, 1, 0, 0], up]


@pytest.mark.parametrize(("keys", "begun"), [
    ({"workload__connections": 6, "workload__seconds": 100_000}, 6), ({"workload__connections": 6}, 6),
])  # fmt: skip
def test_web_sessions_end_with_their_connections(keys: dict[str, Any], begun: int) -> None:
    """With the page that has the last one, before their seconds are over, or where none are said."""
    done = simulated(scenario(workload__kind="web-sessions", tcp__variant="fack", **keys), until_s=100_000)
    objects = done.source.work.objects
    assert done.ended_ns is not None
    assert (objects["end_ns"] < NEVER).all()
    assert begun <= len(objects) < begun + done.source.work.pages["end"][-1] - done.source.work.pages["first"][-1]


def test_web_sessions_end_with_their_seconds_where_those_are_over_first() -> None:
    """Both are said: the run ends with the one that is reached first; with neither it is refused."""
    keys = {"workload__kind": "web-sessions", "tcp__variant": "fack"}
    both = runs.setting(scenario(**keys, workload__connections=500, workload__seconds=30), 1)
    assert both.until_ns == 30 * 10**9
    assert len(both.work.objects) >= 500
    assert scenario(**keys).number("workload.seconds") == 2000
    assert scenario(**keys, workload__connections=500).value("workload.seconds") is None
    with pytest.raises(UsageError, match="nothing says when the workload ends"):
        scenario(**keys, workload__seconds="none")


def test_without_a_workload_only_media_are_sent_for_its_seconds() -> None:
    """The talk of 20 s, all of it delivered; TCP sends nothing."""
    found = run(scenario(workload__kind="none", workload__seconds=20, contention__enabled=True), 1)
    assert found["media_loss_percent"] < 5
    assert found["media_delay_ms"] > 50
    assert found["packets_sent"] == 0
    assert "ended" not in found


def test_files_go_one_after_the_other() -> None:
    """Each begins where the one before ended."""
    objects = simulated(scenario(workload__files=3, **SHORT)).source.work.objects
    assert objects["begin_ns"][1:].tolist() == objects["end_ns"][:-1].tolist()


def test_a_page_has_its_text_alone_and_then_some_objects_at_a_time() -> None:
    """As many as there are connections; the next page begins when the last object has come."""
    work = simulated(scenario(workload__kind="web-browsing", workload__seconds=60), until_s=60).source.work
    pages = [page for page in work.pages if page.end_ns < NEVER]
    assert pages
    most = 0
    for page in pages:
        text, *others = work.objects[page.first : page.end]
        assert all(other.begin_ns >= text.end_ns for other in others)
        running = [sum(o.begin_ns <= at.begin_ns < o.end_ns for o in others) for at in others]
        most = max([most, *running])
    assert most == 4


THREE_PAGES = [
    [(100, 1000), (200, 5000)],
    [(250, 2500), (30, 250), (40, 500), (50, 4000), (60, 750), (70, 12_500), (250, 3000)],
    [(80, 20_000), (90, 250), (250, 250), (10, 1000)],
]
"""Octets of each request and reply: packets as ns-2's class Http has them, a request one and a reply's all full."""


@pytest.mark.parametrize(("keys", "ended_ns"), [
    ({}, [1_829_970_000, 5_852_156_000, 9_603_400_000]),
    ({"tcp__variant": "sack", "wired__rate_bps": 2_000_000, "wired__delay_s": 0.05},
     [2_914_850_000, 8_304_350_000, 13_140_570_000]),
])  # fmt: skip
def test_pages_take_the_time_that_they_take_in_ns2(
    keys: dict[str, Any], ended_ns: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply begins when its request's last acknowledgement has come, an object ends with its reply's.

    The times are ns-2.35's, by benchmarks/ns2_pages.tcl.
    """
    monkeypatch.setattr(applications, "_browsing", lambda *_: [(0, page) for page in THREE_PAGES])
    work = simulated(scenario(workload__kind="web-browsing", tcp__min_rto_s=1, **keys), until_s=60).source.work
    assert work.pages["end_ns"].tolist() == ended_ns


@pytest.mark.parametrize("keys", [{"tcp__model": "rfc"}, {"tcp__variant": "bsd"}, {"tcp__variant": "linux-2.4"}])
def test_ends_that_hear_their_own_peer_answer_what_has_come(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for an acknowledgement: a page of 1 + 1 octets is over in two round trips."""
    monkeypatch.setattr(applications, "_browsing", lambda *_: [(0, [(1, 1)])])
    work = simulated(scenario(workload__kind="web-browsing", **keys), until_s=60).source.work
    assert 200_000_000 < work.pages["end_ns"][0] < 300_000_000


@settings(max_examples=10, deadline=None)
@given(protocol=st.sampled_from(["raw", "sr", "asr"]), loss=st.sampled_from([0, 0.05, 0.2]), seed=st.integers(1, 99),
       queue=st.integers(1, 20), media=st.booleans())  # fmt: skip
def test_no_packet_is_made_or_vanishes(protocol: str, loss: float, seed: int, queue: int, media: bool) -> None:
    """Each frame was lost, came, or is under way; media too, which queues may drop; the file comes whole."""
    done = simulated(scenario(
        link__protocol=protocol, channel__model="uniform", channel__frame_loss_rate=loss, link__queue_frames=queue,
        contention__enabled=media, **SHORT,
    ), seed)  # fmt: skip
    link, source = done.engine.link, done.source
    for way in (link.forth.state, link.back.state):
        assert 0 <= way.erased <= way.sent <= way.made
        assert way.arrived <= way.sent
    for row in source.media:
        assert 0 <= row.came <= row.sent
    assert source.tcp.ends[1].delivered == 20


@pytest.mark.parametrize("name", built_in())
def test_every_built_in_scenario_can_be_run(name: str) -> None:
    """Its first variant, with a small file; nothing that it says is refused."""
    made = plan(load(name), {"workload.file_bytes": 20_000} if "web" not in name else {"workload.seconds": 60.0}, {})
    found = run(made.variants[0].scenario, 1)
    assert found["throughput_bps"] > 0

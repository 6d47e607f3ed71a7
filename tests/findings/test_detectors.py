"""Each detector on one trace where it must speak and one near miss where it must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scenes import (
    LEAST_RTT_MS,
    SERVER,
    Scene,
    Seen,
    accounting,
    at,
    frames,
    intervals,
    limits,
    retransmissions,
    scene,
    segment_frames,
)
from two_ends import MS

from multitracer.findings import KINDS, Observations, fast_retransmit, find, link_outage, probe, timeout
from multitracer.link.timing import Timing
from multitracer.model.schema import ACK, SYN

DATA = [Seen(sent=t, came=t + 50, seq=1 + 1000 * n, size=1000) for n, t in enumerate(range(0, 200, 10))]


def stalled(arrives: float | None, answer: float | None) -> Observations:
    """A segment whose timer runs out at 1000 ms; its first copy arrives, and the answer comes, when said."""
    original = Seen(sent=0, came=arrives, seq=1, size=1000)
    copy = Seen(sent=1000, came=1050 if arrives is None else max(1050, arrives), seq=1, size=1000)
    ack = Seen(sent=arrives or 1050, came=answer, sender=1, ack=1001)
    seen = [original, copy, ack]
    row = int((scene(seen).segments["time_ns"] == at(1000)).to_numpy().argmax())
    needless = "no" if arrives is None else "yes"
    return scene(seen, retransmissions=retransmissions({"ms": 1000, "segment": row, "spurious": needless}))


def held(*, delivered: float | None, trigger: str = "timeout", repeats: int = 3) -> Observations:
    """Bytes resent at 1000 ms whose first frames were still being repeated."""
    table = segment_frames(
        {"sent": 0, "first": 10, "last": 1200, "delivered": delivered, "frame_retransmissions": repeats}
    )
    return scene(DATA, retransmissions=retransmissions({"ms": 1000, "trigger": trigger}), segment_frames=table)


def paused(*, answered: int) -> list[Seen]:
    """Three segments of data, of which the first `answered` are acknowledged after 100 ms, and a fourth at 250 ms."""
    burst = [Seen(sent=n, came=n + 50, seq=1 + 1000 * n, size=1000) for n in range(3)]
    ack = Seen(sent=60, came=100, sender=1, ack=1 + 1000 * answered)
    return [*burst, ack, Seen(sent=250, came=300, seq=3001, size=1000)]


def dropped(*, later: bool, reset: bool = False) -> Observations:
    """A segment of which the link carried nothing, and perhaps a later one that it carried."""
    rows = [{"sent": 0, "first": 5, "last": 9, "delivered": 60}, {"sent": 10, "frames": 0, "carried_bytes": 0}]
    if later:
        rows.append({"sent": 20, "first": 30, "last": 40, "delivered": 90, "seq": 2001})
    spans = intervals(("reset", 15, 25)) if reset else intervals()
    return scene(DATA, segment_frames=segment_frames(*rows), link_intervals=spans)


def stale(*, checksum_ok: int, answered: bool) -> Observations:
    """Three segments lost, and arrivals with their checksums at sequence numbers 500 too low."""
    sent = [Seen(sent=10 * n, seq=1001 + 500 * n, size=500, checksum=70 + n) for n in range(3)]
    came = [
        Seen(sent=10 * n + 50, seq=501 + 500 * n, size=500, checksum=70 + n, checksum_ok=checksum_ok, marks=())
        for n in range(3)
    ]
    acks = [Seen(sent=61, came=111, sender=1, ack=1001)] if answered else []
    strays = scene([*sent, *acks, *came])
    point = strays.segments["point"].to_numpy().copy()
    mine = strays.segments["checksum"].to_numpy() >= 70
    mine &= strays.segments["time_ns"].to_numpy() >= at(50)
    point[mine] = 1
    arrived = strays.arrived.copy()
    arrived[mine] = -1
    return scene([*sent, *acks, *came], segments=strays.segments.assign(point=point), arrived=arrived)


def queued(wait: float, until: float = 3000) -> Observations:
    """Segments that wait before their first frame, every 50 ms."""
    rows = [
        {"sent": t, "first": t + wait, "last": t + wait, "delivered": t + wait + 50, "queue": wait}
        for t in range(0, int(until), 50)
    ]
    return scene(DATA, segment_frames=segment_frames(*rows))


def hole(*, repeats: int, gap: float = 500) -> Observations:
    """Two deliveries with a gap between, the frames of the second repeated or not."""
    return scene(
        DATA,
        segment_frames=segment_frames(
            {"sent": 0, "first": 0, "last": 0, "delivered": 50},
            {"sent": 10, "first": 20, "last": 400, "delivered": 50 + gap, "frame_retransmissions": repeats},
        ),
        link_rtt_ns=100 * MS,
    )


def silence(*, erased: bool) -> Observations:
    """A second in which nothing good came, erased frames or none at all."""
    middle = [(t, False, "BAD", -1) for t in range(100, 1000, 100)] if erased else []
    tries = [(t, True, "I RR", 1) for t in range(110, 1000, 200)]
    log = sorted([(0, False, "RR", -1), *middle, *tries, (1000, False, "RR", -1)])
    return scene(DATA, frames=frames(*log), link_rtt_ns=100 * MS)


def acks(spacing_in: float, *, lost: bool = False) -> Observations:
    """Six acknowledgements that left 20 ms apart and came `spacing_in` apart; one perhaps lost."""
    return scene(
        [
            Seen(sent=20 * n, came=None if lost and n == 3 else 200 + spacing_in * n, sender=1, ack=1 + n)
            for n in range(6)
        ]
    )


def moved(*, overtaken: bool) -> Observations:
    """Three segments; the second arrives last, or in its turn."""
    came = [50, 75, 70] if overtaken else [50, 60, 70]
    return scene([Seen(sent=10 * n, came=came[n], seq=1 + n * 100, size=100) for n in range(3)])


def lost(*numbers: int) -> Observations:
    """Ten segments 10 ms apart of which some never arrive."""
    return scene([Seen(10 * n, None if n in numbers else 10 * n + 50, seq=1 + 100 * n, size=100) for n in range(10)])


def window(*, closed: bool) -> Observations:
    """An acknowledgement that closes the window, or nearly."""
    marks = ("zero_window",) if closed else ()
    shut = Seen(10, 60, sender=1, ack=1001, window=0 if closed else 10, marks=marks)
    return scene([Seen(0, 5, size=1000), shut, Seen(500, 550, sender=1, ack=1001)])


def opened(*, twice: bool) -> Observations:
    """A connection whose SYN was sent once or twice."""
    syns = [Seen(0, 50, seq=0, flags=SYN)] + [Seen(1000, 1050, seq=0, flags=SYN)] * twice
    return scene([*syns, Seen(1100, 1150, sender=1, flags=SYN | ACK)])


def resent(**row: object) -> Observations:
    """One retransmission."""
    return scene(DATA, retransmissions=retransmissions({"ms": 300, **row}))


SPEAKS: dict[str, tuple[Observations, Observations]] = {
    "timeout": (stalled(arrives=None, answer=1100), stalled(arrives=2000, answer=2050)),
    "spurious-timeout": (stalled(arrives=2000, answer=2050), stalled(arrives=50, answer=None)),
    "fast-retransmit": (resent(trigger="fast"), resent(trigger="fast", spurious="yes")),
    "spurious-fast-retransmit": (resent(trigger="fast", spurious="yes"), resent(trigger="fast")),
    "probe": (resent(trigger="probe"), resent(trigger="timeout")),
    "competing-recovery": (held(delivered=1300), held(delivered=900)),
    "burst-loss": (lost(3, 4), lost(3)),
    "local-drop": (dropped(later=True), dropped(later=True, reset=True)),
    "link-reset": (scene(DATA, link_intervals=intervals(("reset", 10, 40))), scene(DATA, link_intervals=intervals())),
    "link-release": (
        scene(DATA, link_intervals=intervals(("release", 10, 40))),
        scene(DATA, link_intervals=intervals(("reset", 10, 40))),
    ),
    "header-decompression-failure": (stale(checksum_ok=0, answered=False), stale(checksum_ok=-1, answered=False)),
    "link-recovery-hole": (hole(repeats=2), hole(repeats=0)),
    "link-outage": (silence(erased=True), silence(erased=False)),
    "flow-control-gap": (
        scene(DATA, link_intervals=intervals(("flow-control", 10, 40))),
        scene(DATA, link_intervals=intervals(("reset", 10, 40))),
    ),
    "excessive-queueing": (queued(300), queued(60)),
    "idle-link": (
        scene(DATA, accounting=accounting((0, 10, "new_data"), (10, 400, "idle_sender"))),
        scene(DATA, accounting=accounting((0, 10, "new_data"), (10, 100, "idle_sender"))),
    ),
    "link-retransmissions": (
        silence(erased=True),
        scene(DATA, frames=frames((10, True, "I RR", 0)), link_rtt_ns=100 * MS),
    ),
    "ack-loss": (acks(20, lost=True), acks(20)),
    "ack-compression": (acks(2), acks(18)),
    "reordering": (moved(overtaken=True), moved(overtaken=False)),
    "zero-window": (window(closed=True), window(closed=False)),
    "handshake-retry": (opened(twice=True), opened(twice=False)),
    "path-stall": (
        scene(DATA, limits=limits(("path_stall", 0, 250))),
        scene(DATA, limits=limits(("path_stall", 0, 200))),
    ),
    "receiver-window-limited": (
        scene(DATA, limits=limits(("receiver_window", 0, 250))),
        scene(DATA, limits=limits(("application", 0, 250))),
    ),
    "application-limited": (
        scene(paused(answered=3), limits=limits(("application", 0, 250))),
        scene(paused(answered=2), limits=limits(("application", 0, 250))),
    ),
}


def confirmed(subject: Observations) -> set[str]:
    """The kinds of the findings that are sure."""
    found = find(subject).table
    return set(found.loc[found["verdict"] == "confirmed", "kind"])


def test_every_kind_has_its_two_traces() -> None:
    """No kind that a detector can report is without a trace that shows it and a near miss."""
    assert set(SPEAKS) == set(KINDS)


@pytest.mark.parametrize("kind", SPEAKS)
def test_a_detector_finds_its_kind(kind: str) -> None:
    """The trace that shows the kind has a confirmed finding of it."""
    assert kind in confirmed(SPEAKS[kind][0])


@pytest.mark.parametrize("kind", SPEAKS)
def test_a_detector_finds_nothing_in_a_near_miss(kind: str) -> None:
    """The near miss has no confirmed finding of the kind."""
    assert kind not in confirmed(SPEAKS[kind][1])


@pytest.mark.parametrize("since", [900, 200])
def test_a_link_that_is_idle_after_its_losses_is_not_dead(since: int) -> None:
    """An outage ends with the last frame that failed; what was sent a round trip before the next good one may be that.

    Too short without the silence, it is none.
    """
    lost = [row for t in range(0, since, 100) for row in ((t, True, "I RR", 1), (t, False, "BAD", -1))]
    log = [(0, False, "RR", -1), *lost, (4950, True, "I RR", 1), (5000, False, "RR", -1)]
    found = list(link_outage.detect(scene(DATA, frames=frames(*log), link_rtt_ns=100 * MS)))
    assert [(one.end_ns - one.start_ns) // MS for one in found] == ([since - 100] if since > 300 else [])


@pytest.mark.parametrize(("first", "verdict"), [(None, "confirmed"), (10, "likely"), (600, "confirmed")])
def test_a_hole_is_sure_only_where_no_packet_was_lost_in_it(first: float | None, verdict: str) -> None:
    """One that the link began to carry before the one that came next may have made the gap."""
    observed = hole(repeats=2)
    if first is not None:
        lost = segment_frames({"sent": 5, "first": first, "last": first})
        observed = replace(observed, segment_frames=pd.concat([observed.segment_frames, lost], ignore_index=True))
    found = find(observed).table
    assert found.loc[found["kind"] == "link-recovery-hole", "verdict"].tolist() == [verdict]


@pytest.mark.parametrize(("again", "holes"), [(300, 1), (600, 0)])
def test_repeats_after_the_delivery_made_no_hole(again: float, holes: int) -> None:
    """A link may send again what came: the third of four frames at 700 ms, the second before the delivery or not."""
    sent = [(20 + n, 0, n) for n in range(4)] + [(again, 1, 1), (700, 1, 2), (30, 0, 9), (35, 1, 8)]
    log = frames(*((ms, True, "I RR", transmission) for ms, transmission, _ in sent))
    log["sn_unwrapped"] = np.array([number for _, _, number in sent], dtype=log["sn_unwrapped"].dtype)
    carried = segment_frames(
        {"sent": 0, "first": 0, "last": 0, "delivered": 50},
        {"sent": 10, "first": 20, "last": 700, "delivered": 550, "frames": 6, "frame_retransmissions": 2},
    )
    observed = scene(DATA, segment_frames=carried, frames=log, link_rtt_ns=100 * MS)
    found = find(observed).table
    mine = found[found["kind"] == "link-recovery-hole"]
    assert len(mine) == holes
    assert all("made 1 repeats" in because for because in mine["because"])
    apart = find(replace(observed, log_error_ns={(0, True, 0): 60 * MS})).table  # the repeat may have been before
    verdict = "confirmed" if holes else "likely"
    assert apart.loc[apart["kind"] == "link-recovery-hole", "verdict"].tolist() == [verdict]


@pytest.mark.parametrize(("again", "stretches"), [(110, 1), (130, 2)])
def test_a_pause_between_repeats_begins_when_the_one_before_is_over(again: float, stretches: int) -> None:
    """The first repeat takes 20 ms on the air; a link round trip of 100 ms after that divides no stretch."""
    log = frames((0, True, "I RR", 1), (20, True, "I RR", 0), (again, True, "I RR", 1))
    found = find(scene(DATA, frames=log, link_rtt_ns=100 * MS)).table
    assert (found["kind"] == "link-retransmissions").sum() == stretches


def test_without_recordings_nothing_is_found() -> None:
    """Tables without a segment or a frame give no findings, and no detector fails on them."""
    assert not len(find(scene()).table)


def test_a_resend_of_data_lost_in_delivery_out_of_order_is_not_the_links_fault_for_sure() -> None:
    """A fast retransmission while the link repairs is likely competition, never confirmed."""
    found = find(held(delivered=1300, trigger="fast")).table
    assert list(found.loc[found["kind"] == "competing-recovery", "verdict"]) == ["likely"]


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("local-drop", "undecided"), ("link-recovery-hole", "likely"), ("link-outage", "undecided"),
        ("idle-link", "undecided"),
    ],
)  # fmt: skip
def test_what_is_not_in_a_log_that_lacks_frames_is_not_confirmed(kind: str, verdict: str) -> None:
    """What it lacks may be what did not seem to be there; a hole at another time does not matter."""
    speaks = SPEAKS[kind][0]
    assert isinstance(speaks, Scene)
    found = find(replace(speaks, holes=((15, 90),))).table
    assert found.loc[found["kind"] == kind, "verdict"].tolist() == [verdict]
    assert "lacks frames" in found.loc[found["kind"] == kind, "because"].iat[0]
    assert kind in confirmed(replace(speaks, holes=((2000, 2100),)))


def test_a_drop_without_a_later_packet_is_undecided() -> None:
    """Without a later packet on the link the log may have ended before."""
    found = find(dropped(later=False)).table
    assert list(found.loc[found["kind"] == "local-drop", "verdict"]) == ["undecided"]


def test_stray_arrivals_that_were_answered_are_undecided() -> None:
    """If the receiver sends while the stray packets arrive, it may have accepted them."""
    found = find(stale(checksum_ok=0, answered=True)).table
    assert "confirmed" not in set(found.loc[found["kind"] == "header-decompression-failure", "verdict"])


def test_a_repeat_has_its_own_part_of_an_opportunity() -> None:
    """It is the second of two frames that share 20 ms: the accounting charges the link's repeats from there on."""
    log = frames((0, True, "I RR", 0), (0, True, "I RR", 1), (20, True, "I RR", 0))
    seen = scene(DATA, frames=log, link_rtt_ns=100 * MS)
    found = find(replace(seen, timings={0: Timing(20 * MS, 2)})).table
    mine = found[found["kind"] == "link-retransmissions"]
    assert mine[["start_ns", "end_ns"]].to_numpy().tolist() == [[at(10), at(20)]]


@pytest.mark.parametrize(("protocol", "kept"), [("rlp", [0.015]), ("rlc-am", [])])
def test_where_no_window_is_known_a_short_wait_shows_none(protocol: str, kept: list[float]) -> None:
    """RLP's window is known; else data that waits for a frame and a half need not wait for a window."""
    seen = scene(DATA, accounting=accounting((0, 10, "new_data"), (10, 25, "flow_controlled")), link_rtt_ns=100 * MS)
    assert seen.links is not None
    links, log = seen.links.assign(protocol=[protocol] * len(seen.links)), frames((0, True, "AMD", 0))
    seen = replace(seen, links=links, link_intervals=intervals(), frames=log)
    found = find(replace(seen, timings={0: Timing(10 * MS, 1)})).table
    gaps = found.loc[found["kind"] == "flow-control-gap", "evidence"]
    assert [one["duration_s"] for one in gaps] == kept


def test_a_reset_of_another_bearer_does_not_explain_a_drop() -> None:
    """A drop stays a drop when only the other link was reset meanwhile."""
    elsewhere = replace(dropped(later=True), link_intervals=intervals(("reset", 15, 25), link=2))
    assert "local-drop" in confirmed(elsewhere)


@pytest.mark.parametrize("spurious", ["no", "yes", "unknown"])
def test_a_timeout_that_an_acknowledgement_may_have_set_off_is_undecided(spurious: str) -> None:
    """Whether it was needless or not."""
    resent = retransmissions({"ms": 300, "spurious": spurious, "late_ack": 0, "in_doubt": True})
    assert [one.verdict for one in timeout.detect(scene(DATA, retransmissions=resent))] == ["undecided"]


def test_a_timeout_of_data_without_a_captured_acknowledgement_is_undecided() -> None:
    """The first copy arrived; that no acknowledgement of it was captured does not prove that none was sent."""
    original, copy = Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=1000, came=1050, seq=1, size=1000)
    seen = [original, copy, Seen(sent=1060, came=1110, sender=1, ack=1001)]
    row = int((scene(seen).segments["time_ns"] == at(1000)).to_numpy().argmax())
    found = find(scene(seen, retransmissions=retransmissions({"ms": 1000, "segment": row, "spurious": "yes"}))).table
    assert found.loc[found["kind"].str.contains("timeout"), "verdict"].tolist() == ["undecided"]


def test_delayed_acknowledgements_are_not_taken_for_queueing() -> None:
    """Segments sent one at a time and acknowledged 200 ms late did not wait in a queue."""
    talk = [Seen(sent=300 * n, came=300 * n + 50, seq=1 + 100 * n, size=100) for n in range(40)]
    answers = [Seen(sent=300 * n + 200, came=300 * n + 250, sender=1, ack=101 + 100 * n) for n in range(40)]
    found = find(scene(sorted([*talk, *answers], key=lambda one: one.sent)))
    assert "excessive-queueing" not in set(found.table["kind"])


def test_a_queue_is_found_from_round_trips_alone() -> None:
    """Ten segments always outstanding, each acknowledged a second after it was sent."""
    data = [Seen(sent=100 * n, came=100 * n + 950, seq=1 + 100 * n, size=100) for n in range(60)]
    answers = [Seen(sent=100 * n + 950, came=100 * n + 1000, sender=1, ack=101 + 100 * n) for n in range(60)]
    found = find(scene(sorted([*data, *answers], key=lambda one: one.sent))).table
    assert found.loc[found["kind"] == "excessive-queueing", "verdict"].tolist() == ["likely"]


def test_a_burst_lasts_a_round_trip_at_most() -> None:
    """Losses one round trip apart in a row are several bursts, none longer than one."""
    sent = [Seen(sent=20 * n, seq=1 + 100 * n, size=100) for n in range(40)]
    found = find(scene(sent)).table
    bursts = found[found["kind"] == "burst-loss"]
    assert len(bursts) > 1
    assert (bursts["end_ns"] - bursts["start_ns"] <= LEAST_RTT_MS * MS).all()


@pytest.mark.parametrize(("reset", "layer"), [(False, "host"), (True, "link")])
def test_a_burst_that_did_not_reach_the_link_is_the_hosts(reset: bool, layer: str) -> None:
    """If the link carried later data; a reset between has likely flushed the burst, where no queue dropped anything."""
    subject = lost(3, 4)
    sent = [int(row) for row in subject.rows(0, 0, 0)]
    rows = [
        {"sent": 10 * n, "segment": row, "seq": 1 + 100 * n, "payload_bytes": 100}
        | ({"frames": 0, "carried_bytes": 0} if n in (3, 4) else {"first": 10 * n + 5, "last": 10 * n + 6})
        for n, row in enumerate(sent)
    ]
    spans = intervals(("reset", 41, 54)) if reset else intervals()
    found = find(replace(subject, segment_frames=segment_frames(*rows), link_intervals=spans)).table
    assert found.loc[found["kind"] == "burst-loss", "layer"].tolist() == [layer]


def test_a_recovery_is_reported_with_its_fast_retransmission() -> None:
    """Its retransmissions belong to the latest fast one of the same end, until a timeout ends the recovery."""
    rows = [
        {"ms": 1000, "trigger": "recovery"}, {"ms": 1010, "trigger": "fast"},
        {"ms": 1015, "trigger": "recovery", "sender": SERVER}, {"ms": 1020, "trigger": "recovery"},
        {"ms": 1030, "trigger": "unknown"}, {"ms": 1040, "trigger": "fast"}, {"ms": 1050, "trigger": "recovery"},
        {"ms": 1060, "trigger": "recovery"}, {"ms": 1070, "trigger": "timeout"}, {"ms": 1080, "trigger": "recovery"},
    ]  # fmt: skip
    found = find(scene(DATA, retransmissions=retransmissions(*rows))).table
    told = found[found["kind"] == "fast-retransmit"]
    assert [one["count"] for one in told["evidence"]] == [2, 3]
    assert told["end_ns"].tolist() == [at(1020), at(1060)]


@pytest.mark.parametrize(("in_doubt", "verdict"), [(False, "confirmed"), (True, "undecided")])
@pytest.mark.parametrize("spurious", ["no", "yes"])
def test_a_fast_retransmission_that_may_be_part_of_another_recovery_is_undecided(in_doubt, verdict, spurious):
    """So is what was resent after it within the same recovery."""
    rows = [{"ms": 300, "trigger": "fast", "in_doubt": in_doubt}, {"ms": 310, "trigger": "recovery"}]
    rows = [{**row, "spurious": spurious} for row in rows]
    found = list(fast_retransmit.detect(scene(DATA, retransmissions=retransmissions(*rows))))
    assert [(one.verdict, one.evidence["count"]) for one in found] == [(verdict, 2)]


@pytest.mark.parametrize(("others", "verdict"), [([], "likely"), ([False], "confirmed"), ([True], "likely")])
def test_a_probe_long_after_the_timer_is_confirmed_only_of_a_sender_that_probes(others, verdict):
    """A sender without probes resends its tail then, too; another resend that was in time shows which it is."""
    rows = [{"ms": 300, "trigger": "probe", "in_doubt": True}]
    rows += [{"ms": 900 + number, "trigger": "probe", "in_doubt": due} for number, due in enumerate(others)]
    found = list(probe.detect(scene(DATA, retransmissions=retransmissions(*rows))))
    assert found[0].verdict == verdict

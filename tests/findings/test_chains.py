"""What set each finding off."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import Seen, at, frames, retransmissions, scene, segment_frames
from two_ends import MS
from two_ends import segments as segments_table

from multitracer.findings import KINDS
from multitracer.findings.chains import STEPS, find_chains
from multitracer.findings.directions import Direction, Directions
from multitracer.findings.finding import Finding
from multitracer.findings.timer_waits import waits_begin


def one(kind: str, start: int, end: int, **more: object) -> Finding:
    """A confirmed finding, in milliseconds."""
    return Finding(kind, "link", -1, start * MS, end * MS, "confirmed", "because", {"erased": 1}, **more)  # type: ignore[arg-type]


def caused_by(*findings: Finding) -> list[int]:
    """The cause of each, where nothing was captured."""
    return find_chains(findings, scene()).caused_by.tolist()


def test_every_kind_has_its_step() -> None:
    """A kind that has no place among the steps could cause a circle."""
    steps = list(itertools.chain(*STEPS))
    assert sorted(steps) == sorted(KINDS)


def test_a_reset_is_caused_by_the_outage_before_it() -> None:
    """The outage ends where the reset begins; one long before is another matter."""
    assert caused_by(one("link-outage", 0, 5), one("link-outage", 100, 400), one("link-reset", 400, 500))[2] == 1


def test_a_full_window_is_caused_by_what_held_the_acknowledgements() -> None:
    """Of an outage and a recovery hole, by the one that shares most time with it; XOFF is the peer's own.

    Without a repeat in it, and with the link alive for most of it, the window is too small for the round trip.
    """
    outage, hole = one("link-outage", 0, 400), one("link-recovery-hole", 390, 500)
    stopped = one("flow-control-gap", 300, 410)
    dead = stopped._replace(verdict="likely", evidence={"repairing": False})
    full = dead._replace(evidence={"repairing": True})
    small = one("flow-control-gap", 395, 500)._replace(verdict="likely", evidence={"repairing": False})
    assert caused_by(outage, hole, full, dead, small, stopped) == [-1, 0, 0, 0, -1, -1]


def test_a_window_that_stays_full_while_the_link_repairs_a_loss_is_the_repairs() -> None:
    """And what the link was dead for is the outage's; else the window is too small for the round trip."""
    window, hole = one("receiver-window-limited", 0, 900), one("link-recovery-hole", 300, 700)
    full = {"cause": "idle_window_limited"}
    idle = [one("idle-link", start, end)._replace(evidence=full) for start, end in ((200, 600), (0, 400))]
    assert caused_by(window, hole, *idle) == [-1, -1, 1, 0]
    outage = one("link-outage", 350, 600)
    assert caused_by(window, hole, outage, *idle) == [-1, 2, -1, 2, 0]


def test_an_idle_link_in_a_repair_is_the_resends_that_ended_the_wait_or_began_the_repair() -> None:
    """However long ago the repair began; not an earlier resend's where the one that did is undecided.

    The wait for the timer of 900 ms began with the acknowledgement at 400; what the link did meanwhile divides it.
    """
    seen = [Seen(sent=0, came=50, seq=1, size=2000), Seen(sent=350, came=400, sender=1, ack=1001)]
    resent = retransmissions({"ms": 100, "trigger": "fast"}, {"ms": 900})
    first, second = (
        Finding(kind, "sender", 0, at(ms), at(ms), "confirmed", "because", {}, resends=(row,))
        for row, (kind, ms) in enumerate((("fast-retransmit", 100), ("timeout", 900)))
    )
    idle = [
        Finding("idle-link", "sender", -1, at(since), at(until), "confirmed", "because", {"cause": "idle_recovery"})
        for since, until in ((200, 390), (350, 500), (600, 650), (800, 902), (950, 1000))
    ]
    resent["segment"] = 0
    observed = scene(seen, retransmissions=resent)
    assert find_chains([first, second, *idle], observed).caused_by.tolist()[2:] == [0, 1, 1, 1, 1]
    doubtful = second._replace(verdict="undecided")
    assert find_chains([first, doubtful, *idle], observed).caused_by.tolist()[2:] == [0, -1, -1, -1, -1]


def test_an_idle_link_whose_resend_is_in_doubt_waited_for_what_the_link_stood_still_for() -> None:
    """For most of the wait, at least: whether the timer had to be waited for or not, nothing came through."""
    hole = one("link-recovery-hole", 100, 900)
    doubtful = one("spurious-timeout", 600, 600, resends=(0,))._replace(verdict="undecided", connection=0)
    spans = ((300, 600), (700, 890), (800, 1300))
    idle = [one("idle-link", start, end)._replace(evidence={"cause": "idle_recovery"}) for start, end in spans]
    seen = [Seen(sent=0, came=50, seq=1, size=1000)]
    observed = scene(seen, retransmissions=retransmissions({"ms": 600}))
    assert find_chains([hole, doubtful, *idle], observed).caused_by.tolist()[2:] == [0, 0, -1]


@pytest.mark.parametrize(("hole_ms", "cause"), [(190, 0), (210, -1), (290, -1)])
def test_what_stood_still_only_after_a_repair_had_begun_is_not_why_the_link_is_idle(hole_ms: int, cause: int) -> None:
    """The timer's resend at 200 ms is in doubt: had it been for a loss before, TCP would have waited as well."""
    hole = one("link-recovery-hole", 0, 0)._replace(start_ns=at(hole_ms), end_ns=at(900))
    idle = one("idle-link", 0, 0)._replace(start_ns=at(350), end_ns=at(600), evidence={"cause": "idle_recovery"})
    resent = retransmissions({"ms": 200}, {"ms": 300, "trigger": "recovery"})
    resent["segment"] = 0
    observed = scene([Seen(sent=0, came=50, seq=1, size=1000)], retransmissions=resent)
    assert find_chains([hole, idle], observed).caused_by.tolist() == [-1, cause]


@pytest.mark.parametrize(("until_ms", "cause"), [(440, 0), (460, -1)])
def test_an_idle_link_waits_for_the_acknowledgement_a_round_trip_after_a_hole(until_ms: int, cause: int) -> None:
    """A hole that holds for the lesser part of the idle time, to 300 ms; a round trip takes 150 ms."""
    hole = one("link-recovery-hole", 0, 0)._replace(start_ns=at(100), end_ns=at(300))
    idle = one("idle-link", 0, 0)._replace(
        start_ns=at(250), end_ns=at(until_ms), connection=0, evidence={"cause": "idle_window_limited", "link": 0}
    )
    row = {"sent": 0, "first": 1, "segment": 0}
    observed = scene([Seen(sent=0, came=75, seq=1, size=1000)], segment_frames=segment_frames(row))
    observed = replace(observed, directions=Directions.of(
        [one._replace(least_rtt_ns=150 * MS, data_bytes=1000) for one in observed.directions]
    ))  # fmt: skip
    assert find_chains([hole, idle], observed).caused_by.tolist() == [-1, cause]


def test_what_the_application_left_idle_is_its_however_little_of_that_is_known() -> None:
    """New data ends it, and no acknowledgement that a round trip brings."""
    limited, idle = one("application-limited", 100, 200), one("idle-link", 100, 900)
    assert caused_by(limited, idle._replace(evidence={"cause": "idle_sender"})) == [-1, 0]


@pytest.mark.parametrize(("spurious", "cause"), [("no", 0), ("yes", -1)])
def test_an_idle_link_whose_resend_is_in_doubt_waited_for_what_lost_the_rest(spurious: str, cause: int) -> None:
    """The timer's resend is in doubt; the reset flushed what its repair sent again next, unless that was needless."""
    seen = [Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(2)]
    seen += [Seen(sent=600, seq=1, size=1000), Seen(sent=610, seq=1001, size=1000)]
    resent = retransmissions(
        {"ms": 600, "spurious": "yes", "segment": 2},
        {"ms": 610, "seq": 1001, "trigger": "recovery", "spurious": spurious, "segment": 3},
    )
    reset = Finding("link-reset", "link", 0, at(100), at(150), "confirmed", "because", {}, segments=(0, 1))
    idle = one("idle-link", 0, 0)._replace(start_ns=at(200), end_ns=at(600), evidence={"cause": "idle_recovery"})
    assert find_chains([reset, idle], scene(seen, retransmissions=resent)).caused_by.tolist() == [-1, cause]


@pytest.mark.parametrize("cause", ["idle_recovery", "idle_window_limited"])
def test_an_idle_link_waited_for_the_standstill_that_was_over_when_it_went_on(cause: str) -> None:
    """Not for that of the other direction, which began later and went on while TCP sent again."""
    holes = one("link-recovery-hole", 100, 601), one("link-recovery-hole", 300, 900)
    idle = one("idle-link", 350, 600)._replace(evidence={"cause": cause})
    assert caused_by(*holes, idle)[2] == 0
    assert caused_by(*reversed(holes), idle)[2] == 1
    longer = one("idle-link", 350, 700)._replace(evidence={"cause": cause})
    assert caused_by(*holes, longer)[2] == 1


def test_an_idle_link_waits_for_a_timer_by_the_only_capture() -> None:
    """That at the data's receiver: the wait begins there with the last acknowledgement that the receiver sent."""
    seen = [Seen(sent=0, came=50, seq=1, size=2000), Seen(sent=350, came=400, sender=1, ack=1001)]
    observed = scene(seen, retransmissions=retransmissions({"ms": 900}))
    main, other = observed.directions
    main = main._replace(sender_point=-1)
    observed = replace(observed, directions=Directions.of([main, other]))
    assert waits_begin(observed, main, np.array([at(900), at(300)])).tolist() == [at(350), at(50)]


def test_nobody_waited_for_a_timer_whose_data_was_on_its_way() -> None:
    """An idle link before a spurious timeout belongs to the repair that had begun before, one after it to that."""
    resent = retransmissions({"ms": 0, "trigger": "fast"}, {"ms": 500, "spurious": "yes"})
    resent["segment"] = 0
    repairs = [
        Finding(kind, "sender", 0, at(ms), at(ms), "confirmed", "because", {}, resends=(row,))
        for row, (kind, ms) in enumerate((("fast-retransmit", 0), ("spurious-timeout", 500)))
    ]
    idle = [
        Finding("idle-link", "sender", -1, at(since), at(until), "confirmed", "because", {"cause": "idle_recovery"})
        for since, until in ((300, 502), (900, 1000))
    ]
    observed = scene([Seen(sent=0, came=50, seq=1, size=1000)], retransmissions=resent)
    assert find_chains([*repairs, *idle], observed).caused_by.tolist()[2:] == [0, 1]


def test_a_timer_that_no_finding_reports_is_waited_for() -> None:
    """Whatever the last finding is: an undecided timeout is nobody's finding, and nothing else is charged."""
    resent = retransmissions({"ms": 0, "trigger": "fast"}, {"ms": 500}, {"ms": 2000, "spurious": "yes"})
    resent["segment"] = 0
    kinds = (("fast-retransmit", 0, "confirmed"), ("timeout", 500, "undecided"))
    repairs = [
        Finding(kind, "sender", 0, at(ms), at(ms), verdict, "because", {}, resends=(row,))
        for row, (kind, ms, verdict) in enumerate(kinds)
    ]
    idle = Finding("idle-link", "sender", -1, at(300), at(502), "confirmed", "because", {"cause": "idle_recovery"})
    last = Finding("spurious-timeout", "sender", 0, at(2000), at(2000), "confirmed", "because", {}, resends=(2,))
    observed = scene([Seen(sent=0, came=50, seq=1, size=1000)], retransmissions=resent)
    assert find_chains([*repairs, idle, last], observed).caused_by.tolist()[2] == -1


def test_an_idle_link_waits_for_the_application_of_any_stream_that_it_carries() -> None:
    """Of the one that is open then; what the other end of it sends, which another link carries, does not count."""
    table = segments_table(
        {"time_ns": [at(0), at(1)], "connection": [0, 1], "sender": [0, 1], "payload_bytes": [1000, 1000]}
    )
    carried = segment_frames({"link": 0, "segment": 0}, {"link": 0, "segment": 1})
    base = scene().connections
    connections = pd.concat([base, base], ignore_index=True)
    connections["start_ns"], connections["end_ns"] = [0, 96 * MS], [95 * MS, 300 * MS]
    observed = scene(segment_frames=carried, segments=table, connections=connections)
    limited = [
        one("application-limited", start, end)._replace(connection=connection, evidence={"sender": sender})
        for connection, sender, start, end in ((0, "client", 0, 90), (1, "server", 100, 190), (1, "client", 200, 290))
    ]
    evidence = {"cause": "idle_sender", "link": 0}
    idle = [one("idle-link", start, start + 90)._replace(evidence=evidence) for start in (0, 100, 200)]
    assert find_chains([*limited, *idle], observed).caused_by.tolist() == [-1, -1, -1, 0, 1, -1]


def test_an_idle_link_is_not_charged_to_a_stream_beside_the_largest() -> None:
    """The accounting says why the largest that is open was idle: another's full window has nothing to do with it."""
    table = segments_table({"time_ns": [at(0), at(1)], "connection": [0, 1], "payload_bytes": [1000, 10]})
    base = scene().connections.assign(start_ns=0, end_ns=300 * MS)
    directions = Directions.of(Direction(number, 0, 0, 1, MS, data_bytes=size) for number, size in ((0, 1000), (1, 10)))
    observed = scene(
        segment_frames=segment_frames({"segment": 0}, {"segment": 1}), segments=table, directions=directions,
        connections=pd.concat([base, base], ignore_index=True),
    )  # fmt: skip
    closed = one("zero-window", 0, 90)._replace(connection=1)
    idle = one("idle-link", 0, 90)._replace(evidence={"cause": "idle_window_limited", "link": 0})
    assert find_chains([closed, idle], observed).caused_by.tolist() == [-1, -1]
    assert find_chains([closed._replace(connection=0), idle], observed).caused_by.tolist() == [-1, 0]


def test_an_idle_link_is_not_charged_with_the_other_ends_resends() -> None:
    """The link's data is the client's: what the server sent again, later than the client, began no repair of it."""
    seen = [Seen(sent=0, came=50, size=9000), Seen(sent=100, came=150, sender=1, size=500)]
    resent = retransmissions({"ms": 0, "trigger": "fast", "segment": 0}, {"ms": 100, "trigger": "fast", "segment": 2})
    found = [
        Finding("fast-retransmit", "sender", 0, at(ms), at(ms), "confirmed", "because", {}, resends=(row,))
        for row, ms in enumerate((0, 100))
    ]
    idle = Finding("idle-link", "sender", -1, at(300), at(500), "confirmed", "because", {"cause": "idle_recovery"})
    observed = scene(seen, retransmissions=resent)
    assert observed.column("sender")[[0, 2]].tolist() == [0, 1]
    assert find_chains([*found, idle], observed).caused_by.tolist()[2] == 0


def test_what_happened_on_another_link_or_connection_sets_nothing_off() -> None:
    """Two bearers: the reset of one is not caused by the outage of the other; nor do connections share causes."""
    outage = one("link-outage", 100, 400, bearer=0)
    assert caused_by(outage, one("link-reset", 400, 500, bearer=2)) == [-1, -1]
    assert caused_by(outage, one("link-reset", 400, 500, bearer=0)) == [-1, 0]
    closed = one("zero-window", 0, 900)._replace(connection=1)
    assert caused_by(closed, one("receiver-window-limited", 100, 800)._replace(connection=2)) == [-1, -1]
    assert caused_by(closed, one("receiver-window-limited", 100, 800)._replace(connection=1)) == [-1, 0]


def test_what_loses_nothing_is_no_cause_of_a_needed_resend() -> None:
    """XOFF while the lost segment was outstanding did not lose it."""
    sent = [Seen(0, None, seq=1, size=100), Seen(300, 350, seq=1, size=100)]
    observed = scene(sent, retransmissions=retransmissions({"ms": 300}))
    again = int(observed.rows(0, 0, 0)[1])
    observed = replace(observed, retransmissions=observed.retransmissions.assign(segment=[again]))
    stop, resend = one("flow-control-gap", 50, 250), one("timeout", 300, 300, segments=[again], resends=[0])
    chains = find_chains([stop, resend], observed)
    assert chains.caused_by.tolist() == [-1, -1]
    assert chains.layer.tolist() == ["link", "unknown"]


def test_a_needed_resend_is_caused_by_what_lost_the_earlier_copy() -> None:
    """By the segment, not by the time: the drop was long before."""
    sent = [Seen(0, None, seq=1, size=100), Seen(10, 60, seq=101, size=100), Seen(300, 350, seq=1, size=100)]
    observed = scene(sent, retransmissions=retransmissions({"ms": 300}))
    first, other, again = observed.rows(0, 0, 0).tolist()
    observed = replace(observed, retransmissions=observed.retransmissions.assign(segment=[again]))
    for segment, cause in ((first, 0), (other, -1)):
        drop = one("local-drop", 0, 0, segments=np.array([segment]))
        chains = find_chains([drop, one("timeout", 300, 300, segments=[again], resends=[0])], observed)
        assert chains.caused_by.tolist() == [-1, cause]
        assert chains.resent_for.tolist() == [0 if cause == 0 else 1]


def test_a_timer_that_resent_what_had_arrived_waited_for_lost_acknowledgements() -> None:
    """It resends also what a queue dropped: only where no acknowledgement was lost, that is why it expired.

    And where the link did not tell that it gave some up.
    """
    sent = [Seen(ms, came, seq=seq, size=100) for ms, came, seq in
            ((0, 50, 1), (10, None, 101), (300, 350, 1), (310, 360, 101))]  # fmt: skip
    observed = scene(sent, retransmissions=retransmissions({"ms": 300, "spurious": "yes"}, {"ms": 310}))
    _, dropped, *again = observed.rows(0, 0, 0).tolist()
    observed = replace(observed, retransmissions=observed.retransmissions.assign(segment=again, late_ack=0))
    drop = one("local-drop", 10, 10, segments=np.array([dropped]))
    told = {"sender": "server", "highest_ack": 101}
    acks = Finding("ack-loss", "link", 0, at(60), at(60), "confirmed", "because", told)
    timeout = Finding("timeout", "sender", 0, at(300), at(310), "confirmed", "because", {}, again, resends=[0, 1])
    assert find_chains([drop, acks, timeout], observed).caused_by.tolist() == [-1, -1, 1]
    assert find_chains([drop, timeout], observed).caused_by.tolist() == [-1, 0]
    for link, cause in ((0, 0), (1, -1)):  # of the data's direction, or that of the acknowledgements
        told = frames((200, True, "MRW", 0)).assign(link=link)
        carried = segment_frames({"segment": int(observed.rows(0, 0, 0)[0]), "first": 1})
        with_log = replace(observed, frames=told, segment_frames=carried)
        assert find_chains([drop, timeout], with_log).caused_by.tolist() == [-1, cause]


def test_without_proof_of_what_lost_the_data_a_timeout_has_no_layer() -> None:
    """Neither the sender nor the link is accused."""
    chains = find_chains([one("timeout", 300, 300, resends=[])], scene())
    assert chains.layer.tolist() == ["unknown"]


@pytest.mark.parametrize(
    ("later_came", "discards", "cause"),
    [(None, None, 1), (600, None, 1), (300, None, -1), (None, (0, 250), -1), (None, (1, 250), 1), (None, (0, 50), -1)],
    ids=["nothing came", "after it", "before it", "discarded", "other direction", "unanswered"],
)  # fmt: skip
def test_acknowledgements_that_the_link_lost_are_flushed_by_the_next_reset_until_something_came(
    later_came: float | None, discards: tuple[int, float] | None, cause: int
) -> None:
    """Lost at 100 and 200 ms on link 0, reset at 500; unless an MRW told that what there was is discarded."""
    seen = [
        *(Seen(sent=ms, came=None, sender=1, ack=100) for ms in (100, 200)),
        Seen(sent=250, came=later_came, sender=1, ack=200),
    ]
    rows = tuple({"sender": 1, "segment": row, "sent": 100, "first": 100, "last": 110} for row in (0, 1))
    log = frames((discards[1], True, "MRW", 0)) if discards else frames((0, True, "AMD", 0))
    log["link"] = np.int16(discards[0] if discards else 0)
    observed = scene(seen, segment_frames=segment_frames(*rows), frames=log)
    loss = Finding("ack-loss", "link", 0, at(100), at(200), "confirmed", "because", {}, segments=(0, 1))
    for connection in (-1, 0, 7):  # of another connection, too: it had more data on that link
        reset = Finding("link-reset", "link", connection, at(500), at(520), "confirmed", "because", {}, bearer=0)
        assert find_chains([loss, reset], observed).caused_by.tolist() == [cause, -1]
    elsewhere = reset._replace(bearer=2)
    assert find_chains([loss, elsewhere], observed).caused_by.tolist() == [-1, -1]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 100), st.integers(0, 100)), max_size=12))
def test_no_chain_is_a_circle(drawn: list[tuple[str, int, int]]) -> None:
    """Following causes always ends at a root."""
    findings = [one(kind, min(a, b), max(a, b)) for kind, a, b in drawn]
    causes = caused_by(*findings)
    for number in range(len(findings)):
        seen = set()
        while number >= 0:
            assert number not in seen
            seen.add(number)
            number = causes[number]

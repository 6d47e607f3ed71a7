"""What is true of a run in the words of findings: scenes of a few packets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from multitracer.replay.record import findings_truth
from multitracer.replay.record.findings_truth import Event, TrueFindings
from multitracer.replay.tcp.packets import ACK, DATA, SYN


@pytest.mark.parametrize(("times", "expected"), [((3,), []), ((3, 1003, 3003), [("handshake-retry", 3, 3003)])])
def test_a_syn_that_was_sent_again_is_a_handshake_retry(times: tuple[int, ...], expected: list[Any]) -> None:
    """From the first to the last of one end; what is no SYN does not count."""
    packets = [(at, 0, SYN) for at in times] + [(3500, 1, SYN | ACK), (4000, 0, DATA), (5000, 0, DATA)]
    segments = [SimpleNamespace(flow=SimpleNamespace(number=0), end=end) for end in (0, 1)]
    copies = [
        SimpleNamespace(sent_ns=at, packet=SimpleNamespace(bits=bits), segment=segments[end])
        for at, end, bits in packets
    ]
    run = SimpleNamespace(copies=copies)
    true: Any = SimpleNamespace(accounting=SimpleNamespace(side=SimpleNamespace(run=run)))
    found = TrueFindings._handshakes(true)
    assert [(one.kind, one.start_ns, one.end_ns) for one in found] == expected


@pytest.mark.parametrize(
    ("packets", "trip_ns", "expected"), [(20, 100, [(0, 1140)]), (12, 100, []), (20, 0, [])], ids=str
)
def test_packets_that_wait_longer_than_a_round_trip_for_many_of_them_queue(
    packets: int, trip_ns: int, expected: list[Any]
) -> None:
    """One each 60 ns waits 150 ns; ten round trips make a queue, and where none was measured (0) nobody knows."""
    copies = [SimpleNamespace(sent_ns=60 * n) for n in range(packets)]
    on_air = {id(one): (one.sent_ns + 150, one.sent_ns + 160) for one in copies}
    transfers = [SimpleNamespace(copies=copies, least_trip_ns=trip_ns)]
    side = SimpleNamespace(first_times=on_air)
    true: Any = SimpleNamespace(accounting=SimpleNamespace(side=side, transfers=transfers))
    assert [(one.start_ns, one.end_ns) for one in TrueFindings._queues(true)] == expected


@pytest.mark.parametrize(("outage", "root"), [(False, "excessive-queueing"), (True, "link-outage")])
def test_what_a_queue_held_up_was_sent_again_for_the_queue(outage: bool, root: str) -> None:
    """Unless the link stood still meanwhile: then that held up the queue, too."""
    true = TrueFindings.__new__(TrueFindings)
    true.found = [Event("excessive-queueing", 0, 1000), *([Event("link-outage", 400, 500)] if outage else [])]
    true._of_kinds = {}
    earlier = SimpleNamespace(sent_ns=100)
    transfer: Any = SimpleNamespace(earlier=lambda _: earlier, on_its_way=lambda _: True)
    held_up = true._held_up("spurious-timeout", transfer, SimpleNamespace(copy=SimpleNamespace(sent_ns=900)))  # type: ignore[arg-type]
    assert held_up is not None
    assert held_up.kind == root


@pytest.mark.parametrize(("begins", "kind"), [(1000, None), (999, "link-recovery-hole")])
def test_what_begins_as_a_wait_ends_did_not_make_it(begins: int, kind: str | None) -> None:
    """The link was idle up to 1000: a hole that begins then is what followed."""
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds = [Event("link-recovery-hole", begins, 1500)], {}
    why = true._why_idle("idle_window_limited", 100, 1000)
    assert (why.kind if why is not None else None) == kind


@pytest.mark.parametrize(("begins", "kind"), [(500, "link-outage"), (501, None)])
def test_an_outage_sets_off_the_repeats_that_begin_as_it_ends(begins: int, kind: str | None) -> None:
    """They repeat what it erased; those that begin later repeat something else."""
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds = [Event("link-outage", 400, 500)], {}
    found = true.overlapping(("link-outage",), begins, 600)
    assert (found and found.kind) == kind


def test_nothing_is_said_of_resends_whose_trigger_is_not_known() -> None:
    """Nor of those that follow one in its recovery: what it was is unexplained, until the next that is known."""
    triggers = ["timeout", "recovery", "", "recovery", "fast"]
    resends = [
        SimpleNamespace(trigger=trigger, spurious=False, copy=SimpleNamespace(sent_ns=at))
        for at, trigger in enumerate(triggers)
    ]
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds = [], {}
    transfers = [SimpleNamespace(resends=resends, earlier=lambda _: None)]
    true.accounting = SimpleNamespace(transfers=transfers)  # type: ignore[assignment]
    assert [(one.kind, one.start_ns, one.end_ns) for one in true._resends()] == [
        ("timeout", 0, 1), ("unexplained", 2, 3), ("fast-retransmit", 4, 4),
    ]  # fmt: skip


def test_a_needless_timeout_is_set_off_by_the_loss_of_its_acknowledgements() -> None:
    """Those lost at 10 and 15 ns, within a round trip of 8 ns, are one loss, that at 40 ns is another, data is none."""
    acks = [
        SimpleNamespace(taken=came, sent_ns=at, lost_ns=None, packet=SimpleNamespace(bits=bits))
        for at, came, bits in ((10, False, ACK), (12, True, ACK), (15, False, ACK), (20, False, DATA), (40, False, ACK))
    ]
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds, true.__dict__["tcp_trip_ns"] = [], {}, 8
    transfer = SimpleNamespace(
        acks=acks, earlier=lambda _: SimpleNamespace(sent_ns=5), on_its_way=lambda _: False,
        acks_lost=lambda _: [acks[2]],
    )  # fmt: skip
    true.accounting = SimpleNamespace(transfers=[transfer])  # type: ignore[assignment]
    true.found += true._ack_losses()
    assert [(one.kind, one.start_ns, one.end_ns) for one in true.found] == [("ack-loss", 10, 15), ("ack-loss", 40, 40)]
    resend = SimpleNamespace(spurious=True, copy=SimpleNamespace(sent_ns=60))
    timeout = true._resent("timeout", transfer, [resend])  # type: ignore[arg-type]
    assert timeout.chain == ["ack-loss", "timeout"]


@pytest.mark.parametrize(("trip_ns", "expected"), [(90, [(0, 100)]), (110, []), (0, [])])
def test_a_limit_is_long_by_the_round_trip_of_its_own_transfer(
    trip_ns: int, expected: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application limited it for 100 ns; where no round trip was measured (0) nobody knows whether that is long."""
    monkeypatch.setattr(findings_truth, "causes_of", lambda _: {"application": [(0, 100)]})
    transfer: Any = SimpleNamespace(least_trip_ns=trip_ns)
    assert [(one.start_ns, one.end_ns) for one in findings_truth._limits(transfer)] == expected


@pytest.mark.parametrize(("since", "root"), [(0, "application-limited"), (50, "idle-link")])
def test_what_ended_as_a_link_fell_idle_did_not_leave_it_idle(since: int, root: str) -> None:
    """The application limited a transfer until 50 ns; the link was idle from 0 or from 50 ns on."""
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds = [Event("application-limited", 0, 50)], {}
    idle = Event("idle-link", since, 900, true._why_idle("idle_sender", since, 900))
    assert idle.root.kind == root


def test_a_link_is_idle_once_either_end_has_sent_data() -> None:
    """A request at 100 ns, its reply at 900 ns: the link waited in between, and before them for the handshake."""
    copies = [SimpleNamespace(sent_ns=at, packet=SimpleNamespace(bits=bits)) for at, bits in
              ((0, SYN), (100, DATA), (900, DATA))]  # fmt: skip
    true = TrueFindings.__new__(TrueFindings)
    true.found, true._of_kinds = [], {}
    reply = SimpleNamespace(session=(900, 1000), least_trip_ns=50)
    true.accounting = SimpleNamespace(  # type: ignore[assignment]
        side=SimpleNamespace(run=SimpleNamespace(copies=copies)), transfers=[reply],
        causes={"idle_sender": [(10, 90), (120, 850)]},
    )  # fmt: skip
    assert [(one.start_ns, one.end_ns) for one in true._idle()] == [(120, 850)]

"""What lost acknowledgements, and which of them a timer waited for."""

from __future__ import annotations

import pandas as pd
import pytest
from scenes import SERVER, Seen, at, frames, links, retransmissions, scene, segment_frames

from multitracer.findings.chains import find_chains
from multitracer.findings.finding import Finding

ANSWER = {"link": 1, "sender": SERVER, "payload_bytes": 0, "frames": 1}
LOST = Finding(
    "ack-loss", "link", 0, at(100), at(110), "likely", "because",
    {"count": 1, "link": 1, "sender": "server", "highest_ack": 201}, bearer=0,
)  # fmt: skip
RESET = Finding("link-reset", "link", 0, at(500), at(520), "confirmed", "because", {}, bearer=0)


def cause(later: float | None = None, log: pd.DataFrame | None = None) -> int:
    """What flushed an acknowledgement that was on the air from 100 ms on; a `later` one came at that time."""
    rows = [{"first": 100, "last": 110, "ack": 201, "last_sn": 0, **ANSWER}]
    rows += [] if later is None else [{"first": 120, "last": 130, "delivered": later, "ack": 301, **ANSWER}]
    seen = [Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=900, came=950, seq=1001, size=1000)]
    table = segment_frames(*rows)
    log = frames((100, False, "I RR", 0)) if log is None else log
    observed = scene(seen, segment_frames=table, frames=log, links=links())
    return int(find_chains([LOST, RESET], observed).caused_by[0])


@pytest.mark.parametrize(("later", "flushed"), [(None, True), (600, True), (300, False)])
def test_a_reset_flushed_what_was_lost_if_nothing_later_came_before_it(later: float | None, flushed: bool) -> None:
    """Lost at 100 ms, reset at 500."""
    assert cause(later) == (1 if flushed else -1)


def test_what_the_sender_knew_to_have_come_no_reset_flushed() -> None:
    """Its only frame was acknowledged before the reset: the far end took an old frame for it."""
    log = frames((100, True, "I RR", 0), (200, False, "RR", 0), (130, True, "I RR", 0))
    log["link"] = [1, 0, 1]
    for acknowledged, flushed in ((0, True), (1, False)):
        numbers = log.assign(sn_unwrapped=[0, -1, 1], nr=[-1, acknowledged, -1])
        assert cause(log=numbers) == (1 if flushed else -1)


def test_what_the_entity_may_have_given_up_no_reset_flushed() -> None:
    """It told so with an MRW that names nothing."""
    mrw = frames((300, True, "MRW", 0))
    assert cause(log=mrw.assign(link=1)) == -1
    assert cause(log=mrw) == 1


@pytest.mark.parametrize(("first_ack", "loser"), [(1001, 0), (1, 1)])
def test_a_timer_waited_for_the_first_acknowledgement_of_the_octets_that_was_lost(first_ack: int, loser: int) -> None:
    """They were sent three times; each time the acknowledgement was lost, or first one of what was before them."""
    answers = [Seen(sent=100, sender=1, ack=first_ack), Seen(sent=700, sender=1, ack=1001)]
    copies = [Seen(sent=ms, came=ms + 50, seq=1, size=1000) for ms in (0, 600, 1200)]
    seen = [copies[0], answers[0], copies[1], answers[1], copies[2]]
    observed = scene(seen)
    time, point = (observed.segments[name].to_numpy() for name in ("time_ns", "point"))
    row = {ms: next(n for n in range(len(time)) if time[n] == at(ms) and point[n] == side)
           for ms, side in ((100, 1), (600, 0), (700, 1), (1200, 0))}  # fmt: skip
    needless = {"spurious": "yes", "late_ack": 0}
    resent = retransmissions(*({"ms": ms, "segment": row[ms], **needless} for ms in (600, 1200)))
    lost = [
        Finding("ack-loss", "link", 0, at(ms), at(ms), "confirmed", "because", {}, segments=(row[ms],))
        for ms in (100, 700)
    ]
    timeout = Finding("timeout", "sender", 0, at(1200), at(1200), "confirmed", "because", {}, resends=(1,))
    assert find_chains([*lost, timeout], scene(seen, retransmissions=resent)).caused_by.tolist() == [-1, -1, loser]


@pytest.mark.parametrize(
    ("sender", "highest", "found"), [("server", 1001, True), ("client", 1001, False), ("server", None, False)]
)
def test_acknowledgements_of_the_other_direction_or_without_numbers_explain_no_timer(
    sender: str, highest: int | None, found: bool
) -> None:
    """By the link's logs the server's acknowledgement of the client's octets was lost."""
    seen = [Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=600, came=650, seq=1, size=1000)]
    rows = scene(seen).rows(0, 0, 0).tolist()
    resent = retransmissions({"ms": 600, "segment": rows[1], "spurious": "yes", "late_ack": 0})
    evidence = {"count": 1, "link": 1, "sender": sender} | ({} if highest is None else {"highest_ack": highest})
    lost = LOST._replace(evidence=evidence)
    timeout = Finding("timeout", "sender", 0, at(600), at(600), "confirmed", "because", {}, resends=(0,))
    caused = find_chains([lost, timeout], scene(seen, retransmissions=resent)).caused_by.tolist()
    assert caused == [-1, 0 if found else -1]

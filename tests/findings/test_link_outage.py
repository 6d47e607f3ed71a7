"""Times in which a link was dead, by the logs of both its ends."""

from __future__ import annotations

import pytest
from scenes import Seen, at, links, scene

from multitracer.findings import link_outage
from multitracer.findings.finding import Finding
from multitracer.link.frames import number_frames
from multitracer.model.schema import build

MS = 1_000_000
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))


def detected(rows: list[tuple[float, int, str, bool, str, int]]) -> list[Finding]:
    """The outages of a link with a round trip of 100 ms; rows of ms, log, side, whether sent, type and number.

    What the mobile sent is link 0.
    """
    ms, log, side, way, kind, sn = zip(*rows, strict=True)
    times = [at(one) for one in ms]
    link = [int((name == "mobile") != is_sent) for name, is_sent in zip(side, way, strict=True)]
    columns = {
        "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times, "link": link,
        "side": side, "sent": way, "type": kind, "sn": sn, "nr": [0] * len(rows), "nacks": [()] * len(rows),
    }  # fmt: skip
    frames = number_frames(build("frames", columns), links(), NO_EVENTS)
    observed = scene([Seen(0, 50, size=100)], frames=frames, links=links(), link_rtt_ns=100 * MS)
    return list(link_outage.detect(observed))


@pytest.mark.parametrize(
    ("sent_ms", "came", "found"), [(480, "BAD", [("likely", 100, 550)]), (480, "I RR", []), (520, "BAD", [])]
)
def test_an_outage_may_have_one_frame_that_the_other_log_shows_to_be_lost(
    sent_ms: float, came: str, found: list[tuple[str, int, int]]
) -> None:
    """Sent less than a round trip before the next good frame came, and to come before that; 50 ms each way."""
    sent = [(10, "I RR", 0), (50, "I RR", 1), (sent_ms, "I RR", 2), (500, "I RR", 3)]
    rows = [(ms, 0, "mobile", True, kind, sn) for ms, kind, sn in sent]
    arrived = [(60, "I RR", 0), (100, "I RR", 1), (sent_ms + 50, came, -1 if came == "BAD" else 2), (550, "I RR", 3)]
    rows += [(ms, 1, "network", False, kind, sn) for ms, kind, sn in arrived]
    told = [(one.verdict, (one.start_ns - at(0)) // MS, (one.end_ns - at(0)) // MS) for one in detected(rows)]
    assert told == found


@pytest.mark.parametrize(("came", "found"), [("BAD", [("likely", 515, 725)]), ("I RR", [])])
def test_an_outage_has_what_was_under_way_when_it_began(came: str, found: list[tuple[str, int, int]]) -> None:
    """The last of 25 frames, sent 35 ms before the last good frame came, is repeated 195 ms later; 50 ms each way."""
    sent = [(20 * n, n) for n in range(25)] + [(675, 24)]
    rows = [(ms, 0, "mobile", True, "I RR", sn) for ms, sn in sent] + [(515, 0, "mobile", False, "RR", -1)]
    rows += [(ms + 50, 1, "network", False, came if ms == 480 else "I RR", sn) for ms, sn in sent]
    told = detected([(*row[:5], -1 if row[4] == "BAD" else row[5]) for row in rows])
    assert [(one.verdict, (one.start_ns - at(0)) // MS, (one.end_ns - at(0)) // MS) for one in told] == found
    assert [(one.evidence["sent"], one.evidence["under_way"]) for one in told] == [(0, 1)] * len(found)

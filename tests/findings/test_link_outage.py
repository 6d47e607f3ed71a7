"""Times in which a link was dead, by the logs of both its ends."""

from __future__ import annotations

import pytest
from scenes import Seen, at, links, scene

from multitracer.findings import link_outage
from multitracer.link.frames import number_frames
from multitracer.model.schema import build

MS = 1_000_000
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))


@pytest.mark.parametrize(("came", "found"), [("BAD", [("likely", 515, 725)]), ("I RR", [])])
def test_an_outage_has_what_was_under_way_when_it_began(came: str, found: list[tuple[str, int, int]]) -> None:
    """The last of 25 frames, sent 35 ms before the last good frame came, is repeated 195 ms later; 50 ms each way."""
    sent = [(20 * n, n) for n in range(25)] + [(675, 24)]
    rows = [(ms, 0, "mobile", True, "I RR", sn) for ms, sn in sent] + [(515, 0, "mobile", False, "RR", -1)]
    rows += [(ms + 50, 1, "network", False, came if ms == 480 else "I RR", sn) for ms, sn in sent]
    ms, log, side, way, kind, sn = zip(*rows, strict=True)
    times = [at(one) for one in ms]
    table = build(
        "frames",
        {
            "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times,
            "link": [1 if one == 515 else 0 for one in ms], "side": side, "sent": way, "type": kind,
            "sn": [-1 if one == "BAD" else number for one, number in zip(kind, sn, strict=True)],
            "nr": [0] * len(rows), "nacks": [()] * len(rows),
        },
    )  # fmt: skip
    frames = number_frames(table, links(), NO_EVENTS)
    told = list(link_outage.detect(scene([Seen(0, 50, size=100)], frames=frames, links=links(), link_rtt_ns=100 * MS)))
    assert [(one.verdict, (one.start_ns - at(0)) // MS, (one.end_ns - at(0)) // MS) for one in told] == found
    assert [(one.evidence["sent"], one.evidence["under_way"]) for one in told] == [(0, 1)] * len(found)

"""Stretches in which one cause limited a sender: what makes one finding, whose layer, and when it is undecided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scenes import Seen, accounting, frames, limits, scene, segment_frames
from two_ends import START

from multitracer.compute import threads
from multitracer.findings import Observations, find
from multitracer.findings.data_gaps import weights_of
from multitracer.findings.directions import Directions
from multitracer.findings.limited_stretches import limited
from multitracer.findings.observations import MS
from multitracer.model.schema import ACK, FIN, RST

DATA = [Seen(sent=10 * n, came=10 * n + 50, seq=1 + 1000 * n, size=1000) for n in range(20)]
STALL = limits(("path_stall", 0, 500))


def of(kind: str, observed: Observations) -> pd.DataFrame:
    """The findings of a kind."""
    found = find(observed).table
    return found[found["kind"] == kind].reset_index(drop=True)


def test_stretches_close_together_make_one_finding() -> None:
    """Its cost is theirs, without the gaps; a gap of more than a round trip divides it."""
    spans = (("application", 0, 200), ("application", 300, 500), ("application", 700, 900))
    found = of("application-limited", scene(DATA, limits=limits(*spans)))
    assert [evidence["limited_s"] for evidence in found["evidence"]] == [0.4, 0.2]
    assert "in 2 stretches it cost 0.40 s (4.0 round trips)" in found["because"][0]


def test_stretches_that_are_alike_share_one_sentence() -> None:
    """It is made once, however many they are; what is noted in the evidence of one is not in that of the others."""
    spans = (("application", 0, 200), ("application", 700, 900), ("application", 1400, 1500))
    found = of("application-limited", scene(DATA, limits=limits(*spans)))
    first, second, third = found["because"]
    assert first is second
    assert "it cost 0.10 s" in third
    assert (found["start_ns"].diff()[1:] // MS).tolist() == [700, 700]
    assert [evidence["limited_s"] for evidence in found["evidence"]] == [0.2, 0.2, 0.1]
    found["evidence"][0]["noted"] = True
    assert "noted" not in found["evidence"][1]


@pytest.mark.parametrize("cause", ["receiver_window", "path_stall"])
def test_stretches_of_other_causes_that_are_alike_share_one_sentence_too(cause: str) -> None:
    """And each keeps its own time."""
    found = of(cause.replace("_window", "-window-limited").replace("_stall", "-stall"), scene(
        DATA, limits=limits((cause, 0, 500), (cause, 1000, 1500), (cause, 2000, 2600))
    ))  # fmt: skip
    first, second, third = found["because"]
    assert first is second
    assert first != third
    assert ((found["end_ns"] - found["start_ns"]) // MS).tolist() == [500, 500, 600]


@pytest.mark.parametrize("came", [None, 70], ids=["at one point", "at two points"])
def test_a_capture_ends_with_its_latest_packet(came: float | None) -> None:
    """Which need not be its last: a clock was set back. Each point has its own."""
    observed = scene([Seen(sent=20, came=came, size=100), Seen(sent=90, came=None, seq=101, size=100)])
    backwards = observed.segments.iloc[::-1].reset_index(drop=True)
    ends = replace(observed, segments=backwards).last_ns
    assert ((ends - START) // MS).tolist() == [90, *([70] if came else [])]


def ended(*, acked: int, at_ms: float, then_ms: float, flags: int = 0) -> list[Seen]:
    """Four segments at once, an acknowledgement of the first `acked` of them, and later another segment."""
    burst = [Seen(sent=0, came=50, seq=1 + 1000 * n, size=1000) for n in range(4)]
    ack = Seen(sent=at_ms - 50, came=at_ms, sender=1, ack=1 + 1000 * acked)
    return [*burst, ack, Seen(sent=then_ms, came=then_ms + 50, seq=4001, size=1000, flags=flags)]


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (ended(acked=4, at_ms=100, then_ms=300), "confirmed"),
        (ended(acked=4, at_ms=267, then_ms=300), "undecided"),
        (ended(acked=2, at_ms=267, then_ms=300), "undecided"),
        (ended(acked=2, at_ms=100, then_ms=300), "likely"),
    ],
)
def test_the_application_is_sure_only_while_nothing_is_outstanding(seen: list[Seen], verdict: str) -> None:
    """A host that is 33 ms late under a full send buffer looks much the same up to its last acknowledgement."""
    found = of("application-limited", scene(seen, limits=limits(("application", 0, 300))))
    assert found["verdict"].tolist() == [verdict]


@pytest.mark.parametrize(
    ("window", "flags", "later_ms", "verdict"),
    [(65535, ACK, 450, "likely"), (65535, ACK, 240, "undecided"), (500, ACK, 450, "undecided"),
     (65535, ACK | RST, 450, "undecided")],
    ids=["nothing follows", "the capture ends", "the window is too small", "it was reset"],
)  # fmt: skip
def test_what_nothing_follows_was_not_held_back_by_a_window(
    window: int, flags: int, later_ms: float, verdict: str
) -> None:
    """Once all is acknowledged, a window would have let go what it held back: here for longer than 100 ms nothing came.

    The last packet is of the other end, which sends on; a reset would have thrown away what was left.
    """
    seen = ended(acked=2, at_ms=100, then_ms=300)[:-1]
    acks = [Seen(sent=150, came=200, sender=1, ack=4001, window=window)]
    other = [Seen(sent=later_ms - 50, came=later_ms, sender=1, seq=1, size=10, ack=4001, flags=flags)]
    if flags & RST:
        other.insert(0, Seen(sent=160, came=210, sender=1, seq=1, ack=4001, flags=flags))
    found = of("application-limited", scene([*seen, *acks, *other], limits=limits(("application", 0, 200))))
    assert found["verdict"].tolist() == [verdict]
    assert ("nothing can have been held back" in found["because"][0]) == (verdict == "likely")


@pytest.mark.parametrize(("since_ms", "verdict"), [(-200, "confirmed"), (60, "likely")])
def test_the_flight_of_the_last_data_is_only_a_round_trip(since_ms: float, verdict: str) -> None:
    """A FIN alone follows. With the time before it is confirmed; the last flight is no longer than itself."""
    data = [Seen(sent=0, came=50, seq=1, size=1000), Seen(sent=0, came=50, seq=1001, flags=ACK | FIN)]
    more = [Seen(sent=-200, came=-150, seq=-999, size=1000)]
    acks = [Seen(sent=-100, came=-50, sender=1, ack=1), Seen(sent=120, came=170, sender=1, ack=1001)]
    found = of("application-limited", scene([*more, *data, *acks], limits=limits(("application", since_ms, 170))))
    assert found["verdict"].tolist() == [verdict]


def test_stretches_of_several_connections_are_weighed_alike_in_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the captures at the sender's side hold nothing of a direction."""
    observed = scene(ended(acked=4, at_ms=100, then_ms=300), limits=limits(("application", 0, 300)))
    one = limited(observed, "application", group_rtts=1.0).at([0, 0, 0])
    asked = one._replace(stop_ns=one.stop_ns - np.array([0, 150, 0]) * MS)
    alone = [weights_of(observed, asked.at([row])).tolist()[0] for row in range(3)]
    monkeypatch.setattr(threads, "WORTH_SHARING", 1)
    monkeypatch.setattr(threads, "processors", lambda: 2)
    assert weights_of(observed, asked).tolist() == alone
    assert [row[0] // MS for row in alone] == [200, 50, 200]
    unseen = replace(observed, directions=Directions.of(end._replace(sender_point=-1) for end in observed.directions))
    assert not weights_of(unseen, asked).any()


def test_what_is_shorter_than_the_host_is_late_elsewhere_is_not_sure() -> None:
    """Nothing outstanding for 200 ms proves nothing of a host that was 250 ms late while data was outstanding."""
    late = [
        Seen(sent=1000, came=1050, seq=5001, size=1000), Seen(sent=1000, came=1050, seq=6001, size=1000),
        Seen(sent=1050, came=1100, sender=1, ack=6001), Seen(sent=1350, came=1400, seq=7001, size=1000),
    ]  # fmt: skip
    seen = [*ended(acked=4, at_ms=100, then_ms=300), Seen(sent=400, came=450, sender=1, ack=5001), *late]
    found = of("application-limited", scene(seen, limits=limits(("application", 0, 300))))
    assert found["verdict"].tolist() == ["likely"]


@pytest.mark.parametrize(
    ("window", "verdict"), [(5000, "likely"), (2999, "undecided"), (-1, "undecided"), (None, "undecided")]
)
def test_a_senders_log_tells_the_application_from_a_full_congestion_window(window: int | None, verdict: str) -> None:
    """Two of four segments are acknowledged and no more follow: the buffer has room, and the window has by the log."""
    seen = ended(acked=2, at_ms=100, then_ms=300)[:-1]
    last = Seen(sent=350, came=400, sender=1, ack=4001)
    rows = None if window is None else np.full(2 * (len(seen) + 1), window, dtype=np.int64)
    found = of("application-limited", scene([*seen, last], limits=limits(("application", 0, 400)), cwnd_bytes=rows))
    assert found["verdict"].tolist() == [verdict]


@pytest.mark.parametrize(
    ("causes", "server_bytes", "verdict"),
    [
        (((0, 150, "new_data"), (150, 400, "idle_sender")), 0, "likely"),
        (((0, 350, "new_data"), (350, 400, "idle_sender")), 0, "undecided"),
        (((0, 260, "new_data"), (260, 320, "idle_sender"), (320, 330, "link_retransmitted"),
          (330, 400, "idle_sender")), 0, "likely"),
        (((0, 260, "new_data"), (260, 350, "link_retransmitted"), (350, 400, "idle_sender")), 0, "undecided"),
        (((0, 150, "new_data"), (150, 400, "idle_sender")), 5000, "undecided"),
    ],
    ids=["idle", "busy", "idle but for a repeat", "repeating", "the other direction's link"],
)  # fmt: skip
def test_a_link_that_had_something_new_to_carry_within_a_round_trip_may_be_the_limit(
    causes: tuple[tuple[float, float, str], ...], server_bytes: int, verdict: str
) -> None:
    """Though the windows have room; once it was idle for a round trip of 100 ms the application was, whatever repeats.

    The log accounts for the direction with most data.
    """
    seen = ended(acked=2, at_ms=100, then_ms=300)[:-1]
    theirs = [Seen(sent=0, came=50, sender=1, size=server_bytes)] if server_bytes else []
    every = [*seen, *theirs, Seen(sent=350, came=400, sender=1, ack=4001)]
    rows = np.full(2 * len(every), 5000, dtype=np.int64)
    spans = limits(("application", 0, 400))
    found = of("application-limited", scene(every, limits=spans, cwnd_bytes=rows, accounting=accounting(*causes)))
    assert found["verdict"].tolist() == [verdict]


@pytest.mark.parametrize(("by_arrivals", "layer"), [(True, "path"), (False, "unknown")])
def test_a_stall_is_the_paths_only_if_both_captures_say_so(*, by_arrivals: bool, layer: str) -> None:
    """From one capture the receiver may have held its acknowledgements back."""
    found = of("path-stall", scene(DATA, limits=limits(("path_stall", 0, 500), by_arrivals=by_arrivals)))
    assert found["layer"].tolist() == [layer]


def test_a_stall_is_not_the_paths_where_a_link_log_shows_what_happened() -> None:
    """The log covers that time, and the transfer's segments are in it."""
    log = {"frames": frames((0, True, "I RR", 0), (600, True, "I RR", 0)), "limits": STALL}
    assert of("path-stall", scene(DATA, **log, segment_frames=segment_frames({"sent": 0}))).empty
    assert len(of("path-stall", scene(DATA, **log, segment_frames=segment_frames()))) == 1
    early = {**log, "frames": frames((-900, True, "I RR", 0), (-600, True, "I RR", 0))}
    assert len(of("path-stall", scene(DATA, **early, segment_frames=segment_frames({"sent": 0})))) == 1


def test_in_a_capture_with_holes_it_is_undecided() -> None:
    """A resend or data of the application may be missing; what is longer than two round trips elsewhere is sure."""
    hole = [*DATA, Seen(sent=300, came=350, sender=1, ack=50_000, marks=("acks_unseen",))]
    spans = limits(
        ("path_stall", 400, 900), ("application", 0, 310), ("receiver_window", 1000, 1300), ("application", 2000, 2150)
    )
    found = find(scene(hole, limits=spans, lost_records=[1, 0])).table.set_index("kind")["verdict"]
    assert found["path-stall"] == "undecided"
    assert set(found["application-limited"]) == {"undecided"}
    assert found["receiver-window-limited"] == "confirmed"


def test_a_closed_window_is_found_beside_either_end() -> None:
    """The sender's capture has the acknowledgements that closed it and opened it, too."""
    closed = Seen(sent=100, came=150, sender=1, ack=1001, window=0, marks=("zero_window",))
    seen = scene([*DATA, closed, Seen(sent=700, came=750, sender=1, ack=1001)])
    for near, far in ((0, -1), (-1, 0)):
        ends = [one._replace(sender_point=near if one.sender == 0 else far) for one in seen.directions]
        ends = [one._replace(receiver_point=far if one.sender == 0 else near) for one in ends]
        found = of("zero-window", replace(seen, directions=Directions.of(ends)))
        assert found["layer"].tolist() == ["receiver"]
        assert "opened 600.0 ms after" in found["because"][0]

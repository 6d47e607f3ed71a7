"""What became of each transmission of a frame, by the log of the other end."""

from __future__ import annotations

from typing import Any

import pytest
from cut_logs import Cut, analysed_with_cut
from labelled import BOTH_LAYERS, analysed

from multitracer import Analysis
from multitracer.link.coverage import coverage
from multitracer.link.frames import DATA_TYPES, number_frames
from multitracer.link.outcomes import ARRIVED, DAMAGED, UNHEARD, UNTOLD, outcomes
from multitracer.model.schema import build

MS = 1_000_000
START = 1_700_000_000 * 10**9
LINKS = build(
    "links",
    {"link": [0, 1], "protocol": ["rlp"] * 2, "bearer": ["", ""], "sender": ["mobile", "network"], "reverse": [1, 0]},
)
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))


def found(sent: list[tuple[int, int]], came: list[tuple[int, int]], damaged: list[int]) -> list[int]:
    """The outcomes of frames sent at some ms with some N(S), of which the far end logged these, 180 ms later."""
    rows = [(at, 0, True, "I RR", sn) for at, sn in sent] + [(at, 1, False, "I RR", sn) for at, sn in came]
    rows += [(at, 1, False, "BAD", -1) for at in damaged]
    at, log, way, kind, sn = zip(*rows, strict=True)
    times = [START + one * MS for one in at]
    table = build(
        "frames",
        {
            "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times,
            "link": [0] * len(rows), "side": ["mobile" if n == 0 else "network" for n in log], "sent": way,
            "type": kind, "sn": sn, "nr": [0] * len(rows), "nacks": [()] * len(rows),
        },
    )  # fmt: skip
    numbered = number_frames(table, LINKS, NO_EVENTS)
    covered = coverage(numbered, LINKS, 0, by_sender=False)
    return outcomes(numbered, 0, covered)[: len(sent)].tolist()


def test_a_frame_arrived_that_the_other_end_logged_a_transit_later() -> None:
    """Its repeat, not the first transmission, when only that came; the first one came damaged."""
    sent = [(0, 0), (20, 1), (40, 2), (60, 3), (500, 1), (520, 4)]
    came = [(180, 0), (220, 2), (240, 3), (680, 1), (700, 4)]
    assert found(sent, came, [200]) == [ARRIVED, DAMAGED, ARRIVED, ARRIVED, ARRIVED, ARRIVED]


def test_of_two_frames_that_are_missing_one_damaged_arrival_tells_nothing() -> None:
    """Both were due in the same opportunity: that the log has nothing of them is all that is known."""
    sent = [(0, 0), (20, 1), (20, 2), (40, 3), (60, 4)]
    assert found(sent, [(180, 0), (220, 3), (240, 4)], [200]) == [ARRIVED, UNHEARD, UNHEARD, ARRIVED, ARRIVED]


def test_what_was_due_outside_of_the_receivers_log_is_not_told() -> None:
    """Before its first record, and after its last one."""
    sent = [(at, at // 20) for at in range(0, 200, 20)]
    came = [(at + 180, at // 20) for at in range(40, 160, 20)]
    assert found(sent, came, []) == [UNTOLD, UNTOLD, *[ARRIVED] * 6, UNTOLD, UNTOLD]


def test_without_the_receivers_log_nothing_is_told() -> None:
    """Nor where it has other frames."""
    sent = [(at, at // 20) for at in range(0, 200, 20)]
    assert set(found(sent, [], [])) == {UNTOLD}
    assert set(found(sent, [(at + 180, 40 + at // 20) for at in range(0, 200, 20)], [])) == {UNTOLD}


def became_of(analysis: Analysis, link: int) -> Any:
    """The outcomes of the frames of a link, by what the analysis says of the receiver's log."""
    assert analysis.links.received is not None
    return outcomes(analysis.tables["frames"], link, analysis.links.received(link))


@pytest.mark.data
@pytest.mark.parametrize("folder", ["rlp-bad", "rlp-good"])
def test_what_was_due_where_the_receivers_log_lacks_frames_is_not_told(folder: str) -> None:
    """No frame that arrived by the whole log is called unheard, or damaged, by one with a hole; the others stay."""
    whole, cut = analysed(folder), analysed_with_cut(folder, Cut(("network",), 0.4, 0.6))
    link = whole.links.main
    assert link is not None
    logged = [one.tables["frames"].assign(became=became_of(one, link)) for one in (whole, cut)]
    sent = [one[(one["link"] == link) & one["sent"] & one["type"].isin(DATA_TYPES)] for one in logged]
    assert sent[0]["record"].tolist() == sent[1]["record"].tolist()
    before, after = (one["became"].to_numpy() for one in sent)
    changed = before != after
    assert set(after[changed].tolist()) == {UNTOLD}
    assert 0.15 < changed.mean() < 0.3


@pytest.mark.data
@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_every_frame_of_the_recordings_arrived_or_came_damaged(folder: str) -> None:
    """Both ends logged all of them: no more came damaged than the receiver logged as such."""
    analysis = analysed(folder)
    frames = analysis.tables["frames"]
    for link in (0, 1):
        own = frames["link"] == link
        became = became_of(analysis, link)
        numbered = (own & frames["sent"] & frames["type"].isin(["I RR", "AMD"])).to_numpy()
        assert set(became[numbered].tolist()) <= {ARRIVED, DAMAGED}
        assert (became == DAMAGED).sum() <= (own & (frames["type"] == "BAD")).sum()

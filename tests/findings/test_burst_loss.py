"""Segments that were lost together where no capture at the receiver shows it: by the log of the link's far end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from scenes import Seen, frames, intervals, scene, segment_frames

from multitracer.findings import find
from multitracer.findings.directions import Directions

SENT = [Seen(sent=10 * n, seq=1 + 1000 * n, size=1000) for n in range(5)]
LATER = Seen(sent=900, seq=5001, size=1000)
LOST = (1, 3)


def carried(lost: tuple[int, ...] = LOST, **columns: Any) -> pd.DataFrame:
    """The link's frames of all six: the second and the fourth were never whole at its far end, or others."""
    rows = [
        {"sent": one.sent, "first": one.sent + 2, "last": one.sent + 4, "seq": one.seq, "segment": number}
        | ({} if number in lost else {"delivered": one.sent + 9})
        for number, one in enumerate([*SENT, LATER])
    ]
    return segment_frames(*rows).assign(**columns)


def bursts(table: pd.DataFrame, acknowledged: int, **parts: Any) -> pd.DataFrame:
    """The findings of bursts with this table, without a capture at the receiver."""
    seen = scene([*SENT, LATER, Seen(sent=950, came=960, sender=1, ack=acknowledged)])
    points = ("receiver_point", "sender_point")
    alone = [one._replace(**{name: -1}) for one, name in zip(seen.directions, points, strict=True)]
    found = find(
        replace(
            seen, directions=Directions.of(alone), frames=frames((3, True, "I RR", 0)), segment_frames=table, **parts
        )
    )
    return found.table[found.table["kind"] == "burst-loss"]


def test_what_was_never_whole_at_the_far_end_was_lost_together() -> None:
    """Two of five segments that were sent within a round trip; the link had one among them whole."""
    found = bursts(carried(), 1001, link_intervals=intervals())
    assert found[["layer", "verdict"]].to_numpy().tolist() == [["link", "likely"]]
    assert (found["evidence"].iat[0]["count"], found["evidence"].iat[0]["got_through"]) == (2, 1)
    assert "by the log of its far end" in found["because"].iat[0]


@pytest.mark.parametrize(
    ("columns", "acknowledged"),
    [({}, 2001), ({"matched_by": "bytes"}, 1001), ({"link": [0, 0, 0, 2, 0, 0]}, 1001)],
    ids=["log that lacks what was acknowledged", "sizes alone", "two links"],
)
def test_a_log_that_was_not_understood_shows_no_loss(columns: dict[str, Any], acknowledged: int) -> None:
    """What TCP acknowledged arrived; sizes may be those of others; what one link lost, another may have carried."""
    assert bursts(carried(**columns), acknowledged, link_intervals=intervals()).empty


def test_at_the_log_s_end_nothing_shows_a_loss() -> None:
    """What the far end did not have when its log ended may have come after it."""
    assert bursts(carried().iloc[:4].assign(delivered_ns=[1, -1, 1, -1]), 1001, link_intervals=intervals()).empty


@pytest.mark.parametrize(("lost", "flushed"), [((3, 4), True), (LOST, False)])
def test_a_reset_that_flushed_most_of_a_burst_is_its_cause(lost: tuple[int, ...], flushed: bool) -> None:
    """All were last sent before the reset; what stands before data that came out by then was lost before."""
    found = bursts(carried(lost), 1001, link_intervals=intervals(("reset", 60, 80)))
    assert (found["caused_by"].iat[0] >= 0) == flushed

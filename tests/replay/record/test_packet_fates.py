"""What became of each packet of a simulated run, by the log of the link."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.replay.arq import notes
from multitracer.replay.arq.rlp.state import FLUSH
from multitracer.replay.record.packet_fates import PacketFates
from multitracer.replay.simulate.transport import TCP_FLOW


def fates(protocol: str, *rows: tuple[int, ...]) -> list[tuple[int | None, int | None]]:
    """When two packets of 100 octets each were delivered and lost, by rows of (time, side, event, octets, number)."""
    copies: list[Any] = [SimpleNamespace(delivered_ns=None, lost_ns=None) for _ in range(2)]
    given = {(0, number): one for number, one in enumerate(copies)}
    story = PacketFates(SimpleNamespace(given=given), rlp=protocol == "rlp")  # type: ignore[arg-type]
    offered = (0, 0, notes.OFFERED, 100, 0), (0, 0, notes.OFFERED, 100, 1)
    story.take(np.array([(*row, TCP_FLOW) for row in (*offered, *rows)], dtype=notes.ROW))
    return [(one.delivered_ns, one.lost_ns) for one in copies]


@pytest.mark.parametrize(
    ("flushed", "expected"),
    [(60, [(None, None), (None, 9)]), (100, [(None, None), (None, 9)]), (101, [(None, 9), (None, 9)])],
)
def test_what_a_reset_gave_up_a_part_of_is_lost(flushed: int, expected: list[Any]) -> None:
    """Also where its peer had acknowledged the rest, and delivered it wrongly."""
    assert fates("rlp", (9, 0, FLUSH, flushed, 200)) == expected


def test_what_came_all_the_same_is_not_lost() -> None:
    """Frames may be on their way when their sender gives them up; and what was delivered before is not given up."""
    delivered = (5, 1, notes.DELIVERED, 100, 0)
    late = (10, 1, notes.DELIVERED, 100, 1)
    assert fates("rlp", delivered, (9, 0, FLUSH, 101, 200), late) == [(5, None), (10, None)]


def test_the_events_of_other_protocols_are_their_own() -> None:
    """Codes of events above those that all have mean something else elsewhere."""
    assert fates("rlc-am", (9, 0, FLUSH, 200, 200)) == [(None, None), (None, None)]

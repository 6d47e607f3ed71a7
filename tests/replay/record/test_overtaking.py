"""Which segments later ones overtook: scenes of when each was sent and came."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from multitracer.replay.record.overtaking import overtaken


def groups(*segments: tuple[int, ...]) -> list[tuple[int, int]]:
    """The groups by when each segment was sent, and when it came; a third time says that it was sent again."""
    sendings = {
        seq: [SimpleNamespace(sent_ns=sent, came_ns=came)] * (1 + len(again))
        for seq, (sent, came, *again) in enumerate(segments)
    }
    transfer: Any = SimpleNamespace(sendings=sendings)
    return list(overtaken(transfer, pause_ns=10))


def test_what_keeps_its_order_is_not_overtaken() -> None:
    """Also where several come at one instant."""
    assert groups((0, 5), (1, 5), (2, 7)) == []


def test_overtaken_segments_near_one_another_are_one_group() -> None:
    """From the first of them that came to the last; after a longer pause another group begins."""
    assert groups((0, 5), (1, 30), (2, 6), (3, 7), (40, 90), (41, 46), (42, 47)) == [(6, 7), (46, 47)]


def test_what_was_sent_twice_does_not_count() -> None:
    """Its copies may come in any order."""
    assert groups((0, 30, 1), (1, 5), (2, 6)) == []

"""Segments that later ones overtook on a link that does not keep its packets in order."""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.replay.record.known_run import Copy
from multitracer.replay.record.transfer import Transfer


def overtaken(transfer: Transfer, pause_ns: float) -> Iterator[tuple[int, int]]:
    """From the first to the last arrival of each group of those that were sent once, with no longer pause."""
    once = [same[0] for same in transfer.sendings.values() if len(same) == 1 and same[0].came_ns is not None]
    latest, group = 0, list[Copy]()
    for one in sorted(once, key=lambda copy: copy.sent_ns):
        came = one.came_ns or 0
        if came >= latest:
            latest = came
            continue
        if group and one.sent_ns - group[-1].sent_ns > pause_ns:
            yield _span(group)
            group = []
        group.append(one)
    if group:
        yield _span(group)


def _span(group: list[Copy]) -> tuple[int, int]:
    came = [one.came_ns for one in group if one.came_ns is not None]
    return min(came), max(came)

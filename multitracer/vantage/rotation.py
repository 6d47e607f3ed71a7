"""Rotated captures: a file that goes on where another of the same interface ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multitracer.model.schema import SYN

if TYPE_CHECKING:
    import pandas as pd

_EDGE_PACKETS = 4096
"""Packets at the end of one file and the start of the next that are compared."""


def continues_capture(early: pd.DataFrame, late: pd.DataFrame) -> bool:
    """Whether the packets `late` of one file go on with the connections of `early` of another."""
    begins = late[:_EDGE_PACKETS]
    before, after = _progress(early[-_EDGE_PACKETS:]), _progress(begins)
    opened = _opened(begins)
    verdicts = [key not in opened and _progresses(before[key], after[key]) for key in before.keys() & after.keys()]
    return bool(verdicts) and sum(verdicts) * 2 > len(verdicts)


def _opened(some: pd.DataFrame) -> set[tuple[int, int]]:
    """The (flow, direction) of which the first packet opens a connection."""
    first = some.drop_duplicates(["flow", "direction"])
    first = first[first["flags"].to_numpy() & SYN > 0]
    return set(zip(first["flow"].tolist(), first["direction"].tolist(), strict=True))


def _progress(some: pd.DataFrame) -> dict[tuple[int, int], tuple[int, int, int, int]]:
    """Per (flow, direction): first and last raw_seq and raw_ack."""
    grouped = some.groupby(["flow", "direction"], sort=False)[["raw_seq", "raw_ack"]]
    first, last = grouped.first(), grouped.last()
    values = np.column_stack([first.to_numpy(), last.to_numpy()]).astype(np.int64)
    return {
        (int(flow), int(direction)): (int(seq), int(last_seq), int(ack), int(last_ack))
        for (flow, direction), (seq, ack, last_seq, last_ack) in zip(first.index, values, strict=True)
    }


def _progresses(before: tuple[int, int, int, int], after: tuple[int, int, int, int]) -> bool:
    """Whether sequence and acknowledgement numbers advance, rather than start again."""
    for start, end, now in ((before[0], before[1], after[0]), (before[2], before[3], after[2])):
        progress, gained = _sequence_difference(start, end), _sequence_difference(start, now)
        if progress > 0 and 2 * gained < progress:
            return False
    return before != after


def _sequence_difference(start: int, end: int) -> int:
    """`end` minus `start` in sequence space (RFC 9293 3.4), negative when behind."""
    return (end - start + (1 << 31)) % (1 << 32) - (1 << 31)

"""The journal of a run: what TCP's ends sent and received, and what lies below was given, in order of time.

An ordinary run keeps none: its tables have no rows. A run that is recorded has room for some, and they are taken out
and forgotten part by part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multitracer.compute.kernels import merged
from multitracer.replay.arq.fields import codes, numbers, record, table
from multitracer.replay.tcp.interface import OBSERVED
from multitracer.replay.tcp.packets import PACKET

SENT, CAME, LATE, EXPIRED, GIVEN, DROPPED = codes(6)
"""An end sent a packet; one came to it; one came that belongs to an earlier connection; its timers ran out; the link
was given a packet; a queue had no room for it."""
ROW = numbers("time_ns what end number taken")
"""`end` is a row of TCP's ends; of a packet for the link it is the side, `number` the SDU's, and `taken` whether the
link took it."""
_STATE = numbers("rows noted")


class Journal(NamedTuple):
    """Rows, the packet of each, and what the end's TCP was like then; `state.noted` counts also what found no room."""

    state: Any
    rows: Any
    packets: Any
    seen: Any


def journal(rows: int) -> Journal:
    """An empty journal with room for so many rows; 0: none is kept."""
    return Journal(record(_STATE), table(rows, ROW), table(rows, PACKET), table(rows, OBSERVED))


@merged
def enter_row(journal: Any, what: int, end: int, now: int) -> int:
    """Begin a row; its number, -1 where there is no room."""
    at = journal.state.rows
    journal.state.noted += 1
    if at >= len(journal.rows):
        return -1
    row = journal.rows[at]
    row.time_ns, row.what, row.end, row.number, row.taken = now, what, end, 0, 1
    journal.state.rows = at + 1
    return at

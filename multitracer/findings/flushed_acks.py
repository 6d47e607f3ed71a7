"""Which reset of a link flushed acknowledgements that never came: the first until something sent later did.

What an RLC entity may have discarded by itself (25.322 9.7.3) looks the same, and so does what the sender knew to have
come: its peer took an old frame for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.discards import PERHAPS, Until, given_up_before, packets_given_up
from multitracer.findings.finding_index import MOST, NONE, Ints
from multitracer.findings.known_arrivals import come_before, known_to_have_come

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.findings.finding import Finding
    from multitracer.findings.finding_index import FindingIndex
    from multitracer.findings.observations import Observations

_FLUSHES = ("link-reset", "link-release")


class _Lost(NamedTuple):
    """Acknowledgements that were lost on a link."""

    link: int
    came_ns: int
    """When something that was sent later came, or the connection was over."""
    rows: Ints
    """Those captured, as rows of segments."""
    logged: pd.DataFrame | None = None
    """Those that only the link's logs have, as rows of segment_frames."""


def flushed_by(observed: Observations, index: FindingIndex, one: Finding) -> int:
    """The finding of the reset that flushed what `one`, an `ack-loss` of the link, lost; NONE where none did."""
    lost = _captured(observed, one) if len(one.segments) else _logged(observed, one)
    if lost is None:
        return NONE
    # A reset is told of the connection with most data, and flushes what the bearer had of all.
    of_bearer = one._replace(connection=NONE, bearer=observed.bearer_number(lost.link))
    number = index.first(_FLUSHES, of_bearer, one.end_ns, lost.came_ns)
    if number == NONE:
        return NONE
    until = Until.reset(observed, lost.link, *index.span(number))
    return NONE if _lost_otherwise(observed, lost, until).mean() > MOST else number


def _captured(observed: Observations, one: Finding) -> _Lost | None:
    table, rows = observed.segment_frames, np.asarray(one.segments, dtype=np.int64)
    if table is None:
        return None
    links = np.unique(table["link"].to_numpy()[np.isin(table["segment"].to_numpy(), rows)])
    connection, sender = (int(observed.column(name)[rows[0]]) for name in ("connection", "sender"))
    direction = observed.direction(connection, sender)
    if len(links) != 1 or direction is None:
        return None
    time, arrival, sent = observed.column("time_ns"), observed.arrival, observed.rows_sent(direction)
    later = sent[(time[sent] > one.end_ns) & (observed.arrived[sent] == 1) & (arrival[sent] >= 0)]
    over = max(int(observed.connections["end_ns"].iloc[connection]), one.end_ns)
    return _Lost(int(links[0]), int(time[arrival[later]].min(initial=over)), rows)


def _logged(observed: Observations, one: Finding) -> _Lost | None:
    table = observed.segment_frames
    if table is None or "link" not in one.evidence:
        return None
    link = int(one.evidence["link"])
    mine = table[(table["link"] == link).to_numpy()]
    first, came = (mine[name].to_numpy() for name in ("first_frame_ns", "delivered_ns"))
    over = max(int(observed.connections["end_ns"].iloc[one.connection]), one.end_ns)
    never = (came < 0) & (mine["segment"] < 0).to_numpy() & (mine["payload_bytes"] == 0).to_numpy()
    name = observed.connections[str(one.evidence["sender"])].iat[one.connection]
    never &= ((mine["connection"] == one.connection) & (mine["sender"] == name)).to_numpy()
    logged = mine[never & (first >= one.start_ns) & (first <= one.end_ns)]
    later = came[(came >= 0) & (first > one.end_ns)]
    return _Lost(link, int(later.min(initial=over)), np.empty(0, dtype=np.int64), logged) if len(logged) else None


def _lost_otherwise(observed: Observations, lost: _Lost, until: Until) -> npt.NDArray[np.bool_]:
    """Which of them were, or may have been."""
    if lost.logged is None:
        known: npt.NDArray[np.bool_] = known_to_have_come(observed, lost.link, lost.rows, until.start_ns) == 1
        return known | (given_up_before(observed, lost.link, lost.rows, until) == PERHAPS)
    known_of = come_before(observed, lost.link, until.start_ns)
    had = np.zeros(len(lost.logged), dtype=np.bool_)
    if known_of is not None:
        had = lost.logged.index.isin(known_of[0].index[known_of[1] == 1])
    given_up = packets_given_up(observed, lost.link, lost.logged, until)
    return had if given_up is None else had | (given_up == PERHAPS)

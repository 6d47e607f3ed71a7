"""Data was in flight, none of it lost, and nothing arrived for more than two round trips.

With a log of the link that carried the data, other findings say what the link did meanwhile.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding_columns import FindingColumns
from multitracer.findings.limited_stretches import (
    Limited,
    distinct_stretches,
    findings_of,
    incomplete,
    limited,
    of_each,
)
from multitracer.findings.needs import LIMITS
from multitracer.findings.observations import Observations

KINDS = ("path-stall",)
NEEDS = (LIMITS,)

_IN_FLIGHT = "data was in flight, nothing of it had to be resent, and "
_WHATS = _IN_FLIGHT + "nothing arrived at the receiver", _IN_FLIGHT + "nothing was acknowledged"
"""What was seen, by the receiver's capture and by acknowledgements."""


def detect(observed: Observations) -> FindingColumns:
    """One finding for each stretch in which a path stood still that no log describes."""
    assert observed.limits is not None  # by NEEDS
    found = limited(observed, "path_stall", group_rtts=0)
    found = found.at((found.cost_ns > observed.thresholds.stall_rtts * found.rtt_ns) & ~_described(observed, found))
    found = found._replace(hole=found.hole | incomplete(observed, found.end))
    by_arrivals = observed.limits.by_arrivals[found.end]
    rows, which = distinct_stretches(found, by_arrivals)
    seen = by_arrivals[rows]
    layers = np.where(seen & (observed.frames is None), "path", "unknown")
    made = findings_of("path-stall", found.at(rows), layers.tolist(), np.where(seen, *_WHATS).tolist())
    return of_each(made, which, found)


def _described(observed: Observations, found: Limited) -> npt.NDArray[np.bool_]:
    """Of which stretches a link's log says what happened then to what the end sent."""
    frames, table = observed.frames, observed.segment_frames
    if frames is None or table is None or not len(table):
        return np.zeros(len(found.end), dtype=np.bool_)
    own = table[["connection", "sender"]].drop_duplicates()
    logged = {(int(connection), str(sender)) for connection, sender in own.itertuples(index=False)}
    names = [observed.connections[name].tolist() for name in ("client", "server")]
    ends = [(end // 2, str(names[end % 2][end // 2])) in logged for end in found.end.tolist()]
    return np.array(ends, dtype=np.bool_) & (
        (frames["time_ns"].min() < found.stop_ns) & (frames["time_ns"].max() > found.start_ns)
    )

"""Where a segment was lost: in the host's queue, in the link, or on a path of which there is no log."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.correlation.queue_fates import DROPPED, FLUSHED, LIKELY_FLUSHED, ON_AIR
from multitracer.findings.observations import Observations

NO_LOG, IN_QUEUE, IN_LINK, IN_RESET, LIKELY_IN_RESET, NOT_PROVEN = range(6)
WHERE = {
    NO_LOG: ("path", ""),
    IN_QUEUE: ("host", "; the link put none of them on the air, and carried what was sent after them"),
    IN_LINK: ("link", "; the link had them all on the air"),
    IN_RESET: ("link", "; the link put none of them on the air before a reset flushed what waited for it"),
    LIKELY_IN_RESET: (
        "link",
        "; likely a reset flushed them: the link put none of them on the air before it, and nothing shows that a queue ever"
        " dropped one",
    ),
    NOT_PROVEN: ("unknown", "; the link's log does not show where"),
}
"""The layer that lost a segment, and how the reason says so."""

_PLACES = {DROPPED: IN_QUEUE, FLUSHED: IN_RESET, LIKELY_FLUSHED: LIKELY_IN_RESET, ON_AIR: IN_LINK}


def places_of_loss(observed: Observations) -> Any:
    """For each row of `segments`, where it was lost if it was: int8, keys of WHERE.

    Without a link's log what is lost between two captures is lost on the path; with one nothing is.
    """
    logged = observed.frames is not None
    places = np.full(len(observed.segments), NOT_PROVEN if logged else NO_LOG, dtype=np.int8)
    table, fates = observed.segment_frames, observed.fates
    if table is None or fates is None:
        return places
    sure = (table["matched_by"] == "payload").to_numpy() & (table["segment"] >= 0).to_numpy()
    segment = table["segment"].to_numpy()
    for fate, place in _PLACES.items():
        mine = sure & (fates.fate == fate)
        places[segment[mine]] = place
    return places

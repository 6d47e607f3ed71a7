"""Where a segment was lost: in the host's queue, in the link, or on a path of which there is no log."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.correlation.queue_fates import DROPPED, FLUSHED, LIKELY_FLUSHED, ON_AIR
from multitracer.findings.observations import Observations

NO_LOG, IN_QUEUE, IN_LINK, IN_RESET, LIKELY_IN_RESET, NOT_PROVEN = range(6)
LAYER_OF = np.array(["path", "host", "link", "link", "link", "unknown"], dtype=object)
"""The layer of each place."""
_SAID = {
    NO_LOG: "",
    IN_QUEUE: "; the link put none of them on the air, and carried what was sent after them",
    IN_LINK: "; the link had them on the air",
    IN_RESET: "; a reset flushed them",
    LIKELY_IN_RESET: "; likely a reset flushed them, as nothing shows that a queue ever dropped one",
    NOT_PROVEN: "; the link's log does not show where",
}

_PLACES = {DROPPED: IN_QUEUE, FLUSHED: IN_RESET, LIKELY_FLUSHED: LIKELY_IN_RESET, ON_AIR: IN_LINK}


def said(places: Any) -> str:
    """How a reason says where segments of one layer were lost, from the place of each: by the least certain of them."""
    return _SAID[int(np.max(places))]


def places_of_loss(observed: Observations) -> Any:
    """For each row of `segments`, where it was lost if it was: int8.

    Without a link's log what is lost between two captures is lost on the path; with one nothing is.
    """
    logged = observed.frames is not None
    places = np.full(len(observed.segments), NOT_PROVEN if logged else NO_LOG, dtype=np.int8)
    table, fates = observed.segment_frames, observed.fates
    if table is None or fates is None:
        return places
    # What a monitor heard on the air may have arrived, or not: only the stations know.
    heard = [link for link in table["link"].unique().tolist() if observed.monitored(int(link))]
    sure = (table["matched_by"] == "payload").to_numpy() & (table["segment"] >= 0).to_numpy()
    sure &= ~table["link"].isin(heard).to_numpy()
    segment = table["segment"].to_numpy()
    for fate, place in _PLACES.items():
        mine = sure & (fates.fate == fate)
        places[segment[mine]] = place
    return places

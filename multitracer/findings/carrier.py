"""Which layer carried some segments between two captures: the link whose log has them all, or a path without a log."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.findings.observations import Observations


def carrier(observed: Observations, rows: Any) -> str:
    """The layer between two captures of these rows of `segments`.

    `path` without a link's log, `link` where its log shows all of them on the air, else `unknown`.
    """
    if observed.frames is None:
        return "path"
    table = observed.segment_frames
    if table is None:
        return "unknown"
    on_air = table["segment"].to_numpy()[(table["first_frame_ns"] >= 0).to_numpy()]
    return "link" if np.isin(rows, on_air).all() else "unknown"

"""What became of the segments of a series, and when each arrived: two columns beside its others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import FATES

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

FATE_COLUMNS = ("fate", "arrived")
"""Of data that was sent: its fate, its place among schema.FATES, and when it arrived, in ns; -1 unknown."""
_UNKNOWN = FATES.index("unknown")
_NEVER_ARRIVED = [FATES.index(name) for name in ("dropped", "flushed", "lost")]


class Fates:
    """What became of segments, by their rows in the table."""

    def __init__(self, analysis: Analysis) -> None:
        segments, carried = analysis.tables["segments"], analysis.tables["segment_frames"]
        self.time_ns = segments["time_ns"].to_numpy()
        asked = "fate" in segments
        self.codes = segments["fate"].array.codes if asked else np.full(len(segments), _UNKNOWN)
        self.paths, self.origin_ns = analysis.paths, analysis.origin_ns
        sure = (carried["matched_by"] == "payload") & (carried["segment"] >= 0) & (carried["delivered_ns"] >= 0)
        delivered = carried[sure.to_numpy()].sort_values("segment", kind="stable")
        self.carried, self.delivered_ns = (delivered[name].to_numpy() for name in ("segment", "delivered_ns"))

    def of(self, rows: Any) -> dict[str, Any]:
        """The columns of rows; a row of -1 is unknown."""
        known = rows >= 0
        at = np.maximum(rows, 0)
        fate = np.where(known, self.codes[at], _UNKNOWN).astype(np.int64)
        arrived = self._arrived(at, by_link=fate != _UNKNOWN)
        return {"fate": fate, "arrived": np.where(known & ~np.isin(fate, _NEVER_ARRIVED), arrived, -1)}

    def _arrived(self, rows: Any, by_link: Any) -> Any:
        """When they came to the receiver's capture; those `by_link`, where none tells, when the link delivered them."""
        found = np.full(len(rows), -1, dtype=np.int64)
        if len(self.carried):
            place = np.minimum(np.searchsorted(self.carried, rows), len(self.carried) - 1)
            told = by_link & (self.carried[place] == rows)
            found[told] = self.delivered_ns[place[told]] - self.origin_ns
        came = self.paths.arrival[rows]
        captured = (came >= 0) & (self.paths.arrived[rows] != 0)
        found[captured] = self.time_ns[came[captured]] - self.origin_ns
        return found

"""The link beside TCP: from logged frames to which segments they carried and where the time went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from multitracer.tables import empty

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class LinkLayer:
    """What the link's log gave: tables as in the schema, links[] of the summary; empty without one."""

    links: pd.DataFrame | None = None
    frames: pd.DataFrame | None = None
    link_events: pd.DataFrame | None = None
    intervals: pd.DataFrame | None = None
    segment_frames: pd.DataFrame | None = None
    accounting: pd.DataFrame | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    shares: dict[str, float] | None = None
    utilization: dict[str, Any] | None = None
    link_rtt_ns: int | None = None

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name, empty where there is no log."""
        names = ("links", "frames", "link_events", "segment_frames", "accounting")
        return {name: empty(name) if (table := getattr(self, name)) is None else table for name in names}


def join_layers(trace, segments, connections, paths, state, resent, alignment, options) -> LinkLayer:
    return LinkLayer()

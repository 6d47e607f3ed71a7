"""The data that the panels draw: plain arrays of a connection and of the link, times in ns from the trace's start.

Every value is the table's own. Only a series of more records than a browser can hold is thinned, and the
page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

Source: TypeAlias = dict[str, Any]

MOST_RECORDS = 30_000_000
"""Of a connection, or of the link; with more its series are thinned to this, and other connections left out."""
KINDS = {
    **dict.fromkeys(("window", "acks", "cwnd", "ssthresh", "srtt", "rto", "outstanding", "goodput", "frames_acked",
                     "handed", "resends"), "line"),
    **dict.fromkeys(("segments", "sacks"), "beam"),
    **dict.fromkeys(("rtt", "queue", "frames_new"), "cloud"),
    **dict.fromkeys(("again_no", "again_yes", "again_unknown", "frames_again", "frames_missing", "frames_polls"),
                    "event"),
    "carried": "map",
}  # fmt: skip
"""How each series is drawn: a staircase, bars from first byte to last, many points, or rare events. A map is not."""
DIVIDE = {"x": 10**9}
"""Columns by what they are divided by to be drawn: times are drawn in seconds."""
MILLISECONDS = ("rtt", "queue")
"""Series whose values are kept in ns, and drawn in ms."""


@dataclass
class PanelData:
    """Sources by name, which hold every `step`-th record."""

    sources: dict[str, Source]
    step: int = 1

    @property
    def records(self) -> int:
        """The number of records in all sources."""
        return sum(len(source["x"]) for source in self.sources.values())


def divisor(name: str, column: str) -> int:
    """What a column of a series is divided by to be drawn."""
    return 10**6 if column == "y" and name in MILLISECONDS else DIVIDE.get(column, 1)


def largest_first(analysis: Analysis) -> list[int]:
    """The connections of which anything was seen, most data first."""
    segments = analysis.tables["segments"]
    known = segments["connection"].to_numpy() >= 0
    total = np.bincount(
        segments["connection"].to_numpy()[known],
        weights=segments["payload_bytes"].to_numpy()[known],
        minlength=len(analysis.connections),
    )
    seen = np.zeros(len(total), dtype=np.bool_)
    seen[segments["connection"].to_numpy()[known]] = True
    order = np.argsort(-total, kind="stable")
    return order[seen[order]].tolist()


def extent(analysis: Analysis) -> tuple[float, float]:
    """The first and the last time of what is drawn, in seconds from the trace's start."""
    names = ["segments", "frames"]
    if len(analysis.tables["segments"]):
        names.append("tcp_state")  # without a capture its clock cannot be tied to the link's
    times = [analysis.tables[name]["time_ns"] for name in names if len(analysis.tables[name])]
    first = min((int(column.min()) for column in times), default=analysis.origin_ns)
    last = max((int(column.max()) for column in times), default=analysis.origin_ns + 1)
    start = (first - analysis.origin_ns) / 1e9
    return start, max((last - analysis.origin_ns) / 1e9, start + 1e-3)


def thinned(sources: dict[str, Source]) -> PanelData:
    """The series in order of time; with too many records every n-th of each."""
    step = max(1, -(-sum(len(source["x"]) for source in sources.values()) // MOST_RECORDS))
    if step > 1:
        # Which frames carried a segment cannot be told from every n-th of them.
        sources.pop("carried", None)
    return PanelData({name: _in_order(source, step) for name, source in sources.items()}, step)


def _in_order(source: Source, step: int) -> Source:
    times = source["x"]
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        source = {column: values[order] for column, values in source.items()}
    return {column: values[::step] for column, values in source.items()} if step > 1 else source


def steps(source: Source) -> Source:
    """A staircase without the records that repeat its value, but for the last one, at which it ends."""
    kept = differ(source["y"])
    kept[-1:] = True
    return {column: values[kept] for column, values in source.items()}


def differ(values: Any) -> Any:
    """Which values differ from the one before; the first does."""
    values = np.asarray(values)
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]

"""The data that the panel of link frames draws: of one direction of the link, times in ns from the trace's start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.export.series import View, series
from multitracer.link.frames import DATA_TYPES
from multitracer.link.outcomes import outcomes
from multitracer.report.panel_data import PanelData, Source, steps, thinned

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.analysis import Analysis


_NAMES = {
    "ack": "frames_acked",
    "poll-snd": "frames_polls",
    "srej-rcv": "frames_missing",
    "nack-rcv": "frames_missing",
}
"""What the page calls the series of a link, by their names behind the protocol's."""


def link(analysis: Analysis, number: int | None) -> PanelData:
    """The sources of one direction of a link; empty without a log of its sender."""
    if number is None:
        return PanelData({})
    sources = _data_frames(analysis, number)
    tables = {name: analysis.tables[name] for name in ("links", "frames", "link_events")}
    found = series(tables, 0, View(0, link=number), analysis.origin_ns)
    for name, frame in found.items():
        short = _NAMES.get(name.partition("-")[2])
        if short and len(frame):
            value = frame["value"].to_numpy()
            if np.isnan(value).all():
                value = _number_sent_before(frame["time_s"].to_numpy(), found, name)
            # The times were whole nanoseconds before they became seconds: rounding gives exactly those again.
            sources[short] = {"x": np.rint(frame["time_s"].to_numpy() * 1e9).astype(np.int64), "y": value}
    if "frames_acked" in sources:
        sources["frames_acked"] = steps(sources["frames_acked"])
    return thinned(sources | _carried(analysis, number))


def _data_frames(analysis: Analysis, number: int) -> dict[str, Source]:
    """The data frames sent, by number; the exported series have none of Wi-Fi."""
    frames = analysis.tables["frames"]
    data = (frames["link"] == number) & frames["sent"] & frames["type"].isin(DATA_TYPES)
    data &= frames["sn_unwrapped"] >= 0
    transmission = frames["transmission"].to_numpy()
    made = {}
    for name, which in (("frames_new", transmission == 0), ("frames_again", transmission > 0)):
        rows = np.flatnonzero(data.to_numpy() & which)
        if len(rows):
            times = frames["time_ns"].to_numpy()[rows] - analysis.origin_ns
            made[name] = {"x": times, "y": frames["sn_unwrapped"].to_numpy()[rows]}
    return made


def _carried(analysis: Analysis, number: int) -> dict[str, Source]:
    """Which frames had octets of which segment (its row), and what became of each: one record a pair, in order."""
    frames, pairs = analysis.tables["frames"], analysis.links.segments.get(number)
    if pairs is None or analysis.links.received is None:
        return {}
    rows = pairs.frame
    return {
        "carried": {
            "x": frames["time_ns"].to_numpy()[rows] - analysis.origin_ns,
            "y": frames["sn_unwrapped"].to_numpy()[rows],
            "row": pairs.segment,
            "again": (frames["transmission"].to_numpy()[rows] > 0).astype(np.int64),
            "outcome": outcomes(frames, number, analysis.links.received(number))[rows],
        }
    }


def _number_sent_before(times: Any, found: dict[str, pd.DataFrame], name: str) -> Any:
    """The frame number at which a mark without one is drawn: the number last sent."""
    sent = found.get(f"{name.partition('-')[0]}-data")
    if sent is None or not len(sent):
        return np.full(len(times), np.nan)
    place = np.searchsorted(sent["time_s"].to_numpy(), times, side="right") - 1
    return np.where(place >= 0, sent["value"].to_numpy()[np.maximum(place, 0)], np.nan)

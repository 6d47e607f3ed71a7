"""links[] of the summary: what each direction of each link did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.link.events import FLOW_CONTROL, RESET
from multitracer.link.frames import DATA_TYPES
from multitracer.link.timing import Timing

if TYPE_CHECKING:
    import pandas as pd

_STATUS = ("RR", "RNR", "REJ", "SREJ", "STATUS")


def rows(
    links: pd.DataFrame,
    frames: pd.DataFrame,
    events: pd.DataFrame,
    intervals: pd.DataFrame,
    timings: Mapping[int, Timing],
) -> list[dict[str, Any]]:
    """One row per link and direction; None is what the logs at hand cannot tell."""
    columns = (links[name].tolist() for name in ("link", "protocol", "bearer", "sender", "reverse"))
    return [
        {"id": link, "protocol": str(protocol), "bearer": bearer or None, "sender": sender or None}
        | _row(link, reverse, frames, intervals, timings.get(link, Timing()))
        for link, protocol, bearer, sender, reverse in zip(*columns, strict=True)
    ]


def _row(link: int, reverse: int, frames: pd.DataFrame, intervals: pd.DataFrame, timing: Timing) -> dict[str, Any]:
    """Counts of one direction: what its sender's log shows, and what the other end's does."""
    own = frames["link"] == link
    sent, came = frames[own & frames["sent"]], frames[own & ~frames["sent"]]
    logged, heard = bool(len(sent)), bool(len(came))
    data = sent[sent["type"].isin(DATA_TYPES)]
    both = intervals[intervals["link"].isin((link, reverse))]
    stopped = _seconds(intervals[(intervals["link"] == link) & (intervals["kind"] == FLOW_CONTROL)])
    new = data[data["transmission"] == 0]
    span = _span(sent)
    busy = _busy(sent, timing) if logged else None
    payload = int(new["payload_bytes"].clip(lower=0).sum()) if logged and (new["payload_bytes"] >= 0).all() else None
    back = frames[(frames["link"] == reverse) & ~frames["sent"]]
    stops = (intervals["link"] == link) & (intervals["kind"] == FLOW_CONTROL)
    known_stops = logged and (len(back) > 0 or bool(stops.any()))
    return {
        "frames_sent": len(sent) if logged else None,
        "frames_retransmitted": int((data["transmission"] > 0).sum()) if logged else None,
        "frames_received": int((came["type"] != "BAD").sum()) if heard else None,
        "frames_erased": int((came["type"] == "BAD").sum()) if heard else None,
        "status_reports": int(sent["type"].isin(_STATUS).sum()) if logged else None,
        "polls": int(((sent["poll"] == 1) & (sent["command"] != 0)).sum()) if logged else None,
        "resets": int((both["kind"] == RESET).sum()),
        "xoff": int(stops.sum()) if known_stops else None,
        "payload_bytes": payload,
        "throughput_bps": 8e9 * payload / span if payload is not None and span else None,
        "busy_s": busy,
        "idle_s": None if busy is None else max(span / 1e9 - busy - stopped, 0.0),
        "flow_controlled_s": stopped if known_stops else None,
        "recovery_ms": _recovery(data, came),
        "rate_bps": timing.rate_bps,
        "frame_ms": None if timing.frame_ns is None else timing.frame_ns / 1e6,
        "rtt_ms": None if timing.rtt_ns is None else timing.rtt_ns / 1e6,
    }


def _span(sent: pd.DataFrame) -> int:
    return int(sent["time_ns"].max() - sent["time_ns"].min()) if len(sent) else 0


def _seconds(spans: pd.DataFrame) -> float:
    return float((spans["end_ns"] - spans["start_ns"]).sum()) / 1e9


def _busy(sent: pd.DataFrame, timing: Timing) -> float | None:
    """Air time of all frames with user data."""
    if timing.frame_ns is None:
        return None
    return int(sent["type"].isin(DATA_TYPES).sum()) * timing.frame_ns / 1e9


def _recovery(data: pd.DataFrame, came: pd.DataFrame) -> dict[str, Any]:
    """From the first transmission of each frame that was repeated to its arrival, by the far end's log."""
    nothing = {"samples": None, "median": None, "p95": None, "max": None}
    if not len(data) or not len(came):
        return nothing
    repeated = data[data["transmission"] > 0][["epoch", "sn_unwrapped"]].drop_duplicates()
    first = data[data["transmission"] == 0].groupby(["epoch", "sn_unwrapped"])["time_ns"].min()
    arrived = came[came["sn_unwrapped"] >= 0].groupby(["epoch", "sn_unwrapped"])["time_ns"].min()
    keys = list(zip(repeated["epoch"], repeated["sn_unwrapped"], strict=True))
    spans = (arrived.reindex(keys) - first.reindex(keys)).dropna().to_numpy() / 1e6
    if not len(spans):
        return {**nothing, "samples": 0}
    return {
        "samples": len(spans),
        "median": float(np.median(spans)),
        "p95": float(np.quantile(spans, 0.95)),
        "max": float(spans.max()),
    }

"""The rows of links[] in summary.json: counts, rates and times of each direction of each link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitracer.link.events import FLOW_CONTROL, RESET
from multitracer.link.frames import DATA_TYPES, modulus_of
from multitracer.link.recovery import recoveries
from multitracer.link.timing import Timing

if TYPE_CHECKING:
    import pandas as pd

NO_RESET = ("rlc-lte", "rlc-nr", "wifi")
"""RLC is re-established by RRC (36.322 5.4, 38.322 5.1.2), which its PDUs do not show; Wi-Fi has no resets."""
_STATUS = ("RR", "RNR", "REJ", "SREJ", "STATUS", "ACK", "BA")

_NOT_IN_WIFI = ("polls", "busy_s", "idle_s", "flow_controlled_s", "rtt_ms")
"""What Wi-Fi's frames do not have, or what a monitor does not show."""


def rows(
    links: pd.DataFrame,
    frames: pd.DataFrame,
    intervals: pd.DataFrame,
    timings: Mapping[int, Timing],
) -> list[dict[str, Any]]:
    """One row per link and direction; a value that these logs do not show is None."""
    columns = (links[name].tolist() for name in ("link", "protocol", "bearer", "sender", "reverse"))
    found = []
    for link, protocol, bearer, sender, reverse in zip(*columns, strict=True):
        timing = timings.get(link, Timing())
        named = {"id": link, "protocol": str(protocol), "bearer": bearer or None, "sender": sender or None}
        counted = _row(link, reverse, frames, intervals, timing)
        took = recoveries(frames, link, reverse, modulus_of(frames, links, link), timing.rtt_ns)
        if protocol in NO_RESET and not counted["resets"]:
            counted["resets"] = None
        if protocol == "wifi":
            counted |= dict.fromkeys(_NOT_IN_WIFI)
        found.append(named | counted | {"recovery_ms": _recovery(took)})
    return found


def _row(link: int, reverse: int, frames: pd.DataFrame, intervals: pd.DataFrame, timing: Timing) -> dict[str, Any]:
    """Counts of one direction, from its sender's log and from its receiver's."""
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
        "rate_bps": timing.rate_bps,
        "frame_ms": None if timing.frame_ns is None else timing.frame_ns / 1e6,
        "rtt_ms": None if timing.rtt_ns is None else timing.rtt_ns / 1e6,
    }


def _span(sent: pd.DataFrame) -> int:
    return int(sent["time_ns"].max() - sent["time_ns"].min()) if len(sent) else 0


def _seconds(spans: pd.DataFrame) -> float:
    return float((spans["end_ns"] - spans["start_ns"]).sum()) / 1e9


def _busy(sent: pd.DataFrame, timing: Timing) -> float | None:
    """Air time in s of all frames with user data; None if there are any and a frame's is unknown."""
    count = int(sent["type"].isin(DATA_TYPES).sum())
    if timing.frame_ns is None:
        return None if count else 0.0
    return count * timing.frame_ns / 1e9


def _recovery(times_ns: npt.NDArray[np.int64] | None) -> dict[str, Any]:
    """The number of recovered frames, and median, 95th percentile and maximum of their recovery times in ms."""
    found: dict[str, Any] = {"samples": None, "median": None, "p95": None, "max": None}
    if times_ns is None:
        return found
    if not len(times_ns):
        return {**found, "samples": 0}
    spans = times_ns / 1e6
    return {
        "samples": len(spans),
        "median": float(np.median(spans)),
        "p95": float(np.quantile(spans, 0.95)),
        "max": float(spans.max()),
    }

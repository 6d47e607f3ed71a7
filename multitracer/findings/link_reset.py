"""The link was reset or released, and what that cost TCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.scene import Direction, Finding, Scene

KINDS = ("link-reset", "link-release")
NEEDS = ("link_intervals",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each reset and each release."""
    for kind, name in (("reset", "link-reset"), ("release", "link-release")):
        for link, start, end, because in scene.intervals(kind):
            cost = _cost(scene, link, start, end)
            yield Finding(
                name, "link", cost.pop("connection", -1), start, end, "confirmed",
                because + (f"; {cost['said']}" if cost.get("said") else ""),
                {name: value for name, value in cost.items() if name != "said"},
            )  # fmt: skip


def _cost(scene: Scene, link: int, start: int, end: int) -> dict[str, Any]:
    """Segments flushed, and how long TCP stood still; only what the captures show."""
    direction = _most_on(scene, link, start, end)
    if direction is None:
        return {}
    cost: dict[str, Any] = {"connection": direction.connection}
    said = []
    lost = _lost(scene, direction, end)
    if lost is not None:
        size = int(scene.column("payload_bytes")[lost].sum())
        cost |= {"segments_lost": len(lost), "bytes_lost": size, "records": scene.references(lost)}
        said.append(
            f"of what was sent after the last segment that was delivered before it {len(lost)} segments ({size} bytes) "
            "never arrived: flushed with it, or dropped by a queue before"
        )
    still = _standstill_ns(scene, direction, start, end)
    if still is not None:
        cost["standstill_s"] = still / 1e9
        said.append(f"TCP made no progress for {still / 1e9:.2f} s around it")
    return cost | {"said": ", ".join(said)}


def _most_on(scene: Scene, link: int, start: int, end: int) -> Direction | None:
    """Of the connections open at that time, and on that link where it is known, the sender of most data."""
    begun, over = scene.connections["start_ns"].to_numpy(), scene.connections["end_ns"].to_numpy()
    carried = None
    if scene.segment_frames is not None and len(scene.segment_frames):
        on_link = scene.segment_frames["link"].isin(scene.bearer(link))
        carried = set(scene.segment_frames.loc[on_link, "connection"].tolist())
    return max(
        (
            d for d in scene.directions
            if d.sender_point >= 0 and begun[d.connection] <= end and over[d.connection] >= start
            and (carried is None or d.connection in carried)
        ),
        key=lambda d: int(scene.column("payload_bytes")[scene.rows(d.connection, d.sender_point, d.sender)].sum()),
        default=None,
    )  # fmt: skip


def _lost(scene: Scene, direction: Direction, end: int) -> Any:
    """Rows of the segments that a reset cost: sent before its end, behind all that had arrived; None unknown."""
    if direction.receiver_point < 0:
        return None
    rows = scene.rows(direction.connection, direction.sender_point, direction.sender)
    rows = rows[(scene.column("payload_bytes")[rows] > 0) & (scene.column("time_ns")[rows] <= end)]
    came = np.flatnonzero((scene.arrived[rows] == 1) & (scene.arrival[rows] >= 0))
    came = came[scene.column("time_ns")[scene.arrival[rows[came]]] <= end]
    behind = rows[came[-1] + 1 :] if len(came) else rows
    return behind[scene.arrived[behind] == 0]


def _standstill_ns(scene: Scene, direction: Direction, start: int, end: int) -> int | None:
    """From the last acknowledgement of new data before the reset's end to the first after it."""
    rows = scene.rows(direction.connection, direction.sender_point, 1 - direction.sender)
    ack = scene.column("ack")[rows]
    if not len(rows):
        return None
    highest = np.maximum.accumulate(ack)
    advanced = scene.column("time_ns")[rows][np.concatenate([[True], highest[1:] > highest[:-1]])]
    before, after = advanced[advanced <= end], advanced[advanced > end]
    return int(after[0] - before[-1]) if len(before) and len(after) else None

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
        for start, end, because in scene.intervals(kind):
            cost = _cost(scene, start, end)
            yield Finding(
                name, "link", cost.pop("connection", -1), start, end, "confirmed",
                because + (f"; {cost['said']}" if cost.get("said") else ""),
                {name: value for name, value in cost.items() if name != "said"},
            )  # fmt: skip


def _cost(scene: Scene, start: int, end: int) -> dict[str, Any]:
    """Segments flushed, and how long TCP stood still; only what the captures show."""
    direction = max(
        (d for d in scene.directions if d.sender_point >= 0),
        key=lambda d: int(scene.column("payload_bytes")[scene.rows(d.connection, d.sender_point, d.sender)].sum()),
        default=None,
    )
    if direction is None:
        return {}
    cost: dict[str, Any] = {"connection": direction.connection}
    said = []
    table = scene.segment_frames
    if table is not None:
        sent, delivered = table["sent_ns"].to_numpy(), table["delivered_ns"].to_numpy()
        waiting = (sent >= 0) & (sent <= end) & (table["connection"].to_numpy() == direction.connection)
        segment = table["segment"].to_numpy()
        lost = waiting & (delivered < 0) & (segment >= 0)
        lost[lost] = (scene.arrived[segment[lost]] == 0) & (sent[lost] >= _last_delivered_sent(sent, delivered, start))
        cost |= {"segments_lost": int(lost.sum()), "bytes_lost": int(table["payload_bytes"].to_numpy()[lost].sum())}
        said.append(f"{cost['segments_lost']} segments ({cost['bytes_lost']} bytes) were lost with it")
    still = _standstill_ns(scene, direction, start, end)
    if still is not None:
        cost["standstill_s"] = still / 1e9
        said.append(f"TCP made no progress for {still / 1e9:.2f} s around it")
    return cost | {"said": ", ".join(said)}


def _last_delivered_sent(sent: Any, delivered: Any, start: int) -> int:
    """When the last packet that was delivered before the reset had been sent: what is older was lost otherwise."""
    before = (delivered >= 0) & (delivered <= start)
    return int(sent[before].max()) if before.any() else 0


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

"""A SYN that was sent more than once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.compute.arrays import rows_with
from multitracer.findings.finding import Finding
from multitracer.findings.needs import SEGMENTS
from multitracer.findings.observations import Observations
from multitracer.findings.place_of_loss import LAYER_OF, places_of_loss
from multitracer.model.schema import MARKS, SYN

KINDS = ("handshake-retry",)
NEEDS = (SEGMENTS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each end that sent its SYN more than once."""
    syns = rows_with(observed.column("flags"), SYN)
    syns = syns[observed.column("marks")[syns] & MARKS["captured_twice"] == 0]
    connection, sender, point = (
        observed.column(name)[syns].astype(np.int64) for name in ("connection", "sender", "point")
    )
    keys = (2 * connection + sender) << 16 | point
    ordered = np.sort(keys)
    for key in np.unique(ordered[1:][ordered[1:] == ordered[:-1]]):
        mine = keys == key
        rows, end = syns[mine], (int(connection[mine][0]), int(sender[mine][0]))
        direction = observed.direction(*end)
        if direction is not None and direction.sender_point != point[mine][0]:
            continue
        time = observed.column("time_ns")[rows]
        yield Finding(
            "handshake-retry", _layer(observed, rows), end[0], int(time[0]), int(time[-1]), "confirmed",
            f"the {'client' if end[1] == 0 else 'server'} sent its SYN {len(rows)} times over "
            f"{(time[-1] - time[0]) / 1e6:.1f} ms",
            {"count": len(rows), "records": observed.references(rows)}, segments=rows,
        )  # fmt: skip


def _layer(observed: Observations, rows: Any) -> str:
    """The layer that lost the SYN, where the other end's capture lacks every copy but the last."""
    lost = rows[:-1]
    if not (observed.arrived[lost] == 0).all():
        return "unknown"
    layers = set(LAYER_OF[places_of_loss(observed)[lost]])
    return str(layers.pop()) if len(layers) == 1 else "unknown"

"""A SYN that had to be sent again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.compute.arrays import rows_with
from multitracer.findings.scene import Finding, Scene
from multitracer.model.schema import MARKS, SYN

KINDS = ("handshake-retry",)
NEEDS = ("segments",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each end that sent its SYN more than once."""
    syns = rows_with(scene.column("flags"), SYN)
    syns = syns[scene.column("marks")[syns] & MARKS["captured_twice"] == 0]
    connection, sender, point = (
        scene.column(name)[syns].astype(np.int64) for name in ("connection", "sender", "point")
    )
    keys = (2 * connection + sender) << 16 | point
    _, index, counts = np.unique(keys, return_inverse=True, return_counts=True)
    for number in np.flatnonzero(counts > 1):
        mine = index == number
        rows, end = syns[mine], (int(connection[mine][0]), int(sender[mine][0]))
        direction = scene.direction(*end)
        if direction is not None and direction.sender_point != point[mine][0]:
            continue
        time = scene.column("time_ns")[rows]
        yield Finding(
            "handshake-retry", "path", end[0], int(time[0]), int(time[-1]), "confirmed",
            f"the {'client' if end[1] == 0 else 'server'} sent its SYN {len(rows)} times over "
            f"{(time[-1] - time[0]) / 1e6:.1f} ms",
            {"count": len(rows), "records": scene.references(rows)},
        )  # fmt: skip

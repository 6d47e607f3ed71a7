"""A SYN that had to be sent again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multitracer.findings.scene import Finding, Scene
from multitracer.tables import MARKS, SYN

KINDS = ("handshake-retry",)
NEEDS = ("segments",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each end that sent its SYN more than once."""
    flags, marks = scene.column("flags"), scene.column("marks")
    syns = np.flatnonzero((flags & SYN != 0) & (marks & MARKS["captured_twice"] == 0))
    keys = np.stack([scene.column(name)[syns] for name in ("connection", "sender", "point")], axis=1)
    if not len(keys):
        return
    _, index, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    near = {(d.connection, d.sender): d.sender_point for d in scene.directions}
    for number in np.flatnonzero(counts > 1):
        rows = syns[index.ravel() == number]
        connection, sender, point = keys[index.ravel() == number][0].tolist()
        if near.get((connection, sender), point) != point:
            continue
        time = scene.column("time_ns")[rows]
        yield Finding(
            "handshake-retry", "path", connection, int(time[0]), int(time[-1]), "confirmed",
            f"the {'client' if sender == 0 else 'server'} sent its SYN {len(rows)} times over "
            f"{(time[-1] - time[0]) / 1e6:.1f} ms",
            {"count": len(rows), "records": scene.references(rows)},
        )  # fmt: skip

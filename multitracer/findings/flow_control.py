"""Nothing was sent because the peer had said stop."""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.findings.scene import Finding, Scene

KINDS = ("flow-control-gap",)
NEEDS = ("link_intervals",)


def detect(scene: Scene) -> Iterator[Finding]:
    """One finding for each interval under flow control."""
    for _, start, end, because in scene.intervals("flow-control"):
        yield Finding(
            "flow-control-gap", "link", -1, start, end, "confirmed", because, {"duration_s": (end - start) / 1e9}
        )

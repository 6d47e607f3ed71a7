"""Findings: what the layers say together. One detector a file; each is a pure function of a Scene.

A detector module offers KINDS (the kinds of CONTRACT it can report), NEEDS (the tables without
which it says nothing) and `detect(scene)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitracer.findings import (
    acknowledgements,
    burst_loss,
    competing_recovery,
    flow_control,
    handshake_retry,
    header_decompression,
    idle_link,
    link_outage,
    link_recovery_hole,
    link_reset,
    local_drop,
    queueing,
    reordering,
    retransmissions,
    zero_window,
)
from multitracer.findings.scene import Finding, Scene
from multitracer.model.schema import build
from multitracer.model.thresholds import Thresholds

if TYPE_CHECKING:
    import pandas as pd

DETECTORS = (
    retransmissions, competing_recovery, burst_loss, local_drop, link_reset, header_decompression,
    link_recovery_hole, link_outage, flow_control, queueing, idle_link, acknowledgements, reordering, zero_window,
    handshake_retry,
)  # fmt: skip

KINDS = tuple(kind for detector in DETECTORS for kind in detector.KINDS)

__all__ = ["DETECTORS", "KINDS", "Finding", "Scene", "Thresholds", "find"]


def find(scene: Scene) -> pd.DataFrame:
    """The findings table, in order of time."""
    found = sorted(
        (finding for detector in DETECTORS for finding in detector.detect(scene)),
        key=lambda finding: (finding.start_ns, finding.kind),
    )
    columns = {name: [getattr(finding, name) for finding in found] for name in Finding._fields}
    return build("findings", columns)

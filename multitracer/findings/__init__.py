"""Findings: what the recordings of all layers show together. One detector a file, named for what it finds.

A detector module offers KINDS (the kinds of finding that it can report), NEEDS (what it cannot do
without, see `needs`) and `detect(observed)`, a pure function of Observations.
"""

from __future__ import annotations

import operator
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from multitracer.findings import (
    ack_compression,
    ack_loss,
    application_limited,
    burst_loss,
    competing_recovery,
    excessive_queueing,
    fast_retransmit,
    flow_control_gap,
    handshake_retry,
    header_decompression_failure,
    idle_link,
    link_outage,
    link_recovery_hole,
    link_reset,
    link_retransmissions,
    local_drop,
    path_stall,
    probe,
    receiver_window_limited,
    reordering,
    timeout,
    zero_window,
)
from multitracer.findings.chains import find_chains
from multitracer.findings.finding import COLUMNS, Finding
from multitracer.findings.finding_index import Ints
from multitracer.findings.needs import inputs_asked_for
from multitracer.findings.observations import Observations
from multitracer.model.schema import build
from multitracer.model.thresholds import Thresholds

if TYPE_CHECKING:
    import pandas as pd

DETECTORS: tuple[ModuleType, ...] = (
    timeout, fast_retransmit, probe, competing_recovery, burst_loss, local_drop, link_reset,
    header_decompression_failure, link_recovery_hole, link_outage, link_retransmissions, flow_control_gap,
    excessive_queueing, idle_link, ack_loss, ack_compression, reordering, zero_window, handshake_retry,
    path_stall, receiver_window_limited, application_limited,
)  # fmt: skip

KINDS: tuple[str, ...] = tuple(kind for detector in DETECTORS for kind in detector.KINDS)

_TIME_AND_KIND = operator.itemgetter(*map(Finding._fields.index, ("start_ns", "kind")))

__all__ = ["DETECTORS", "KINDS", "Finding", "Findings", "Observations", "Thresholds", "find"]


class Findings(NamedTuple):
    """What was found, and what was not looked for."""

    table: pd.DataFrame
    """The findings table, in order of time."""
    not_looked_for: dict[str, str]
    """Kinds whose detector was not called, each with the inputs that it would need."""
    resent_for: Ints
    """Of each row of `retransmissions`, the row of the table to which its air time belongs; -1 unknown."""


def find(observed: Observations) -> Findings:
    """Call every detector whose needs are met."""
    missing = [inputs_asked_for(detector.NEEDS, observed) for detector in DETECTORS]
    found = [
        finding
        for detector, inputs in zip(DETECTORS, missing, strict=True)
        if not inputs
        for finding in detector.detect(observed)
    ]
    not_looked_for = {
        kind: inputs for detector, inputs in zip(DETECTORS, missing, strict=True) if inputs for kind in detector.KINDS
    }
    found.sort(key=_TIME_AND_KIND)
    chains = find_chains(found, observed)
    table = build("findings", {**_columns(found), "layer": chains.layer, "caused_by": chains.caused_by})
    return Findings(table, not_looked_for, chains.resent_for)


def _columns(found: list[Finding]) -> dict[str, Any]:
    """The findings as columns of their table."""
    columns = dict(zip(Finding._fields, zip(*found, strict=True), strict=True)) if found else {}
    return {name: columns.get(name, ()) for name in COLUMNS}

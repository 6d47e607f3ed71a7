"""Findings: what the recordings of all layers show together. One detector a file, named for what it finds.

A detector module offers KINDS (the kinds of finding that it can report), NEEDS (what it cannot do
without, see `needs`) and `detect(observed)`, a pure function of Observations.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

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
from multitracer.findings.chains import Chains, find_chains
from multitracer.findings.finding import COLUMNS, Finding
from multitracer.findings.finding_columns import FindingColumns, objects
from multitracer.findings.finding_index import Ints
from multitracer.findings.needs import inputs_asked_for
from multitracer.findings.observations import Observations
from multitracer.model.schema import VERDICTS, build
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
    found = FindingColumns.joined(
        [
            FindingColumns.of(detector.detect(observed) if not inputs else ())
            for detector, inputs in zip(DETECTORS, missing, strict=True)
        ]
    ).in_order()
    not_looked_for = {
        kind: inputs for detector, inputs in zip(DETECTORS, missing, strict=True) if inputs for kind in detector.KINDS
    }
    chains = find_chains(found, observed)
    return Findings(_table(found, chains), not_looked_for, chains.resent_for)


def _table(found: FindingColumns, chains: Chains) -> pd.DataFrame:
    """The findings table, each finding with evidence of its own; `lost_s` is not known yet."""
    import pandas as pd

    columns = {name: getattr(found, name) for name in COLUMNS}
    columns["evidence"] = objects([one.copy() for one in found.evidence])
    verdict = pd.Categorical.from_codes(found.verdict_code, list(VERDICTS))
    return build("findings", {**columns, "verdict": verdict, "layer": chains.layer, "caused_by": chains.caused_by})

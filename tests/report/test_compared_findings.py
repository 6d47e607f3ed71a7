"""What a comparison keeps of each finding of a transfer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.report import kept_experiments
from multitracer.report.compared_findings import MOST_KEPT, compared, dearest, together

ACKS = {"x": np.array([1, 2, 3]) * 10**9, "y": np.array([501, 1001, 901])}


def finding(kind: str, start_s: float, connection: int | None, caused_by: int | None = None) -> dict[str, Any]:
    """A finding of a summary."""
    return {
        "kind": kind, "layer": "link", "verdict": "confirmed", "connection": connection, "start_s": start_s,
        "end_s": start_s + 1, "lost_s": None, "caused_by": caused_by, "because": "of a test",
    }  # fmt: skip


def test_the_octets_delivered_are_those_acknowledged_when_a_finding_began() -> None:
    """None before the first acknowledgement; a late old one takes nothing back."""
    every = [finding("timeout", at, 0) for at in (0.5, 1.0, 2.9, 3.5)]
    assert [one["delivered_bytes"] for one in compared(every, 0, ACKS)[0]] == [0, 500, 1000, 1000]
    assert [one["delivered_bytes"] for one in compared(every, 0, None)[0]] == [None] * 4


def test_findings_of_other_connections_are_left_out_and_causes_stay_the_same_findings() -> None:
    """Those of the link stay; a cause that is left out is none any more."""
    every = [finding("a", 0, 1), finding("b", 1, None), finding("c", 2, 0, caused_by=1), finding("d", 3, 0, 0)]
    found, left_out = compared(every, 0, ACKS)
    assert [(one["kind"], one["caused_by"]) for one in found] == [("b", None), ("c", 0), ("d", None)]
    assert left_out == 1


def test_many_findings_of_other_connections_take_no_room() -> None:
    """However dear they are, those of the compared connection are kept."""
    others = [finding("a", at, 1) | {"lost_s": 2.0} for at in range(MOST_KEPT + 100)]
    found, _ = compared([*others, finding("b", 1, 0) | {"lost_s": 1.0}], 0, ACKS)
    assert [one["kind"] for one in found] == ["b"]


def test_findings_of_several_transfers_keep_their_causes() -> None:
    """Each has the place of its transfer, and its cause's place in the whole list."""
    own, _ = compared([finding("b", 1, None), finding("c", 2, 0, caused_by=0)], 0, ACKS)
    found = together([own, own])
    assert [(one["transfer"], one["caused_by"]) for one in found] == [(0, None), (0, 0), (1, None), (1, 2)]


def test_of_one_transfer_the_dearest_are_listed() -> None:
    """Each with what it set off, which then counts the shorter list."""
    cheap = [finding("a", at, 0) for at in range(3)]
    every = [*cheap, finding("b", 1, 0) | {"lost_s": 2.0}, finding("c", 2, 0, caused_by=3)]
    listed = [(one["kind"], one["caused_by"]) for one in dearest(every, 4)]
    assert listed == [("a", None), ("a", None), ("b", None), ("c", 2)]


def test_what_is_kept_is_bounded_and_can_be_written(tmp_path: Path) -> None:
    """Of many findings the dearest; read again they are what they were."""
    every = [finding("timeout", at, 0) | {"lost_s": float(at)} for at in range(MOST_KEPT + 100)]
    found, left_out = compared(every, 0, ACKS)
    assert min(one["lost_s"] for one in found) == 100.0
    assert left_out == 100
    kept_experiments.save(kept_experiments.Kept({"error": None}, findings=found), {}, tmp_path)
    assert kept_experiments.load(tmp_path).findings == json.loads(json.dumps(found))

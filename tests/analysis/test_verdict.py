"""The verdict in one sentence."""

from __future__ import annotations

from typing import Any

from multitracer.analysis.verdict import RANK, group_findings, verdict
from multitracer.model.analysis import Totals
from multitracer.model.schema import CAUSES


def finding(kind: str, start: float, end: float, sure: str = "confirmed") -> dict[str, Any]:
    """A finding as the summary has it."""
    return {"kind": kind, "start_s": start, "end_s": end, "verdict": sure, "because": "", "connection": 0}


def summary(*findings: dict[str, Any], **shares: float) -> dict[str, Any]:
    """What a summary says beside its connections, with an accounting where shares are given."""
    accounting = dict.fromkeys(CAUSES, 0.0) | shares if shares else None
    return {"accounting": accounting, "findings": list(findings)}


def totals(connections: int = 1, segments: int = 10, needed: int = 0, needless: int = 0) -> Totals:
    """What connections sent together."""
    return Totals(connections, segments, {"yes": needless, "no": needed, "unknown": 0}, [])


def test_a_fully_used_link_is_named_as_the_limit() -> None:
    """If the link carried new data nearly always, the verdict names no other cause."""
    told = verdict(summary(new_data=0.8, link_overhead=0.15, unknown=0.05), totals())
    assert told.startswith("The link was the limit")


def test_the_largest_other_share_is_named_with_what_was_confirmed() -> None:
    """The sentence names the cause that took most, and the weightiest confirmed findings."""
    told = verdict(
        summary(
            finding("link-reset", 21.5, 22.7), finding("timeout", 30, 31), finding("local-drop", 3, 4, "likely"),
            new_data=0.6, idle_recovery=0.3, link_reset=0.1,
        ),
        totals(),
    )  # fmt: skip
    assert told.startswith("TCP waiting for its timer or repairing a loss took 30 % of the session")
    assert "link-reset at 21.5 s; timeout at 30.0 s." in told
    assert "local-drop" not in told


def test_without_a_link_log_the_verdict_is_about_tcp() -> None:
    """Without accounting: retransmitted segments and whether they were needed, and nothing about the link."""
    told = verdict(summary(), totals(segments=100, needed=7, needless=2))
    assert told == "TCP sent 9 of 100 data segments again: 7 needed, 2 needless, 0 not known."
    assert "none of 10 data segments" in verdict(summary(), totals())
    assert verdict(summary(), totals(connections=0)) == "There is no TCP connection here."


def test_groups_are_ordered_by_verdict_rank_and_duration() -> None:
    """Confirmed before likely before undecided, then by rank of the kind, then the longest first."""
    found = [
        finding("idle-link", 0, 1),
        finding("idle-link", 5, 9),
        finding("link-reset", 2, 3, "undecided"),
        finding("timeout", 1, 1),
    ]
    groups = group_findings(found)
    assert [group[0]["kind"] for group in groups] == ["timeout", "idle-link", "link-reset"]
    assert groups[1][0]["start_s"] == 5


def test_every_kind_of_finding_has_a_rank() -> None:
    """A new kind of finding must be given a rank."""
    from multitracer.findings import KINDS

    assert set(KINDS) <= set(RANK)


def test_every_cause_has_a_sentence() -> None:
    """Whichever cause took most of the session, the verdict has a sentence for it."""
    for cause in CAUSES:
        assert verdict(summary(**{cause: 1.0}), totals()).endswith(".")

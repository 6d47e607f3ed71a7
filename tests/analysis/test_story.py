"""The story: where the time of a transfer went, and what set what off."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.analysis.finding_groups import order_groups
from multitracer.analysis.story import story
from multitracer.model.analysis import Totals
from multitracer.model.limits import LIMITS
from multitracer.model.vocabulary import CAUSES, KINDS


def finding(kind: str, start: float, end: float, sure: str = "confirmed", **more: Any) -> dict[str, Any]:
    """A finding as the summary has it."""
    return {"kind": kind, "start_s": start, "end_s": end, "verdict": sure, "caused_by": None, "lost_s": None} | more


def blame(cause: str, layer: str, seconds: float, *findings: int) -> dict[str, Any]:
    """An entry of `blame` of a session of 100 s."""
    return {"cause": cause, "layer": layer, "seconds": seconds, "share": seconds / 100, "findings": list(findings),
            "because": "no finding explains it"}  # fmt: skip


def summary(*findings: dict[str, Any], blamed: tuple[dict[str, Any], ...] = (), **shares: float) -> dict[str, Any]:
    """What a summary of a session of 100 s says, with an accounting where shares are given."""
    accounting = dict.fromkeys(CAUSES, 0.0) | shares if shares else None
    limits = dict.fromkeys(LIMITS, 0.0) | {"application": 0.75, "path_rate": 0.25}
    return {"accounting": accounting, "findings": list(findings), "blame": list(blamed), "limits": limits,
            "utilization": {"session_s": 100.0}}  # fmt: skip


def totals(connections: int = 1, segments: int = 10, needed: int = 0, needless: int = 0) -> Totals:
    """What connections sent together."""
    return Totals(connections, segments, {"yes": needless, "no": needed, "unknown": 0}, [], 8.0)


def test_a_fully_used_link_is_named_as_the_limit() -> None:
    """If the link carried new data nearly always, the story begins with that."""
    told = story(summary(new_data=0.8, link_overhead=0.15, unknown=0.05), totals())
    assert told == ["The link was the limit: it carried new data 95 % of 100.0 s, headers included."]


def test_a_chain_is_told_from_its_root_with_what_the_root_cost() -> None:
    """A dead link, the reset, the timer and the idle link after it are one sentence, charged to the outage."""
    told = story(
        summary(
            finding("link-outage", 18.0, 21.5, lost_s=16.0),
            finding("link-reset", 21.5, 22.7, caused_by=0),
            finding("timeout", 35.0, 35.0, caused_by=1),
            finding("idle-link", 22.7, 35.0, caused_by=2),
            blamed=(blame("link-outage", "link", 16.0, 0), blame("unexplained", "unknown", 4.0)),
            new_data=0.8, link_reset=0.01, idle_recovery=0.19,
        ),
        totals(),
    )  # fmt: skip
    assert told[0] == "Of 100.0 s new data took 80 %; 20 % (20.0 s) went elsewhere."
    assert told[1] == (
        "16.0 s (16 %), link: the link was dead at 18.0 s for 3.5 s, so the link was reset at 21.5 s for 1.2 s, "
        "so the link stood idle at 22.7 s for 12.3 s, so TCP's timer ran out at 35.0 s."
    )
    assert told[2].startswith("4.0 s (4 %): no finding explains it")


def test_the_dearest_of_several_roots_is_told_and_the_others_counted() -> None:
    """Three repeats of one kind are one sentence, about the one that cost most."""
    roots = [finding("link-recovery-hole", 10.0 * at, 10.0 * at + 1, lost_s=at) for at in (1, 3, 2)]
    blamed = (blame("link-recovery-hole", "link", 6.0, 0, 1, 2),)
    told = story(summary(*roots, blamed=blamed, new_data=0.8), totals())
    assert "TCP waited for the link's repeats at 30.0 s for 1.0 s (dearest of 3)." in told[1]


def test_an_unproven_layer_is_said_to_be_unproven() -> None:
    """The layer word `unknown` is not used in a sentence."""
    blamed = (blame("reordering", "unknown", 5.0, 0),)
    told = story(summary(finding("reordering", 1, 2, lost_s=5.0), blamed=blamed, new_data=0.8), totals())
    assert told[1].startswith("5.0 s (5 %), layer not proven: segments overtook one another")


def test_without_an_accounting_the_story_is_what_limited_tcp() -> None:
    """Without a log or a rate of the link: the limits, and retransmitted segments and whether they were needed."""
    told = story(summary(), totals(segments=100, needed=7, needless=2))
    assert told == [
        "What limited it: the application 6.0 s (75 %), the path's rate 2.0 s (25 %).",
        "TCP sent 9 of 100 data segments again: 7 needed, 2 needless, 0 not known.",
    ]
    assert "none of 10 data segments" in story(summary(), totals())[1]
    assert story(summary(), totals(connections=0)) == ["There is no TCP connection here."]


def test_groups_are_ordered_by_verdict_severity_and_duration() -> None:
    """Confirmed before likely before undecided, then by severity of the kind, then the longest first."""
    found = [
        finding("idle-link", 0, 1),
        finding("idle-link", 5, 9),
        finding("link-reset", 2, 3, "undecided"),
        finding("timeout", 1, 1),
    ]
    kinds, verdicts = ([one[name] for one in found] for name in ("kind", "verdict"))
    lasted = np.array([one["end_s"] - one["start_s"] for one in found])
    groups = [group.tolist() for group in order_groups(kinds, verdicts, lasted)]
    assert groups == [[3], [1, 0], [2]]
    assert order_groups([], [], np.empty(0)) == []


def test_every_kind_of_finding_has_words() -> None:
    """A new kind of finding must be given words and a severity, and every cause that it can leave exists."""
    from multitracer.findings import KINDS as FOUND

    assert set(FOUND) <= set(KINDS)
    assert {cause for kind in KINDS.values() for cause in kind.leaves} <= set(CAUSES)

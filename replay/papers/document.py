"""The results of `reproduce` as one JSON document, and as the terminal's text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from multitracer.replay.papers.alternatives import Alternative, named, taken
from multitracer.replay.papers.parts import Part
from multitracer.replay.papers.runs import runs_of
from multitracer.replay.papers.score import random_orderings, score
from multitracer.replay.papers.statements import KINDS, PLURALS, statements
from multitracer.replay.papers.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED, Decision, all_decisions, decide

Refused = Mapping[tuple[str, str, str], str]
"""Why points cannot be simulated, by experiment, variant and choice."""


def document(scale: str, commit: str, papers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The papers beside each other."""
    return {"scale": scale, "commit": commit, "papers": list(papers)}


def paper_document(
    paper: str, table: pd.DataFrame, scale: str, choices: tuple[str, ...] = (), *,
    refused: Refused | None = None, first_run: Mapping[str, Any] | None = None, draws: int = 1000,
) -> dict[str, Any]:  # fmt: skip
    """One paper decided from the table of its runs (plan.RUN_COLUMNS).

    A quick run's verdicts enter no score: its counts are null. `refused` says which points cannot be simulated, and
    why; `first_run` is the score of the first full run.
    """
    runs = runs_of(paper, table, refused=refused)
    decisions = all_decisions(paper, runs)
    beside = {one.id: _verdicts(paper, table, one, refused) for one in named(paper, choices)}
    rows = [_row(one, {choice: found.get(one.statement.id) for choice, found in beside.items()}) for one in decisions]
    full = scale == "paper"
    return {
        "paper": paper,
        "choices": taken(paper),
        "statements": rows,
        "score": score(decisions) if full else None,
        "first_run": first_run,
        "random_orderings": random_orderings(paper, runs, draws) if full else None,
        "not_simulated": _not_simulated(refused or {}),
    }


def _not_simulated(refused: Refused) -> list[dict[str, Any]]:
    """Each reason for which points cannot be simulated, with the experiments that have any, and how many."""
    reasons = dict.fromkeys(refused.values())
    places = {why: [place for place, other in refused.items() if other == why] for why in reasons}
    return [
        {"because": why, "experiments": list(dict.fromkeys(place[0] for place in found)), "points": len(found)}
        for why, found in places.items()
    ]


def _verdicts(paper: str, table: pd.DataFrame, choice: Alternative, refused: Refused | None) -> dict[str, str]:
    """The verdict on each result under an alternative."""
    runs = replace(runs_of(paper, table, choice.id, refused), metrics=choice.metrics)
    asked = (one for one in statements(paper) if one.role == "result" and (not choice.rows or one.id in choice.rows))
    return {one.id: decide(one, runs).verdict for one in asked}


def _row(decision: Decision, beside: Mapping[str, str | None]) -> dict[str, Any]:
    statement, part = decision.statement, decision.decisive
    known = {choice: verdict for choice, verdict in beside.items() if verdict is not None}
    reason = reason_of(decision, known)
    return {
        "id": statement.id, "role": statement.role, "kind": statement.kind, "repeats": statement.repeats or None,
        "statement": statement.sentence, "source": statement.source, "published": statement.published,
        "unit": statement.unit,
        "ours": {"value": _finite(part.value if part else None), "ci": _finite(part.ci if part else None)},
        "distance": _finite(decision.distance), "verdict": decision.verdict,
        "because": because(decision, known, reason), "reason": reason,
        "parts": [_part(one) for one in decision.parts],
        "alternatives": [{"choice": choice, "verdict": verdict} for choice, verdict in known.items()],
    }  # fmt: skip


def _part(part: Part) -> dict[str, Any]:
    return {"test": part.test, "holds": part.holds, "value": _finite(part.value), "ci": _finite(part.ci)}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def reason_of(decision: Decision, beside: Mapping[str, str]) -> str | None:
    """Why a result is not reproduced: an open choice that would, the text against itself, the scale, or unexplained.

    None where runs are missing: then nothing is known of it.
    """
    if decision.verdict not in (NOT_REPRODUCED, UNDECIDED):
        return None
    if REPRODUCED in beside.values():
        return "open choice"
    if decision.verdict == UNDECIDED and any(part.missing for part in decision.parts):
        return None
    if decision.statement.contradiction:
        return "text against itself"
    return "scale" if all(part.unsure for part in decision.parts if part.holds is False) else "unexplained"


def because(decision: Decision, beside: Mapping[str, str], reason: str | None) -> str:
    """The verdict in one sentence that can be checked."""
    statement = decision.statement
    if statement.role == "setup":
        return _set_up(decision)
    if statement.role != "result":
        return "fitted to it, or seen on a real network: no run can decide it"
    dropped = f"; the queue dropped up to {decision.dropped_percent:.2g} % of the link's own frames"
    return _result(decision, beside, reason) + (dropped if decision.dropped_percent else "")


def _result(decision: Decision, beside: Mapping[str, str], reason: str | None) -> str:
    statement = decision.statement
    if decision.verdict == REPRODUCED:
        return f"all {len(decision.parts)} tests hold"
    text = _failing(decision)
    if reason == "open choice":
        return f"{text}; would hold under {', '.join(one for one, verdict in beside.items() if verdict == REPRODUCED)}"
    return f"{text}; {statement.contradiction}" if reason == "text against itself" else text


def _set_up(decision: Decision) -> str:
    wrong = [part.test for part in decision.parts if not part.holds]
    if not decision.parts:
        return f"held by {decision.statement.held_by}"
    if wrong:
        return f"{'; '.join(wrong)}: {decision.statement.differs or 'not as stated'}"
    return "; ".join(part.test for part in decision.parts)


def _failing(decision: Decision) -> str:
    part = decision.decisive
    short = [one for one in decision.parts if one.holds is not True]
    if part is None:
        return "there is no run"
    what = "fail" if decision.verdict == NOT_REPRODUCED else "are open"
    found = "" if part.value is None else f": {part.value:z.4g}" + ("" if part.ci is None else f" +- {part.ci:.2g}")
    return f"{len(short)} of {len(decision.parts)} tests {what}; {part.test}{found}"


def text(found: Mapping[str, Any]) -> str:
    """The document for the terminal: scores first, then each result that is not reproduced, and why."""
    lines = [line for paper in found["papers"] for line in _paper_lines(paper, found["scale"])]
    return "\n".join(lines)


def _paper_lines(paper: Mapping[str, Any], scale: str) -> Iterator[str]:
    yield f"{paper['paper']}: {_score_text(paper['score'], scale)}"
    if paper["first_run"]:
        yield f"  first full run: {_score_text(paper['first_run'], scale)}"
    if paper["random_orderings"] is not None:
        yield f"  random orderings: {100 * paper['random_orderings']:.1f} % of orderings"
    for row in paper["statements"]:
        if row["role"] == "result" and row["verdict"] != REPRODUCED:
            yield f"  {row['id']} {row['verdict']}: {row['statement']}"
            yield f"      {row['because']}"
    for one in paper["not_simulated"]:
        yield f"  {', '.join(one['experiments'])}: {one['points']} points: {one['because']}"
    wrong = [row["id"] for row in paper["statements"] if row["role"] == "setup" and not all(_held(row))]
    if wrong:
        yield f"  set up otherwise than stated: {', '.join(wrong)}"


def _score_text(found: Mapping[str, Any] | None, scale: str) -> str:
    if found is None:
        return f"{scale}: verdicts enter no score"
    counts = ", ".join(f"{PLURALS[kind]} {found[kind][0]} of {found[kind][1]}" for kind in KINDS)
    return f"{counts}; {found['undecided']} undecided"


def _held(row: Mapping[str, Any]) -> Iterator[bool]:
    return (part["holds"] is not False for part in row["parts"])

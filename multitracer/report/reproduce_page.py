"""The page of reproduced papers: their scores, every statement with its verdict, and what our runs look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from multitracer.model.version import VERSION
from multitracer.replay.papers.figures import Figure
from multitracer.replay.papers.statements import KINDS, PLURALS
from multitracer.replay.papers.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from multitracer.report import page_template
from multitracer.report.reproduce_figures import LEAST, MOST, layouts, ours_text

DECIDED = (REPRODUCED, NOT_REPRODUCED, UNDECIDED)


def write(document: Mapping[str, Any], figures: Sequence[Figure], path: Path) -> None:
    """Write the page of a document, and of the figures of its papers."""
    path.write_text(html(document, figures), encoding="utf-8", errors="backslashreplace")


def html(document: Mapping[str, Any], figures: Sequence[Figure]) -> str:
    """The page as one HTML document."""
    papers = document["papers"]
    rows = [_row(paper["paper"], one) for paper in papers for one in paper["statements"]]
    values = {
        "version": VERSION,
        "verdict": _verdict(document, rows),
        "commit": document["commit"],
        "scale": document["scale"],
        "papers": [_paper(paper) for paper in papers],
        "kinds": list(PLURALS.values()),
        "decided": list(DECIDED),
        "rows": rows,
        "filters": [
            {"name": name, "label": label, "first": first, "options": list(dict.fromkeys(one[name] for one in rows))}
            for name, label, first in (("paper", "paper", ""), ("role", "role", "result"), ("verdict", "verdict", ""))
        ],
        "notes": [note for paper in papers for note in _notes(paper)],
        "edges": [LEAST, MOST],
        "columns": [],
    }
    names = ", ".join(paper["paper"] for paper in papers)
    return page_template.render("reproduce", f"MultiTracer: {names} reproduced", layouts(papers, figures), values)


def _verdict(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(one["verdict"] for one in rows if one["role"] == "result")
    said = f"Of {counts.total()} published results " + ", ".join(f"{counts[one]} are {one}" for one in DECIDED)
    few = "; the scale is quick, whose verdicts enter no score" if document["scale"] != "paper" else ""
    return f"{said}{few}."


def _paper(paper: Mapping[str, Any]) -> dict[str, Any]:
    """A paper's line among the scores."""
    counts = Counter(one["verdict"] for one in paper["statements"] if one["role"] == "result")
    return {
        "name": paper["paper"],
        "counts": [counts[one] for one in DECIDED],
        "score": _score(paper["score"]),
        "by_chance": paper["random_orderings"],
        "first_run": _score(paper["first_run"]),
    }


def _score(found: Mapping[str, Any] | None) -> list[str]:
    return [] if found is None else [f"{found[kind][0]} of {found[kind][1]}" for kind in KINDS]


def _row(paper: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """A statement as the table has it."""
    published = one["published"]
    return {
        **one,
        "paper": paper,
        "said": f"{published:g} {one['unit']}".strip() if isinstance(published, int | float) else published,
        "found": ours_text(one),
        "beside": ", ".join(f"{other['choice']}: {other['verdict']}" for other in one["alternatives"]),
    }


def _notes(paper: Mapping[str, Any]) -> list[str]:
    return [
        f"{paper['paper']}: {one['points']} points of {', '.join(one['experiments'])} were not run: {one['because']}."
        for one in paper["not_simulated"]
    ]

"""An analysis as text and as a notebook shows it: the story, the bar of where the time went, and the findings."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from multitracer.model.vocabulary import CAUSES, KINDS, LIMIT_NAMES, UNEXPLAINED
from multitracer.report import colours

BAR_CELLS = 60
SHOWN_FINDINGS = 8
"""Groups of findings of one kind and verdict in the text; a notebook shows all."""
_LONGEST_LINE = 160
_CELLS = "#+abcdefghijklmnopqrstuvwxyz"
"""The bar's letters, in the order of its parts."""


class Part(NamedTuple):
    """A part of the bar."""

    name: str
    share: float
    colour: str


def parts(summary: dict[str, Any]) -> list[Part]:
    """Where the time went: what is to blame, else what limited the transfer; empty where neither is known."""
    if summary["blame"] is not None:
        shares = summary["accounting"]
        carried = [(CAUSES[name].name, shares[name]) for name in ("new_data", "link_overhead")]
        found = carried + [(_blamed(one), one["share"]) for one in summary["blame"]]
    else:
        limits = sorted((summary["limits"] or {}).items(), key=lambda item: -item[1])
        found = [(LIMIT_NAMES[name], share) for name, share in limits]
    drawn = [(name, share) for name, share in found if share >= 0.0005]
    return [Part(*one, _colour(at, one[0])) for at, one in enumerate(drawn)]


def _colour(place: int, name: str) -> str:
    return colours.GREY if name == UNEXPLAINED else colours.PARTS[place % len(colours.PARTS)]


def _blamed(blame: dict[str, Any]) -> str:
    if blame["cause"] == UNEXPLAINED:
        return UNEXPLAINED
    where = "" if blame["layer"] == "unknown" else f" ({blame['layer']})"
    return f"{KINDS[blame['cause']].phrase}{where}"


# As text


def text(summary: dict[str, Any]) -> Iterator[str]:
    """The lines of the bar, its legend, and the findings by kind."""
    drawn = parts(summary)
    if drawn:
        yield ""
        yield _text_bar(drawn)
        yield from (f"  {letter} {one.name} {one.share:.1%}" for letter, one in zip(_CELLS, drawn, strict=False))
    findings = summary["findings"]
    groups = findings.groups()
    if groups:
        yield "\nFindings:"
    for group in groups[:SHOWN_FINDINGS]:
        first = findings.of(group[:1])[0]
        line = f"  {first['verdict']}, {len(group)} {first['kind']}, at {first['start_s']:.3f} s: {first['because']}"
        yield line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..."
    if left := sum(map(len, groups[SHOWN_FINDINGS:])):
        yield f"  and {left} more"


def _text_bar(drawn: list[Part]) -> str:
    bar, reached = "", 0.0
    for letter, one in zip(_CELLS, drawn, strict=False):
        reached += one.share
        bar += letter * (round(reached * BAR_CELLS) - len(bar))
    return bar


# As HTML


def html(head: str, summary: dict[str, Any]) -> str:
    """Paragraphs of the lines of `head`, the bar with its legend, and a table of the findings by kind."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in head.splitlines())
    return f"<div>{lines}{_html_bar(parts(summary))}{_html_findings(summary)}</div>"


def _html_bar(drawn: list[Part]) -> str:
    if not drawn:
        return ""
    cells = "".join(
        f'<span title="{escape(one.name)} {one.share:.1%}" style="flex:{one.share:.6f} 0 0;background:{one.colour}">'
        "</span>"
        for one in drawn
    )
    legend = " ".join(
        f'<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;width:0.8em;'
        f'height:0.8em;background:{one.colour}"></span> {escape(one.name)} {one.share:.1%}</span>'
        for one in drawn
    )
    return f'<div style="display:flex;height:1.6em;max-width:60em">{cells}</div><p>{legend}</p>'


def _html_findings(summary: dict[str, Any]) -> str:
    findings = summary["findings"]
    grouped = ([findings[number] for number in group] for group in findings.groups())
    rows = "".join(
        f"<tr><td>{len(group)}</td><td>{escape(group[0]['kind'])}</td><td>{escape(group[0]['layer'])}</td>"
        f"<td>{escape(group[0]['verdict'])}</td><td>{group[0]['start_s']:.3f} s</td><td>{_lost(group)}</td>"
        f'<td style="text-align:left">{escape(group[0]["because"])}</td></tr>'
        for group in grouped
    )
    heads = ("count", "finding", "layer", "verdict", "longest at", "lost", "because")
    # Notebooks align what a table says to the right.
    head = "".join(f'<th style="text-align:{"left" if name == "because" else "right"}">{name}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""


def _lost(group: list[dict[str, Any]]) -> str:
    """What all of a group cost; empty where that is charged to what set them off, or not known."""
    lost = [one["lost_s"] for one in group if one["lost_s"] is not None]
    return f"{sum(lost):.1f} s" if lost else ""

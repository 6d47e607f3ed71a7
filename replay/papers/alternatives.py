"""What the texts leave open: the choices taken by default, and the others, each run alone beside the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.replay.papers.folder import read
from multitracer.replay.papers.variants import Keys
from multitracer.replay.simulate.schema import parsed


@dataclass(frozen=True)
class Alternative:
    """One alternative of one open choice."""

    id: str
    """The choice and the letter, as A6b."""
    text: str
    keys: Keys
    """The keys that it changes."""
    when: Keys
    """Only variants that have these values."""
    replaced: Mapping[str, Mapping[Any, Any]]
    """Of a key, which value becomes which."""
    metrics: Mapping[str, str]
    """Statements read another metric; needs no runs of its own."""
    rows: tuple[str, ...]
    """The statements that it is printed beside; empty: all."""
    only: tuple[str, ...]
    """The experiments, as patterns; empty: all."""
    beside: bool
    """Among those that are run beside the defaults from the first full run on."""
    needs: str
    """What it cannot be run without; empty: nothing."""


@cache
def alternatives(paper: str) -> tuple[Alternative, ...]:
    """Every alternative of a paper."""
    return tuple(map(_alternative, read(paper, "alternatives")["alternative"]))


def _alternative(row: Mapping[str, Any]) -> Alternative:
    return Alternative(
        row["id"], row["text"], _taken(row.get("keys", {})), _taken(row.get("when", {})),
        {key: dict(map(tuple, pairs)) for key, pairs in row.get("replaced", {}).items()},
        row.get("metrics", {}), tuple(row.get("rows", ())), tuple(row.get("only", ())), row.get("beside", False),
        row.get("needs", ""),
    )  # fmt: skip


def _taken(table: Mapping[str, Any]) -> Keys:
    return dict(parsed(key, given) for key, given in table.items())


def taken(paper: str) -> dict[str, str]:
    """The default of each open choice, by its ID."""
    return dict(read(paper, "alternatives")["taken"])


def chosen(papers: Sequence[str], choices: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What `--alternatives` names of each paper; UsageError for an ID that none of them has."""
    if choices in (("all",), ("beside",)):
        return dict.fromkeys(papers, choices)
    known = {paper: [one.id for one in alternatives(paper)] for paper in papers}
    for choice in choices:
        if not any(choice in of_paper for of_paper in known.values()):
            listed = "; ".join(f"{paper}: {', '.join(of_paper)}" for paper, of_paper in known.items())
            raise UsageError(f"there is no alternative '{choice}' of {', '.join(papers)}\nThere are {listed}.")
    return {paper: tuple(choice for choice in choices if choice in known[paper]) for paper in papers}


def named(paper: str, choices: tuple[str, ...]) -> list[Alternative]:
    """The alternatives of a paper that `--alternatives` names: IDs, `beside`, or `all` that can be run."""
    known = {one.id: one for one in alternatives(paper)}
    if choices == ("all",):
        return [one for one in known.values() if not one.needs]
    if choices == ("beside",):
        return [one for one in known.values() if one.beside]
    for choice in choices:
        if choice not in known:
            raise UsageError(f"there is no alternative '{choice}' of {paper}\nThere are {', '.join(known)}.")
    return [known[choice] for choice in choices]


def changed(choice: Alternative, experiment: str, keys: Keys) -> Keys:
    """The keys under an alternative; the same where it says nothing of them."""
    if choice.only and not any(fnmatch(experiment, pattern) for pattern in choice.only):
        return keys
    if any(keys.get(key) != value for key, value in choice.when.items()):
        return keys
    replaced = {key: table.get(keys[key], keys[key]) for key, table in choice.replaced.items() if key in keys}
    return {**keys, **choice.keys, **replaced}

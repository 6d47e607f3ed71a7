"""An experiment's variants: every key that its file says, with each of its `[[variant]]` tables and varied values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from multitracer.replay.papers.folder import scenario_file
from multitracer.replay.simulate.scenario_files import load

Keys = Mapping[str, Any]
"""Keys of a scenario by their full names, with the values that `simulate` takes for them."""


@dataclass(frozen=True)
class Variant:
    """One set of parameters of an experiment."""

    paper: str
    experiment: str
    name: str
    keys: Keys


@cache
def variants(paper: str, experiment: str) -> tuple[Variant, ...]:
    """All variants of an experiment, in the file's order: every combination."""
    said = load(scenario_file(paper, experiment))
    points = [dict(zip(said.vary, values, strict=True)) for values in product(*said.vary.values())]
    return tuple(
        Variant(paper, experiment, _name(name, point), {**said.keys, **keys, **point})
        for name, keys in said.variants or (("", {}),)
        for point in points
    )


def _name(name: str, point: Keys) -> str:
    return ", ".join([*([name] if name else []), *(f"{key} = {_text(value)}" for key, value in point.items())]) or "it"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "+".join(map(_text, value)) if isinstance(value, tuple) else str(value)

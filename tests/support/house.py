"""The structure of the product, read from its sources: modules, their imports, packages (rooms) and floors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from repository import ROOT

FOLDERS = {"multitracer": "multitracer", "parsers": "multitracer.parsers", "replay": "multitracer.replay"}
"""Folders at the top of the repository, and the package that each is installed as."""


class Import(NamedTuple):
    """One import of a module of the product."""

    line: int
    module: str
    """The imported module, or the module that a name was imported from."""
    runs: bool
    """Whether it is executed at run time; imports under TYPE_CHECKING are not."""


def sources() -> Iterator[tuple[str, Path]]:
    """Every module of the product, by its import name."""
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = [part for part in path.relative_to(ROOT / folder).with_suffix("").parts if part != "__init__"]
            yield ".".join([package, *parts]), path


@cache
def modules() -> dict[str, Path]:
    """The same as a mapping."""
    return dict(sources())


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """What a module imports, at its top, in functions and for type checkers."""
    return tuple(_imports(ast.parse(path.read_text()), runs=True))


def _imports(node: ast.AST, *, runs: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(node.lineno, alias.name, runs) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from _imported_from(node, runs)
    runs = runs and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, runs=runs)


def _imported_from(node: ast.ImportFrom, runs: bool) -> Iterator[Import]:
    """`from package import module` names modules, `from module import name` one module."""
    start = "." * node.level + (node.module or "")
    named = {f"{start}.{alias.name}" for alias in node.names}
    ours = sorted(named & modules().keys())
    yield from (Import(node.lineno, name, runs) for name in ours)
    if len(ours) < len(named):
        yield Import(node.lineno, start, runs)


def room(module: str) -> str:
    """The room of a module: the folder below the package, or the module itself if it is directly in the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


@dataclass(frozen=True)
class House:
    """The rooms and the rooms that each imports; `floor` counts from the bottom."""

    uses: dict[str, frozenset[str]]
    floor: dict[str, int]


def house() -> House:
    """The rooms in the sources; raises ValueError if rooms import each other in a circle."""
    uses: dict[str, set[str]] = {}
    for name, path in sources():
        mine = uses.setdefault(room(name), set())
        mine.update(room(found.module) for found in imports(path) if found.module.split(".")[0] == "multitracer")
    # The package itself is no room: it offers names from higher floors, imported on first use.
    uses.pop("multitracer")
    kept = {name: frozenset(others - {name, "multitracer"}) for name, others in uses.items()}
    floor: dict[str, int] = {}
    while len(floor) < len(kept):
        ready = [name for name in kept if name not in floor and kept[name] <= floor.keys()]
        if not ready:
            raise ValueError(f"these rooms import each other in a circle: {sorted(kept.keys() - floor.keys())}")
        floor.update({name: max((floor[other] for other in kept[name]), default=0) + 1 for name in ready})
    return House(kept, floor)


def direct(found: House, name: str) -> list[str]:
    """The rooms that a room imports and that no other imported room leads to: the arrows to draw."""
    below = {other: _reached(found, other) - {other} for other in found.uses[name]}
    return sorted(other for other in found.uses[name] if not any(other in reached for reached in below.values()))


def _reached(found: House, name: str) -> set[str]:
    return {name}.union(*(_reached(found, other) for other in found.uses[name]))


def circles() -> list[list[str]]:
    """Groups of files that import each other, at run time or for type checkers."""
    graph = {name: {found.module for found in imports(path)} & modules().keys() - {name} for name, path in sources()}
    reached = {name: _closure(graph, name) for name in graph}
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in graph}
    return sorted(list(group) for group in groups if len(group) > 1)


def _closure(graph: dict[str, set[str]], name: str) -> set[str]:
    """Every module that can be reached from one, by any number of imports."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found

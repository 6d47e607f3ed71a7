"""Scenario files: TOML, one file extending another, and those that are built in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from multitracer.model.errors import UsageError
from multitracer.model.settings import read_toml
from multitracer.replay.simulate.key import Value, shown
from multitracer.replay.simulate.schema import find, parsed

ENDING = ".toml"
LONGEST_CHAIN = 20
MOST_VALUES = 10_000
_OWN = ("about", "extends", "vary", "variant", "seeds")
"""What a file holds beside keys."""


@dataclass(frozen=True)
class Described:
    """What a file says, with the files that it extends: keys, and what is varied; values are taken already."""

    name: str
    about: str = ""
    keys: Mapping[str, Value] = field(default_factory=dict)
    vary: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    variants: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    seeds: int | None = None
    """How many seeds it is meant for; None where it does not say."""


def names() -> list[str]:
    """The names of the built-in scenarios."""
    folder = files(__package__) / "scenarios"
    return sorted(one.name.removesuffix(ENDING) for one in folder.iterdir() if one.name.endswith(ENDING))


def built_in() -> dict[str, Described]:
    """Every built-in scenario by its name."""
    return {name: load(name) for name in names()}


def load(name: str) -> Described:
    """The scenario in a file, or the built-in one of that name.

    Raises UsageError for a name that there is not and for wrong keys, InputError for a file that cannot be read.
    """
    return _load(name, Path(), ())


def _load(name: str, folder: Path, chain: tuple[str, ...]) -> Described:
    table, path = _table(name, folder)
    place = str(path or name)
    if place in chain or len(chain) >= LONGEST_CHAIN:
        raise UsageError(f"{place}: it extends itself, by way of {' -> '.join((*chain[-3:], place))}")
    base = Described("")
    if "extends" in table:
        base = _load(_text(place, table, "extends"), path.parent if path else folder, (*chain, place))
    try:
        return _described(path.stem if path else name, table, base, path)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


def _table(name: str, folder: Path) -> tuple[dict[str, Any], Path | None]:
    """What a file holds, and where it is (None if it is built in)."""
    if not name.endswith(ENDING) and "/" not in name:
        inside = files(__package__) / "scenarios" / f"{name}{ENDING}"
        if inside.is_file():
            return tomllib.loads(inside.read_text(encoding="utf-8")), None
        if not (folder / name).is_file():
            raise UsageError(f"there is no scenario '{shown(name)}'\n{_scenarios_like(name)}")
    path = folder / name
    return read_toml(path), path


def _scenarios_like(name: str) -> str:
    near = get_close_matches(name, names(), n=2, cutoff=0.5)
    meant = f"Did you mean {' or '.join(near)}?" if near else f"Built in are {', '.join(names())}."
    return f"{meant} The name of a file ends in {ENDING}."


def _described(name: str, table: Mapping[str, Any], base: Described, path: Path | None) -> Described:
    own = {key: value for key, value in table.items() if key not in _OWN}
    vary = {key: _values(key, given) for key, given in flat(table.get("vary", {}), "vary")}
    return Described(
        name,
        _text(name, table, "about") if "about" in table else base.about,
        {**base.keys, **_taken(own, path)},
        _checked_vary(vary) or base.vary,
        tuple(_variants(table.get("variant", []), path)) or base.variants,
        _seeds(table["seeds"]) if "seeds" in table else base.seeds,
    )


def _text(place: str, table: Mapping[str, Any], key: str) -> str:
    if not isinstance(table[key], str) or not table[key].strip():
        raise UsageError(f"{place}: {key} = {shown(table[key])}\nIt must be a text.")
    return str(table[key])


def _seeds(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= MOST_VALUES:
        raise UsageError(f"seeds = {shown(given)}\nIt must be a whole number from 1 to {MOST_VALUES}.")
    return given


def flat(table: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of nested tables by their full names; UsageError if it is no table."""
    if not isinstance(table, dict):
        raise UsageError(f"{where} = {shown(table)}\nIt must be a table of keys.")
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{rest}", one) for rest, one in flat(value))
        else:
            yield key, value


def _taken(table: Mapping[str, Any], path: Path | None) -> dict[str, Value]:
    """Full names and values of a table; the name of a file is meant from the folder of the scenario's."""
    return dict(_from(key, given, path) for key, given in flat(table))


def _from(key: str, given: Any, path: Path | None) -> tuple[str, Value]:
    name, value = parsed(key, given)
    if path and isinstance(value, str) and find(name)[0].kind == "path":
        value = str(path.parent / value)
    return name, value


def _values(key: str, given: Any) -> tuple[Any, ...]:
    """The values that a key is given one after the other."""
    values = tuple(given) if isinstance(given, list) else (given,)
    if not 1 <= len(values) <= MOST_VALUES:
        raise UsageError(f"{key} is varied over {len(values)} values; it must be 1 to {MOST_VALUES}")
    return values


def _checked_vary(vary: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Value, ...]]:
    return dict(varied(key, values) for key, values in vary.items())


def varied(key: str, given: tuple[Any, ...]) -> tuple[str, tuple[Value, ...]]:
    """The full name of a key that is varied, and its values, each once."""
    pairs = [parsed(key, one) for one in given]
    return pairs[0][0], tuple(dict.fromkeys(value for _, value in pairs))


def _variants(tables: Any, path: Path | None) -> Iterator[tuple[str, dict[str, Value]]]:
    if not isinstance(tables, list):
        raise UsageError("variant must be written [[variant]]")
    names: set[str] = set()
    for number, table in enumerate(tables, 1):
        name = _text(f"variant {number}", {"name": "", **table}, "name")
        if name in names:
            raise UsageError(f"there are two variants named '{shown(name)}'")
        names.add(name)
        keys = {key: value for key, value in table.items() if key not in ("name", "keys")}
        yield name, {**_taken(keys, path), **_taken(dict(flat(table.get("keys", {}), "keys")), path)}

"""Parameters given as text: `key=value` from a command line, or the values of a file, for any dataclass of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from multitracer.model.errors import InputError, UsageError

Parameters = TypeVar("Parameters")
NS_PER_MS = 1_000_000
_LARGEST = 2**53
_SMALLEST = 1e-30
"""A number nearer to 0, but not 0, is a mistake: no probability and no time is as small."""
_MOST_LEVELS = 50
"""So deep are values nested at most: keys have three parts, or four."""
_UNREADABLE = "its values are nested too deeply, or too long"
_CALLED = {int: "a whole number", float: "a number", bool: "yes or no"}
_WORDS = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0}


def read_toml(path: Path) -> dict[str, Any]:
    """The values of a TOML file; raises InputError for one that cannot be read or is none."""
    try:
        with path.open("rb") as stream:
            table = tomllib.load(stream)
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"is no TOML: {error}") from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of thousands of digits
        raise UsageError(f"{path}: {_UNREADABLE}") from error
    if _is_deep(table):
        raise UsageError(f"{path}: {_UNREADABLE}")
    return table


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether values are nested more than _MOST_LEVELS deep, as a header `[a.a.a]` can make them."""
    level: list[Any] = [table]
    for _ in range(_MOST_LEVELS):
        inside = (one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer))
        level = [one for one in inside if isinstance(one, dict | list)]
    return bool(level)


def parse_parameters(kind: type[Parameters], given: Mapping[str, Any], what: str) -> Parameters:
    """A dataclass of parameters from values by name; a time `x_ns` can be given in ms as `x_ms`.

    Raises UsageError for names that there are not, values that are none, and what is missing.
    """
    types = {field.name: get_type_hints(kind)[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    values = {}
    for key, text in given.items():
        name, scale = key.lower().replace("-", "_"), 1
        if name not in types and name.endswith("_ms") and f"{name[:-3]}_ns" in types:
            name, scale = f"{name[:-3]}_ns", NS_PER_MS
        if name not in types:
            raise UsageError(f"{what} has no parameter '{key}'\n{_meant(name, list(types))}")
        values[name] = value(key, text, types[name], scale)
    needed = [field.name for field in fields(kind)  # type: ignore[arg-type]
              if field.default is MISSING and field.default_factory is MISSING]  # fmt: skip
    missing = [name for name in needed if name not in values]
    if missing:
        raise UsageError(f"{what} needs {', '.join(missing)}\nGive each as --set NAME=VALUE.")
    return kind(**values)


def value(key: str, text: Any, kind: Any, scale: int = 1) -> Any:
    """One parameter of a type: text, a number, a truth value, or numbers with commas."""
    if kind is str:
        if not isinstance(text, str):
            raise UsageError(f"{key}={_shown(text)} is not a word")
        return text
    if kind in (int, float, bool):
        return kind(_number(key, text, kind, scale))
    parts = text.split(",") if isinstance(text, str) else text
    if not isinstance(parts, list | tuple):
        raise UsageError(f"{key}={_shown(text)} is not a list of numbers")
    return tuple(_number(key, part, float, scale) for part in parts)


def _number(key: str, text: Any, kind: type, scale: int) -> float:
    words = _WORDS if kind is bool else {}
    try:
        if isinstance(text, bool) and kind is not bool:
            raise ValueError(text)
        if isinstance(text, list | dict):
            raise ValueError(key)
        number = float(words.get(str(text).strip().lower(), text)) * scale
        if 0 < abs(number) < _SMALLEST:
            raise ValueError(text)
        if kind is not float and (number != round(number) or abs(number) > _LARGEST):
            raise ValueError(text)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{key}={_shown(text)} is not {_CALLED[kind]}") from None
    return number


def _shown(value: Any) -> str:
    """A wrong value as it is repeated in a message: not all of a long one, nothing of a table."""
    return (
        f"{str(value)[:60]}..."
        if isinstance(value, str) and len(value) > 60
        else ("[...]" if isinstance(value, list | dict) else str(value)[:60])
    )


def _meant(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"It has: {', '.join(known)}." if known else "It has none."

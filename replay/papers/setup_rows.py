"""Set-up rows: what a paper says of its set-up against the keys of its scenarios.

A key row reads `expression = value, value`: the expression, of keys and numbers with + - * / and ceil(), must take
exactly these values over the variants that the row speaks of. `paper.seeds` and `paper.level` are the paper's own.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from typing import Any

from multitracer.replay.papers.alternatives import changed, named
from multitracer.replay.papers.folder import read
from multitracer.replay.papers.labels import labelled
from multitracer.replay.papers.parts import Part
from multitracer.replay.papers.statements import Statement
from multitracer.replay.simulate.scenario import resolve

_NAME = re.compile(r"[a-z]+(?:\.[a-z0-9_]+(?:-[a-z0-9_]+)*)+")
_SIGNS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CLOSE = 1e-9


def compare(paper: str, statement: Statement) -> list[Part]:
    """A part for each key of a set-up row: whether the scenarios have exactly the values stated."""
    return [_compared(paper, row, statement) for row in statement.key]


def _compared(paper: str, row: str, statement: Statement) -> Part:
    expression, _, stated = row.rpartition(" = ")
    wanted = [_value(text.strip()) for text in stated.split(",")]
    found = _found(paper, expression, statement)
    row = f"{row} under {statement.under}" if statement.under else row
    equal = len(wanted) == len(found) and all(any(_same(one, other) for other in found) for one in wanted)
    known = found[0] if len(found) == 1 and isinstance(found[0], float) else None
    return Part(row if equal else f"{row} (ours: {', '.join(map(str, found))})", equal, known)


def _found(paper: str, expression: str, statement: Statement) -> list[Any]:
    """The values that an expression takes over the variants that a row speaks of, each once."""
    names = _NAME.findall(expression)
    rows = {tuple(_key(paper, name, keys) for name in names) for keys in _keys(paper, statement)}
    found = (_evaluated(expression, dict(zip(names, row, strict=True))) for row in rows)
    return sorted(dict.fromkeys(found), key=str)


def _keys(paper: str, statement: Statement) -> list[Any]:
    wanted = {name: value if isinstance(value, list) else [value] for name, value in statement.scope.items()}
    alternative = named(paper, (statement.under,)) if statement.under else []
    return [
        changed(alternative[0], variant.experiment, variant.keys) if alternative else variant.keys
        for labels, variant in labelled(paper)
        if all(labels.get(name) in values for name, values in wanted.items())
    ]  # fmt: skip


def _key(paper: str, name: str, keys: Any) -> Any:
    if name.startswith("paper."):
        table = read(paper, "paper")
        scale = table["scale"]["paper"]
        connections = scale.get("keys", {}).get("workload.connections")
        return {"seeds": scale["seeds"], "level": table["level_values_percent"], "connections": connections}[name[6:]]
    room, _, bare = name.partition(".")
    both = name if not bare.startswith(("forward.", "reverse.", "down.", "up.")) else f"{room}.{bare.partition('.')[2]}"
    return keys[name] if name in keys else keys[both] if both in keys else resolve("", keys).value(name)


def _evaluated(expression: str, values: dict[str, Any]) -> Any:
    if expression in values:
        return _plain(values[expression])
    places = {f"k{number}": value for number, value in enumerate(values.values())}
    for number, name in enumerate(values):
        expression = expression.replace(name, f"k{number}")
    return float(_number(ast.parse(expression, mode="eval").body, places))


def _number(node: ast.expr, places: dict[str, Any]) -> float:
    match node:
        case ast.Constant():
            return float(str(node.value))
        case ast.Name():
            return float(places[node.id])
        case ast.BinOp():
            return float(_SIGNS[type(node.op)](_number(node.left, places), _number(node.right, places)))
        case ast.Call(func=ast.Name(id="ceil"), args=[argument]):
            return float(math.ceil(_number(argument, places) - _CLOSE))
    raise ValueError(ast.unparse(node))


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return float(value) if isinstance(value, int | float) else "none" if value is None else str(value)


def _value(text: str) -> Any:
    """A number, also one worked out of numbers; else the text."""
    try:
        return _number(ast.parse(text, mode="eval").body, {})
    except (SyntaxError, ValueError, KeyError):
        return text


def _same(stated: Any, found: Any) -> bool:
    if isinstance(stated, float) and isinstance(found, float):
        return math.isclose(stated, found, rel_tol=_CLOSE)
    return bool(stated == found)

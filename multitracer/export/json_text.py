"""The text of summary.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multitracer.analysis.summary import Connections
from multitracer.export.json_rows import lines, to_json

_BETWEEN = b",\n  "
"""The separator of a list's items."""


def json_text(document: dict[str, Any]) -> bytes:
    """The document as JSON text, in UTF-8."""
    return b"".join(json_pieces(document))


def json_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """The text of `json_text` in pieces; each item of a list is on its own line, so that grep finds items."""
    before = b"{\n "
    for key, value in document.items():
        yield before + to_json(key) + b": "
        if isinstance(value, list | Connections):
            yield b"["
            for at, text in enumerate(_items(value)):
                yield (_BETWEEN if at else b"\n  ") + text
            yield b"\n ]" if len(value) else b"]"
        else:
            yield to_json(value)
        before = b",\n "
    yield b"\n}"


def _items(value: list[Any] | Connections) -> Iterator[bytes]:
    """The items of a list as JSON texts; of connections, a text for each block of items."""
    if isinstance(value, Connections):
        return (_BETWEEN.join(lines(columns)) for columns in value.blocks())
    return map(to_json, value)

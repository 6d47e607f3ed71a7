"""The text of summary.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from multitracer.analysis.summary import Connections, Findings
from multitracer.export.json_rows import lines, to_json

_BETWEEN = b",\n  "
"""The separator of a list's items."""
_BLOCK = 2048


def json_text(document: dict[str, Any]) -> bytes:
    """The document as JSON text, in UTF-8."""
    return b"".join(json_pieces(document))


def json_pieces(document: dict[str, Any]) -> Iterator[bytes]:
    """The text of `json_text` in pieces; each item of a list is on its own line, so that grep finds items."""
    before = b"{\n "
    for key, value in document.items():
        yield before + to_json(key) + b": "
        if isinstance(value, list | Connections | Findings):
            yield b"["
            for at, texts in enumerate(_blocks(value)):
                yield _BETWEEN if at else b"\n  "
                yield _BETWEEN.join(texts)
            yield b"\n ]" if len(value) else b"]"
        else:
            yield to_json(value)
        before = b",\n "
    yield b"\n}"


def _blocks(value: list[Any] | Connections | Findings) -> Iterator[Iterable[bytes]]:
    """The JSON texts of a list's items, block by block: written one by one, each would cost as much as making it."""
    if isinstance(value, Connections | Findings):
        return map(lines, value.blocks())
    return (map(to_json, value[at : at + _BLOCK]) for at in range(0, len(value), _BLOCK))

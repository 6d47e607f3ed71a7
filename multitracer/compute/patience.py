"""Says that work in plain Python takes longer, where there is very much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from multitracer.compute import kernels

MANY = 1_000_000
"""Records of plain Python that take a quarter of a minute or more."""
_EVERY = 50_000

Row = TypeVar("Row")


def told(rows: Sequence[Row], doing: str) -> Iterator[Row]:
    """`rows` one after the other; of many it is said that they take longer, and how far it is."""
    many = len(rows) >= MANY
    for done, row in enumerate(rows):
        if many and done % _EVERY == 0:
            kernels.on_compiling[-1](f"{doing}: {done:,} of {len(rows):,} records, which takes longer")
        yield row
    if many:
        kernels.on_compiling[-1]("")

"""Says that work in plain Python takes longer, where there is very much of it, and how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

MANY = 1_000_000
"""Records of plain Python that take a quarter of a minute or more."""
_EVERY = 50_000

Row = TypeVar("Row")

_said: set[str] = set()


def say_once(progress: str) -> None:
    """Print the first text of each kind of work, on a terminal."""
    work = progress.partition(":")[0]
    if progress and work not in _said and sys.stderr.isatty():
        print(progress, file=sys.stderr)
        _said.add(work)


on_waiting: list[Callable[[str], None]] = [say_once]
"""The last of these is called with a progress text, and with "" when a part of the work ends."""


class Patience:
    """Counts the records that one kind of work takes of an input, which come in pieces."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._done = 0

    def told(self, rows: Sequence[Row], read: int = 1, of: int = 1) -> Iterator[Row]:
        """`rows`, those of the next piece; of many in the input it is said that they take longer, and how far it is.

        At the piece's end, `read` octets `of` all the input's are read: by them it is known from the beginning that
        many records come. Of an input of unknown size (0) it is known only once many have come.
        """
        after = self._done + len(rows)
        expected = after * of // read if of > read > 0 else after
        if expected < MANY:
            self._done = after
            yield from rows
            return
        far = f"of about {expected:,} records" if of >= read else "records"
        try:
            for place, row in enumerate(rows):
                if place % _EVERY == 0:
                    on_waiting[-1](f"{self._doing}: {self._done + place:,} {far}, which takes longer")
                yield row
        finally:
            self._done = after
            on_waiting[-1]("")

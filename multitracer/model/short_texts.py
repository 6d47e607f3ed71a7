"""Texts for people and files: of large values short ones, so that they fit on a screen, and such as can be encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from reprlib import Repr
from typing import Any

MOST_NAMES = 5
_LONGEST_NAME = 60

_PLAIN_MARKS = str.maketrans("“”", "''")

_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxstring, _SHORT.maxother = 3, 40, 2, 300, 60


class Document(dict[str, Any]):
    """A document of a result: a dict whose `repr` is shortened; `json.dumps` gives all of it."""

    def __repr__(self) -> str:
        """One line a key, lists with their first items, in a few thousand characters."""
        return "{" + ",\n ".join(f"{key!r}: {_value(value)}" for key, value in self.items()) + "}"


def _value(value: Any) -> str:
    text = _SHORT.repr(value)
    text = text if len(text) <= _SHORT.maxstring else f"{text[: _SHORT.maxstring]} ..."
    return f"{text} ({len(value)} in all)" if isinstance(value, list) and len(value) > _SHORT.maxlist else text


def named(paths: Sequence[str]) -> str:
    """The file names of some paths, and how many more there are."""
    names = [_short_name(Path(path).name) for path in paths[:MOST_NAMES]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _short_name(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 3]}..."


def quoted(text: str) -> str:
    """What an input itself says, for a sentence about the input: in marks that no other text has."""
    return f"“{' '.join(text.translate(_PLAIN_MARKS).split())}”"


def without_quotations(text: str) -> str:
    """The sentence without what `quoted` put into it."""
    return re.sub("“[^”]*”", "“...”", text)


def encodable(text: str) -> str:
    """`text` that can be encoded as UTF-8: undecodable octets of file names (PEP 383) are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()

"""What a page says, whatever its markup: its data, the words that a person reads, tooltips and Bokeh's drawing."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any

SEEN = ".seen.json.gz"
"""Appended to a page's name where only what is seen of it is kept: pages differ in Bokeh's random identifiers."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BOKEH_ID = re.compile(r"p\d+")
_NAMED_BY = ("data-group", "data-series", "data-column")
_TOOLTIPS = ("title", "aria-label", "alt", "placeholder")
_UNSEEN = ("script", "style", "template")
_LONGEST_WORD = 200


class _Reader(HTMLParser):
    """Takes a page apart; scripts that hold data are kept, all others are left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.columns: dict[str, dict[str, Any]] = {}
        self.documents: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.tooltips: list[str] = []
        self._unseen: tuple[str, dict[str, str]] | None = None
        self._held: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin to hold what is not seen; note what is shown when one points at the element."""
        given = {name: value or "" for name, value in attrs}
        if tag in _UNSEEN:
            self._unseen, self._held = (tag, given), []
        self.tooltips += [f"{name}: {' '.join(given[name].split())}" for name in _TOOLTIPS if given.get(name)]

    def handle_endtag(self, tag: str) -> None:
        """Keep a script that was data."""
        if self._unseen and self._unseen[0] == tag:
            kind, text = self._unseen[1].get("type", ""), "".join(self._held)
            if kind == "application/octet-stream":
                self._keep_column(self._unseen[1], text)
            elif kind == "application/json":
                self.documents.append((self._unseen[1].get("id", ""), text))
            self._unseen = None

    def handle_data(self, data: str) -> None:
        """Hold a script's text; split what is seen into words."""
        if self._unseen:
            self._held.append(data)
        else:
            self.words += _UUID.sub("", data).split()

    def _keep_column(self, given: dict[str, str], text: str) -> None:
        name = "/".join(given[key] for key in _NAMED_BY if key in given)
        while name in self.columns:
            name += "+"
        facts: dict[str, Any] = {key: given[key] for key in ("data-kind", "data-step") if key in given}
        self.columns[name] = {**facts, "meta": json.loads(given.get("data-meta", "null")), "text": text.strip()}


def seen(page: str) -> bytes:
    """All that is compared of a page, as compressed JSON; `page` is its HTML."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    named: dict[str, Any] = {}
    drawings = []
    for name, text in reader.documents:
        if _UUID.fullmatch(name):  # as pages had it while Bokeh wrote its own scripts
            drawings.append(_renumbered(json.loads(text)))
        elif name == "mt-figures":
            drawings.append(_renumbered({"": json.loads(text)}))
        else:
            named[name] = json.loads(text)
    found = {
        "columns": reader.columns, "documents": named, "words": reader.words,
        "tooltips": sorted(reader.tooltips), "drawing": drawings,
    }  # fmt: skip
    return gzip.compress(json.dumps(found, ensure_ascii=False).encode(), 6, mtime=0)


def _renumbered(value: Any) -> Any:
    """Bokeh's document with its models numbered in the order in which they stand, and without random keys."""
    numbers: dict[str, str] = {}

    def walk(part: Any) -> Any:
        if isinstance(part, dict):
            pairs = sorted(part.items())
            return {_UUID.sub("", key): identity(one) if key == "id" else walk(one) for key, one in pairs}
        return [walk(one) for one in part] if isinstance(part, list) else part

    def identity(name: Any) -> Any:
        known = isinstance(name, str) and _BOKEH_ID.fullmatch(name)
        return numbers.setdefault(name, f"model {len(numbers)}") if known else walk(name)

    return walk(value)


def differences(before: bytes, after: bytes) -> dict[str, str | None]:
    """What differs first in each part of a page, None where nothing does."""
    one, two = (json.loads(gzip.decompress(text)) for text in (before, after))
    return {
        "page data": _in_columns(one["columns"], two["columns"]) or _in_tree(one["documents"], two["documents"]),
        "page text": _in_words(one["words"], two["words"]),
        "page tooltips": _in_tree(one["tooltips"], two["tooltips"]),
        "page drawing": _in_tree(one["drawing"], two["drawing"]),
    }


def _in_columns(one: dict[str, Any], two: dict[str, Any]) -> str | None:
    if one.keys() != two.keys():
        return f"columns only before {sorted(one.keys() - two.keys())}, only after {sorted(two.keys() - one.keys())}"
    for name, column in one.items():
        other = two[name]
        facts, other_facts = ({**part, "text": ""} for part in (column, other))
        if facts != other_facts:
            return f"column {name}: {_in_tree(facts, other_facts)}"
        if column["text"] == other["text"]:
            continue
        octets, others = (gzip.decompress(base64.b64decode(part["text"])) for part in (column, other))
        if octets != others:
            place = next((at for at, pair in enumerate(zip(octets, others, strict=False)) if pair[0] != pair[1]), -1)
            return f"column {name}: octet {place} of {len(octets)} before, {len(others)} after"
    return None


def _in_words(one: list[str], two: list[str]) -> str | None:
    if one == two:
        return None
    pairs = zip(one, two, strict=False)
    place = next((at for at, (word, other) in enumerate(pairs) if word != other), min(len(one), len(two)))
    around = slice(max(0, place - 3), place + 5)
    return f"word {place}: {' '.join(one[around])[:_LONGEST_WORD]!r} and {' '.join(two[around])[:_LONGEST_WORD]!r}"


def _in_tree(one: Any, two: Any, path: str = "") -> str | None:
    """Where two JSON values differ first, as a path and both values."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        pairs: Any = ((f"{path}/{key}", one[key], two[key]) for key in one)
    elif isinstance(one, list) and isinstance(two, list):
        whole = (f"{path}/length", len(one), len(two))
        pairs = (*((f"{path}/{place}", *both) for place, both in enumerate(zip(one, two, strict=False))), whole)
    elif one == two and type(one) is type(two):
        return None
    else:
        return f"{path or '/'}: {_short(one)} and {_short(two)}"
    return next((found for name, left, right in pairs if (found := _in_tree(left, right, name))), None)


def _short(value: Any) -> str:
    text = json.dumps(list(value) if isinstance(value, dict) else value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_WORD else f"{text[:_LONGEST_WORD]}... ({len(text)} characters)"

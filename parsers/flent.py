"""flent's data file (version 4): JSON with samples of cwnd and RTT of the test's TCP flows.

The samples of `raw_values` carry the host's time; cwnd is in segments, RTT and its variation in ms.
flent identifies its flows by name, not by address: `metadata["flows"]` lists (name, first row, rows).
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.short_texts import encodable
from multitracer.parsers.shared.json_values import DamagedError, Value, loaded_elements, value_at
from multitracer.parsers.shared.lines import FieldError, Losses, nanoseconds
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

DAMAGED = "the JSON document is damaged or cut off: only samples that are still whole are read"
_COLUMNS = {
    "tcp_cwnd": ("cwnd_segments", 1.0),
    "tcp_rtt": ("srtt_s", 1e-3),
    "tcp_rtt_var": ("rttvar_s", 1e-3),
}


# A list's name, or an object without objects in it: what can be read of raw_values when the end is cut off.
_PIECE = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*:\s*\[|(\{[^{}]*\})')


_MOST_DIGITS = 18
"""Whole numbers of more digits are kept as text: Python refuses those of thousands of digits."""


class _Decimal(str):
    """The text of a number: as a float, a time would lose digits."""


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object that begins with flent's keys."""
    start = head.lstrip()[:4096]
    if not start.startswith(b"{"):
        return False
    first = start[1:].lstrip()
    own = b"FLENT_VERSION" in head or b"NETPERF_WRAPPER_VERSION" in head or b'"x_values"' in head
    return own and first.startswith(
        (b'"metadata"', b'"results"', b'"raw_values"', b'"version"', b'"x_values"')
    )


def read(source: Source) -> Recording:
    """The TCP samples as rows of `tcp_state`, flow after flow; other samples are only counted."""
    log, counts, rows = StateLog(), dict[str, int](), dict[str, tuple[int, int]]()
    octets = source.document()
    document = _document(octets, log.losses)
    for name, sample in _samples(document, octets, source.path, log.losses):
        before = len(log.records)
        _sample(log, counts, sample)
        if len(log.records) > before:
            first, count = rows.get(name, (before, 0))
            rows[name] = first, count + 1
    flows = [(encodable(name), *place) for name, place in rows.items()]
    metadata = {"flows": flows, "title": _title(document) if document else ""}
    recording = log.recording("flent", source, counts=counts, metadata=metadata)
    recording.complete = not any(skip.reason == DAMAGED for skip in recording.skips)
    return recording


def _whole(text: str) -> int | _Decimal:
    return int(text) if len(text) <= _MOST_DIGITS else _Decimal(text)


_DECODER = json.JSONDecoder(parse_float=_Decimal, parse_int=_whole, parse_constant=_Decimal)
"""Numbers that are not whole, or too large for any field, are their text."""


def _document(octets: bytes, losses: Losses) -> dict[str, Value] | None:
    """The parts that are read; None, and a loss, where the document is damaged."""
    try:
        document = value_at(octets, len(octets) - len(octets.lstrip()), len(octets))
        parts = document.some("metadata", "raw_values")
        if "raw_values" in parts:
            parts["raw_values"].check()
    except DamagedError as error:
        losses.add(DAMAGED, offset=error.at)
        return None
    if octets[document.end :].strip():
        losses.add(DAMAGED, offset=document.end)
    return parts


def _title(document: dict[str, Value]) -> str:
    try:
        title = document["metadata"].some("TITLE")["TITLE"].loaded(_DECODER)
    except (DamagedError, KeyError):
        return ""
    return encodable(title) if isinstance(title, str) else ""


def _samples(
    document: dict[str, Value] | None, octets: bytes, path: str, losses: Losses
) -> Iterator[tuple[str, Any]]:
    """Every sample, and the name of its list."""
    if document is None:
        yield from _readable_samples(octets)
        return
    raw = document.get("raw_values")
    if raw is None or not raw.is_object:
        raise InputError(path, "has no raw_values: flent before version 4 kept no sample with its time")
    for name, samples in raw.members():
        for sample in loaded_elements(samples, _DECODER, lambda at: losses.add(DAMAGED, offset=at)):
            yield name, sample


def _readable_samples(octets: bytes) -> Iterator[tuple[str, Any]]:
    """The samples of a damaged document that can still be read, and the names of their lists."""
    name = ""
    start, end = octets.find(b'"raw_values"'), octets.find(b'"results"')
    for piece in _PIECE.finditer(octets, max(start, 0), end if end > start else len(octets)):
        if piece[1] is not None:
            name = piece[1].decode("utf-8", "replace")
            continue
        try:
            yield name, Value(octets, piece.start(2), piece.end(2)).loaded(_DECODER)
        except DamagedError:
            continue


def _sample(log: StateLog, counts: dict[str, int], sample: Any) -> None:
    """Add one sample; samples of other than TCP are only counted."""
    record = len(log.records) + 1
    if not isinstance(sample, dict) or not any(key in sample for key in _COLUMNS):
        counts["other samples"] = counts.get("other samples", 0) + 1
        return
    try:
        values = {
            column: _finite(sample[key]) * scale
            for key, (column, scale) in _COLUMNS.items()
            if isinstance(sample.get(key), int | _Decimal)
        }
        log.add(record, nanoseconds(str(sample.get("t"))), "sample", None, None, **values)
    except FieldError as error:
        log.losses.add(str(error), record)


def _finite(number: int | _Decimal) -> float:
    value = float(number)
    if not isfinite(value):
        raise FieldError("a field out of range, in a sample")
    return value

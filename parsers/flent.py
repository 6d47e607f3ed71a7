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
from multitracer.model.schema import encodable
from multitracer.parsers.shared.lines import FieldError, Losses, nanoseconds
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

DAMAGED = "the JSON document is damaged or cut off: only samples that are still whole are read"
_COLUMNS = {
    "tcp_cwnd": ("cwnd_segments", 1.0),
    "tcp_rtt": ("srtt_s", 1e-3),
    "tcp_rtt_var": ("rttvar_s", 1e-3),
}


# A list's name, or an object without objects in it: what can be read of raw_values when the end is cut off.
_PIECE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*:\s*\[|(\{[^{}]*\})')


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
    log, counts, flows = StateLog(), dict[str, int](), list[tuple[str, int, int]]()
    document = _document(source, log.losses)
    for name, samples in _raw_values(document, source.path).items():
        before = len(log.records)
        for sample in samples if isinstance(samples, list) else []:
            _sample(log, counts, sample)
        if len(log.records) > before:
            flows.append((encodable(name), before, len(log.records) - before))
    about = document.get("metadata")
    title = about.get("TITLE") if isinstance(about, dict) else None
    metadata = {"flows": flows, "title": encodable(title) if isinstance(title, str) else ""}
    recording = log.recording("flent", source, counts=counts, metadata=metadata)
    recording.complete = not any(skip.reason == DAMAGED for skip in recording.skips)
    return recording


def _loaded(text: str) -> Any:
    """The JSON value; numbers that are not whole, or too large for any field, as their text."""
    return json.loads(text, parse_float=_Decimal, parse_int=_whole, parse_constant=_Decimal)


def _whole(text: str) -> int | _Decimal:
    return int(text) if len(text) <= _MOST_DIGITS else _Decimal(text)


def _document(source: Source, losses: Losses) -> dict[str, Any]:
    text = source.document("utf-8")
    try:
        document = _loaded(text)
    except (ValueError, RecursionError) as error:
        losses.add(DAMAGED, offset=getattr(error, "pos", None))
        return {"raw_values": _readable_samples(text)}
    return document if isinstance(document, dict) else {}


def _readable_samples(text: str) -> dict[str, Any]:
    """The samples of a damaged document that can still be read, by the name of their list."""
    found: dict[str, Any] = {}
    name = ""
    start, end = text.find('"raw_values"'), text.find('"results"')
    for piece in _PIECE.finditer(text, max(start, 0), end if end > start else len(text)):
        if piece[1] is not None:
            name = piece[1]
            continue
        try:
            found.setdefault(name, []).append(_loaded(piece[2]))
        except (ValueError, RecursionError):
            continue
    return found


def _raw_values(document: dict[str, Any], path: str) -> dict[str, Any]:
    raw = document.get("raw_values")
    if not isinstance(raw, dict):
        raise InputError(path, "has no raw_values: flent before version 4 kept no sample with its time")
    return raw


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

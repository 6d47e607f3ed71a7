"""flent's data file (version 4): JSON with what the test's TCP flows reported of cwnd and RTT.

The samples of `raw_values` carry the host's time; cwnd is in segments, RTT and its variation in ms.
flent knows its flows by name, not by address: `metadata["flows"]` lists (name, first row, rows).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from multitracer.parsers.lines import nanoseconds
from multitracer.parsers.state import StateLog

from multitracer.errors import InputError

if TYPE_CHECKING:
    from multitracer.parsers.source import Source

    from multitracer.trace import Recording

_COLUMNS = {
    "tcp_cwnd": ("cwnd_segments", 1.0),
    "tcp_rtt": ("srtt_s", 1e-3),
    "tcp_rtt_var": ("rttvar_s", 1e-3),
}


class _Decimal(str):
    """A number with a fraction, as it was written: times keep every digit."""


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
    """The TCP samples as rows of `tcp_state`, flow after flow; other samples are counted."""
    log, counts, flows = StateLog(), dict[str, int](), list[tuple[str, int, int]]()
    document = _document(source)
    for name, samples in _raw_values(document, source.path).items():
        before = len(log.records)
        for sample in samples if isinstance(samples, list) else []:
            _sample(log, counts, sample)
        if len(log.records) > before:
            flows.append((name, before, len(log.records) - before))
    about = document.get("metadata")
    title = about.get("TITLE") if isinstance(about, dict) else None
    return log.recording(
        "flent",
        source,
        counts=counts,
        metadata={"flows": flows, "title": title if isinstance(title, str) else ""},
    )


def _document(source: Source) -> dict[str, Any]:
    try:
        document = json.loads(bytes(source.data).decode("utf-8", "backslashreplace"), parse_float=_Decimal)
    except (ValueError, RecursionError) as error:
        where = getattr(error, "pos", None)
        raise InputError(
            source.path, f"is a flent data file that is damaged or cut off ({error})"[:300], offset=where
        ) from error
    return document if isinstance(document, dict) else {}


def _raw_values(document: dict[str, Any], path: str) -> dict[str, Any]:
    raw = document.get("raw_values")
    if not isinstance(raw, dict):
        raise InputError(path, "has no raw_values: flent before version 4 kept no sample with its time")
    return raw


def _sample(log: StateLog, counts: dict[str, int], sample: Any) -> None:
    """One sample; those of other than TCP are only counted."""
    record = len(log.records) + 1
    if not isinstance(sample, dict) or not any(key in sample for key in _COLUMNS):
        counts["other samples"] = counts.get("other samples", 0) + 1
        return
    values = {
        column: float(sample[key]) * scale
        for key, (column, scale) in _COLUMNS.items()
        if isinstance(sample.get(key), int | _Decimal)
    }
    try:
        log.add(record, nanoseconds(str(sample.get("t"))), "sample", None, None, **values)
    except ValueError:
        log.losses.add("a sample without a time", record)

"""iperf3's JSON (`-J`, `--json-stream`): the sender's window, round trip, octets and resends, per interval and stream.

A sample was taken at its interval's end. Intervals count from the start of the test, whose time stands in whole
seconds and is taken before the streams connect; those that `-O` omits are counted from there anew. A file may hold
several tests, as a server writes them. Intervals are read stream by stream: the sums beside them would count them
twice. A receiver's have octets alone: they are in `metadata["intervals"]`, with the sender's.
Source: iperf_api.c (iperf_on_connect, iperf_print_intermediate) and iperf_tcp.c of iperf 3.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.schema import empty
from multitracer.model.short_texts import quoted
from multitracer.model.trace import Recording
from multitracer.parsers.shared.json_values import DamagedError, Value, loaded_elements, value_at
from multitracer.parsers.shared.lines import SECOND_NS, FieldError, endpoint
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

DAMAGED = "the JSON document is damaged or cut off: only intervals that are still whole are read"
NO_START = "an interval without its test's start, or its stream's connection"
OUT_OF_RANGE = "an interval with a time or number out of range"
WHOLE_SECONDS = "Its times count from the test's start, taken in whole seconds before its streams connected."
SERVER_S = "Its samples are the server's, on the server's clock: that end sent the data."
START_ERROR_S = 1.0
"""The test's start is cut to whole seconds."""
_COLUMNS = {
    "snd_cwnd": ("cwnd_bytes", 1.0), "rtt": ("srtt_s", 1e-6), "rttvar": ("rttvar_s", 1e-6),
    "snd_wnd": ("snd_wnd_bytes", 1.0),
}  # fmt: skip
_OF_INTERVAL = ("interval_s", "interval_bytes", "interval_resends")
_FIRST_KEYS = (b'"start"', b'"event"', b'"title"', b'"extra_data"', b'"error"')
# An object without objects in it: what can be read of a document whose end is missing.
_PIECE = re.compile(rb"\{[^{}]*\}")
_LONGEST_TEST_S = 1e6
_EVENTS = ("start", "interval", "error", "server_output_json")
_MOST_STREAMS = 256
"""iperf3 has at most 128 (MAX_STREAMS), each way."""
_MOST_ERRORS = 20
"""Of a file of many tests, more are not told."""
_DECODER = json.JSONDecoder()


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object that begins with iperf3's keys and names iperf's version."""
    start = head.lstrip()
    return (
        start.startswith(b"{")
        and start[1:200].lstrip().startswith(_FIRST_KEYS)
        and b'"iperf 3' in head
        and b'"start"' in head
    )


@dataclass
class _Log:
    state: StateLog = field(default_factory=StateLog)
    counts: Counter[str] = field(default_factory=Counter)
    intervals: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    """Of the test whose intervals follow."""
    records: int = 0


def read(source: Source) -> Recording:
    """The samples of the sending streams as rows of `tcp_state`, with their connections."""
    log, octets, answers = _Log(), source.document(), 0
    for event, data in _events(octets, log):
        if event == "server_output_json":
            answers += data.is_object
        else:
            _take(log, event, data)
    if log.state.records:
        log.counts.update({"outputs of the server, on its own clock": answers} if answers else {})
        return _recording(source, log)
    for event, data in _events(octets, _Log()) if answers else ():
        if event == "server_output_json":
            for inner, value in _of_test(_parts(data), log):
                _take(log, inner, value)
    # Reversed, the server sends; its samples are on its own clock, and so alone in their log.
    return _recording(source, log, [SERVER_S] * bool(log.state.records))


def _recording(source: Source, log: _Log, notes: Sequence[str] = ()) -> Recording:
    if not log.intervals:
        seen = [*map(quoted, log.errors), *(f"{count} {what}" for what, count in log.counts.items())]
        seen += [skip.reason for skip in log.state.losses.skips]
        problem = "; ".join(["holds no interval of a TCP test", *seen])
        raise InputError(source.path, problem, hint="Record the test again, or leave it out.")
    notes = [*(f"iperf3 says: {quoted(error)}." for error in log.errors), *notes, WHOLE_SECONDS]
    extra: dict[str, Any] = {
        "counts": dict(log.counts), "notes": notes,
        "metadata": {"intervals": log.intervals, "clock_error_s": START_ERROR_S},
    }  # fmt: skip
    if log.state.records:
        recording = log.state.recording("iperf3", source, **extra)
    else:
        notes.append("It is a receiver's: it holds what came in each interval, and no state of a sender.")
        losses, extra["counts"] = log.state.losses.skips, {**log.counts, "received intervals": len(log.intervals)}
        recording = Recording(
            "iperf3", {"tcp_state": empty("tcp_state")}, log.records, losses, bytes_read=len(source), **extra
        )
    recording.complete = not recording.skips and not log.errors
    return recording


Event = tuple[str, Any]
"""What happened in a test, and Python objects of it: its `start`, an `interval`, an `error`, or the server's output."""


def _events(octets: bytes, log: _Log) -> Iterator[Event]:
    """The events of all tests, one after the other; a test that is one document gives the same as one in lines."""
    for parts in _objects(octets, log):
        if isinstance(parts, bytes):
            yield from _of_pieces(parts)
        elif "event" not in parts:
            yield from _of_test(parts, log)
        elif "data" in parts and (event := _loaded(parts["event"], log)) in _EVENTS:
            data = parts["data"]
            yield str(event), data if event == "server_output_json" else _loaded(data, log)


def _of_test(parts: dict[str, Value], log: _Log) -> Iterator[Event]:
    """The events of a test that is one document."""
    yield "start", _loaded(parts["start"], log) if "start" in parts else {}
    if "intervals" in parts:
        damaged = partial(log.state.losses.add, DAMAGED, None)
        for interval in loaded_elements(parts["intervals"], _DECODER, damaged, "latin-1"):
            yield "interval", interval
    if "error" in parts:
        yield "error", _loaded(parts["error"], log)
    if "server_output_json" in parts:
        yield "server_output_json", parts["server_output_json"]


def _loaded(value: Value, log: _Log) -> Any:
    try:
        return value.loaded(_DECODER, "latin-1")
    except DamagedError as error:
        log.state.losses.add(DAMAGED, None, error.at)
        return None


def _parts(document: Value) -> dict[str, Value]:
    return document.some("event", "data", "start", "intervals", "error", "server_output_json")


def _objects(octets: bytes, log: _Log) -> Iterator[dict[str, Value] | bytes]:
    """The JSON objects that follow one another, as the parts that are read; of a damaged one the octets.

    After a damaged one an object has to end before the next line that begins with one: else each of many without an
    end would be followed to the end of the file.
    """
    at, end = 0, len(octets)
    while (at := octets.find(b"{", at)) >= 0:
        if at >= end:
            end = _next_line(octets, at)
        try:
            found = value_at(octets, at, end)
            parts = _parts(found)
        except DamagedError:
            following = _next_line(octets, at)
            log.state.losses.add(DAMAGED, None, at)
            yield octets[at:following]
            at = end = following
        else:
            yield parts
            at = found.end


def _next_line(octets: bytes, at: int) -> int:
    """Where the next line that begins with an object begins; the end where none does."""
    following = octets.find(b"\n{", at)
    return len(octets) if following < 0 else following


def _of_pieces(octets: bytes) -> Iterator[Event]:
    """The events of the whole objects in a damaged document; none if it is a single event's line."""
    if octets.startswith(b'{"event"'):
        return
    start: dict[str, Any] = {"connected": []}
    yield "start", start
    for piece in _PIECE.finditer(octets):
        try:
            found = Value(octets, *piece.span()).loaded(_DECODER, "latin-1")
        except DamagedError:
            continue
        if "timesecs" in found:
            start.setdefault("timestamp", found)
        elif "local_host" in found and len(start["connected"]) < _MOST_STREAMS:
            start["connected"].append(found)
        elif "protocol" in found:
            start.setdefault("test_start", found)
        elif "socket" in found and "omitted" in found:  # the summaries at the end have no `omitted`
            yield "interval", {"streams": [found]}


def _take(log: _Log, event: str, data: Any) -> None:
    """Add an event."""
    if event == "start":
        log.start = _object(data)
    elif event == "interval":
        _interval(log, _object(data))
    elif event == "error" and isinstance(data, str) and len(log.errors) < _MOST_ERRORS:
        log.errors.append(" ".join(data.split())[:200])


def _interval(log: _Log, interval: dict[str, Any]) -> None:
    """Add an interval of all streams of the test that has begun."""
    about = _object(log.start.get("test_start"))
    protocol = about.get("protocol", "TCP")
    sockets = {_socket(entry): entry for entry in _list(log.start.get("connected"))}
    for sample in _list(interval.get("streams")):
        log.records += 1
        if protocol != "TCP":
            log.counts[f"intervals of {protocol if protocol in ('UDP', 'SCTP') else 'another protocol'}"] += 1
        else:
            _sample(log, sample, sockets.get(_socket(sample), {}), log.start, about)


def _sample(
    log: _Log, sample: dict[str, Any], connected: dict[str, Any], start: dict[str, Any], about: dict[str, Any]
) -> None:
    """Add one interval of one stream; its state, if the stream sends and the host gives it."""
    begun, base = _number(_object(start.get("timestamp")).get("timesecs")), len(log.intervals) + 1
    ends = _ends(connected)
    if begun is None or ends is None:
        return log.state.losses.add(NO_START, base)
    span = [_number(sample.get(name)) for name in ("start", "end")]
    values = {column: (_number(sample[key]), scale) for key, (column, scale) in _COLUMNS.items() if key in sample}
    bad = [value for value, _ in values.values() if value is None]
    if span[0] is None or span[1] is None or span[1] > _LONGEST_TEST_S or bad or begun >= (1 << 63) // SECOND_NS - 2e6:
        return log.state.losses.add(OUT_OF_RANGE, base)
    omitted = sample.get("omitted") is True
    shift = 0.0 if omitted else min(_number(about.get("omit")) or 0.0, _LONGEST_TEST_S)
    counted = [_number(sample.get(name)) for name in ("bytes", "retransmits")]
    if sample.get("sender", bool(values)) is True:  # older versions do not say which end it is
        time_ns = int(begun) * SECOND_NS + round((shift + span[1]) * 1e9)
        numbers = {column: (value or 0.0) * scale for column, (value, scale) in values.items()}
        of_interval = zip(_OF_INTERVAL, (max(0.0, span[1] - span[0]), *counted), strict=True)
        numbers |= {column: value for column, value in of_interval if value is not None}
        try:
            log.state.add(base, time_ns, "sample", ends[0], ends[1], **numbers)
        except FieldError:
            return log.state.losses.add(OUT_OF_RANGE, base)
    log.intervals.append(
        {"local": ends[0], "remote": ends[1], "start_s": shift + span[0], "end_s": shift + span[1],
         "bytes": counted[0], "retransmits": counted[1]}
    )  # fmt: skip
    return None


def _socket(entry: dict[str, Any]) -> int:
    """The number by which iperf3 tells streams apart; -1 where it is none."""
    number = entry.get("socket")
    return number if isinstance(number, int) else -1


def _ends(connected: dict[str, Any]) -> tuple[str, str] | None:
    """The stream's two ends; None where its connection is not told."""
    ends = []
    for side in ("local", "remote"):
        host, port = connected.get(f"{side}_host"), connected.get(f"{side}_port")
        if not isinstance(host, str) or not isinstance(port, int) or not 0 < port < 65536:
            return None
        ends.append(endpoint(host[:60], port))
    return ends[0], ends[1]


def _number(value: Any) -> float | None:
    """A number that is not negative and within 63 bits; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1 << 63 and isfinite(value) else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

"""iperf3's JSON (`-J`, `--json-stream`): the sender's congestion window and round trip, once an interval and stream.

A sample was taken at its interval's end. Intervals count from the start of the test, whose time stands in whole
seconds and is taken before the streams connect; those that `-O` omits are counted from there anew. A file may hold
several tests, as a server writes them. Octets and retransmissions of the intervals are in `metadata["intervals"]`,
stream by stream: the sums beside them would count them twice. Source: iperf_api.c (iperf_on_connect,
iperf_print_intermediate) and iperf_tcp.c of iperf 3.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.schema import empty
from multitracer.model.trace import Recording
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
_FIRST_KEYS = (b'"start"', b'"event"', b'"title"', b'"extra_data"', b'"error"')
# An object without objects in it: what can be read of a document whose end is missing.
_PIECE = re.compile(r"\{[^{}]*\}")
_LONGEST_TEST_S = 1e6


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
    records: int = 0


def read(source: Source) -> Recording:
    """The samples of the sending streams as rows of `tcp_state`, with their connections."""
    log = _Log()
    tests = list(_tests(source, log))
    for test in tests:
        _test(log, test)
    answers = [test["server_output_json"] for test in tests if isinstance(test.get("server_output_json"), dict)]
    if log.state.records:
        log.counts.update({"outputs of the server, on its own clock": len(answers)} if answers else {})
        return _recording(source, log)
    for answer in answers:
        _test(log, answer)
    # Reversed, the server sends; its samples are on its own clock, and so alone in their log.
    return _recording(source, log, [SERVER_S] * bool(log.state.records))


def _recording(source: Source, log: _Log, notes: Sequence[str] = ()) -> Recording:
    if not log.intervals:
        seen = [*log.errors, *(f"{count} {what}" for what, count in log.counts.items())]
        seen += [skip.reason for skip in log.state.losses.skips]
        problem = "; ".join(["holds no interval of a TCP test", *seen])
        raise InputError(source.path, problem, hint="Record the test again, or leave it out.")
    notes = [*(f"iperf3 says: {error}." for error in log.errors), *notes, WHOLE_SECONDS]
    extra: dict[str, Any] = {
        "counts": dict(log.counts), "notes": notes,
        "metadata": {"intervals": log.intervals, "clock_error_s": START_ERROR_S},
    }  # fmt: skip
    if log.state.records:
        recording = log.state.recording("iperf3", source, **extra)
    else:
        notes.append("It is a receiver's: it holds no state of a sender.")
        losses = log.state.losses.skips
        recording = Recording(
            "iperf3", {"tcp_state": empty("tcp_state")}, log.records, losses, bytes_read=len(source), **extra
        )
    recording.complete = not recording.skips and not log.errors
    return recording


def _tests(source: Source, log: _Log) -> Iterator[dict[str, Any]]:
    """Every test of the file: its `start`, its `intervals`, its `error`."""
    streamed: dict[str, Any] = {}
    for found in _objects(source.document("latin-1"), log):
        event, data = found.get("event"), found.get("data")
        if not isinstance(event, str):
            yield found
        elif event == "start":
            if streamed:
                yield streamed
            streamed = {"start": data, "intervals": []}
        elif event == "interval":
            streamed.setdefault("intervals", []).append(data)
        elif event in ("error", "server_output_json"):
            streamed[event] = data
    if streamed:
        yield streamed


def _objects(text: str, log: _Log) -> Iterator[dict[str, Any]]:
    """The JSON objects that follow one another; of a damaged one, what is whole in it."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = text.find("\n{", at)
            end = len(text) if end < 0 else end
            log.state.losses.add(DAMAGED, None, at)
            found, at = _pieces(text[at:end]), end
        if isinstance(found, dict):
            yield found


def _pieces(text: str) -> dict[str, Any]:
    """A test from the whole objects in a damaged document; empty if it is a single event's line."""
    start: dict[str, Any] = {"connected": []}
    streams = []
    for piece in [] if text.startswith('{"event"') else _PIECE.findall(text):
        try:
            found = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if "timesecs" in found:
            start.setdefault("timestamp", found)
        elif "local_host" in found:
            start["connected"].append(found)
        elif "protocol" in found:
            start.setdefault("test_start", found)
        elif "socket" in found and "omitted" in found:  # the summaries at the end have no `omitted`
            streams.append(found)
    return {"start": start, "intervals": [{"streams": streams}]}


def _test(log: _Log, test: dict[str, Any]) -> None:
    """Add the intervals of one test."""
    start = _object(test.get("start"))
    if isinstance(test.get("error"), str):
        log.errors.append(" ".join(test["error"].split())[:200])
    about = _object(start.get("test_start"))
    protocol = about.get("protocol", "TCP")
    sockets = {_socket(entry): entry for entry in _list(start.get("connected"))}
    for interval in _list(test.get("intervals")):
        for sample in _list(interval.get("streams")):
            log.records += 1
            if protocol != "TCP":
                log.counts[f"intervals of {str(protocol)[:10]}"] += 1
            else:
                _sample(log, sample, sockets.get(_socket(sample), {}), start, about)


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
    if values and sample.get("sender") is not False:
        time_ns = int(begun) * SECOND_NS + round((shift + span[1]) * 1e9)
        numbers = {column: (value or 0.0) * scale for column, (value, scale) in values.items()}
        try:
            log.state.add(base, time_ns, "sample", ends[0], ends[1], **numbers)
        except FieldError:
            return log.state.losses.add(OUT_OF_RANGE, base)
    log.intervals.append(
        {"local": ends[0], "remote": ends[1], "start_s": shift + span[0], "end_s": shift + span[1],
         "bytes": _number(sample.get("bytes")), "retransmits": _number(sample.get("retransmits"))}
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

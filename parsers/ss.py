"""`ss -ti`, sampled: the statistics of every TCP socket at regular times.

ss itself writes no times. Three ways of adding them are read: a line `Time: SECONDS` before
each sample (flent), a line `# SECONDS` before each sample, and the time at the start of every line.
rto is in ms and includes the backoff; a value that ss leaves out is zero or unset.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from multitracer.model.errors import InputError
from multitracer.parsers.shared.lines import (
    INT64,
    FieldError,
    fits,
    head_lines,
    nanoseconds,
    split_endpoint,
    take_lines,
    whole,
)
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_STAMP = re.compile(r"(?:Time:|#)\s*(\d{9,10}(?:\.\d+)?)\s*\Z", re.ASCII)
_STAMPED_LINE = re.compile(r"(\d{9,10}\.\d+)(\t|\s)(.*)\Z", re.ASCII | re.DOTALL)
_HEADING = re.compile(r"State\s+Recv-Q\s+Send-Q\s")
_SOCKET = re.compile(
    r"(?:tcp\s+)?(ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|UNCONN|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING)"
    r"\s+\d+\s+\d+\s+(\S+)\s+(\S+)(?:\s+(.*))?\Z",
    re.ASCII,
)
_TOKENS = re.compile(r"(?:.*\s)?(?:rto:[\d.]+|cwnd:\d+)(?:\s|\Z)", re.ASCII)
_TOKEN = re.compile(r"(?<!\S)(\w+):([\d.]+)(?:/([\d.]+))?(?=\s|\Z)", re.ASCII)
_NAMED = re.compile(r"(?<!\S)(cwnd|mss|rcv_wnd|rto|rtt|snd_wnd|ssthresh):", re.ASCII)
_CLOCK = re.compile(r"(?<!\S)(busy|rwnd_limited|sndbuf_limited):(\d+)ms(?:\([\d.]+%\))?(?=\s|\Z)", re.ASCII)
_QUIET = ("LISTEN", "TIME-WAIT")


def sniff(head: bytes) -> bool:
    """Whether it begins with a time, a heading or a socket, and has a socket with its statistics."""
    lines = [_without_stamp(line) for line in head_lines(head)]
    if not lines:
        return False
    begins = any(pattern.match(lines[0]) for pattern in (_STAMP, _HEADING, _SOCKET))
    return (
        begins and any(_SOCKET.match(line) for line in lines) and any(_TOKENS.match(line) for line in lines)
    )


def read(source: Source) -> Recording:
    """Each socket of each sample as a row of `tcp_state`; sockets without a window are only counted."""
    log, sample = StateLog(), _Sample()

    def take(number: int, offset: int, text: str) -> None:
        text = sample.without_time(text)
        if not text.strip() or text == "---" or text.startswith("#") or _HEADING.match(text):
            return
        match = _SOCKET.match(text.strip())
        if match:
            sample.open(match)
            text = match[4] or ""
        if _TOKENS.match(text):
            sample.add(log, number, offset, text)
        elif not match:
            log.losses.add("neither a socket nor its statistics", number, offset)

    take_lines(source, log.losses, take, "neither a socket nor its statistics")
    if not log.records and any(skip.reason == "a sample without a time" for skip in log.losses.skips):
        raise InputError(
            source.path, "its samples carry no time", hint="Print `# $(date +%s.%N)` before each run of ss."
        )
    return log.recording("ss", source, counts=sample.counts)


def _without_stamp(text: str) -> str:
    match = _STAMPED_LINE.match(text)
    return match[3].strip() if match else text


class _Sample:
    """The sample being read: its time, and the socket whose statistics come next."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._time_ns: int | None = None
        self._socket: tuple[str, str] | None = None

    def without_time(self, text: str) -> str:
        """The line without its time, which holds for the following lines; nothing follows a time that is none."""
        stamp = _STAMP.match(text)
        line = stamp or _STAMPED_LINE.match(text)
        if line is None:
            return text
        self._time_ns = None
        self._time_ns = nanoseconds(line[1])
        return "" if stamp else line[3]

    def open(self, match: re.Match[str]) -> None:
        """Begin a socket; one in a state without a window is only counted."""
        self._socket = None
        # UNCONN with a peer is a socket that has just ended (ss --events).
        if match[1] in _QUIET or (match[1] == "UNCONN" and match[3].endswith(":*")):
            kind = f"sockets in {match[1]}"
            self.counts[kind] = self.counts.get(kind, 0) + 1
        else:
            self._socket = split_endpoint(match[2]), split_endpoint(match[3])

    def add(self, log: StateLog, number: int, offset: int, text: str) -> None:
        """Add the statistics of the socket; without a time they are a loss."""
        socket, self._socket = self._socket, None
        if self._time_ns is None:
            log.losses.add("a sample without a time", number, offset)
        elif socket is not None:
            _add(log, number, self._time_ns, socket, text)


def _add(log: StateLog, number: int, time_ns: int, socket: tuple[str, str], text: str) -> None:
    tokens = {name: (_float(first), _float(second)) for name, first, second in _TOKEN.findall(text)}
    if any(tokens.get(name, (None,))[0] is None for name in _NAMED.findall(text)):
        raise FieldError("a statistic that is no number")

    def of(name: str) -> float | None:
        return tokens.get(name, (None, None))[0]

    cwnd, mss, threshold = of("cwnd"), of("mss"), of("ssthresh")
    rtt, rttvar = tokens.get("rtt", (None, None))
    rto, in_bytes = of("rto"), mss if mss is not None else None
    values: dict[str, float | None] = {
        "cwnd_segments": cwnd,
        "cwnd_bytes": cwnd * in_bytes if cwnd is not None and in_bytes is not None else None,
        # ss leaves out a threshold above 65534 segments: none is set.
        "ssthresh_segments": (inf if threshold is None else threshold) if cwnd is not None else None,
        "snd_wnd_bytes": of("snd_wnd"),
        "rcv_wnd_bytes": of("rcv_wnd"),
        "srtt_s": rtt / 1e3 if rtt is not None else None,
        "rttvar_s": rttvar / 1e3 if rttvar is not None else None,
        "rto_s": rto / 1e3 if rto is not None else None,
        "retransmits": of("retrans") or 0.0,
        **_clocks(text),
    }
    known = {name: value for name, value in values.items() if value is not None}
    log.add(number, time_ns, "sample", socket[0], socket[1], **known)


def _clocks(text: str) -> dict[str, float]:
    """The kernel's clocks in s; ss leaves out those at zero, and its older versions all."""
    found = {f"{name}_s": whole(ms, INT64) / 1e3 for name, ms in _CLOCK.findall(text)}
    return {"busy_s": 0.0, "rwnd_limited_s": 0.0, "sndbuf_limited_s": 0.0, **found} if found else {}


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return fits("a statistic", number, INT64)

"""Kernel tracepoints of TCP as ftrace and perf print them: tcp_probe, tcp_retransmit_skb, tcp_cong_state_set.

tcp_probe fires on every segment that arrives, before it is processed: cwnd and ssthresh are those before
the segment. Where both ends run on one kernel, both sockets of a connection are logged. Times are the
trace clock's, by default the time since the machine started. `srtt` is in microseconds; `length=` of
older kernels includes the TCP header, and is left out. A kernel stack below a tcp_retransmit_skb says what
made TCP resend.
"""

from __future__ import annotations

import re
from math import isnan, nan
from typing import TYPE_CHECKING

from multitracer.parsers.shared.lines import (
    FieldError,
    endpoint,
    head_lines,
    nanoseconds,
    split_endpoint,
    take_lines,
    whole,
)
from multitracer.parsers.shared.tcp_state import StateLog, ssthresh

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

# comm-pid [cpu] flags time: event: ...; perf's output has no flags.
_EVENT = re.compile(
    r"\s*\S.*?[\s-]\d+(?:/\d+)?\s+(?:\(\s*[\d-]+\)\s+)?\[(?P<cpu>\d+)\]\s+(?:\S+\s+)?"
    r"(?P<time>\d+\.\d+): +(?:\w+:)?(?P<event>\w+): +",
    re.ASCII,
)
_STACK = re.compile(r"\s*\S.*?\s\[(\d+)\]\s.*: <stack trace>\s*\Z", re.ASCII)
_FRAME = re.compile(r"\s*(?:=> |[0-9a-f]{8,16} )\s*([\w.]+)", re.ASCII)  # ftrace's, perf's
_CALLERS = {
    "tcp_retransmit_timer": 0, "tcp_send_loss_probe": 1, "tcp_xmit_retransmit_queue": 2, "tcp_rack_reo_timeout": 2,
    "tcp_simple_retransmit": 2,
}  # fmt: skip
"""What a function in the stack says of the resend: the column `resent_by`."""
_LOST = re.compile(r"CPU:\d+ \[LOST (\d{1,15}) EVENTS\]", re.ASCII)
_ENTRIES = re.compile(r"#\s*entries-in-buffer/entries-written: (\d{1,15})/(\d{1,15})\b", re.ASCII)
_PROBE = re.compile(
    r"(?:family=\w+ )?src=(\S+) dest=(\S+) mark=\w+ (?:data_len=(\d{1,10})|length=\d+) "
    r"snd_nxt=0x([0-9a-f]{1,8}) snd_una=0x([0-9a-f]{1,8}) snd_cwnd=(\d{1,10}) "
    r"ssthresh=(\d{1,10}) snd_wnd=(\d{1,10}) srtt=(\d{1,10}) rcv_wnd=(\d{1,10})(?!\d)",
    re.ASCII,
)
_SOCKET = re.compile(
    r"(?:.*? )?sport=(\d{1,5}) dport=(\d{1,5}) saddr=([\d.]+) daddr=([\d.]+) saddrv6=(\S+) daddrv6=(\S+)"
    r"(?: state=\S+)?(?: err=\S+)?(?: cong_state=(\d+))?\s*\Z",
    re.ASCII,
)
OVERRUN = "events that the kernel's trace buffer had lost"
_OURS = ("tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set")


def sniff(head: bytes) -> bool:
    """Whether its first record is a trace event, and one of the three events is among the first records."""
    records = [line for line in head_lines(head) if not line.startswith("#")]
    events = [match["event"] if match else None for match in map(_EVENT.match, records)]
    return bool(events) and events[0] is not None and any(event in _OURS for event in events)


def read(source: Source) -> Recording:
    """The three events as rows of `tcp_state`; other events are only counted."""
    log, counts, ends, stacks = StateLog(), dict[str, int](), dict[str, str](), _Stacks()

    def take(number: int, offset: int, text: str) -> None:
        event = _EVENT.match(text)
        if event is not None:
            stacks.open(event["cpu"], -1)
            if event["event"] not in _OURS:
                counts[event["event"]] = counts.get(event["event"], 0) + 1
            else:
                _add(log, ends, number, text, event)
                if event["event"] == "tcp_retransmit_skb":
                    stacks.open(event["cpu"], len(log.records) - 1)
        elif not stacks.note(log, text):
            _not_an_event(log, number, offset, text)

    take_lines(source, log.losses, take, "not a line of a kernel trace")
    return log.recording("tcp_probe", source, clock="monotonic", counts=counts)


class _Stacks:
    """Which row of a log the stack being read belongs to: the latest event of its processor, if a retransmission."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}
        self._row = -1

    def open(self, cpu: str, row: int) -> None:
        """An event of a processor that is the log's row `row`, -1 if it is no retransmission."""
        self._latest[cpu] = self._row = row

    def note(self, log: StateLog, text: str) -> bool:
        """Note a line of a stack in its row; False for a line of something else."""
        head, frame = _STACK.match(text), _FRAME.match(text)
        if head:
            self._row = self._latest.get(head[1], -1)
        elif frame and 0 <= self._row < len(log.records):
            code = _CALLERS.get(frame[1].partition(".")[0])
            if code is not None and isnan(log.numbers["resent_by"][self._row]):
                log.numbers["resent_by"][self._row] = code
        return bool(head or frame)


def _not_an_event(log: StateLog, number: int, offset: int, text: str) -> None:
    """Count lost events and lines of no trace; other comments than those that count lost events are no loss."""
    entries, lost = _ENTRIES.match(text), _LOST.match(text)
    if entries and int(entries[2]) > int(entries[1]):
        log.losses.add(OVERRUN, number, offset, int(entries[2]) - int(entries[1]))
    elif lost:
        log.losses.add(OVERRUN, number, offset, int(lost[1]))
    elif not text.startswith("#"):
        log.losses.add("not a line of a kernel trace", number, offset)


def _add(log: StateLog, ends: dict[str, str], number: int, text: str, event: re.Match[str]) -> None:
    time_ns = nanoseconds(event["time"])
    if event["event"] == "tcp_probe":
        _probe(log, ends, number, time_ns, text, event.end())
    else:
        _socket(log, number, time_ns, event["event"], text, event.end())


def _probe(log: StateLog, ends: dict[str, str], number: int, time_ns: int, text: str, start: int) -> None:
    match = _PROBE.match(text, start)
    if match is None:
        raise FieldError("tcp_probe without the fields it should have")
    src, dest, length, nxt, una, cwnd, threshold, snd_wnd, srtt, rcv_wnd = match.groups()
    log.add(
        number, time_ns, "recv", _end(ends, src), _end(ends, dest),
        data_bytes=int(length) if length else nan, snd_nxt=int(nxt, 16), snd_una=int(una, 16),
        cwnd_segments=int(cwnd),
        ssthresh_segments=ssthresh(int(threshold)), snd_wnd_bytes=int(snd_wnd), srtt_s=int(srtt) / 1e6,
        rcv_wnd_bytes=int(rcv_wnd),
    )  # fmt: skip


def _end(ends: dict[str, str], text: str) -> str:
    """The end that `text` names, kept in `ends`: a log has few sockets and many lines."""
    if text not in ends:
        ends[text] = split_endpoint(text)
    return ends[text]


def _socket(log: StateLog, number: int, time_ns: int, name: str, text: str, start: int) -> None:
    match = _SOCKET.match(text, start)
    state = match[7] if match else None
    if match is None or (name == "tcp_cong_state_set" and state is None):
        raise FieldError(f"{name} without the fields it should have")
    v6 = ":" in match[5] and match[5] not in ("::", "::0")
    local, remote = (endpoint(match[5 if v6 else 3], match[1]), endpoint(match[6 if v6 else 4], match[2]))
    if state is None:
        log.add(number, time_ns, "retransmit", local, remote, resent_by=nan)
    else:
        log.add(number, time_ns, "state", local, remote, ca_state=whole(state, 255))

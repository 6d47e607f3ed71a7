"""Kernel tracepoints of TCP as ftrace, perf and trace-cmd print them: probes, retransmissions, congestion states.

tcp_probe fires on every segment that arrives, before it is processed: cwnd and ssthresh are those before
the segment. Where both ends run on one kernel, both sockets of a connection are logged. Times are the
trace clock's, by default the time since the machine started. `srtt` is in microseconds; `length=` of
older kernels includes the TCP header, and is left out. tcp_retransmit_skb and tcp_retransmit_synack may stand alone;
a kernel stack below one says what made TCP resend. From Linux 6.17 on the kernel also logs, with its error, what it
could not send: that is counted, and no retransmission.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isnan, nan
from typing import TYPE_CHECKING

from multitracer.parsers.shared.lines import (
    FieldError,
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
_STACK = re.compile(r"\s*\S.*?\s\[(\d+)\]\s.*: +<(?:user )?stack trace ?>\s*\Z", re.ASCII)
# ftrace's and trace-cmd's; perf's: an address, and the function if it is known.
_FRAME = re.compile(r"\s*=> *([\w.]*)|\s+[0-9a-f]{5,16} +(?:([\w.]+)|\[unknown\])", re.ASCII)
_CALLERS = {
    "tcp_retransmit_timer": 0, "tcp_write_timer_handler": 0, "tcp_write_timer": 0, "reqsk_timer_handler": 0,
    "tcp_send_loss_probe": 1,
    "tcp_xmit_retransmit_queue": 2, "tcp_rack_reo_timeout": 2, "tcp_simple_retransmit": 2,
}  # fmt: skip
"""What a function in the stack says of the resend: the column `resent_by`.

The innermost counts: a timer's handler without one of the others within is the retransmission timer's.
"""
_PREAMBLE = re.compile(r"cpus=\d+\s*\Z|version = \d+\s*\Z|CPU \d+ is empty\s*\Z", re.ASCII)
"""What trace-cmd prints before its events."""
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
    r"(?: state=\S+)?(?: err=(-?\d{1,9}))?(?: cong_state=(\d{1,9}))?\s*\Z",
    re.ASCII,
)
OVERRUN = "events that the kernel's trace buffer had lost"
NOT_SENT = "retransmissions that the kernel could not send"
_RESENT = ("tcp_retransmit_skb", "tcp_retransmit_synack")
_OURS = ("tcp_probe", *_RESENT, "tcp_cong_state_set")
_STACKS = ("kernel_stack", "user_stack")  # trace-cmd names a stack as an event


def sniff(head: bytes) -> bool:
    """Whether its first record is a trace event, and one of the events read here is among the first records."""
    records = [line for line in head_lines(head) if not line.startswith("#") and not _PREAMBLE.match(line)]
    events = [match["event"] if match else None for match in map(_EVENT.match, records)]
    return bool(events) and events[0] is not None and any(event in _OURS for event in events)


def read(source: Source) -> Recording:
    """The events as rows of `tcp_state`; other events are only counted."""
    log, counts, ends, stacks = StateLog(), Counter[str](), dict[str, str](), _Stacks()

    def take(number: int, offset: int, text: str) -> None:
        event = _EVENT.match(text) if "]" in text else None  # a processor's number; most bad lines have none
        if event is None or event["event"] in _STACKS:
            if not stacks.note(log, text):
                _not_an_event(log, number, offset, text)
            return
        name, rows = event["event"], len(log.records)
        stacks.open(event["cpu"], -1)
        if name in _OURS:
            _ours(log, counts, ends, number, event)
        else:
            counts[name] += 1
        if name in _RESENT and len(log.records) > rows:
            stacks.open(event["cpu"], rows)

    take_lines(source, log.losses, take, "not a line of a kernel trace")
    return log.recording("tcp_probe", source, clock="monotonic", counts=dict(counts))


def _ours(log: StateLog, counts: Counter[str], ends: dict[str, str], number: int, event: re.Match[str]) -> None:
    """Add the row of an event; raises ValueError for one without its fields."""
    time_ns, name = nanoseconds(event["time"]), event["event"]
    if name == "tcp_probe":
        _probe(log, ends, number, time_ns, event)
    elif not _socket(log, ends, number, time_ns, event):
        counts[NOT_SENT] += 1


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
        head, frame = _STACK.match(text) if "]" in text else None, _FRAME.match(text)
        if head:
            self._row = self._latest.get(head[1], -1)
        elif frame and 0 <= self._row < len(log.records):
            code = _CALLERS.get((frame[1] or frame[2] or "").partition(".")[0])
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
    elif not text.startswith("#") and not _PREAMBLE.match(text):
        log.losses.add("not a line of a kernel trace", number, offset)


def _probe(log: StateLog, ends: dict[str, str], number: int, time_ns: int, event: re.Match[str]) -> None:
    match = _PROBE.match(event.string, event.end())
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


def _socket(log: StateLog, ends: dict[str, str], number: int, time_ns: int, event: re.Match[str]) -> bool:
    """Add a retransmission or a change of state; False for a retransmission that failed in the host."""
    match = _SOCKET.match(event.string, event.end())
    changed = event["event"] == "tcp_cong_state_set"
    if match is None or (changed and match[8] is None):
        raise FieldError(f"{event['event']} without the fields it should have")
    v6 = ":" in match[5] and match[5] not in ("::", "::0")
    local, remote = (_end(ends, f"{match[(5 if v6 else 3) + end]}:{match[1 + end]}") for end in (0, 1))
    if changed:
        log.add(number, time_ns, "state", local, remote, ca_state=whole(match[8], 255))
    elif not int(match[7] or 0):
        log.add(number, time_ns, "retransmit", local, remote, resent_by=nan)
    return changed or not int(match[7] or 0)

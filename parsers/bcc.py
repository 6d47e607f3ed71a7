"""Output of the bcc tools tcpretrans (bpftrace's too), tcpcong and tcprtt.

tcpretrans gives rows of `tcp_state` (event "retransmit"); its times are times of day, to the second.
tcpcong's durations and tcprtt's histograms carry no times: they are kept as metadata.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.schema import empty
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import SECOND_NS, Losses, head_lines, split_endpoint, whole_lines
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

_RETRANS_HEADING = re.compile(r"TIME\s+PID\s+(?:IP\s+)?LADDR:LPORT\s+(?:T>\s+)?RADDR:RPORT\s+STATE\b")
_CONG_HEADING = re.compile(
    r"LAddrPort\s+RAddrPort\s+Open_\w+\s+Dod_\w+\s+Rcov_\w+\s+Cwr_\w+\s+Los_\w+\s+Chgs\s*\Z"
)
_HISTOGRAM_HEADING = re.compile(r"\s+(\w+)\s+: count\s+distribution\s*\Z")
_RETRANS = re.compile(
    r"(\d\d):(\d\d):(\d\d)\s+\d+\s+(?:[46]\s+)?(\S+:\d{1,5})\s+(?:([RL])>\s+)?(\S+:\d{1,5})\s+([A-Z_0-9]+)(?:\s+\d+)?\s*\Z",
    re.ASCII,
)
_CONG = re.compile(r"(\S+/\d{1,5})\s+(\S+/\d{1,5})((?:\s+\d{1,18}){6})\s*\Z", re.ASCII)
_BUCKET = re.compile(r"\s+(\d{1,18}) -> (\d{1,18})\s+: (\d{1,18})\s+\|[* +]*\|\s*\Z", re.ASCII)
_DAY_NS = 86_400 * SECOND_NS
_HEADINGS = (_RETRANS_HEADING, _CONG_HEADING, _HISTOGRAM_HEADING)


def sniff(head: bytes) -> bool:
    """Whether it holds a heading of one of the three tools with a record below."""
    lines = head_lines(head)
    return any(_headed(lines, *pair) for pair in zip(_HEADINGS, (_RETRANS, _CONG, _BUCKET), strict=True))


def _headed(lines: list[str], heading: re.Pattern[str], record: re.Pattern[str]) -> bool:
    top = next((at for at, line in enumerate(lines) if heading.match(line)), len(lines))
    return any(record.match(line) for line in lines[top + 1 :])


def read(source: Source) -> Recording:
    """Retransmissions as rows of `tcp_state`, the rest as metadata."""
    log = StateLog()
    counts: dict[str, int] = {}
    metadata: dict[str, list[Any]] = {"tcpcong": [], "tcprtt": []}
    for number, offset, text in whole_lines(source, log.losses):
        retrans, cong, bucket = _RETRANS.match(text), _CONG.match(text), _BUCKET.match(text)
        heading = _HISTOGRAM_HEADING.match(text)
        if retrans:
            _retransmit(log, counts, number, offset, retrans)
        elif cong:
            _durations(metadata["tcpcong"], log.losses, number, offset, cong)
        elif heading:
            metadata["tcprtt"].append({"unit": heading[1], "from": [], "to": [], "count": []})
        elif bucket and metadata["tcprtt"]:
            for name, value in zip(("from", "to", "count"), bucket.groups(), strict=True):
                metadata["tcprtt"][-1][name].append(int(value))
        elif not _frame(text):
            log.losses.add("none of the lines that tcpretrans, tcpcong and tcprtt print", number, offset)
    return _recording(log, source, counts, metadata)


def _recording(
    log: StateLog, source: Source, counts: dict[str, int], metadata: dict[str, list[Any]]
) -> Recording:
    kept = {key: value for key, value in metadata.items() if value}
    counts |= {f"{key} records": len(value) for key, value in kept.items()}
    note = "Its times are times of day without a date, to the second."
    if log.records:
        return log.recording("bcc", source, clock="relative", counts=counts, metadata=kept, notes=[note])
    if not kept and not counts:
        raise InputError(source.path, "holds no record of tcpretrans, tcpcong or tcprtt")
    return Recording(
        "bcc", {"tcp_state": empty("tcp_state")}, sum(map(len, kept.values())), log.losses.skips,
        bytes_read=len(source), clock="relative", counts=counts, metadata=kept,
    )  # fmt: skip


def _frame(text: str) -> bool:
    """Whether a line is a heading, or another line that the tools print around their records."""
    return (
        any(heading.match(text) for heading in _HEADINGS)
        or text.startswith(("Tracing ", "Attaching ", "^C", "# ./", "./", "#", "[...]"))
        or re.fullmatch(r"\d\d:\d\d:\d\d\s*", text, re.ASCII) is not None
    )


def _retransmit(
    log: StateLog, counts: dict[str, int], number: int, offset: int, match: re.Match[str]
) -> None:
    """Add a retransmission. `L>` marks a tail loss probe that may not have been sent: it is only counted."""
    if match[5] == "L":
        counts["attempts at a tail loss probe"] = counts.get("attempts at a tail loss probe", 0) + 1
        return
    hours, minutes, secs = int(match[1]), int(match[2]), int(match[3])
    time_ns = ((hours * 60 + minutes) * 60 + secs) * SECOND_NS
    if log.times and time_ns < log.times[-1] % _DAY_NS - _DAY_NS // 2:  # past midnight
        time_ns += _DAY_NS
    time_ns += log.times[-1] // _DAY_NS * _DAY_NS if log.times else 0
    try:
        log.add(number, time_ns, "retransmit", split_endpoint(match[4]), split_endpoint(match[6]))
    except ValueError:
        log.losses.add("a retransmission whose addresses are not ip:port", number, offset)


def _durations(rows: list[Any], losses: Losses, number: int, offset: int, match: re.Match[str]) -> None:
    names = ("open", "disorder", "recovery", "cwr", "loss", "changes")
    try:
        local, remote = (split_endpoint(":".join(match[at].rsplit("/", 1))) for at in (1, 2))
    except ValueError:
        losses.add("a connection whose addresses are not ip/port", number, offset)
        return
    rows.append(
        {"local": local, "remote": remote} | dict(zip(names, map(int, match[3].split()), strict=True))
    )

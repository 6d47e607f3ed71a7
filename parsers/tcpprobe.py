"""The former /proc/net/tcpprobe: one line a segment that arrived, 10 fields, 11 from Linux 3.12 on.

    time saddr:port daddr:port length snd_nxt snd_una cwnd ssthresh snd_wnd srtt [rcv_wnd]

Times count from when the file was opened. `length` includes the TCP header and is left out. The unit
of srtt is not in the file: jiffies before Linux 3.15, whose length the kernel's configuration sets,
microseconds from then on. srtt is read only where its values are too large for jiffies.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

from multitracer.parsers.shared.lines import nanoseconds, records_match, split_endpoint, take_lines
from multitracer.parsers.shared.tcp_state import StateLog, ssthresh

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

_LINE = re.compile(
    r"(\d{1,10}\.\d{1,9}) (\S+:\d{1,5}) (\S+:\d{1,5}) \d{1,6} (?:0x)?([0-9a-f]{1,8}) (?:0x)?([0-9a-f]{1,8}) "
    r"(\d{1,10}) (\d{1,10}) (\d{1,10}) (\d{1,10})( \d{1,10})?\Z",
    re.ASCII,
)
_NEVER_JIFFIES = 120_000
"""TCP_RTO_MAX is 120 s, and a second has at most 1000 jiffies: no srtt has more jiffies than this."""


def sniff(head: bytes) -> bool:
    """Whether the first lines have the 10 or 11 fields."""
    return records_match(head, _LINE)


def read(source: Source) -> Recording:
    """Each line as a row of `tcp_state`."""
    log, srtts, ends = StateLog(), array("q"), dict[str, str]()

    def take(number: int, _: int, text: str) -> None:
        if text.startswith("#"):
            return
        match = _LINE.match(text)
        if match is None:
            raise ValueError(text)
        _add(log, ends, number, match)
        srtts.append(int(match[9]))

    take_lines(source, log.losses, take, "not 10 or 11 fields of tcpprobe")
    notes, unit = [], "us"
    if log.numbers and "rcv_wnd_bytes" in log.numbers and max(srtts) > _NEVER_JIFFIES:
        log.numbers["srtt_s"] = array("d", (value / 1e6 for value in srtts))
    else:
        unit = "unknown"
        notes.append(
            "Its srtt is left out: it is in jiffies before Linux 3.15 and in microseconds from then on, "
            "and nothing in the file tells which kernel wrote it."
        )
    return log.recording("tcpprobe", source, clock="relative", metadata={"srtt_unit": unit}, notes=notes)


def _add(log: StateLog, ends: dict[str, str], number: int, match: re.Match[str]) -> None:
    time, local, remote, nxt, una, cwnd, threshold, snd_wnd, _, rcv_wnd = match.groups()
    for text in (local, remote):
        if text not in ends:
            ends[text] = split_endpoint(text)
    numbers = {"rcv_wnd_bytes": float(rcv_wnd)} if rcv_wnd else {}
    log.add(
        number, nanoseconds(time), "recv", ends[local], ends[remote],
        snd_nxt=int(nxt, 16), snd_una=int(una, 16), cwnd_segments=int(cwnd),
        ssthresh_segments=ssthresh(int(threshold)), snd_wnd_bytes=int(snd_wnd), **numbers,
    )  # fmt: skip

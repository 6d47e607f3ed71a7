"""FreeBSD's SIFTR (siftr(4)): one comma-separated line a packet in or out, windows in bytes.

The first line carries hz and tcp_rtt_scale, which are the units of rto (1/hz s) and srtt
(1/(tcp_rtt_scale hz) s). Newer versions carry neither; their srtt and rto are left out. They also
have no hash as their second field.
"""

from __future__ import annotations

import re
from math import inf, nan
from typing import TYPE_CHECKING

from multitracer.parsers.shared.lines import endpoint, head_lines, nanoseconds, take_lines
from multitracer.parsers.shared.tcp_state import StateLog

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

UNSET_SSTHRESH = 65535 << 14
"""TCP_MAXWIN << TCP_MAX_WINSHIFT: the slow start threshold is not set yet."""

_PAIR = re.compile(r"(\w+)=(\S*)")
_TCP_LINE = re.compile(
    r"([io]),(?:0x[0-9a-f]+,)?(\d+\.\d+),([^,]+),(\d{1,5}),([^,]+),(\d{1,5}),(\d{1,10}),(\d{1,10}),"
    r"\w+,(\d{1,10}),(\d{1,10}),\d+,\d+,\d+,(\d{1,10}),(\d{1,10}),\d+,\w+,(\d{1,10}),\d+,\d+,\d+,\d+,\d+(?:,\d+)*\Z",
    re.ASCII,
)


def sniff(head: bytes) -> bool:
    """Whether the first line has the keys with which SIFTR begins a log."""
    lines = head_lines(head)
    return bool(lines) and lines[0].startswith("enable_time_secs=") and "\tsiftrver=" in lines[0]


def read(source: Source) -> Recording:
    """The socket's state at each packet as a row of `tcp_state`."""
    log, header = StateLog(), dict[str, str]()

    def take(number: int, _: int, text: str) -> None:
        if text.startswith(("enable_time_secs=", "disable_time_secs=")):
            pairs = dict(_PAIR.findall(text))
            header.update((key, value) for key, value in pairs.items() if len(value) < 1000)
            return
        match = _TCP_LINE.match(text)
        if match is None:
            raise ValueError(text)
        _add(log, number, match, *_units(header))

    take_lines(source, log.losses, take, "not the fields of SIFTR")
    srtt_unit, _ = _units(header)
    notes = (
        []
        if srtt_unit == srtt_unit
        else ["Its srtt and rto are left out: the first line does not tell their units."]
    )
    return log.recording("siftr", source, metadata=header, notes=notes)


def _units(header: dict[str, str]) -> tuple[float, float]:
    """The units of srtt and rto in seconds; nan where the header does not give them."""
    try:
        hz, scale = int(header["hz"][:9]), int(header["tcp_rtt_scale"][:9])
    except (KeyError, ValueError):
        return nan, nan
    return (1 / (hz * scale), 1 / hz) if hz > 0 and scale > 0 else (nan, nan)


def _add(log: StateLog, number: int, match: re.Match[str], srtt_unit: float, rto_unit: float) -> None:
    way, time, lip, lport, fip, fport, threshold, cwnd, snd_wnd, rcv_wnd, _, srtt, rto = match.groups()
    log.add(
        number, nanoseconds(time), "recv" if way == "i" else "send",
        endpoint(lip, lport), endpoint(fip, fport),
        ssthresh_bytes=inf if int(threshold) >= UNSET_SSTHRESH else int(threshold), cwnd_bytes=int(cwnd),
        snd_wnd_bytes=int(snd_wnd), rcv_wnd_bytes=int(rcv_wnd),
        srtt_s=int(srtt) * srtt_unit, rto_s=int(rto) * rto_unit,
    )  # fmt: skip

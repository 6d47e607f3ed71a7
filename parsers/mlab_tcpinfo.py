"""M-Lab tcp-info: JSON lines with the kernel's inet_diag messages of each socket, base64-coded.

`RawIDM` is struct inet_diag_msg (addresses, ports), `Attributes[2]` struct tcp_info (Linux
include/uapi/linux/{inet_diag,tcp}.h): rto, rtt and rttvar in us, cwnd and ssthresh in segments.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from multitracer.parsers.shared.lines import SECOND_NS, endpoint, head_lines, take_lines
from multitracer.parsers.shared.tcp_state import StateLog, ssthresh

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

TCP_INFO = 2
"""INET_DIAG_INFO: the index of the attribute with struct tcp_info."""

_TCP_INFO_BYTES = 84
"""struct tcp_info up to tcpi_snd_cwnd, the last field that is read."""
_AF_INET, _AF_INET6 = 2, 10
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z\Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sniff(head: bytes) -> bool:
    """Whether its first line is a JSON object with RawIDM and Attributes."""
    if not head.lstrip().startswith(b"{"):
        return False
    lines = head_lines(head)
    return bool(lines) and '"RawIDM"' in lines[0] and '"Attributes"' in lines[0]


def read(source: Source) -> Recording:
    """Each snapshot as a row of `tcp_state`."""
    log, counts, timed = StateLog(), dict[str, int](), 0

    def take(number: int, _: int, text: str) -> None:
        nonlocal timed
        try:
            snapshot = json.loads(text)
            ends = _ends(base64.b64decode(snapshot["RawIDM"]))
            info = base64.b64decode(snapshot["Attributes"][TCP_INFO] or "")
            time_ns = _time(str(snapshot.get("Timestamp")))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            return _no_snapshot(counts, text)
        if len(info) < _TCP_INFO_BYTES:
            counts["snapshots without tcp_info"] = counts.get("snapshots without tcp_info", 0) + 1
            return None
        _add(log, number, time_ns or 0, ends, info)
        timed += time_ns is not None
        return None

    take_lines(source, log.losses, take, "not a snapshot")
    notes = []
    if timed < len(log.records):
        notes.append(
            f"{len(log.records) - timed} snapshots carry no time: they stand at zero, in their order."
        )
    clock = "epoch" if timed and timed == len(log.records) else "relative"
    return log.recording("mlab-tcpinfo", source, clock=clock, counts=counts, notes=notes)


def _no_snapshot(counts: dict[str, int], text: str) -> None:
    """Count a line that describes the connection; raises ValueError for any other."""
    if not (text.startswith("{") and text.endswith("}") and '"Metadata"' in text):
        raise ValueError(text)
    counts["metadata lines"] = counts.get("metadata lines", 0) + 1


def _time(text: str) -> int | None:
    """An RFC 3339 time as ns since the epoch; None for Go's zero time, which means unset; else ValueError."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(text)
    moment = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    if not 1970 <= moment.year < 2262:
        return None
    since = moment - _EPOCH
    return (since.days * 86400 + since.seconds) * SECOND_NS + int((match[2] or "0").ljust(9, "0"))


def _ends(message: bytes) -> tuple[str, str]:
    family = message[0] if len(message) >= 40 else None
    size = {_AF_INET: 4, _AF_INET6: 16}.get(family) if family is not None else None
    if size is None:
        raise ValueError("not an inet_diag message of IPv4 or IPv6")
    sport, dport = struct.unpack_from(">HH", message, 4)
    kind = socket.AF_INET if size == 4 else socket.AF_INET6
    src, dst = (socket.inet_ntop(kind, message[at : at + size]) for at in (8, 24))
    return endpoint(src, sport), endpoint(dst, dport)


def _add(log: StateLog, number: int, time_ns: int, ends: tuple[str, str], info: bytes) -> None:
    def field(offset: int) -> Any:
        return struct.unpack_from("<I", info, offset)[0]

    log.add(
        number, time_ns, "sample", *ends,
        ca_state=info[1], rto_s=field(8) / 1e6, retransmits=field(36),
        srtt_s=field(68) / 1e6, rttvar_s=field(72) / 1e6,
        ssthresh_segments=ssthresh(field(76)), cwnd_segments=field(80), cwnd_bytes=field(80) * field(16),
    )  # fmt: skip

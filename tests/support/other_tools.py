"""What tshark and tcptrace say of a capture: its packets as tshark dissects them, and both tools' counts."""

from __future__ import annotations

import csv
import ipaddress
import shutil
import subprocess
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

FIN, SYN, ACK = 1, 2, 16

Ends: TypeAlias = tuple[str, int, str, int]
"""Address and port that packets are from, and those that they are to."""

FIGURES = ("packets", "data_segments", "data_bytes", "unique_bytes", "retransmitted_segments")

_FIELDS = (
    "frame.time_epoch", "frame.interface_id", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "ip.len",
    "ip.hdr_len", "ip.id", "ip.ttl", "vlan.id", "gtp.teid", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw",
    "tcp.len", "tcp.hdr_len", "tcp.flags", "tcp.window_size_value", "tcp.checksum", "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr", "tcp.stream", "tcp.analysis.retransmission", "frame.number",
)  # fmt: skip
_TCPTRACE = {
    "total_packets": "packets", "actual_data_pkts": "data_segments", "actual_data_bytes": "data_bytes",
    "unique_bytes_sent": "unique_bytes", "rexmt_data_pkts": "retransmitted_segments",
}  # fmt: skip


class Packet(NamedTuple):
    """A TCP packet as tshark has it; `place` is what encloses it, `ip_bytes` its payload by the IP header's length."""

    time_ns: int
    place: tuple[str, ...]
    protocols: list[str]
    ends: Ends
    seq: int
    ack: int
    size: int
    ip_bytes: int
    flags: int
    window: str
    checksum: str
    stamps: tuple[str, str]
    ip_id: int
    ttl: int
    header_bytes: int
    stream: int
    retransmission: bool
    record: int


def are_here() -> bool:
    """Whether both tools are installed."""
    return all(map(shutil.which, ("tshark", "tcptrace")))


@cache
def tshark(path: Path) -> tuple[list[Packet], list[int]]:
    """The TCP packets of a capture, one per record, and the numbers of the records that are none; read twice."""
    command = ["tshark", "-r", str(path), "-2", "-n", "-T", "fields", "-E", "occurrence=a"]
    options = [word for name in _FIELDS for word in ("-e", name)]
    text = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=300).stdout
    rows = [dict(zip(_FIELDS, line.split("\t"), strict=True)) for line in text.splitlines()]
    others = [int(row["frame.number"]) for row in rows if not row["tcp.srcport"]]
    return [_packet(row) for row in rows if row["tcp.srcport"]], others


def _packet(row: dict[str, str]) -> Packet:
    protocols = row["frame.protocols"].split(":")
    before = protocols[: len(protocols) - 1 - protocols[::-1].index("tcp")]
    version = "ipv6" if before[-1] in ("ipv6", "ipv6.fraghdr") else "ip"
    inner = {name: text.split(",")[-1] for name, text in row.items()}
    seconds, _, fraction = row["frame.time_epoch"].partition(".")
    header = _number(inner["tcp.hdr_len"])
    outer = (row["frame.interface_id"], ":".join(before), row["vlan.id"], row["gtp.teid"])
    of_four = version == "ip"
    return Packet(
        int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9]),
        (*outer, *row["ip.src"].split(",")[:-1], *row["ip.dst"].split(",")[:-1]) if of_four else outer,
        before,
        (
            address(inner[f"{version}.src"]), int(inner["tcp.srcport"]),
            address(inner[f"{version}.dst"]), int(inner["tcp.dstport"]),
        ),
        _number(inner["tcp.seq_raw"]), _number(inner["tcp.ack_raw"]), _number(inner["tcp.len"]),
        _number(inner["ip.len"]) - _number(inner["ip.hdr_len"]) - header if of_four else _number(inner["tcp.len"]),
        _number(inner["tcp.flags"]), inner["tcp.window_size_value"], inner["tcp.checksum"],
        (inner["tcp.options.timestamp.tsval"], inner["tcp.options.timestamp.tsecr"]),
        _number(inner["ip.id"]) if of_four else 0, _number(inner["ip.ttl"]), header, _number(inner["tcp.stream"]),
        bool(row["tcp.analysis.retransmission"]), int(row["frame.number"]),
    )  # fmt: skip


def _number(text: str) -> int:
    return int(text, 0) if text else 0


@cache
def tcptrace(path: Path) -> tuple[dict[Ends, Counter[str]], int]:
    """tcptrace's figures by direction, those of connections between the same ends added up; and its connections."""
    command = ["tcptrace", "-l", "-n", "-r", "--csv", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    start = next((row for row, line in enumerate(lines) if line.startswith("conn_#")), len(lines))
    figures: dict[Ends, Counter[str]] = defaultdict(Counter)
    rows = list(csv.DictReader(lines[start:], skipinitialspace=True))
    for row in rows:
        one, other = ((address(row[f"host_{end}"]), int(row[f"port_{end}"])) for end in "ab")
        for way, ends in (("a2b", (*one, *other)), ("b2a", (*other, *one))):
            figures[ends].update({ours: int(row[f"{theirs}_{way}"]) for theirs, ours in _TCPTRACE.items()})
    return figures, len(rows)


@cache
def address(text: str) -> str:
    """An address in one spelling for all tools; tcptrace leaves out leading groups of zeros of IPv6 addresses."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        groups = [group for group in text.split(":") if group]
        return str(ipaddress.ip_address(":".join(["0"] * (8 - len(groups)) + groups)))

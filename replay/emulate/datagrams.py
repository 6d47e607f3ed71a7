"""Datagrams over a link, for their delay: both hosts are of one machine and have one clock, so that it is known.

python -m multitracer.replay.emulate.datagrams take OWN PORT FILE
python -m multitracer.replay.emulate.datagrams send PEER PORT COUNT OCTETS INTERVAL_S FILE
"""

from __future__ import annotations

import csv
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.replay.emulate.exchanges import READY

_CONTENT = struct.Struct(">qq")
"""The datagram's number, and when it was sent (ns)."""
HEADER_OCTETS = 28
"""Of IPv4 and UDP (RFC 791 3.1, RFC 768)."""
LEAST_OCTETS = HEADER_OCTETS + _CONTENT.size
COLUMNS = ("number", "sent_s", "delay_ms")
_ROOM = 65_535
NS, NS_PER_MS = 1_000_000_000, 1_000_000


def take(own: str, port: int, path: Path) -> None:
    """Write when each datagram was sent and when it came, for ever."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, path.open("w", buffering=1) as file:
        here.bind((own, port))
        print(READY, flush=True)
        while True:
            number, sent = _CONTENT.unpack_from(here.recv(_ROOM))
            file.write(f"{number} {sent} {time.monotonic_ns()}\n")


def send(peer: str, port: int, count: int, octets: int, interval_s: float, path: Path) -> None:
    """Send so many packets of so many octets, one after the other; and write when."""
    begun = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, path.open("w", buffering=1) as file:
        for number in range(count):
            time.sleep(max(0.0, begun + number * interval_s - time.monotonic()))
            now = time.monotonic_ns()
            here.sendto(_CONTENT.pack(number, now).ljust(octets - HEADER_OCTETS, b"\0"), (peer, port))
            file.write(f"{number} {now}\n")


def measured(sent: Path, taken: Path, table: Path) -> dict[str, Any]:
    """Write every datagram and its delay, none where it was lost; returns how many were, and the delays."""
    left = {number: at for number, at in _rows(sent)}  # noqa: C416
    came: dict[int, float] = {}
    for number, _, at in _rows(taken):
        came.setdefault(number, (at - left[number]) / NS_PER_MS)
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        first = min(left.values(), default=0)
        for number, at in left.items():
            rows.writerow((number, f"{(at - first) / NS:.6f}", f"{came[number]:.3f}" if number in came else ""))
    for path in (sent, taken):
        path.unlink()
    return {"sent": len(left), "received": len(came), **_delays(list(came.values()), len(left))}


def _delays(found: list[float], sent: int) -> dict[str, float | None]:
    """How many percent were lost, and the delays' mean, quantiles and largest; None without any."""
    if not sent or not found:
        return dict.fromkeys(("delay_ms", "delay_p50_ms", "delay_p99_ms", "delay_max_ms")) | {
            "loss_percent": 100.0 if sent else None
        }
    half, most = np.quantile(found, (0.5, 0.99)).tolist()
    return {
        "loss_percent": 100 * (sent - len(found)) / sent, "delay_ms": float(np.mean(found)), "delay_p50_ms": half,
        "delay_p99_ms": most, "delay_max_ms": max(found),
    }  # fmt: skip


def _rows(path: Path) -> Iterator[tuple[int, ...]]:
    """The whole numbers of each line, but of one that was cut as its writer ended."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            yield tuple(map(int, line.split()))


if __name__ == "__main__":
    if sys.argv[1] == "take":
        take(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        to, port, count, octets, interval_s, path = sys.argv[2:]
        send(to, int(port), int(count), int(octets), float(interval_s), Path(path))

"""The most memory that reading takes, beside what it may take: 300 MB, and 12 times the octets of accepted records.

Each input is analysed by a process of its own, as a file and through a pipe, and the largest resident size that the
system saw of that process is printed. Most are compressed, and hold nothing but zeros, or lines of nonsense, behind a
sound beginning: nothing of that is accepted. Usage:

    python benchmarks/memory.py [--megabytes 1500] [--capture-megabytes 100] [--only WORD] [--before PYTHON]

PYTHON is an interpreter in which the version to compare with is installed.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import ingest

MB = 1_000_000
ALLOWED_MB, TIMES_ACCEPTED = 300, 12
_PIECE = 1 << 20
_PAYLOAD = bytes(range(256)) * 5
_LONGEST_SNIFFED = 1 << 16


class Case(NamedTuple):
    """An input: how many octets of it are records that are accepted, and how it is written."""

    name: str
    accepted: int
    pieces: Callable[[], Iterable[bytes]]
    packed: bool = True
    kept: float = 1.0
    """The part of the compressed octets that is left."""


def cases(octets: int, capture: int) -> Iterator[Case]:
    """All inputs: captures of `capture` octets, and others of `octets` octets unpacked."""
    packets = capture // ingest.PACKET.itemsize
    whole = packets * ingest.PACKET.itemsize

    def headers() -> Iterator[bytes]:
        yield PCAP
        for first in range(0, packets, ingest.CHUNK):
            yield ingest.packets(first, min(ingest.CHUNK, packets - first), 100).tobytes()

    yield Case("pcap of headers", whole, headers, packed=False)
    yield Case("pcap of headers, gzip", whole, headers)
    yield Case("pcap of headers, gzip cut at half", whole // 2, headers, kept=0.5)
    yield Case("pcap of full segments", capture, lambda: [PCAP, *full_segments(capture)], packed=False)
    yield Case("pcapng of headers", whole, lambda: in_blocks(headers()), packed=False)
    for name, beginning in BEGINNINGS.items():
        yield Case(f"{name}, then zeros", 0, lambda beginning=beginning: [beginning, *zeros(octets)])
    yield Case("pcap header, then random octets", 0, lambda: [PCAP, *noise(octets // 5)], packed=False)
    for name, line in LOGS.items():
        yield Case(f"{name}, then lines of nonsense", 0, lambda line=line: [line, *nonsense(octets)])
        yield Case(f"{name}, then zeros", 0, lambda line=line: [line, *zeros(octets)])
    for name, (beginning, end) in DOCUMENTS.items():
        yield Case(f"{name} of empty objects", 0, lambda parts=(beginning, end): empty_objects(*parts))


PCAP = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
_SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
_INTERFACE = struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20)
_PACKET = ingest.packets(0, 1, 1).tobytes()
_ERF = struct.pack(">8sBBHHH", struct.pack("<Q", 1_700_000_000 << 32), 22, 0, 16 + 64, 0, 64) + _PACKET[16:]
BEGINNINGS = {
    "nothing": b"",
    "pcap header": PCAP,
    "pcap with a packet": PCAP + _PACKET,
    "pcapng section header": _SECTION,
    "pcapng with an interface": _SECTION + _INTERFACE,
    "snoop header": b"snoop\0\0\0" + struct.pack(">II", 2, 4),
    "ERF records": _ERF * 3,
}
LOGS = {
    "rlcdump": b"# rlcdump 1\n# rat: umts\n# side: mobile\n1.000 > AMD sn=1 p=0 li= len=40\n",
    "rlpdump": b"# rlpdump 1\n# side: mobile\n",
    "tcpstats": b"# tcpstats 1\n",
    "ss": b"State Recv-Q Send-Q Local Peer\nESTAB 0 0 10.0.0.1:80 10.0.0.2:81 cubic wscale:7,7 rto:204 cwnd:10\n" * 9,
    "erasures": b"# block_ms: 20\n" + b"01" * _LONGEST_SNIFFED + b"\n",
    "iperf3": b'{"start": {"version": "iperf 3.9"}, "intervals": [{',
    "flent": b'{"metadata": {"TITLE": "x"}, "x_values": [], "raw_values": {"TCP": [{',
    "packed erasures": b"\x89erased\n" + struct.pack("<IQB", 0, 8, 85),
}

DOCUMENTS = {
    "iperf3": (b'{"start": {"version": "iperf 3.9"}, "intervals": [', b"{}]}"),
    "iperf3 cut": (b'{"start": {"version": "iperf 3.9"}, "intervals": [', b""),
    "flent": (b'{"metadata": {"FLENT_VERSION": "2"}, "raw_values": {"a": [', b"{}]}}"),
    "flent cut": (b'{"metadata": {"FLENT_VERSION": "2"}, "raw_values": {"a": [', b""),
}
_DOCUMENT_BYTES = 31 << 20
"""Not more than what is read of a JSON document."""


def empty_objects(beginning: bytes, end: bytes) -> Iterator[bytes]:
    """A JSON document of a list of empty objects."""
    yield beginning
    objects = b"{}," * 100_000
    yield from (objects for _ in range(_DOCUMENT_BYTES // len(objects)))
    yield end


def zeros(octets: int) -> Iterator[bytes]:
    """So many zeros."""
    return (bytes(_PIECE) for _ in range(octets // _PIECE))


def nonsense(octets: int) -> Iterator[bytes]:
    """So many octets in lines of random words, the same again and again."""
    chosen = random.Random(1)
    words = [f"{chosen.getrandbits(40):x}" for _ in range(2000)]
    lines = (" ".join(chosen.choices(words, k=8)) + "\n" for _ in range(12_000))
    piece = "".join(lines).encode()[: _PIECE - 1] + b"\n"
    return (piece for _ in range(octets // len(piece)))


def noise(octets: int) -> Iterator[bytes]:
    """So many random octets."""
    chosen = random.Random(1)
    return (chosen.randbytes(_PIECE) for _ in range(octets // _PIECE))


def full_segments(octets: int) -> Iterator[bytes]:
    """A transfer with all octets of its segments."""
    chosen = random.Random(1)
    for number in range(octets // (16 + 40 + len(_PAYLOAD))):
        length = 40 + len(_PAYLOAD)
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, length, number & 0xFFFF, 0, 64, 6, 0, 0x0A000001, 0x0A000002)
        tcp = struct.pack(">HHIIBBHHH", 1000, 80, 1 + number * len(_PAYLOAD) & 0xFFFFFFFF, 1, 80, 16, 65535, 0, 0)
        second, micro = divmod(number * 100 + chosen.randrange(50), MB)
        yield struct.pack("<IIII", ingest.START_S + second, micro, length, length) + ip + tcp + _PAYLOAD


def in_blocks(pcap: Iterator[bytes]) -> Iterator[bytes]:
    """A pcap file's records as a pcapng file."""
    yield _SECTION + _INTERFACE
    next(pcap)
    size = ingest.PACKET.itemsize - 16
    for piece in pcap:
        blocks = []
        for at in range(0, len(piece), ingest.PACKET.itemsize):
            second, micro, here, length = struct.unpack_from("<IIII", piece, at)
            ticks = second * MB + micro
            head = struct.pack("<IIIIIII", 6, size + 32, 0, ticks >> 32, ticks & 0xFFFFFFFF, here, length)
            blocks.append(head + piece[at + 16 : at + 16 + size] + struct.pack("<I", size + 32))
        yield b"".join(blocks)


def write(case: Case, path: Path) -> None:
    """Write an input, compressed or not."""
    machine = zlib.compressobj(1, wbits=31)
    with path.open("wb") as file:
        for piece in case.pieces():
            file.write(machine.compress(piece) if case.packed else piece)
        if case.packed:
            file.write(machine.flush())
        file.truncate(int(file.tell() * case.kept))


class Run(NamedTuple):
    """What the system saw of a process."""

    megabytes: float
    seconds: float
    status: int


_LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""
"""A small process between: the system counts what the process that starts another one holds as the other's."""


def run(python: str, path: Path, out: Path, *, piped: bool = False) -> Run:
    """Analyse an input in a process of its own."""
    command = ingest.analyze(Path("-") if piped else path, out, python)
    started = time.perf_counter()
    with path.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as pipe:
        said = subprocess.run(
            [sys.executable, "-S", "-c", _LAUNCHER, *command], stdin=pipe.stdout, stdout=subprocess.PIPE, check=True
        ).stdout
        if pipe.stdout:
            pipe.stdout.close()
    status, kilobytes = map(int, said.split())
    return Run(kilobytes * 1024 / MB, time.perf_counter() - started, status)


def main() -> None:
    """Run all cases and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1500)
    parser.add_argument("--capture-megabytes", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--before", metavar="PYTHON")
    given = parser.parse_args()
    pythons = {"": sys.executable} | ({"before ": given.before} if given.before else {})
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name) / "input", Path(name) / "out"
        for case in cases(given.megabytes * MB, given.capture_megabytes * MB):
            if given.only in case.name:
                write(case, path)
                allowed = ALLOWED_MB + TIMES_ACCEPTED * case.accepted / MB
                runs = {f"{which}{way}": run(python, path, out, piped=way == "pipe")
                        for which, python in pythons.items() for way in ("file", "pipe")}  # fmt: skip
                said = ", ".join(
                    f"{way} {one.megabytes:5.0f} MB {one.seconds:5.1f} s (exit {one.status})"
                    for way, one in runs.items()
                )
                over = "TOO MUCH" if max(one.megabytes for one in runs.values()) > allowed else ""
                print(f"{case.name:45} {said}, of {allowed:.0f} MB {over}", flush=True)


if __name__ == "__main__":
    main()

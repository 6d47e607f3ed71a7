"""Reading and analysing large captures, beside tcptrace and tshark.

Makes captures of full-size transfers (headers only; 1 % of the segments resent, SACK and timestamps on) and times whole
commands: the median of five of ours, of tcptrace's and, with --before, of another installed version's, in turn, as
machines are shared; one of tshark's, which takes long. How many times as long as another one takes is the median of the
turns' quotients: a machine's pace changes from turn to turn. Kernels and modules are compiled before, as they are for
whoever runs an installed command the second time. With --gtpu, the same packets are also read from the tunnels of a
mobile network, one a connection and direction; with --mirrored, from a mirror port that recorded every packet twice.
Usage:

    python benchmarks/ingest.py [--packets 10000000] [--connections 1 100 100000] [--no-tshark]
                                [--before PYTHON] [--turns 5] [--gtpu] [--mirrored]

PYTHON is an interpreter in which the version to compare with is installed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MSS = 1448
HEADER_BYTES = 20 + 44  # IPv4, TCP with timestamps and room for one SACK block
CHUNK = 1_000_000
TURNS = 5
RECYCLED = 3 << 30
REPORTED_S = 4.0
"""Two seconds after pages were freed a guest's kernel begins to give them back to its host (free page reporting,
mm/page_reporting.c): it has done so by then."""
START_S = 1_700_000_000
RESENT_EVERY = 33
"""Every this many cycles (two segments, one acknowledgement) one segment is a retransmission: 1 % of all packets."""

PACKET = np.dtype(
    [
        ("second", "<u4"), ("micro", "<u4"), ("captured", "<u4"), ("original", "<u4"),
        ("version", ">u2"), ("length", ">u2"), ("id", ">u2"), ("fragment", ">u2"), ("ttl", "u1"), ("protocol", "u1"),
        ("sum", ">u2"), ("source", ">u4"), ("destination", ">u4"),
        ("from", ">u2"), ("to", ">u2"), ("seq", ">u4"), ("ack", ">u4"), ("flags", ">u2"), ("window", ">u2"),
        ("check", ">u2"), ("urgent", ">u2"),
        ("nops", ">u2"), ("ts", ">u2"), ("tsval", ">u4"), ("tsecr", ">u4"), ("more", ">u2"), ("sack", ">u2"),
        ("left", ">u4"), ("right", ">u4"),
    ]
)  # fmt: skip

TUNNEL = np.dtype(
    [
        ("outer_version", ">u2"), ("outer_length", ">u2"), ("outer_id", ">u4"), ("outer_ttl", "u1"),
        ("outer_protocol", "u1"), ("outer_sum", ">u2"), ("outer_source", ">u4"), ("outer_destination", ">u4"),
        ("outer_from", ">u2"), ("outer_to", ">u2"), ("datagram", ">u2"), ("outer_check", ">u2"),
        ("gtp", ">u2"), ("gtp_length", ">u2"), ("teid", ">u4"),
    ]
)  # fmt: skip
"""IPv4, UDP and GTP-U headers."""
CAPTURE_FIELDS = 4
"""Fields of PACKET that belong to the capture's record."""
GTPU_PACKET = np.dtype([*PACKET.descr[:CAPTURE_FIELDS], *TUNNEL.descr, *PACKET.descr[CAPTURE_FIELDS:]])
GTPU_PORT, G_PDU = 2152, 0x30FF


def packets(first: int, count: int, connections: int) -> np.ndarray:
    """`count` packets of the capture from number `first`: connections in turn, each with two segments and an ACK."""
    number = np.arange(first, first + count, dtype=np.int64)
    connection, place = number % connections, number // connections
    opening = place < 3
    cycle, part = (place - 3) // 3, (place - 3) % 3
    segment = 2 * cycle - cycle // RESENT_EVERY
    again = cycle % RESENT_EVERY == RESENT_EVERY - 1
    data = ~opening & (part < 2)
    from_server = (opening & (place == 1)) | (~opening & (part == 2))
    made = np.zeros(count, dtype=PACKET)
    micro = number * 5
    made["second"], made["micro"] = START_S + micro // 1_000_000, micro % 1_000_000
    made["captured"] = HEADER_BYTES
    made["length"] = HEADER_BYTES + np.where(data, MSS, 0)
    made["original"] = made["length"]
    made["version"], made["ttl"], made["protocol"], made["id"] = 0x4500, 64, 6, number & 0xFFFF
    client, server = 0x0A000000 + connection // 50_000 + 1, 0x0B000001
    made["source"], made["destination"] = np.where(from_server, server, client), np.where(from_server, client, server)
    port = 1024 + connection % 50_000
    made["from"], made["to"] = np.where(from_server, 80, port), np.where(from_server, port, 80)
    sent = np.where(part == 1, np.where(again, segment, segment + 1), segment)
    made["seq"] = np.where(opening, np.where(place == 2, 1, 0), np.where(data, 1 + sent * MSS, 1)) & 0xFFFFFFFF
    reached = np.where(again, segment + 1, segment + 2)
    made["ack"] = np.where(opening, np.where(place == 0, 0, 1), np.where(data, 1, 1 + reached * MSS)) & 0xFFFFFFFF
    made["flags"] = 0xB000 + np.select([opening & (place == 0), opening & (place == 1)], [2, 18], 16)
    made["window"] = 65535
    made["nops"], made["ts"], made["tsval"], made["tsecr"] = (
        0x0101,
        0x080A,
        micro // 1000,
        np.maximum(micro // 1000 - 5, 0),
    )
    sacks = ~opening & (part == 2) & again
    made["more"], made["sack"] = 0x0101, np.where(sacks, 0x050A, 0x0101)
    duplicate = 1 + segment * MSS
    made["left"] = np.where(sacks, duplicate & 0xFFFFFFFF, 0x01010101)
    made["right"] = np.where(sacks, (duplicate + MSS) & 0xFFFFFFFF, 0x01010101)
    return made


def in_tunnels(plain: np.ndarray) -> np.ndarray:
    """Packets within GTP-U between a station and the core: a TEID for each connection and direction."""
    made = np.zeros(len(plain), dtype=GTPU_PACKET)
    for name in PACKET.names or ():
        made[name] = plain[name]
    down = plain["from"] == 80
    ports = np.where(down, plain["to"], plain["from"]).astype(np.int64)
    clients = np.where(down, plain["destination"], plain["source"]).astype(np.int64)
    station, core = 0x0A010101, 0x0A020202
    made["outer_version"], made["outer_ttl"], made["outer_protocol"], made["gtp"] = 0x4500, 64, 17, G_PDU
    made["outer_source"], made["outer_destination"] = np.where(down, core, station), np.where(down, station, core)
    made["outer_from"], made["outer_to"] = GTPU_PORT, GTPU_PORT
    made["teid"] = ((clients & 0xFF) << 17 | ports << 1 | down) & 0xFFFFFFFF
    made["gtp_length"] = plain["length"]
    made["datagram"], made["outer_length"] = plain["length"] + 16, plain["length"] + TUNNEL.itemsize
    made["captured"], made["original"] = HEADER_BYTES + TUNNEL.itemsize, plain["original"] + TUNNEL.itemsize
    return made


def make(path: Path, count: int, connections: int, *, tunnelled: bool = False) -> None:
    """Write a pcap file of raw IP packets (LINKTYPE_RAW), without payload, or of the same packets within GTP-U."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for first in range(0, count, CHUNK):
            made = packets(first, min(CHUNK, count - first), connections)
            file.write((in_tunnels(made) if tunnelled else made).tobytes())


def timed(command: list[str], settings: dict[str, str] | None = None) -> float:
    """The elapsed time of a whole command in seconds."""
    environment = {**os.environ, **(settings or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - started


def anonymous(command: list[str]) -> float:
    """Peak anonymous memory in MB, sampled while the command runs (mapped files do not count)."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        peak = max(peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")), 0)
        time.sleep(0.02)
    return peak / 1024


def analyze(capture: Path, out: Path, python: str = sys.executable) -> list[str]:
    """The command under test; -P, so that the version that is installed is taken, not one in this directory."""
    command = [python, "-P", "-m", "multitracer", "analyze", str(capture)]
    return [*command, "--summary-only", "-q", "-o", str(out)]


def recycle() -> None:
    """Take memory and give it back at once: the next command is given pages that the machine's host holds already.

    A guest waits some 2 ns an octet where its host must find a page first: as long as all the work, and only for
    whichever command comes after others that needed less memory, or while the pages of the one before are given back.
    """
    time.sleep(REPORTED_S)
    np.empty(min(RECYCLED, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2), dtype=np.uint8).fill(1)


def in_turn(commands: dict[str, list[str]], turns: int) -> dict[str, list[float]]:
    """The seconds that each command takes; they run `turns` times, and take turns at being first."""
    took: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(turns):
        names = list(commands)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            recycle()
            took[name].append(timed(commands[name]))
    return took


def times_of(one: list[float], other: list[float]) -> float:
    """How many times as long one command takes as another: the median over the turns, whose two share the machine."""
    return statistics.median(ours / theirs for ours, theirs in zip(one, other, strict=True))


def compare(directory: Path, count: int, connections: int, arguments: argparse.Namespace) -> None:
    """Measure all tools on one capture, and print a line."""
    capture, out = directory / "made.pcap", directory / "out"
    make(capture, count, connections)
    commands = {"ours": analyze(capture, out), "tcptrace": ["tcptrace", "-n", "-l", str(capture)]}
    if arguments.before:
        commands["before"] = analyze(capture, out, arguments.before)
    took = in_turn(commands, arguments.turns)
    ours = took.pop("ours")
    memory = anonymous(analyze(capture, out))
    allowed = 120 * count / 1e6 + 300
    line = f"{count:>11,} packets {connections:>8,} connections: {statistics.median(ours):6.2f} s"
    for name, others in took.items():
        line += f", {name} {statistics.median(others):6.2f} s ({times_of(ours, others):.2f} of it)"
    if not arguments.no_tshark:
        slow = timed(["tshark", "-q", "-z", "conv,tcp", "-r", str(capture)])
        line += f", tshark {slow:7.2f} s ({slow / statistics.median(ours):.1f} times ours)"
    print(f"{line}, {memory:.0f} MB of {allowed:.0f} MB", flush=True)
    capture.unlink()


def mirror(path: Path, count: int, connections: int) -> None:
    """Write the capture of a mirror port that records each of `count` packets a second time, 2 us later."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101))
        for first in range(0, count, CHUNK):
            made = np.repeat(packets(first, min(CHUNK, count - first), connections), 2)
            made["micro"][1::2] += 2
            file.write(made.tobytes())


FORMS = {"in GTP-U": functools.partial(make, tunnelled=True), "on a mirror port with every packet twice": mirror}
"""What writes the capture in each other form."""


def against_plain(directory: Path, count: int, connections: int, turns: int, form: str) -> None:
    """The same packets plain and in another form, in turn: the second may take at most twice as long."""
    plain, other = directory / "plain.pcap", directory / "other.pcap"
    make(plain, count, connections)
    FORMS[form](other, count, connections)
    took = in_turn({one.stem: analyze(one, directory / "out") for one in (plain, other)}, turns)
    print(
        f"{count:>11,} packets {connections:>8,} connections {form}: {statistics.median(took['other']):6.2f} s,"
        f" plain {statistics.median(took['plain']):6.2f} s ({times_of(took['other'], took['plain']):.2f} times)",
        flush=True,
    )
    plain.unlink()
    other.unlink()


def growth(directory: Path, sizes: list[int]) -> None:
    """Time by number of packets: the time per packet must not rise."""
    for count in sizes:
        capture = directory / "made.pcap"
        make(capture, count, 100)
        ours = statistics.median(in_turn({"ours": analyze(capture, directory / "out")}, TURNS)["ours"])
        print(
            f"{count:>11,} packets  100 connections: {ours:6.2f} s, {1e9 * ours / count:5.0f} ns a packet", flush=True
        )
        capture.unlink()


def cold(directory: Path) -> None:
    """Time of the first run, which compiles the kernels, and of the second."""
    capture = directory / "made.pcap"
    make(capture, 100_000, 10)
    with tempfile.TemporaryDirectory() as cache:
        first, second = (timed(analyze(capture, directory / "out"), {"XDG_CACHE_HOME": cache}) for _ in range(2))
    print(f"cold {first:.1f} s, warm {second:.1f} s for 100,000 packets", flush=True)
    capture.unlink()


def main() -> None:
    """Run all benchmarks and print their results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packets", type=int, default=10_000_000)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 100, 100_000])
    parser.add_argument("--no-tshark", action="store_true")
    parser.add_argument("--before", metavar="PYTHON")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--gtpu", action="store_true")
    parser.add_argument("--mirrored", action="store_true")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for tool in ("tcptrace", *([] if arguments.no_tshark else ["tshark"])):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        cold(directory)
        make(directory / "made.pcap", 50_000, 10)
        for python in filter(None, (sys.executable, arguments.before)):
            timed(analyze(directory / "made.pcap", directory / "out", python))  # kernels are compiled before
        for connections in arguments.connections:
            compare(directory, arguments.packets, connections, arguments)
            for form in itertools.compress(FORMS, (arguments.gtpu, arguments.mirrored)):
                against_plain(directory, arguments.packets, connections, arguments.turns, form)
        growth(directory, [arguments.packets * part // 10 for part in (1, 2, 5, 10)])


if __name__ == "__main__":
    main()

"""Captures are read a view at a time: what is found does not depend on its size, and the memory is bounded by it."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from envelopes import framed, outer
from hypothesis import given, settings
from hypothesis import strategies as st
from packets import ethernet, ipv4, ipv6, tcp
from pcapng_blocks import block, interface, packet, section
from wifi_monitor import data, llc, radiotap

from multitracer.compute import kernels, patience, threads
from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers import erf, pcap, pcapng, snoop
from multitracer.parsers.shared.capture import recording
from multitracer.parsers.shared.source import Room, Source, open_source
from multitracer.parsers.shared.view import VIEW_BYTES, View

RAW, ETHERNET = 101, 1
LARGEST = 300


@pytest.fixture(autouse=True)
def _small_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of at most 300 octets, so that views can be small, too."""
    monkeypatch.setitem(kernels._state, "plain", True)
    monkeypatch.setattr(threads, "processors", lambda: 2)
    monkeypatch.setattr(pcap, "_LARGEST_RECORD", LARGEST)
    monkeypatch.setattr(pcap, "_CHAIN_BYTES", 3 * (24 + LARGEST))
    monkeypatch.setattr(pcapng, "_LARGEST_BLOCK", LARGEST + 32)


def octets(size: int, pieces: int) -> tuple[bytes, Iterator[bytes]]:
    """So many octets, and the same in pieces."""
    data = bytes(number * 7 & 0xFF for number in range(size))
    return data, (data[at : at + pieces] for at in range(0, size, pieces))


def moved_over(view: View, step: int) -> bytes:
    """All that a view shows, moved on by so many octets."""
    shown = b""
    while len(view.data):
        shown += bytes(view.data[:step])
        view.move(min(step, len(view.data)))
    return shown


@pytest.mark.parametrize(("room", "lost"), [(200_000, False), (150_001, True), (131_072, True), (10, True)])
def test_a_view_of_a_file_ends_where_no_more_may_be_read(room: int, lost: bool, tmp_path: Path) -> None:
    """What is read into its place is counted as what comes in pieces is, to the octet."""
    data = bytes(number * 7 & 0xFF for number in range(180_000))
    (tmp_path / "file").write_bytes(data)
    source = open_source(str(tmp_path / "file"), Room(room))
    assert moved_over(View(source, 4096), 1000) == data[:room]
    assert [skip.offset for skip in source.skips] == [room] * lost


def test_a_file_that_becomes_shorter_while_a_view_moves_over_it_is_lost_from_there(tmp_path: Path) -> None:
    """What was read before is shown."""
    (tmp_path / "file").write_bytes(bytes(400_000))
    source = open_source(str(tmp_path / "file"))
    view = View(source, 4096)
    os.truncate(tmp_path / "file", 300_000)
    assert len(moved_over(view, 1000)) == 300_000
    assert [(skip.offset, "shorter" in skip.reason) for skip in source.skips] == [(300_000, True)]


@pytest.mark.parametrize("pieces", [1, 7, 16, 40])
def test_a_view_moves_over_all_octets(pieces: int) -> None:
    """It shows those that were not left behind, and says where it is and when nothing follows."""
    data, coming = octets(100, pieces)
    view = View(Source("x", coming), 16)
    assert (bytes(view.data), view.start, view.ended) == (data[:16], 0, False)
    with pytest.raises(ValueError, match="read-only"):
        view.data[0] = 0
    view.move(10)
    assert (bytes(view.data), view.start) == (data[10:26], 10)
    view.move(2)
    assert (bytes(view.data), view.start) == (data[12:44], 12)  # more than half was kept: it is larger now
    view.move(32)
    view.move(32)
    assert (bytes(view.data), view.start, view.ended) == (data[76:], 76, True)
    view.move(24)
    assert (len(view.data), view.start, view.ended) == (0, 100, True)


def test_the_octets_of_the_view_before_stay_until_it_is_moved_again() -> None:
    """One thread may work on a view's octets while another looks for records in the next."""
    data, coming = octets(100, 7)
    view = View(Source("x", coming), 16)
    before = view.data
    for at in range(0, 48, 16):
        view.move(16)
        assert bytes(before) == data[at : at + 16]
        before = view.data


def test_a_view_is_larger_only_where_octets_are_kept() -> None:
    """Whoever leaves all octets behind needs no more memory for a long source than for a short one."""
    view = View(Source("x", (bytes(1000) for _ in range(1000))), 64)
    while not view.ended:
        view.move(len(view.data))
    assert view.start + len(view.data) == 1_000_000
    assert len(view._buffer) == 64


def read(module: ModuleType, data: bytes, size: int, file_bytes: int = 0) -> Recording | str:
    """What is read in views of this size, or why nothing is; of a long file, records are found a view ahead."""
    source = Source("x", data)
    source.file_bytes = file_bytes
    try:
        return recording("x", module.capture(View(source, size)))
    except InputError as error:
        return str(error)


def test_who_takes_no_more_pieces_leaves_no_thread_behind() -> None:
    """As when a record cannot be decoded, or Ctrl-C ends it: the view that is looked through is the last."""
    packet = struct.pack("<IIII", 1_700_000_000, 0, 40, 40) + ipv4(tcp(b""))
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW) + 50 * packet
    source = Source("x", data)
    source.file_bytes = VIEW_BYTES + 1
    before = threading.active_count()
    pieces = pcap.capture(View(source, 128)).pieces_ahead()
    assert len(next(pieces).offset) > 0
    pieces.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


RARE = {
    "opening envelopes": (ETHERNET, framed(outer(4, ipv4(tcp(b"abc"))))),
    "reading Wi-Fi frames": (127, radiotap(data(llc(ipv4(tcp(b"abc"))), 1))),
}


@pytest.mark.parametrize("doing", RARE)
def test_many_rare_packets_are_counted_over_all_views(doing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That they take longer is said at the beginning, and how far they are in each view, though none has many."""
    said: list[str] = []
    monkeypatch.setattr(patience, "MANY", 50)
    monkeypatch.setattr(patience, "on_waiting", [said.append])
    link_type, packet = RARE[doing]
    record = struct.pack("<IIII", 1_700_000_000, 0, len(packet), len(packet)) + packet
    written = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type) + 60 * record
    read(pcap, written, 10 * len(record), len(written))
    told = [text for text in said if text.startswith(doing)]
    assert told[0].startswith(f"{doing}: 0 of about 5") or told[0].startswith(f"{doing}: 0 of about 6")
    assert len(told) > 5
    assert told[-1].endswith("of about 60 records, which takes longer")
    assert said[-1] == ""
    said.clear()
    read(pcap, written[: 24 + 20 * len(record)], 10 * len(record), 24 + 20 * len(record))
    assert said == []


def renumbered(recording: Recording) -> dict[str, pd.DataFrame]:
    """The tables with flows in the order of their first packets: what was put together from fragments ends a view."""
    tables = dict(recording.tables)
    if "flows" not in tables:
        return tables
    order = pd.unique(tables["packets"]["flow"])
    place = {number: rank for rank, number in enumerate(order)}
    tables["flows"] = tables["flows"].set_index("flow").loc[order].reset_index(drop=True)
    return tables | {"packets": tables["packets"].assign(flow=tables["packets"]["flow"].map(place))}


def assert_alike(module: ModuleType, data: bytes, size: int) -> None:
    """The same tables, losses, counts and notes in small views as in one, whatever numbers the flows have."""
    small, whole = read(module, data, size, VIEW_BYTES + 1), read(module, data, 1 << 16)
    if isinstance(whole, str) or isinstance(small, str):
        assert small == whole
        return
    for name, table in renumbered(whole).items():
        pd.testing.assert_frame_equal(renumbered(small)[name], table)
    told = ("records", "skips", "complete", "counts", "notes")
    assert [getattr(small, name) for name in told] == [getattr(whole, name) for name in told]


SEGMENTS = st.builds(
    lambda wrap, payload, ports, seq: wrap(tcp(bytes(payload), ports=ports, seq=seq)),
    st.sampled_from([ipv4, ipv6, lambda inner: ipv6(inner, source="2001:db8::9")]), st.integers(0, 60),
    st.sampled_from([(1000, 80), (80, 1000), (1001, 80)]), st.integers(1, 1000),
)  # fmt: skip
HALVES = bytes(ipv4(tcp(bytes(28))))[20:44], bytes(ipv4(tcp(bytes(28))))[44:]
FRAGMENTS = st.builds(
    lambda number, part: ipv4(HALVES[part], number=number, mf=1 - part, offset=3 * part),
    st.integers(1, 3), st.integers(0, 1),
)  # fmt: skip
PACKETS = SEGMENTS | FRAGMENTS | st.builds(lambda inner: ipv4(inner, p=4), SEGMENTS) | st.binary(max_size=30)
SIZES = st.integers(32, 700)
TIMES = st.integers(1_700_000_000, 1_700_000_005)
DAMAGE = st.integers(1, 150).map(bytes) | st.binary(min_size=1, max_size=150) | st.just(b"\xff" * 16)


@settings(max_examples=30)
@given(
    st.lists(st.builds(lambda s, p: struct.pack("<IIII", s, 5, len(p), len(p)) + p, TIMES, PACKETS) | DAMAGE),
    st.integers(0, 20), SIZES,
)  # fmt: skip
def test_pcap_is_alike_in_views_of_any_size(parts: list[bytes], cut: int, size: int) -> None:
    """With zeros and other octets between records, and a cut end."""
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW) + b"".join(parts)
    assert_alike(pcap, data[: len(data) - cut], size)


BLOCKS = st.one_of(
    st.builds(lambda s, p, number: packet(s * 10**6, p, number), TIMES, PACKETS, st.integers(0, 2)),
    st.builds(lambda p: block(3, struct.pack("<I", len(p)) + p, "<"), PACKETS), st.builds(section),
    st.builds(interface, resolution=st.sampled_from([6, 9, 0x83, 0])), DAMAGE, st.just(block(5, bytes(20), "<")),
)  # fmt: skip


@settings(max_examples=30)
@given(st.lists(BLOCKS), st.integers(0, 20), SIZES)
def test_pcapng_is_alike_in_views_of_any_size(parts: list[bytes], cut: int, size: int) -> None:
    """With several sections, damaged blocks, packets without a time or an interface, and a cut end."""
    data = section() + interface() + b"".join(parts)
    assert_alike(pcapng, data[: len(data) - cut], size)


@settings(max_examples=20)
@given(st.lists(PACKETS, max_size=12), st.integers(0, 20), DAMAGE | st.just(b""), SIZES)
def test_snoop_is_alike_in_views_of_any_size(packets: list[bytes], cut: int, end: bytes, size: int) -> None:
    """With a damaged or cut record."""
    frames = [ethernet(one) for one in packets]
    heads = [struct.pack(">IIIIII", len(one), len(one), 24 + len(one), 0, 9, 5) for one in frames]
    data = b"snoop\0\0\0" + struct.pack(">II", 2, 4) + b"".join(map(bytes.__add__, heads, frames)) + end
    assert_alike(snoop, data[: max(16, len(data) - cut)], size)


@settings(max_examples=20)
@given(st.lists(st.tuples(PACKETS, st.sampled_from([1, 2, 22, 40]))), st.integers(0, 20), DAMAGE | st.just(b""), SIZES)
def test_erf_is_alike_in_views_of_any_size(packets: list[tuple[bytes, int]], cut: int, end: bytes, size: int) -> None:
    """With records of several link types, and of none."""
    records = [
        struct.pack("<QBB", 1_700_000_000 << 32, kind, 4) + struct.pack(">HHH", 16 + len(one), 0, len(one)) + one
        for one, kind in packets
    ]
    data = b"".join(records) + end
    assert_alike(erf, data[: max(0, len(data) - cut)], size)


_LAUNCHED = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_maxrss)
"""
_READ = """
import sys
from multitracer.parsers.shared.experiment import read
try:
    read(sys.argv[1])
except Exception as error:
    print(error, file=sys.stderr)
"""


def most_memory(path: Path, code: str = _READ) -> int:
    """The most octets of memory of a process that reads an input; one between keeps this one's from being counted."""
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run([sys.executable, "-S", "-c", _LAUNCHED, *command], capture_output=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    assert status == 0, done.stderr
    return kilobytes << 10


BOMBS = {
    "pcap": struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW),
    "pcapng": section() + interface() + packet(10**15, ipv4(tcp(b"a"))),
}
MOST = 300 * 10**6


@pytest.fixture(scope="module")
def zeros() -> bytes:
    """300 MB of zeros in 300 kB."""
    return gzip.compress(bytes(MOST), 1)


@pytest.mark.compiled
@pytest.mark.parametrize("name", BOMBS)
def test_what_is_no_record_takes_no_memory(name: str, zeros: bytes, tmp_path: Path) -> None:
    """300 MB of zeros behind a capture's beginning are read with less than 300 MB, modules and kernels included."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(BOMBS[name]) + zeros)
    assert most_memory(path) < MOST

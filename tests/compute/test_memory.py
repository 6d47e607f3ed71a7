"""How much memory is made ready before a large capture is read, and for what."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest

from multitracer.compute import memory
from multitracer.parsers import pcap


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold small files to be worth it, too."""
    monkeypatch.setattr(memory, "_WORTH_IT", 1)


@pytest.mark.parametrize("size", [40, 1500])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_a_capture_needs_memory_by_its_packets(size: int, nanoseconds: bool, tmp_path: Path) -> None:
    """Not by its octets: long packets need no more than short ones."""
    packets = [(at * 1000, b"x" * size) for at in range(5000)]
    pcap.write(tmp_path / "a.pcap", packets, 101, nanoseconds=nanoseconds)
    needed = memory._needed(str(tmp_path / "a.pcap"))
    assert needed == pytest.approx(5000 * memory._BYTES_A_PACKET, rel=0.03)


def test_what_is_no_capture_needs_none(tmp_path: Path) -> None:
    """Text, compressed captures, empty files, directories and files that are not there."""
    (tmp_path / "text").write_text("time value\n" * 1000)
    (tmp_path / "a.pcap.gz").write_bytes(gzip.compress(b"\xd4\xc3\xb2\xa1" + bytes(100)))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "short").write_bytes(b"\xd4\xc3")
    for name in ("text", "a.pcap.gz", "empty", "short", "", "absent"):
        assert memory._needed(str(tmp_path / name)) == 0


def test_memory_is_made_ready_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block is touched by another thread, and freed."""
    freed = []
    clear = memory._clear
    monkeypatch.setattr(memory, "_clear", lambda *block: freed.append(block[2]) or clear(*block))
    monkeypatch.setattr(memory, "_needed", lambda path: 1 << 20)
    memory.make_ready(["a", "b"])
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(10)
    assert freed == [2 << 20]

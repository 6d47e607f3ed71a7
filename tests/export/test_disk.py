"""Files on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from multitracer.export.disk import begin_writing, sync_below


def test_what_is_written_early_stays_what_it_is(tmp_path: Path) -> None:
    """Its octets can be written over, appended to and read, whatever the system has done with them."""
    path = tmp_path / "file"
    with path.open("w+b") as file:
        file.write(bytes(100_000))
        begin_writing(file, 0)
        file.seek(50_000)
        file.write(b"x" * 100_000)
        begin_writing(file, 50_000)
    sync_below(tmp_path)
    assert path.read_bytes() == bytes(50_000) + b"x" * 100_000


def test_a_pipe_is_no_file_on_a_disk() -> None:
    """There is nothing to begin, and nothing fails."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb") as file:
        begin_writing(file, 0)


def test_a_system_that_takes_no_advice_writes_as_it_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As macOS, which has no posix_fadvise."""
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"abc")
    sync_below(tmp_path)
    assert (tmp_path / "folder" / "file").read_bytes() == b"abc"

"""Files on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from multitracer.export.disk import begin_writing, sync_below


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="this system takes no advice")
def test_only_what_was_added_is_written_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before stays in memory, and all that was written stays what it is."""
    asked = []
    advise = os.posix_fadvise

    def noted(descriptor: int, start: int, length: int, advice: int) -> None:
        asked.append((start, length, advice))
        advise(descriptor, start, length, advice)

    monkeypatch.setattr(os, "posix_fadvise", noted)
    path = tmp_path / "file"
    with path.open("wb") as file:
        for start in (0, 100_000):
            file.write(b"x" * 100_000)
            begin_writing(file, start)
    assert asked == [(start, 0, os.POSIX_FADV_DONTNEED) for start in (0, 100_000)]
    assert path.read_bytes() == b"x" * 200_000


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

"""What comes back from the other end is written into one folder, whatever the archive says."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from multitracer.recorder.remote import unpack


def archive(*members: tuple[str, bytes | str]) -> bytes:
    """An archive of files with octets, and of symbolic links where a member has text."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as opened:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                opened.addfile(member)
            else:
                member.size = len(content)
                opened.addfile(member, io.BytesIO(content))
    return written.getvalue()


def written(directory: Path) -> dict[str, bytes]:
    """All regular files below a folder."""
    return {str(one.relative_to(directory)): one.read_bytes() for one in directory.rglob("*") if one.is_file()}


def test_files_are_written_by_any_release_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases of 3.11 before 3.11.4 have no filters for archives."""

    def old(*_: object, **options: object) -> None:
        raise TypeError(f"extractall() got an unexpected keyword argument {next(iter(options))!r}")

    monkeypatch.setattr(tarfile.TarFile, "extractall", old)
    unpack(io.BytesIO(archive(("remote/snd.pcap", b"packets"), ("remote/machine.json", b"{}"))), tmp_path / "remote")
    assert written(tmp_path) == {"remote/snd.pcap": b"packets", "remote/machine.json": b"{}"}


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    """Neither by names that lead out, nor through links."""
    harmful: list[tuple[str, bytes | str]] = [
        ("remote/../../out", b"x"), ("/out", b"x"), ("../out", b"x"), ("remote/..", b"x"), ("remote/.", b"x"),
        ("remote/link", str(tmp_path)), ("remote/link/out", b"x"), ("out", b"x"), ("remote/a/out", b"x"),
        ("remote/to", str(tmp_path / "out")), ("remote/to", b"kept"),
    ]  # fmt: skip
    (tmp_path / "rec").mkdir()
    unpack(io.BytesIO(archive(*harmful)), tmp_path / "rec" / "remote")
    assert written(tmp_path) == {"rec/remote/to": b"kept"}


@pytest.mark.parametrize("kept", [0, 300, 512, 600, 1536, 2000, 2048])
def test_a_cut_archive_is_told_and_gives_what_is_there(tmp_path: Path, kept: int) -> None:
    """Wherever it is cut: in a file, in the name of the next, or between them."""
    whole = archive(("remote/first", b"1" * 700), ("remote/second", b"2" * 400))
    with pytest.raises(tarfile.TarError):
        unpack(io.BytesIO(whole[:kept]), tmp_path / "remote")
    if kept >= 1536:
        assert written(tmp_path)["remote/first"] == b"1" * 700

"""Where octets come from: files, pipes and devices, compressed or not, whole or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import socket
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
import samples

from multitracer import parsers
from multitracer.model.errors import InputError, UnknownFormatError
from multitracer.parsers.shared import source as sources
from multitracer.parsers.shared.source import Room, Source, half_of_memory, open_source

TEXT = b"".join(b"%d %d\n" % (number, random.Random(number).getrandbits(200)) for number in range(9000))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "xz": lzma.compress, "bzip2": lambda data: bz2.compress(data, 1),
    "zstandard": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}  # fmt: skip
every_packer = pytest.mark.parametrize("name", PACKERS)


def opened(path: Path, data: bytes, room: Room | None = None) -> Source:
    """A file of these octets, opened."""
    path.write_bytes(data)
    return open_source(str(path), room)


@every_packer
def test_compressed_octets_are_unpacked(name: str, tmp_path: Path) -> None:
    """Whatever the file is called; once, twice, or each with another method."""
    pack = PACKERS[name]
    for packed in (pack(TEXT), pack(pack(TEXT)), gzip.compress(pack(TEXT))):
        source = opened(tmp_path / "any", packed)
        assert (source.data, source.skips) == (TEXT, [])


@pytest.mark.parametrize("name", ["gzip", "xz", "bzip2"])
def test_several_members_are_one_file(name: str, tmp_path: Path) -> None:
    """As they are when compressed files are put one behind the other, and padded."""
    pack = PACKERS[name]
    source = opened(tmp_path / "any", pack(TEXT[:100]) + pack(TEXT[100:]) + bytes(512))
    assert (source.data, source.skips) == (TEXT, [])


@every_packer
def test_the_good_part_of_a_cut_or_damaged_file_is_kept(name: str, tmp_path: Path) -> None:
    """With a Skip where it ends; nothing at all is not called empty."""
    packed = PACKERS[name](TEXT)
    source = opened(tmp_path / "cut", packed[: len(packed) * 9 // 10])
    assert source.data
    assert TEXT.startswith(source.data)
    assert name in source.skips[0].reason
    with pytest.raises(InputError, match="holds no octets that could be unpacked"):
        opened(tmp_path / "cut", packed[:14])


def test_an_empty_file_within_is_empty(tmp_path: Path) -> None:
    """Nothing was lost of it."""
    for data in (b"", gzip.compress(b""), lzma.compress(b"")):
        with pytest.raises(InputError, match="could be unpacked" if data else "is empty"):
            opened(tmp_path / "empty", data)


def test_all_inputs_together_are_unpacked_up_to_a_limit(tmp_path: Path) -> None:
    """What is beyond is left out, and said; an input for which nothing is left is refused."""
    room = Room(len(TEXT) + 100)
    first = opened(tmp_path / "first", gzip.compress(TEXT), room)
    assert (first.data, first.skips) == (TEXT, [])
    second = opened(tmp_path / "second", TEXT, room)
    assert second.data == TEXT[:100]
    assert "--max-unpacked" in second.skips[0].reason
    assert second.skips[0].offset == 100
    with pytest.raises(InputError, match="left out"):
        opened(tmp_path / "third", TEXT, room)
    assert 0 < half_of_memory() < 1 << 50


def test_what_is_no_known_format_is_not_read_on(tmp_path: Path) -> None:
    """A bomb of zeros, and a device without an end, are refused by their beginning."""
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(200 << 20), 1))
    tracemalloc.start()
    try:
        for path in (str(tmp_path / "bomb.gz"), "/dev/zero"):
            with pytest.raises(UnknownFormatError):
                parsers.read(open_source(path))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_an_endless_input_ends_at_the_limit() -> None:
    """A device that gives zeros for ever."""
    source = open_source("/dev/zero", Room(3 << 20))
    assert source.data == bytes(3 << 20)
    assert source.skips


def test_lines_need_no_memory_for_the_whole_text(tmp_path: Path) -> None:
    """A log is read line by line as it is unpacked."""
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"a line of a log\n" * 2_000_000, 1))
    tracemalloc.start()
    try:
        count = sum(1 for _ in open_source(str(tmp_path / "log.gz")).octet_lines(100))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert count == 2_000_000


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    return (text[at : at + size] for at in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_in_pieces_of_any_size(size: int) -> None:
    """Numbers, offsets and texts, with empty lines, both line ends, a long line and one that is cut off."""
    text = b"one\r\n\n  \ntwo\n" + b"x" * 50 + b"\nlast"
    whole = list(Source("x", text).octet_lines(20))
    assert [(number, offset, line[:4], ended) for number, offset, line, ended in whole] == [
        (1, 0, b"one\r", True), (2, 5, b"", True), (3, 6, b"  ", True), (4, 9, b"two", True), (5, 13, b"xxxx", True),
        (6, 64, b"last", False),
    ]  # fmt: skip
    other = list(Source("x", pieces(text, size)).octet_lines(20))
    assert [line[:2] for line in other] == [line[:2] for line in whole]
    assert [line[2][:21] for line in other] == [line[2][:21] for line in whole]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_mark_of_utf_8_is_no_text(size: int) -> None:
    """It is left out of what is recognised and read; lines begin behind it."""
    source = Source("x", pieces(b"\xef\xbb\xbfone\ntwo\n", size))
    assert source.head == b"one\ntwo\n"
    assert [line[:3] for line in source.lines()] == [(1, 3, "one"), (2, 7, "two")]


def test_a_log_with_a_mark_of_utf_8_is_recognised(tmp_path: Path) -> None:
    """Some editors write one; losses are where they are in the file."""
    for name, text in (("tcpstats", samples.TCPSTATS), ("erasures", "# block_ms: 20\n" + "01" * 2000 + "\n")):
        found = parsers.read(opened(tmp_path / name, b"\xef\xbb\xbf" + text.encode() + b"?\n"))
        assert found.format == name
        assert [skip.offset for skip in found.skips] == [3 + len(text)]


def test_a_source_gives_its_octets_in_any_way_once() -> None:
    """The head first, then all; what was given as lines is not kept, and asking again is an error."""
    source = Source("x", pieces(TEXT, 1000))
    assert source.head == TEXT[: sources.HEAD_BYTES]
    assert (len(source), source.data) == (len(TEXT), TEXT)
    source = Source("x", pieces(TEXT, 1000))
    assert next(source.lines())[2] == TEXT.split(b"\n")[0].decode()
    assert len(source) == len(TEXT)
    with pytest.raises(ValueError, match="not kept"):
        next(source.lines())


def test_a_pipe_is_read_as_a_file(tmp_path: Path) -> None:
    """A named pipe, and a descriptor that a shell hands over."""
    named = tmp_path / "named"
    os.mkfifo(named)
    read, write = os.pipe()
    for path, target in ((str(named), str(named)), (f"/dev/fd/{read}", write)):

        def fill(target: str | int = target) -> None:
            with open(target, "wb") as stream:  # noqa: PTH123 - a descriptor, too
                stream.write(gzip.compress(TEXT))

        thread = threading.Thread(target=fill)
        thread.start()
        assert open_source(path).data == TEXT
        thread.join()
    os.close(read)


def test_a_file_that_becomes_shorter_is_said(tmp_path: Path) -> None:
    """What was there is kept; the rest is a loss with its place."""
    path = tmp_path / "shrinking"
    path.write_bytes(TEXT * 20)
    source = open_source(str(path))
    os.truncate(path, sources.PIECE_BYTES * 2)
    assert len(source.data) == sources.PIECE_BYTES * 2
    assert "became shorter" in source.skips[0].reason
    assert source.skips[0].offset == sources.PIECE_BYTES * 2


def test_a_file_that_grows_is_read_to_its_end(tmp_path: Path) -> None:
    """What is written while it is read belongs to it."""
    path = tmp_path / "growing"
    path.write_bytes(TEXT)
    source = open_source(str(path))
    with path.open("ab") as stream:
        stream.write(b"more\n")
    assert (source.data, source.skips) == (TEXT + b"more\n", [])


def test_what_cannot_be_read_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket, a directory, a link to itself, a name that cannot be, closed standard input."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "socket", tmp_path, tmp_path / "loop", "a\0b"):
            with pytest.raises(InputError, match="cannot be read"):
                open_source(str(path))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed"):
        open_source("-")


def test_directories_are_walked_without_loops_and_devices(tmp_path: Path) -> None:
    """Links to directories are not followed; what is no file, and what is hidden, is left out."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "up").symlink_to(tmp_path)
    (tmp_path / "below" / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".hidden").write_bytes(b"x")
    (tmp_path / "below" / "one").write_bytes(b"x")
    assert parsers.inputs_in([str(tmp_path)]) == [str(tmp_path / "below" / "one")]


def test_a_directory_that_cannot_be_listed_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands among the inputs, so that reading it says why."""
    (tmp_path / "one").write_bytes(b"x")
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert parsers.inputs_in([str(tmp_path)]) == [str(tmp_path / "closed"), str(tmp_path / "one")]

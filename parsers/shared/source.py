"""The octets of one input: a file, a pipe or standard input, read and unpacked as they are asked for."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from multitracer.model.errors import InputError
from multitracer.model.trace import Skip
from multitracer.parsers.shared.unpacking import LONGEST_MAGIC, PIECE_BYTES, Pieces, packed_by, unpacked

HEAD_BYTES = 65536
"""The number of octets of an input that a `sniff` is given, at most."""
DOCUMENT_BYTES = 32 << 20
"""So much of a JSON document is read, and held, as its values are looked for in it. iperf3 writes as much of one stream
in 20 hours."""
_UTF8_MARK = b"\xef\xbb\xbf"
"""Some editors begin a text in UTF-8 with it."""
_UNKNOWN_MEMORY_BYTES = 8 << 30
"""Taken for the machine's memory where the system does not tell it."""


def half_of_memory() -> int:
    """Half of the machine's memory, in octets: what the inputs of a run may unpack to, where nothing else is said."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        memory = 0
    return (memory if memory > 0 else _UNKNOWN_MEMORY_BYTES) // 2


class Room:
    """The octets that inputs may unpack to, all together: each is read as far as those before it left room."""

    def __init__(self, octets: int | None = None) -> None:
        self.octets = half_of_memory() if octets is None else octets
        self.left = self.octets

    def grant(self, octets: int) -> int:
        """Take room for so many octets; for how many there was room."""
        granted = min(octets, self.left)
        self.left -= granted
        return granted


class Source:
    """The unpacked octets of one input; `skips` holds what was lost in reading and unpacking.

    It is read as far as it is asked for: `head` reads the beginning, `data` all, `pieces` and `lines` each piece or
    line when it is taken. So neither captures nor logs need memory for their octets: what `pieces` or `lines` gave of a
    file or pipe is not kept.
    """

    def __init__(
        self, path: str, data: bytes | Pieces = b"", skips: list[Skip] | None = None, room: Room | None = None
    ) -> None:
        self.path = path
        self.skips: list[Skip] = [] if skips is None else skips
        self.file_bytes = 0
        """The size of the regular file that it was read from; 0 for all else."""
        self.file: _File | None = None
        """Where what follows can be read from; None where it is unpacked, or is no file."""
        self._room = room or Room(sys.maxsize)
        self._data = data if isinstance(data, bytes) else None
        self._mark = [b""]
        self._coming: Pieces = iter(()) if isinstance(data, bytes) else _unmarked(data, self._mark)
        self._begun: list[bytes] = []
        self._read = 0
        self._given = False

    @property
    def begins(self) -> int:
        """The offset of its first octet: behind a mark of UTF-8, once that was read."""
        return len(self._mark[0])

    @property
    def head(self) -> bytes:
        """The first octets, by which the format is recognised."""
        return self.first(HEAD_BYTES)

    def first(self, octets: int) -> bytes:
        """The first so many octets, as far as there are."""
        self.holds(octets)
        return (b"".join(self._begun) if self._data is None else self._data)[:octets]

    def holds(self, octets: int) -> bool:
        """Whether there are as many octets; as many are read, at least."""
        if self._data is not None:
            return len(self._data) >= octets
        while self._read < octets and (piece := self._next()):
            self._begun.append(piece)
        return self._read >= octets

    @property
    def data(self) -> bytes:
        """All octets."""
        if self._data is None:
            # The buffer is given away, not copied: a capture needs its own size of memory, once.
            buffer = io.BytesIO()
            for piece in self.pieces():
                buffer.write(piece)
            self._data, self._given = buffer.getvalue(), False
        return self._data

    def __len__(self) -> int:
        """The number of octets; all are read."""
        if not self._given:
            return len(self.data)
        while self._next():
            pass
        return self._read

    def pieces(self) -> Pieces:
        """All octets; those that were not asked for as `data` are not kept."""
        if self._data is not None:
            yield from (self._data[at : at + PIECE_BYTES] for at in range(0, len(self._data), PIECE_BYTES))
            return
        if self._given:
            raise ValueError(f"{self.path}: its octets were given, and not kept")
        self._given = True
        while self._begun:
            yield self._begun.pop(0)
        while piece := self._next():
            yield piece

    def into(self, buffer: memoryview) -> int:
        """Read octets behind the last of `pieces` into a buffer; how many, 0 where only `pieces` has them, if any."""
        if self.file is None or not self._given or self._begun:
            return 0
        return self._admitted(self.file.into(buffer))

    def _next(self) -> bytes:
        """The next piece that was not read before, as far as there is room."""
        piece = next(self._coming, b"")
        return piece[: self._admitted(len(piece))]

    def _admitted(self, octets: int) -> int:
        """For how many of so many octets more there is room; where for fewer, nothing follows, which a Skip says."""
        admitted = self._room.grant(octets)
        self._read += admitted
        if admitted < octets:
            reason = f"inputs of more than {self._room.octets:,} octets (--max-unpacked)"
            self.skips.append(Skip(reason, offset=self._read))
            self._coming, self.file = iter(()), None
        return admitted

    def document(self) -> bytes:
        """The octets of a document in which values are looked for; of one of more than DOCUMENT_BYTES the beginning."""
        parts, left = io.BytesIO(), DOCUMENT_BYTES
        for piece in self.pieces():
            parts.write(piece[:left])
            left -= len(piece)
            if left < 0:
                self.skips.append(Skip(f"a document of more than {DOCUMENT_BYTES:,} octets", offset=DOCUMENT_BYTES))
                break
        return parts.getvalue()

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Every line as (number from 1, byte offset, text without line end); octets that are not UTF-8 are escaped."""
        for number, offset, line, _ in self.octet_lines():
            yield number, offset, line.decode("utf-8", "backslashreplace").rstrip("\r")

    def octet_lines(self, most: int = sys.maxsize, end: bytes = b"\n") -> Iterator[tuple[int, int, bytes, bool]]:
        """Every line as (number from 1, byte offset, octets, whether it has an end), without the octet that ends it.

        Of a longer line than `most` octets more than `most`, but not all, may be given.
        """
        self.holds(1)
        number, offset, dropped, rest = 1, self.begins, 0, b""
        for piece in self.pieces():
            first, *more = piece.split(end)
            if len(rest) > most:
                dropped += len(first)
            else:
                rest += first
            for following in more:
                yield number, offset, rest, True
                offset += len(rest) + dropped + 1
                number, dropped, rest = number + 1, 0, following
        if rest:
            yield number, offset, rest, False


def open_source(path: str, room: Room | None = None) -> Source:
    """Open a file, or standard input for "-"; raises InputError when it cannot be read or is empty.

    `room` limits what it may unpack to, by default to half of the machine's memory.
    """
    skips: list[Skip] = []
    room = room or Room()
    try:
        stream = _stdin() if path == "-" else Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed at its end
        file = _File(stream, skips)
        pieces = file.pieces()
        first = next(pieces, b"")
    except (OSError, ValueError) as error:  # ValueError: a name with a zero octet
        raise InputError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    source = Source(path, unpacked(_after(first, pieces), skips), skips, room)
    source.file = file if packed_by(first) is None and len(first) >= LONGEST_MAGIC else None
    source.file_bytes = 0 if _is_stdin(stream) or stream.closed else _regular_bytes(stream)
    if not source.holds(1):
        raise _nothing(path, first, room, skips)
    return source


def _nothing(path: str, first: bytes, room: Room, skips: list[Skip]) -> InputError:
    """Why a source holds no octet."""
    if not first:
        return InputError(path, "is empty", hint="Nothing was recorded in it; leave it out.")
    if not room.left:
        return InputError(path, f"is left out: the inputs before it are {room.octets:,} octets (--max-unpacked)")
    why = f" ({skips[0].reason})" if skips else ""
    return InputError(path, f"holds no octets that could be unpacked{why}", hint="Copy it once more, whole.")


def _stdin() -> BinaryIO:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise OSError("standard input is closed")
    return stream


class _File:
    """An open file, or standard input."""

    def __init__(self, stream: Any, skips: list[Skip]) -> None:
        self._stream, self._skips = stream, skips
        self._expected = 0 if _is_stdin(stream) else _regular_bytes(stream)
        self._given, self._ended = 0, False

    def pieces(self) -> Pieces:
        """What follows, each piece read when it is taken; the file is closed at the end."""
        buffer = memoryview(bytearray(PIECE_BYTES))
        try:
            while count := self.into(buffer):
                yield bytes(buffer[:count])
        finally:
            if not _is_stdin(self._stream):
                self._stream.close()

    def into(self, buffer: memoryview) -> int:
        """Read into a buffer; how many octets, 0 at the end. Raises OSError only where nothing was read before."""
        if self._ended:
            return 0
        lost = f"the file became shorter while it was read, before {self._expected:,} octets"
        try:
            count: int = self._stream.readinto(buffer) or 0
        except OSError as error:
            if not self._given:
                raise
            count, lost, self._expected = 0, f"cannot be read further: {error.strerror or error}", sys.maxsize
        self._given += count
        self._ended = not count
        if self._ended and 0 < self._given < self._expected:
            self._skips.append(Skip(lost, offset=self._given))
        return count


def _is_stdin(stream: BinaryIO | io.FileIO) -> bool:
    return stream is getattr(sys.stdin, "buffer", None)


def _regular_bytes(stream: BinaryIO | io.FileIO) -> int:
    """The size of a regular file; 0 for all else, whose size is not known."""
    try:
        seen = os.fstat(stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return 0
    return seen.st_size if stat.S_ISREG(seen.st_mode) else 0


def _unmarked(pieces: Pieces, mark: list[bytes]) -> Pieces:
    """The octets behind a mark of UTF-8, if they begin with one, which is put into `mark`.

    No method, which would keep the source, and so the file, until garbage is collected.
    """
    first = b""
    while len(first) < len(_UTF8_MARK) and (piece := next(pieces, b"")):
        first += piece
    if first.startswith(_UTF8_MARK):
        mark[0] = _UTF8_MARK
    yield from _after(first[len(mark[0]) :], pieces)


def _after(first: bytes, pieces: Pieces) -> Pieces:
    if first:
        yield first
    yield from pieces

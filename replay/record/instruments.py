"""The instruments on a link: a log at each end, and a monitor that captures what both send.

They get what happened in order of time, in parts of any length, and do not look into the protocol's machine: an
arrival is always of the oldest frame on the air.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

from multitracer.model.errors import UsageError
from multitracer.parsers import erasures, pcap, rlcdump
from multitracer.parsers.shared.rlc_frames import OTHER_END, At
from multitracer.replay.arq import notes
from multitracer.replay.erasures.trace import ms_text
from multitracer.wire.layers import RAW_IP

if TYPE_CHECKING:
    import pandas as pd

START_NS = 978_307_200 * 10**9
"""When a simulated run begins unless something else is said: 2001-01-01 00:00 UTC."""
LATEST_START_NS = 4_000_000_000 * 10**9
"""A capture has 32 bits for the second."""
CAPTURE = "frames.pcap"

SENT, RECEIVED, ERASED = "sent", "received", "erased"
ARRIVALS = {notes.RECEIVED: RECEIVED, notes.ERASED: ERASED}
"""What a run's log calls an arrival, and what the instruments do."""


class Happening(NamedTuple):
    """One event on a link."""

    time_ns: int
    """From the start of the run."""
    side: int
    """The side on which it happened: 0 is A, 1 is B."""
    what: str
    """SENT, RECEIVED, ERASED (at the side that the frame does not reach), or the name of a link event."""
    octets: bytes = b""
    """The frame, where one was sent."""
    by_peer: bool = False
    """Whether the peer caused it, for a link event."""


class Logged(NamedTuple):
    """A frame as one end logged it."""

    at: At
    octets: bytes
    damaged: bool


class Lost(NamedTuple):
    """Which blocks sent by one side were erased (1), and their size."""

    erased: Any
    block_bytes: int
    block_ns: int


class Medium(Protocol):
    """How the frames of a link protocol are logged and captured."""

    @property
    def dump(self) -> str:
        """The name of the log's format."""

    def table(self, logged: Sequence[Logged], side: str) -> pd.DataFrame:
        """The frames table of what one end logged."""

    def write(self, stream: TextIO, frames: pd.DataFrame, side: str, events: pd.DataFrame) -> None:
        """Write a log with its header."""

    def packet(self, octets: bytes, uplink: bool, time_ns: int) -> bytes:
        """The IP packet in which a monitor passes a frame on."""


@dataclass
class _End:
    """One end's log: its rows of the current part, and its frames that are still on the air."""

    name: str
    path: Path
    frames: list[Logged] = field(default_factory=list)
    events: list[tuple[int, int, int, str, int]] = field(default_factory=list)
    on_the_way: deque[bytes] = field(default_factory=deque)
    begun: bool = False


class Instruments:
    """Writes `DUMP.mobile.txt`, `DUMP.network.txt`, the capture and the erasure traces of a run into a directory.

    Without `captures` the logs alone, as they are noted.
    """

    def __init__(
        self, medium: Medium, directory: Path | str, side_a: str = "mobile", start_ns: int = START_NS, *,
        captures: bool = True,
    ) -> None:  # fmt: skip
        if side_a not in OTHER_END:
            raise UsageError(f"side A is {side_a!r}; it must be mobile or network")
        if not 0 <= start_ns <= LATEST_START_NS:
            raise UsageError(f"start_ns is {start_ns}; it must be from 0 to {LATEST_START_NS}")
        self.medium, self.directory, self.start_ns = medium, Path(directory), start_ns
        self.directory.mkdir(parents=True, exist_ok=True)
        names = (side_a, OTHER_END[side_a])
        self._ends = [_End(name, self.directory / f"{medium.dump}.{name}.txt") for name in names]
        self._captures, self._captured = captures, list[tuple[int, bytes]]()

    def note(self, part: Iterable[Happening]) -> None:
        """Log the next part of the run."""
        for record, happening in enumerate(part, start=1):
            self._note(record, happening)
        for end in self._ends:
            self._append(end)

    def finish(self, lost: Sequence[Lost]) -> list[Path]:
        """Write the capture, and the losses of both directions; the files written, logs included."""
        capture = self.directory / CAPTURE
        pcap.write(capture, self._captured, RAW_IP)
        traces = [write_lost(self.directory, end.name, each) for end, each in zip(self._ends, lost, strict=True)]
        return [*(end.path for end in self._ends), capture, *traces]

    def _note(self, record: int, it: Happening) -> None:
        end, time_ns = self._ends[it.side], self.start_ns + it.time_ns
        if it.what == SENT:
            end.frames.append(Logged(At(record, time_ns, 0, True), it.octets, False))
            end.on_the_way.append(it.octets)
            if self._captures:
                packet = self.medium.packet(it.octets, end.name == "mobile", it.time_ns)
                self._captured.append((time_ns, packet))
        elif it.what in (RECEIVED, ERASED):
            octets = self._ends[1 - it.side].on_the_way.popleft()
            end.frames.append(Logged(At(record, time_ns, 1, False), octets, it.what == ERASED))
        else:
            end.events.append((record, time_ns, int(it.by_peer), it.what, -1))

    def _append(self, end: _End) -> None:
        """Append an end's part to its file, and empty it."""
        text = StringIO()
        events = rlcdump.events_table(end.events, end.name)
        self.medium.write(text, self.medium.table(end.frames, end.name), end.name, events)
        lines = text.getvalue().splitlines(keepends=True)
        with end.path.open("a" if end.begun else "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(line for line in lines if not (end.begun and line.startswith("#")))
        end.frames, end.events, end.begun = [], [], True


def write_lost(directory: Path, name: str, lost: Lost) -> Path:
    """Write which blocks the end of that name sent in vain, as an erasure trace."""
    path, block_ms = directory / f"erasures.{name}.txt", ms_text(lost.block_ns)
    header = {"block_bytes": lost.block_bytes, "block_ms": block_ms, "name": f"sent by {name}"}
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        erasures.write(stream, lost.erased, header)
    return path

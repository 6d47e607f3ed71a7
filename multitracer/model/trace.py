"""A Trace: everything that was recorded about one experiment, as tables, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from multitracer.model.short_texts import named

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Skip:
    """A part of an input that could not be used, and why; `count` records of the same kind.

    `record` counts from 1 and `offset` is in bytes of the decompressed content; both are of the
    first of the `count`.
    """

    reason: str
    record: int | None = None
    offset: int | None = None
    count: int = 1


@dataclass
class Recording:
    """What a parser found in one file.

    `tables` holds tables of the schema whose `input` column is still 0. `clock` says what the
    times are relative to: "epoch"; "monotonic" (a host's uptime: offset unknown); or "relative"
    (to the start of the log). `counts` counts what was seen and is out of scope ("udp", "quic",
    "icmp", ...). `metadata` carries header facts ("side", "mode", "rat", "block_ms", ...).
    """

    format: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    records: int = 0
    skips: list[Skip] = field(default_factory=list)
    bytes_read: int = 0
    complete: bool = True
    clock: str = "epoch"
    counts: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    defect: Exception | None = None
    """The exception by which reading ended, if it was one that should not be: a defect of ours."""
    notes: list[str] = field(default_factory=list)
    """What a reader of the report should know about this input, one sentence each."""


@dataclass(frozen=True)
class ClockPiece:
    """From `start_ns` (own clock) on: own minus reference is `offset_ns` there, and grows by `rate_ppt`.

    The rate is in 1e-12 ns for each ns of the own clock.
    """

    start_ns: int
    offset_ns: int
    rate_ppt: int = 0


@dataclass(frozen=True)
class Clock:
    """How an input's clock stands to the reference clock.

    `offset_s` is this clock minus the reference at the input's first record, `drift_ppm` its rate against the
    reference. `error_s` bounds the error if both ways take equally long, `worst_s` whatever they take: half the least
    round trip. `pieces` say the same exactly, in order; a clock that was set during the recording has several.
    """

    reference: str
    offset_s: float | None = None
    drift_ppm: float | None = None
    error_s: float | None = None
    worst_s: float | None = None
    how: str = "unknown"
    pieces: tuple[ClockPiece, ...] = ()

    @property
    def keeps_time(self) -> bool:
        """Whether it shows the reference clock's times, or is not placed: its times stay as they are."""
        return not self.pieces or (
            len(self.pieces) == 1 and self.pieces[0].offset_ns == 0 and self.pieces[0].rate_ppt == 0
        )


@dataclass(frozen=True)
class Input:
    """One input file: what was read from it and what was not."""

    number: int
    path: str
    recording: Recording = field(repr=False)
    role: str | None = None
    clock: Clock | None = None
    first_ns: int | None = None
    last_ns: int | None = None

    @property
    def skipped(self) -> int:
        """How many records had to be skipped."""
        return sum(skip.count for skip in self.recording.skips)

    def with_notes(self, *notes: str) -> Input:
        """The same input with further notes for the reader of the report."""
        return replace(self, recording=replace(self.recording, notes=[*self.recording.notes, *notes]))

    def with_loss(self, note: str) -> Input:
        """The same input, of which it turned out that it lacks records."""
        return replace(self, recording=replace(self.recording, complete=False)).with_notes(note)


@dataclass(repr=False)
class Trace:
    """Tables on their recorded clocks; `inputs[i]` is where rows with `input == i` came from."""

    inputs: list[Input]
    tables: dict[str, pd.DataFrame]
    shift_ns: int = 0
    """What was added to all times, because some were before 1970."""

    def __repr__(self) -> str:
        """Where it came from, and how many rows each table has."""
        rows = ", ".join(f"{name} {len(table):,}" for name, table in self.tables.items() if len(table))
        return f"Trace of {named([entry.path for entry in self.inputs])}: {rows or 'no rows'}"

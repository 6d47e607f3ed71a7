"""Collects rows of `tcp_state` for all logs of a sender's TCP."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.errors import InputError
from multitracer.model.schema import SCHEMA, build
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import INT64, SECOND_NS, UINT32, FieldError, Losses, fits

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

LINUX_UNSET_SSTHRESH = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH: the slow start threshold is not set yet."""

EVENTS = SCHEMA["tcp_state"]["event"].dtype
_CODES = {event: code for code, event in enumerate(EVENTS)}
_MOST = {column.name: INT64 / SECOND_NS if column.unit == "s" else float(INT64) for column in SCHEMA["tcp_state"].columns}
_MOST |= {"snd_nxt": UINT32, "snd_una": UINT32, "ca_state": 255, "ssthresh_segments": inf, "ssthresh_bytes": inf}
"""The largest value of each column: sequence numbers have 32 bits, the kernel's state 8, durations fit in int64 ns."""


def ssthresh(value: float) -> float:
    """A threshold as Linux logs it; infinity where it is not set."""
    return inf if value >= LINUX_UNSET_SSTHRESH else value


@dataclass
class StateLog:
    """The rows of one log, column by column; a column that `add` is not given is null in that row."""

    losses: Losses = field(default_factory=Losses)
    records: array[int] = field(default_factory=lambda: array("q"))
    times: array[int] = field(default_factory=lambda: array("q"))
    events: array[int] = field(default_factory=lambda: array("b"))
    locals: list[str | None] = field(default_factory=list)
    remotes: list[str | None] = field(default_factory=list)
    numbers: dict[str, array[float]] = field(default_factory=dict)

    def add(
        self, record: int, time_ns: int, event: str, local: str | None, remote: str | None, **numbers: float
    ) -> None:
        """Add a row; `record` is the number of its line. Raises FieldError, and adds nothing, for an impossible value."""
        if not 0 <= time_ns <= INT64:
            raise FieldError("a time before 1970 or beyond the year 2262")
        for name, value in numbers.items():
            fits(name, value, _MOST[name])
        before = len(self.records)
        self.records.append(record)
        self.times.append(time_ns)
        self.events.append(_CODES[event])
        self.locals.append(local)
        self.remotes.append(remote)
        for name, value in numbers.items():
            column = self.numbers.get(name)
            if column is None:
                column = self.numbers[name] = array("d")
            if len(column) < before:
                column.extend([nan] * (before - len(column)))
            column.append(value)

    def columns(self) -> dict[str, Any]:
        """The columns of `tcp_state` that this log fills."""
        rows = len(self.records)
        times = np.frombuffer(self.times, np.int64) if rows else np.empty(0, np.int64)
        filled: dict[str, Any] = {
            "input": np.zeros(rows, np.int16),
            "record": np.array(self.records, np.int64),
            "time_ns": times,
            "recorded_ns": times.copy(),
            "local": self.locals,
            "remote": self.remotes,
            "event": _categories(self.events),
        }
        for name, values in self.numbers.items():
            filled[name] = np.concatenate([np.array(values), np.full(rows - len(values), nan)])
        return filled

    def recording(self, name: str, source: Source, *, clock: str = "epoch", **extra: Any) -> Recording:
        """The Recording, with attributes `extra`; raises InputError where the log has no row."""
        skips = self.losses.skips
        if not self.records:
            why = f" ({skips[0].reason})" if skips else ""
            raise InputError(
                source.path,
                f"holds no record of the {name} format{why}",
                record=skips[0].record if skips else None,
            )
        recording = Recording(
            name, {"tcp_state": build("tcp_state", self.columns())}, len(self.records), skips
        )
        recording.clock = clock
        recording.complete = self.losses.uncut
        recording.bytes_read = len(source)
        for key, value in extra.items():
            setattr(recording, key, value)
        note = note_on_backward_steps(recording.tables["tcp_state"]["time_ns"].to_numpy())
        recording.notes += [note] if note else []
        return recording


def note_on_backward_steps(times: np.ndarray[Any, Any]) -> str:
    """A note where times step back, else an empty text."""
    steps = np.flatnonzero(np.diff(times) < 0)
    if not len(steps):
        return ""
    return f"Its times step back {len(steps)} times, first after record number {steps[0] + 1} of those read."


def _categories(codes: array[int]) -> Any:
    import pandas as pd

    return pd.Categorical.from_codes(np.array(codes, np.int8), categories=pd.Index(EVENTS))

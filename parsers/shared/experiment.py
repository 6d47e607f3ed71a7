"""Every input of one experiment, read and joined into one Trace."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer import parsers
from multitracer.compute import kernels
from multitracer.model.errors import InputError, NoUsableInputError, ReadingDefectError, UsageError
from multitracer.model.schema import SCHEMA, build, empty
from multitracer.model.trace import Input, Recording, Skip, Trace
from multitracer.parsers.shared.source import Room, Source, open_source

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[str, float], None]
"""Called with what is being done, and how much of it is done, 0 to 1."""

_TYPICAL_RECORD_BYTES = 100
_MOST_INPUTS = (1 << 15) - 1
"""Tables number inputs in 16 bits."""


def read(
    *paths: str | Path | Sequence[str | Path], progress: Progress | None = None, max_unpacked: int | None = None
) -> Trace:
    """What was recorded in `paths` (files, or directories taken recursively; also lists of them), as one Trace.

    An input that cannot be read is kept, with the reason, where there are others; raises InputError
    when the only input cannot be read, NoUsableInputError when none of several can, UsageError without any path. All
    inputs together are read up to `max_unpacked` octets, unpacked; by default half of the machine's memory.
    """
    given = itertools.chain.from_iterable([one] if isinstance(one, str | Path) else one for one in paths)
    named = list(map(str, given))
    if not named:
        raise UsageError("no path of an input is given\nGive files, directories, or lists of them.")
    return read_sources(parsers.inputs_in(named), Room(max_unpacked), progress)


def read_sources(files: Sequence[str | Source], room: Room, progress: Progress | None = None) -> Trace:
    """The same of files, or sources that were opened already, as far as there is `room`."""
    if len(files) > _MOST_INPUTS:
        raise UsageError(f"{len(files)} inputs; at most {_MOST_INPUTS}: give them in parts")
    kernels.choose(sum(_size(_path(file)) for file in files) // _TYPICAL_RECORD_BYTES)
    inputs = []
    for number, file in enumerate(files):
        if progress:
            progress(f"reading {Path(_path(file)).name}", number / len(files))
        inputs.append(_read_one(number, file, room, alone=len(files) == 1))
    if not any(entry.recording.records for entry in inputs):
        raise NoUsableInputError(
            ", ".join(entry.path for entry in inputs[:3]) + (" ..." if len(inputs) > 3 else ""),
            "nothing in it can be analysed: " + _reasons(inputs),
            hint="Run `multitracer formats` for what is read here.",
        )
    return join(inputs)


def join(inputs: list[Input]) -> Trace:
    """The tables of all inputs as one: each row has its input's number; flows and links are numbered in common."""
    recordings = [entry.recording for entry in inputs]
    flows, flow_of = _common_flows([r.tables.get("flows") for r in recordings])
    links, link_of = _common_links([r.tables.get("links") for r in recordings])
    parts: dict[str, list[pd.DataFrame]] = {}
    packets_before = 0
    for entry, recording in zip(inputs, recordings, strict=True):
        tables = recording.tables
        for name, table in tables.items():
            if name in ("flows", "links"):
                continue
            if "input" in table:
                table["input"] = _constant(entry.number, len(table))
            if name == "packets" and entry.number in flow_of:
                _renumber_flows(table, *flow_of[entry.number])
            if name in ("frames", "link_events") and entry.number in link_of:
                table["link"] = link_of[entry.number][table["link"].to_numpy()]
            if name in ("sack_blocks", "syn_options") and packets_before:
                table["packet"] = table["packet"].to_numpy() + packets_before
            parts.setdefault(name, []).append(table)
        packets_before += len(tables["packets"]) if "packets" in tables else 0
    joined = {name: _concatenated(tables) for name, tables in parts.items()}
    joined |= {"flows": flows, "links": links}
    for name in ("packets", "sack_blocks", "syn_options", "tcp_state", "frames", "link_events"):
        joined.setdefault(name, empty(name))
    return Trace([_dated(entry) for entry in inputs], joined)


def _constant(number: int, rows: int) -> Any:
    """A column of one number, int16; zeros take no memory before they are written."""
    return np.full(rows, number, dtype=np.int16) if number else np.zeros(rows, dtype=np.int16)


def _path(file: str | Source) -> str:
    return file if isinstance(file, str) else file.path


def _size(path: str) -> int:
    """The octets of a file, as it is stored; 0 for what is no file, and shows its size only when it is read."""
    try:
        seen = None if path == "-" else Path(path).stat()
    except (OSError, ValueError):
        return 0
    return seen.st_size if seen is not None and stat.S_ISREG(seen.st_mode) else 0


def _opened(file: str | Source, room: Room) -> Source:
    """The source of an input; of what is compressed or piped so much is read that kernels can be chosen."""
    source = open_source(file, room) if isinstance(file, str) else file
    if source.holds(kernels.SMALL_RECORDS * _TYPICAL_RECORD_BYTES):
        kernels.choose(kernels.SMALL_RECORDS)
    return source


def _read_one(number: int, file: str | Source, room: Room, *, alone: bool) -> Input:
    path, defect = _path(file), None
    try:
        recording = parsers.read(_opened(file, room))
    except InputError as error:
        if alone:
            raise
        if isinstance(error, ReadingDefectError) and isinstance(error.__cause__, Exception):
            defect = error.__cause__
        reason = str(error).split("\n")[0].removeprefix(f"{path}: ")
        skips = [Skip(reason, error.record, error.offset)]
        recording = Recording("unknown", skips=skips, complete=False, defect=defect)
    return Input(number, path, recording)


def _reasons(inputs: list[Input]) -> str:
    reasons = [
        skip.reason for entry in inputs for skip in entry.recording.skips
    ] or [note for entry in inputs for note in entry.recording.notes]
    counted = {
        name: sum(entry.recording.counts.get(name, 0) for entry in inputs)
        for name in ("udp", "quic", "icmp", "other")
    }
    reasons += [f"{count} {name} packets, which are out of scope" for name, count in counted.items() if count]
    return "; ".join(dict.fromkeys(reasons)) or "no records"


def _dated(entry: Input) -> Input:
    """The input with its first and last time."""
    times = [
        table["time_ns"]
        for name, table in entry.recording.tables.items()
        if name in ("packets", "tcp_state", "frames", "link_events") and len(table)
    ]
    if not times:
        return entry
    first, last = min(column.min() for column in times), max(column.max() for column in times)
    return replace(entry, first_ns=int(first), last_ns=int(last))


def _concatenated(tables: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    tables = [table for table in tables if len(table)] or tables[:1]
    if len(tables) == 1:
        return tables[0]
    columns = {}
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        if isinstance(parts[0].dtype, pd.CategoricalDtype):
            columns[name] = pd.Categorical.from_codes(
                np.concatenate([part.cat.codes for part in parts]), dtype=parts[0].dtype
            )
        else:
            columns[name] = np.concatenate([part.to_numpy() for part in parts])
    return pd.DataFrame(columns, copy=False)


def _common_flows(
    tables: list[pd.DataFrame | None],
) -> tuple[pd.DataFrame, dict[int, tuple[np.ndarray, np.ndarray]]]:
    """One flow table for all inputs; for each input the new number of each flow, and whether its ends are swapped."""
    present = [(number, table) for number, table in enumerate(tables) if table is not None]
    if len(present) == 1:
        return present[0][1], {}
    known: dict[tuple[str, int, str, int, str, str, str], int] = {}
    maps = {}
    names = SCHEMA["flows"].names[1:]
    for number, table in present:
        new = np.empty(len(table), dtype=np.int32)
        swapped = np.zeros(len(table), dtype=bool)
        for row, forth in enumerate(zip(*(table[name] for name in names), strict=True)):
            address_a, port_a, address_b, port_b, tunnel, outer_a, outer_b = forth
            back = (address_b, port_b, address_a, port_a, tunnel, outer_b, outer_a)
            swapped[row] = forth not in known and back in known
            new[row] = known[back] if swapped[row] else known.setdefault(forth, len(known))
        maps[number] = (new, swapped)
    columns = dict(zip(names, zip(*known, strict=True), strict=True)) if known else {}
    return build("flows", {"flow": np.arange(len(known)), **columns}) if known else empty("flows"), maps


def _renumber_flows(packets: pd.DataFrame, new: np.ndarray, swapped: np.ndarray) -> None:
    flow = packets["flow"].to_numpy()
    packets["direction"] = packets["direction"].to_numpy() ^ swapped[flow]
    packets["flow"] = new[flow]


def _common_links(tables: list[pd.DataFrame | None]) -> tuple[pd.DataFrame, dict[int, np.ndarray]]:
    """One link table for all inputs: logs of one protocol, bearer and sender are of one link."""
    known: dict[tuple[str, str, str], int] = {}
    maps = {}
    for number, table in enumerate(tables):
        if table is None:
            continue
        rows = zip(table["protocol"].astype(str), table["bearer"], table["sender"], strict=True)
        maps[number] = np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int16)
    if not known:
        return empty("links"), maps
    protocol, bearer, sender = zip(*known, strict=True)
    reverse = [
        next((other for row, other in known.items() if row[:2] == key[:2] and row[2] != key[2]), -1)
        for key in known
    ]
    return build(
        "links",
        {"link": np.arange(len(known)), "protocol": protocol, "bearer": bearer, "sender": sender, "reverse": reverse},
    ), maps

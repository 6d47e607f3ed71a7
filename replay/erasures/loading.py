"""Loads erasure traces: from files of blocks, or from the logs of a link."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from multitracer import parsers
from multitracer.model.errors import InputError, UnknownFormatError
from multitracer.parsers.erasures import FIRST_OTHER, OTHER_CHARACTERS
from multitracer.parsers.shared.experiment import read_sources
from multitracer.parsers.shared.source import Room, Source, open_source
from multitracer.replay.erasures.extraction import erasures
from multitracer.replay.erasures.trace import ErasureTrace


def load(path: str, *, logs_first: bool = False, room: Room | None = None) -> list[ErasureTrace]:
    """The traces in one file or directory: the blocks of an erasure trace, or each direction of a logged link.

    Each folder below a directory is an experiment of its own. Its erasure traces are taken or, where it has none,
    its logs together; with `logs_first` the logs are preferred. Raises InputError, also for a trace with a
    character that is neither 0 nor 1. Inputs are read as far as there is `room`.
    """
    room = room or Room()
    if path != "-" and parsers.is_folder(path):
        return _in_directory(path, logs_first, room)
    source = open_source(path, room)
    if _format(source).erasure_trace:
        return [_of_blocks(source)]
    return erasures(read_sources([source], room), _short(path))


def _in_directory(path: str, logs_first: bool, room: Room) -> list[ErasureTrace]:
    folders: dict[Path, list[str]] = {}
    for file in parsers.inputs_in([path]):
        folders.setdefault(Path(file).parent, []).append(file)
    found: list[ErasureTrace] = []
    reasons = [f"{path}: holds no erasure trace and no log of a link"]
    for folder, files in folders.items():
        try:
            found += _of_one_experiment(folder, files, logs_first, room)
        except InputError as error:
            reasons.append(str(error))
    if not found:
        raise InputError(path, reasons[-1].partition(": ")[2])
    return found


def _of_one_experiment(folder: Path, files: list[str], logs_first: bool, room: Room) -> list[ErasureTrace]:
    formats = {file: _known_format(file) for file in files}
    blocks = [file for file, one in formats.items() if one is not None and one.erasure_trace]
    logs = [file for file, one in formats.items() if one is not None and one.link_log]
    if blocks and not (logs and logs_first):
        return [_of_blocks(open_source(file, room)) for file in blocks]
    return erasures(read_sources(logs, room), _short(str(folder))) if logs else []


def load_all(
    paths: Sequence[str], *, logs_first: bool = False, room: Room | None = None
) -> tuple[list[ErasureTrace], dict[str, ErasureTrace]]:
    """The traces of all paths, each with a unique name; and, by name, the other direction where it is known."""
    room = room or Room()
    found: list[ErasureTrace] = []
    reverse: dict[str, ErasureTrace] = {}
    for path in paths:
        mine: list[ErasureTrace] = []
        for trace in load(path, logs_first=logs_first, room=room):
            mine.append(_renamed(trace, [*found, *mine]))
        found += mine
        opposite = [(a, b) for a in mine for b in mine if a is not b and a.link and a.link == b.link]
        reverse |= {one.name: other for one, other in opposite}
    return found, reverse


def _renamed(trace: ErasureTrace, others: Sequence[ErasureTrace]) -> ErasureTrace:
    """The trace with a name that gives a file name no other has."""
    taken, number, name = {file_name(other.name) for other in others}, 1, trace.name
    while file_name(name) in taken:
        number += 1
        name = f"{trace.name} ({number})"
    return replace(trace, name=name)


def file_name(name: str) -> str:
    """A trace's name as a file name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "trace"


def _format(source: Source) -> parsers.Format:
    try:
        return parsers.recognise(source)
    except UnknownFormatError:
        if source.head.lstrip()[:1] in (b"0", b"1"):
            _refuse_other_characters(source)
        raise


def _known_format(file: str) -> parsers.Format | None:
    try:
        return parsers.recognise(open_source(file))
    except InputError:
        return None


def _short(path: str) -> str:
    return "standard input" if path == "-" else parsers.without_endings(Path(path).resolve().name)


def _refuse_other_characters(source: Source) -> None:
    """Raise InputError at the first character that an erasure trace cannot have."""
    for number, offset, line in source.lines():
        for place, character in enumerate("" if line.lstrip().startswith("#") else line):
            if character not in "01" and not character.isspace():
                raise _refusal(source, character, number, offset + place)


def _refusal(source: Source, character: str, line: int | None, offset: int | None) -> InputError:
    problem = f"holds {character!r} where 0 (received) or 1 (lost) is expected"
    return InputError(source.path, problem, record=line, offset=offset)


def _of_blocks(source: Source) -> ErasureTrace:
    recording = parsers.read(source)
    for skip in recording.skips:
        if skip.reason == OTHER_CHARACTERS:
            raise _refusal(source, recording.metadata[FIRST_OTHER], skip.record, skip.offset)
    metadata: dict[str, Any] = recording.metadata
    name = str(metadata.get("name") or _short(source.path))
    notes = tuple(f"{skip.reason.capitalize()}." for skip in recording.skips)
    return ErasureTrace(name, metadata["erased"], metadata["block_bytes"], metadata["block_ms"], notes=notes)

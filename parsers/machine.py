"""machine.json of `multitracer record`: the settings of a recording, and what the kernel had no room for.

It holds no records of a transfer; what a reader of the others should know is in its notes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.json_values import DamagedError, Value, value_at
from multitracer.parsers.shared.lines import Losses

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

DAMAGED = "the JSON document is damaged or cut off: only settings before that are read"
_KEYS = (b'"kernel"', b'"interface"')
_READ = ("kernel", "interface", "offloads", "tracing", "capture")
_DECODER = json.JSONDecoder()
_SEGMENTATION = ("tcp-segmentation-offload", "generic-segmentation-offload")
_MERGING = "generic-receive-offload"


def sniff(head: bytes) -> bool:
    """Whether it is a JSON object that begins with these keys."""
    start = head.lstrip()
    return start.startswith(b"{") and start[1:].lstrip().startswith(_KEYS[0]) and all(key in head for key in _KEYS)


def read(source: Source) -> Recording:
    """The settings as `metadata`, each a record, and notes of those that change what the other recordings show."""
    losses, count, settings = Losses(), 0, dict[str, Any]()
    for name, value in _members(source.document(), losses):
        count += 1
        if name in _READ:
            settings[name] = value
    if not count:
        raise InputError(source.path, "holds no setting")
    return Recording(
        "machine", {}, count, losses.skips, bytes_read=len(source), complete=not losses.skips,
        counts={"settings": count}, metadata=settings, notes=_notes(settings),
    )  # fmt: skip


def _members(octets: bytes, losses: Losses) -> Iterator[tuple[str, Any]]:
    """The names and values of the document, up to where it is damaged or cut, which is a loss."""
    begin = len(octets) - len(octets.lstrip())
    try:
        for name, value in Value(octets, begin, _end(octets, begin)).members():
            yield name, value.loaded(_DECODER)
    except DamagedError as error:
        losses.add(DAMAGED, offset=error.at)


def _end(octets: bytes, begin: int) -> int:
    """Where the document ends; where it is cut, behind the bracket that is missing."""
    try:
        return value_at(octets, begin, len(octets)).end
    except DamagedError:
        return len(octets) + 1


def _notes(settings: dict[str, Any]) -> list[str]:
    offloads, tracing, capture = (_object(settings.get(name)) for name in ("offloads", "tracing", "capture"))
    notes = []
    if dropped := _count(capture.get("dropped")):
        notes.append(f"The kernel had no room for {dropped} packets: they are not in the capture.")
    if lost := _count(tracing.get("lost_events")):
        notes.append(f"The kernel had no room for {lost} events: TCP's state has holes.")
    if any(offloads.get(name) is True for name in _SEGMENTATION):
        notes.append("The interface cut TCP's segments (TSO or GSO): the capture shows larger ones than were sent.")
    if offloads.get(_MERGING) is True:
        notes.append("Segments that arrived may have been merged (GRO): the capture shows larger ones than came.")
    return notes


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

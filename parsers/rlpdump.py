"""rlpdump: the RLP frames that one end of a GSM data call sent and received, as text.

The format is ours; the header `# frame_ms:` says how long a frame takes. A line that is not of the format is
counted and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from multitracer.model.errors import InputError
from multitracer.model.schema import build
from multitracer.model.trace import Recording
from multitracer.parsers.rlcdump import events_table, stamp
from multitracer.parsers.shared.lines import Losses, head_lines, keep_header, whole_lines
from multitracer.parsers.shared.rlc_frames import OTHER_END, Links
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.source import Source

_FIRST = re.compile(r"# *rlpdump 1\s*\Z")
_HEADER = re.compile(r"#\s*([\w-]{1,40})\s*:(.*)\Z")
_LINE = re.compile(r"(\d{1,10})\.(\d{1,9}) ([<>]) (I \w{2,4}|\w{2,5})((?: [\w-]+(?:=\S*)?)*)\s*\Z", re.ASCII)
_TYPES = frozenset({*rlp.SUPERVISORY, *(f"I {name}" for name in rlp.SUPERVISORY), *rlp.UNNUMBERED.values(), "BAD"})
_EVENTS = frozenset({"reset", "xoff", "xon", "drop", "release", "lost-context"})
_NUMBER = re.compile(r"\d{1,9}\Z", re.ASCII)
_KEYS = {"ns": 61, "nr": 61, "pf": 1, "cr": 1, "len": 65_535}
_LATEST_NS = 9_000_000_000 * 10**9


class FrameRow(NamedTuple):
    """One row of the frames table: the columns that RLP has, by their names."""

    record: int
    time_ns: int
    link: int
    sent: bool
    type: str
    sn: int = -1
    nr: int = -1
    poll: int = -1
    command: int = -1
    length_bytes: int = -1
    payload_bytes: int = -1
    l2r: int = -1
    data: bytes | None = None


@dataclass
class _Dump:
    """What has been read so far."""

    header: dict[str, str] = field(default_factory=dict)
    rows: list[FrameRow] = field(default_factory=list)
    events: list[tuple[int, int, int, str, int]] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)

    @property
    def side(self) -> str | None:
        side = self.header.get("side", "").lower()
        return side if side in OTHER_END else None


def sniff(head: bytes) -> bool:
    """Whether the first line is `# rlpdump 1`."""
    return any(_FIRST.match(line) for line in head_lines(head)[:1])


def read(source: Source) -> Recording:
    """Tables links (0 what this end sent, 1 what it received), frames and link_events."""
    dump = _lines(source)
    if not dump.rows and not dump.events and dump.losses.skips:
        first = dump.losses.skips[0]
        raise InputError(source.path, "holds no line of an rlpdump", record=first.record, offset=first.offset)
    links, notes = Links(), []
    for sender in (dump.side, OTHER_END.get(dump.side or "")):
        links.number("rlp", dump.header.get("bearer", ""), sender)
    if len(links.numbers) == 1:
        notes.append("The dump does not say which end logged it (# side: mobile or network).")
        links.numbers[("rlp", dump.header.get("bearer", ""), "")] = 1
    return Recording(
        format="rlpdump",
        tables={
            "links": links.table(),
            "frames": frames_table(dump.rows, dump.side),
            "link_events": events_table(dump.events, dump.side),
        },
        records=len(dump.rows) + len(dump.events),
        skips=dump.losses.skips,
        bytes_read=len(source),
        complete=dump.losses.uncut,
        metadata=dict(dump.header),
        notes=notes,
    )


def frames_table(rows: list[FrameRow], side: str | list[str | None] | None) -> pd.DataFrame:
    """The frames table of `rows`, in their order, as `side` (one for all, or each its own) logged them."""
    columns = dict(zip(FrameRow._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    columns = {name: columns.get(name, ()) for name in FrameRow._fields}
    sides = side if isinstance(side, list) else [side] * len(rows)
    return build(
        "frames",
        {"input": [0] * len(rows), "recorded_ns": columns["time_ns"], "side": sides, **columns},
    )


def row_of(record: int, time_ns: int, link: int, sent: bool, frame: rlp.Frame) -> FrameRow:
    """The row of a decoded frame."""
    if frame.type == "BAD":
        return FrameRow(record, time_ns, link, sent, "BAD")
    numbered = frame.type.startswith("I ")
    return FrameRow(
        record, time_ns, link, sent, frame.type, frame.ns, frame.nr, frame.poll, frame.command,
        len(frame.information) if numbered else -1, user_octets_in(frame.information) if numbered else 0,
        frame.information[0] if numbered and frame.information else -1, frame.information if numbered else None,
    )  # fmt: skip


def user_octets_in(information: bytes) -> int:
    """The number of user octets in an information field."""
    return sum(end - start for start, end in rlp.user_octets(information))


def write(
    stream: TextIO,
    frames: pd.DataFrame,
    *,
    side: str,
    events: pd.DataFrame | None = None,
    header: dict[str, Any] | None = None,
) -> None:
    """Write frames (and link_events) that `side` logged, in time order; the inverse of `read`."""
    stream.write("# rlpdump 1\n")
    for key, value in {"side": side, **(header or {})}.items():
        stream.write(f"# {key}: {value}\n")
    lines = list(_frame_lines(frames))
    if events is not None and len(events):
        lines += list(_event_lines(events))
    lines.sort(key=lambda line: line[:2])
    stream.writelines(text for _, _, text in lines)


def _lines(source: Source) -> _Dump:
    dump = _Dump()
    for number, offset, line in whole_lines(source, dump.losses):
        if not _line(dump, number, line):
            dump.losses.add("not a line of an rlpdump, or a field out of range", number, offset)
    return dump


def _line(dump: _Dump, number: int, line: str) -> bool:
    """Read a line; False when it is not a line of an rlpdump."""
    text = line.lstrip("\ufeff").strip()
    if not text:
        return True
    if text.startswith("#"):
        header = _HEADER.match(text)
        if header:
            return keep_header(dump.header, header[1].lower(), header[2].strip())
        return True
    match = _LINE.match(text)
    if not match:
        return False
    seconds, fraction, way, kind, rest = match.groups()
    time_ns, sent = int(seconds) * 10**9 + int(fraction.ljust(9, "0")), way == ">"
    if time_ns > _LATEST_NS:
        return False
    words = rest.split()
    if kind == "EVENT":
        return _event(dump, number, time_ns, sent, words)
    row = _frame(number, time_ns, sent, kind, words) if kind in _TYPES else None
    if row is not None:
        dump.rows.append(row)
    return row is not None


def _event(dump: _Dump, number: int, time_ns: int, sent: bool, words: list[str]) -> bool:
    if not words or words[0] not in _EVENTS:
        return False
    keys = dict(word.partition("=")[::2] for word in words[1:])
    octets = int(keys["bytes"]) if _NUMBER.match(keys.get("bytes", "")) else -1
    dump.events.append((number, time_ns, 0 if sent else 1, words[0], octets))
    return True


def _frame(number: int, time_ns: int, sent: bool, kind: str, words: list[str]) -> FrameRow | None:
    """A frame's row; None when a key has a value that it cannot have."""
    keys = dict(word.partition("=")[::2] for word in words)
    values = {}
    for key, most in _KEYS.items():
        text = keys.get(key)
        if text is not None and not (_NUMBER.match(text) and int(text) <= most):
            return None
        values[key] = -1 if text is None else int(text)
    try:
        data = bytes.fromhex(keys["data"]) if "data" in keys else None
        status = int(keys["l2r"], 16) if "l2r" in keys else data[0] if data else -1
    except ValueError:
        return None
    if not -1 <= status <= 0xFF or (data is not None and 0 <= values["len"] != len(data)):
        return None
    numbered = kind.startswith("I ")
    if numbered and values["ns"] < 0:
        return None
    payload = -1 if numbered or kind in ("UI", "BAD") else 0
    if numbered and data is not None:
        payload = user_octets_in(data)
    elif numbered and status >= 0:
        payload = _user_octets_by_status(status, values["len"])
    size = values["len"] if values["len"] >= 0 or data is None else len(data)
    return FrameRow(
        number, time_ns, 0 if sent else 1, sent, kind, values["ns"], values["nr"], values["pf"], values["cr"],
        size, payload, status, data,
    )  # fmt: skip


def _user_octets_by_status(status: int, length: int) -> int:
    """User octets by the first status octet alone: known for a full and an empty field, else -1."""
    address = status & 0x1F
    if address == 30 and length > 0:
        return length - 1
    return 0 if address == 31 else -1


_WRITTEN = ("record", "time_ns", "sent", "type", "sn", "nr", "poll", "command", "length_bytes", "l2r", "data")


def _frame_lines(frames: pd.DataFrame) -> Iterator[tuple[int, int, str]]:
    columns = [frames[name].tolist() for name in _WRITTEN]
    for record, time_ns, sent, kind, ns, nr, poll, command, length, l2r, data in zip(*columns, strict=True):
        named = (("ns", ns), ("nr", nr), ("pf", poll), ("cr", command), ("len", length))
        keys = [f"{key}={value}" for key, value in named if value >= 0]
        if l2r >= 0:
            keys.append(f"l2r={l2r:02x}")
        if data is not None:
            keys.append("data=" + data.hex())
        yield time_ns, record, " ".join([stamp(time_ns), ">" if sent else "<", kind, *keys]) + "\n"


def _event_lines(events: pd.DataFrame) -> Iterator[tuple[int, int, str]]:
    columns = [events[name].tolist() for name in ("record", "time_ns", "link", "event", "bytes")]
    for record, time_ns, link, event, octets in zip(*columns, strict=True):
        tail = f" bytes={octets}" if octets >= 0 else ""
        yield time_ns, record, f"{stamp(time_ns)} {'<' if link else '>'} EVENT {event}{tail}\n"

"""rlcdump: the RLC PDUs that one end of a UMTS, LTE or NR link sent and received, a line each.

The format is ours (`# rlcdump 1`), and `write` is the inverse of `read`. Some keys are of one protocol
or PDU type only: `fi=` and `lsf=` (LTE), `he=10` (UMTS: the PDU ends an SDU), `n=` (N_LENGTH of an MRW).
The header `# sn_bits: N` gives the size of sequence numbers; without it the smaller size is assumed
unless a number is larger. `# tti_ms:` and `# frames_per_tti:` say how often PDUs can be sent, and how many at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

from multitracer.model.errors import InputError
from multitracer.model.schema import build
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import SECOND_NS, Losses, keep_header, whole, whole_lines
from multitracer.parsers.shared.rlc_frames import OTHER_END, FrameRow, Links, Nacks, frames_table
from multitracer.wire import rlc_lte, rlc_nr, rlc_umts

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.source import Source

_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?#[ \t]*rlcdump[ \t]+1[ \t]*(?:\r?\n|$)")
_HEADER = re.compile(r"#\s*([\w-]+):\s*(.*?)\s*$")
_LINE = re.compile(r"(\d{1,10})\.(\d{1,9}) ([<>]) ([A-Z_]+)(?: (.*))?$")
# By far the most frequent line, with its keys in the order in which `write` puts them.
_AMD = re.compile(
    r"(\d{1,10})\.(\d{1,9}) ([<>]) AMD sn=(\d{1,9}) p=([01]) li=([\d,]*) len=(\d{1,9})(?: data=(\S*))?$"
)
_MOST = 999_999_999
_NACK = re.compile(r"(\d{1,9})(?::(\d{1,9})-(\d{1,9}))?$")
_TYPES = {"AMD", "UMD", "TMD", "STATUS", "MRW", "MRW_ACK", "RESET", "RESET_ACK", "BAD"}
_EVENTS = {"reset", "reset-done", "release", "xoff", "xon", "drop", "lost-context"}
_RATS = ("umts", "lte", "nr")
_LARGEST = {"umts": 4095, "lte": 65535, "nr": 262143}
"""The largest sequence number of each (25.322 9.2.2.3, 36.322 6.2.2.3, 38.322 6.2.3.3)."""
_LARGEST_LI = (1 << 15) - 1
"""The largest length indicator, of 15 bits (25.322 9.2.2.8)."""
_SMALLER = {"lte": (10, 16), "nr": (12, 18)}
_LATEST_NS = 9_000_000_000 * SECOND_NS
_SCALE = [10 ** (9 - digits) for digits in range(10)]


def sniff(head: bytes) -> bool:
    """Whether the first line is `# rlcdump 1`."""
    return _MAGIC.match(head) is not None


@dataclass
class _Dump:
    """What has been read so far."""

    guess: str
    header: dict[str, str] = field(default_factory=dict)
    rows: list[FrameRow] = field(default_factory=list)
    events: list[tuple[int, int, int, str, int]] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    records: int = 0

    @property
    def rat(self) -> str:
        stated = self.header.get("rat", "").lower()
        return stated if stated in _RATS else self.guess

    @property
    def side(self) -> str | None:
        side = self.header.get("side", "").lower()
        return side if side in OTHER_END else None


def read(source: Source) -> Recording:
    """Tables links (0 what this end sent, 1 what it received), frames and link_events."""
    dump = _lines(source)
    if not dump.records and dump.losses.skips:
        first = dump.losses.skips[0]
        raise InputError(source.path, "holds no line of an rlcdump", record=first.record, offset=first.offset)
    notes = _fill_payload_bytes(dump)
    if dump.header.get("rat", "").lower() != dump.rat:
        notes.append(f"The dump does not say which link it is of (# rat:); its lines look like {dump.rat}.")
    side, links = dump.side, Links()
    for sender in (side, OTHER_END.get(side or "")):
        links.number(f"rlc-{dump.rat}", dump.header.get("bearer", ""), sender)
    if len(links.numbers) == 1:
        notes.append("The dump does not say which end logged it (# side: mobile or network).")
        links.numbers[(f"rlc-{dump.rat}", "", "")] = 1
    return Recording(
        format="rlcdump",
        tables={
            "links": links.table(),
            "frames": frames_table(dump.rows, links.senders),
            "link_events": events_table(dump.events, side),
        },
        records=dump.records,
        skips=dump.losses.skips,
        bytes_read=len(source),
        complete=dump.losses.uncut,
        metadata=dict(dump.header),
        notes=notes,
    )


def write(
    stream: TextIO,
    frames: pd.DataFrame,
    *,
    side: str,
    rat: str,
    events: pd.DataFrame | None = None,
    header: dict[str, Any] | None = None,
) -> None:
    """Write frames (and link_events) that `side` logged, in time order; the inverse of `read`.

    `rat` is umts, lte or nr; `header` adds lines `# key: value`.
    """
    stream.write("# rlcdump 1\n")
    for key, value in {"mode": "am", "rat": rat, "side": side, **(header or {})}.items():
        stream.write(f"# {key}: {value}\n")
    lines = list(_frame_lines(frames, rat))
    if events is not None and len(events):
        lines += _event_lines(events)
        lines.sort(key=lambda line: line[0])
    stream.writelines(line for _, line in lines)


def _lines(source: Source) -> _Dump:
    head = source.head
    dump = _Dump(guess="nr" if b" si=" in head else "lte" if b" fi=" in head else "umts")
    amd, append, usual = _AMD.match, dump.rows.append, False
    for number, offset, line in whole_lines(source, dump.losses):
        match = amd(line) if usual else None
        row = _amd_row(number, match) if match else None
        if row is not None:
            append(row)
        elif not _other_line(dump, number, line):
            dump.losses.add("not a line of an rlcdump, or a field out of range", number, offset)
        if not usual:
            usual = dump.rat == "umts" and bool(dump.rows)
    dump.records = len(dump.rows) + len(dump.events)
    return dump


def _amd_row(number: int, match: re.Match[str]) -> FrameRow | None:
    """The row of a UMTS data PDU with its keys in the usual order; None where `_other_line` must decide."""
    seconds, fraction, way, sn, poll, li, length, data = match.groups()
    when = int(seconds + fraction) * _SCALE[len(fraction)]
    if when > _LATEST_NS or int(sn) > _LARGEST["umts"]:
        return None
    size = int(length)
    try:
        octets = None if data is None else bytes.fromhex(data)
        lis, payload = _length_indicators(li, size, octets) if li else ((), size - 2)
    except ValueError:
        return None
    sent = way == ">"
    # A bare tuple in the order of FrameRow: the collector stops tracking those, which doubles the speed.
    return (  # type: ignore[return-value]
        number, when, 0 if sent else 1, sent, "AMD", int(sn), -1, int(poll), size, payload, -1,
        1 if li else 0, -1, lis, None, octets,
    )  # fmt: skip


def _length_indicators(li: str, size: int, octets: bytes | None) -> tuple[tuple[int, ...], int]:
    """The length indicators of a UMTS PDU, and the SDU octets it carries."""
    lis = _numbers(li)
    bits = rlc_umts.li_bits_in(lis, size, octets)
    data_bytes = size - 2 - len(lis) * ((bits + 1) // 8)
    return lis, rlc_umts.payload_bytes(lis, data_bytes, bits)


@lru_cache(4096)
def _numbers(text: str) -> tuple[int, ...]:
    return tuple(whole(item, _LARGEST_LI) for item in text.split(",") if item)


def _other_line(dump: _Dump, number: int, line: str) -> bool:
    """Read any other line; False when it is not a line of an rlcdump."""
    if line.lstrip("\ufeff").startswith("#"):
        header = _HEADER.match(line)
        if header:
            return keep_header(dump.header, header[1].lower(), header[2])
        return True
    match = _LINE.match(line)
    if not match:
        return False
    when, sent = int(match[1] + match[2]) * _SCALE[len(match[2])], match[3] == ">"
    if when > _LATEST_NS:
        return False
    words = (match[5] or "").split()
    try:
        if match[4] == "EVENT":
            return _event(dump, number, when, sent, words)
        if match[4] not in _TYPES:
            return False
        keys = dict(word.split("=", 1) for word in words)
        dump.rows.append(_row(dump, number, when, sent, match[4], keys))
    except ValueError:
        return False
    return True


def _event(dump: _Dump, number: int, when: int, sent: bool, words: list[str]) -> bool:
    if not words or words[0] not in _EVENTS:
        return False
    octets = _number(dict(word.split("=", 1) for word in words[1:]), "bytes")
    dump.events.append((number, when, 0 if sent else 1, words[0], octets))
    return True


def _row(dump: _Dump, number: int, when: int, sent: bool, kind: str, keys: dict[str, str]) -> FrameRow:
    """The row of a PDU from its line's keys; raises ValueError for a value that a key cannot have."""
    octets = bytes.fromhex(keys["data"]) if "data" in keys else None
    size = _number(keys, "len")
    row = FrameRow(number, when, 0 if sent else 1, sent, kind, length_bytes=size, data=octets)
    if max(_number(keys, "sn"), _number(keys, "ack")) > _LARGEST[dump.rat]:
        raise ValueError("a number that no field holds")
    if kind in ("AMD", "UMD"):
        return _data_row(dump.rat, row, keys)
    if kind == "STATUS":
        return row._replace(nr=_number(keys, "ack"), nacks=_nacks(keys.get("nack", "")), payload_bytes=0)
    if kind in ("MRW", "MRW_ACK"):
        lis = (_number(keys, "n"),) if "n" in keys else None
        return row._replace(sn=_number(keys, "sn"), lis=lis, payload_bytes=0)
    if kind in ("RESET", "RESET_ACK"):
        return row._replace(sn=_number(keys, "rsn"), payload_bytes=0)
    return row


def _data_row(rat: str, row: FrameRow, keys: dict[str, str]) -> FrameRow:
    """A data PDU's row; for LTE and NR without payload octets, which depend on the size of the SN."""
    row = row._replace(
        sn=_number(keys, "sn"),
        poll=_number(keys, "p", 1),
        so=_number(keys, "so"),
        last_segment=_number(keys, "lsf", 1),
    )
    if rat == "umts":
        lis, payload = _length_indicators(keys.get("li", ""), row.length_bytes, row.data)
        known = row.length_bytes >= 0
        he = 1 if lis else _two_bits(keys["he"]) if "he" in keys else 0
        return row._replace(lis=lis, payload_bytes=payload if known else -1, framing=he)
    framing = keys.get("fi", keys.get("si"))
    return row._replace(
        lis=_numbers(keys["li"]) if "li" in keys else None,
        framing=-1 if framing is None else _two_bits(framing),
    )


def _number(keys: dict[str, str], key: str, most: int = _MOST) -> int:
    """The key's number up to `most`, -1 when it is not there; raises FieldError on anything else."""
    return whole(keys[key], most) if key in keys else -1


def _two_bits(text: str) -> int:
    return int(text, 2) if text in ("00", "01", "10", "11") else whole(text, 3)


def _nacks(text: str) -> Nacks:
    """The NACKs of a list such as `n,n,n:so-so`; raises ValueError on anything else."""
    found = []
    for item in text.split(",") if text else ():
        match = _NACK.match(item)
        if not match:
            raise ValueError(item)
        found.append((int(match[1]), *((int(match[2]), int(match[3])) if match[2] else (-1, -1))))
    return tuple(found)


def _fill_payload_bytes(dump: _Dump) -> list[str]:
    """Fill in the payload octets of LTE and NR PDUs, by the size of the SN; a note where that was assumed."""
    if dump.rat not in _SMALLER:
        return []
    small, large = _SMALLER[dump.rat]
    stated = dump.header.get("sn_bits", "")
    largest = max((row.sn for row in dump.rows if row.type == "AMD"), default=0)
    bits = int(stated) if stated in (str(small), str(large)) else large if largest >> small else small
    dump.header["sn_bits"] = str(bits)
    dump.rows[:] = [_with_payload_bytes(row, dump.rat, bits) if row.type == "AMD" else row for row in dump.rows]
    if stated or largest >> small:
        return []
    return [f"The dump does not say how long sequence numbers are (# sn_bits:); taken as {bits} bits."]


def _with_payload_bytes(row: FrameRow, rat: str, sn_bits: int) -> FrameRow:
    if rat == "lte":
        extension = rlc_lte.extension_bytes(len(row.lis or ()))
        fixed = rlc_lte.header_bytes(rlc_lte.am_spec(sn_bits), segment=row.so >= 0)
    else:
        extension, fixed = 0, rlc_nr.header_bytes(rlc_nr.am_spec(sn_bits), row.so >= 0)
    if row.data is not None:
        return row._replace(payload_bytes=len(row.data) - extension)
    return row._replace(payload_bytes=max(row.length_bytes - fixed - extension, -1))


def events_table(events: list[tuple[int, int, int, str, int]], side: str | None) -> pd.DataFrame:
    """The link_events table of (record, time_ns, link, event, bytes), as `side` logged them."""
    columns = list(zip(*events, strict=True)) or [()] * 5
    return build(
        "link_events",
        {
            "input": [0] * len(events), "record": columns[0], "time_ns": columns[1],
            "recorded_ns": columns[1], "link": columns[2], "side": [side] * len(events),
            "event": list(columns[3]), "bytes": columns[4],
        },
    )  # fmt: skip


def stamp(time_ns: int) -> str:
    """A time in seconds, with 6 decimals where these are exact, else with 9."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{seconds}.{rest:09d}" if rest % 1000 else f"{seconds}.{rest // 1000:06d}"


_WRITTEN = (
    "time_ns", "sent", "type", "sn", "nr", "poll", "length_bytes", "so", "framing", "last_segment",
    "lis", "nacks", "data",
)  # fmt: skip


def _frame_lines(frames: pd.DataFrame, rat: str) -> Iterator[tuple[int, str]]:
    columns = [frames[name].tolist() for name in _WRITTEN]
    for time_ns, sent, kind, sn, nr, poll, length, so, framing, last, lis, nacks, data in zip(
        *columns, strict=True
    ):
        if kind in ("AMD", "UMD"):
            keys = _data_keys(rat, sn, poll, so, framing, last, lis)
        else:
            keys = _control_keys(kind, sn, nr, lis, nacks)
        if length >= 0:
            keys.append(f"len={length}")
        if data is not None:
            keys.append("data=" + data.hex())
        yield time_ns, " ".join([stamp(time_ns), ">" if sent else "<", kind, *keys]) + "\n"


def _data_keys(
    rat: str, sn: int, poll: int, so: int, framing: int, last: int, lis: tuple[int, ...] | None
) -> list[str]:
    """The keys of a data PDU; an unknown value is left out."""
    keys = [f"{key}={value}" for key, value in (("sn", sn), ("p", poll)) if value >= 0]
    if rat != "umts" and framing >= 0:
        keys.append(f"{'fi' if rat == 'lte' else 'si'}={framing:02b}")
    if lis is not None:
        keys.append("li=" + ",".join(map(str, lis)))
    if rat == "umts" and framing == 2:
        keys.append("he=10")
    return keys + [f"{key}={value}" for key, value in (("so", so), ("lsf", last)) if value >= 0]


def _control_keys(kind: str, sn: int, nr: int, lis: tuple[int, ...] | None, nacks: Nacks | None) -> list[str]:
    """The keys of any other PDU."""
    if kind == "STATUS":
        named = ",".join(f"{n}" if start < 0 else f"{n}:{start}-{end}" for n, start, end in nacks or ())
        return [f"ack={nr}", f"nack={named}"] if nr >= 0 else [f"nack={named}"]
    if kind in ("RESET", "RESET_ACK"):
        return [f"rsn={sn}"] if sn >= 0 else []
    keys = [f"sn={sn}"] if sn >= 0 else []
    return [*keys, f"n={lis[0]}"] if lis and kind in ("MRW", "MRW_ACK") else keys


def _event_lines(events: pd.DataFrame) -> Iterator[tuple[int, str]]:
    columns = [events[name].tolist() for name in ("time_ns", "link", "event", "bytes")]
    for time_ns, link, event, octets in zip(*columns, strict=True):
        tail = f" bytes={octets}" if octets >= 0 else ""
        yield time_ns, f"{stamp(time_ns)} {'<' if link else '>'} EVENT {event}{tail}\n"

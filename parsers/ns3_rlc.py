"""Traces of the LTE and NR models of ns-3: RLC PDUs one by one, RLC totals, PHY blocks, PDCP PDUs.

Lines of numbers separated by tabs, below a line of headings by which the kind of trace is recognised.
Only the file name that ns-3 gives (`NrDlTxRlcStats`, `UlRlcStats`, `NrUlPdcpTxStats`) distinguishes uplink
from downlink and RLC from PDCP: in a renamed file the sender is unknown. No PDU has a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import INT32, Losses, head_lines, nanoseconds, take_lines, whole
from multitracer.parsers.shared.rlc_frames import FrameRow, Links, frames_table

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

SENT = ("time(s)", "cellId", "rnti", "lcid", "packetSize")
RECEIVED = (*SENT, "delay(s)")
TOTALS = ("start", "end", "CellId", "IMSI", "RNTI", "LCID", "nTxPDUs", "TxBytes", "nRxPDUs", "RxBytes")
BLOCKS = ("DL/UL", "time", "frame", "subF", "slot", "1stSym", "symbol#", "cellId", "rnti", "ccId", "tbSize")
_KINDS = {"sent": SENT, "received": RECEIVED, "totals": TOTALS, "blocks": BLOCKS}
_MOST_SHIFT = 18
"""Digits by which an exponent may move the point: a time of int64 nanoseconds has no more."""


def sniff(head: bytes) -> bool:
    """Whether the first line holds the headings of one of the traces."""
    lines = head_lines(head)
    return bool(lines) and _kind(lines[0]) is not None


def _headings(line: str) -> list[str]:
    return line.lstrip("%# \t").rstrip().split("\t")


def _kind(line: str) -> str | None:
    """The kind of trace that has these headings; None for other lines."""
    names = _headings(line)
    if names[0] in ("start", "start(s)"):
        names = [re.sub(r"\(s\)$", "", name) for name in names]
        return "totals" if tuple(names[: len(TOTALS)]) == TOTALS else None
    for kind, expected in _KINDS.items():
        if tuple(names) == expected or (kind == "blocks" and tuple(names[: len(BLOCKS)]) == BLOCKS):
            return kind
    return None


@dataclass
class _Log:
    """What has been read so far; `uplink` is None where the file's name does not show it."""

    protocol: str
    uplink: bool | None
    headings: list[str]
    links: Links = field(default_factory=Links)
    losses: Losses = field(default_factory=Losses)
    rows: list[FrameRow] = field(default_factory=list)
    totals: list[dict[str, Any]] = field(default_factory=list)

    def link(self, bearer: str, uplink: bool | None) -> int:
        """The number of a bearer's link in one direction."""
        return self.links.number(
            self.protocol, bearer, None if uplink is None else ("network", "mobile")[uplink]
        )


def read(source: Source) -> Recording:
    """Tables links and frames; type is PDU, as no line says data or status, or BAD for a block not decoded.

    RLC totals become `metadata["rlc_totals"]`, a dict a line; PDCP PDUs are only counted.
    """
    losses = Losses()
    first = next(iter(head_lines(source.head)), "")
    kind = _kind(first)
    if kind is None:
        raise InputError(source.path, "has not the headings of an ns-3 trace", record=1, offset=0)
    name = PurePath(source.path).name
    protocol = "rlc-lte" if kind == "totals" and "(s)" not in first else "rlc-nr"
    log = _Log(protocol, _uplink(name), _headings(first), losses=losses)
    pdcp = kind in ("sent", "received") and "pdcp" in name.lower()
    records = _read_lines(log, kind, source, keep=not pdcp)
    return Recording(
        format="ns3-rlc",
        tables={"links": log.links.table(), "frames": frames_table(log.rows, log.links.senders)},
        records=records,
        skips=log.losses.skips,
        bytes_read=len(source),
        clock="relative",
        counts={"pdcp": records} if pdcp else {},
        metadata={"kind": "pdcp" if pdcp else kind, **({"rlc_totals": log.totals} if log.totals else {})},
        notes=_notes(log, kind, pdcp),
    )


def _uplink(name: str) -> bool | None:
    """Whether the file name that ns-3 gave says uplink; None where it says neither."""
    match = re.search(r"(Dl|Ul)(?=[A-Z])", name)
    return None if match is None else match[1] == "Ul"


def _notes(log: _Log, kind: str, pdcp: bool) -> list[str]:
    if pdcp:
        return ["These are PDCP PDUs, what RLC was offered; they are counted only."]
    if kind == "totals":
        return ["This holds totals of RLC PDUs over time, not the PDUs."]
    if kind != "blocks" and log.uplink is None:
        return ["Only its name would tell whether this is uplink or downlink (Ul or Dl in it)."]
    return []


def _read_lines(log: _Log, kind: str, source: Source, keep: bool) -> int:
    """Read every line below the headings; how many could be used."""
    add = {"sent": _pdu, "received": _pdu, "totals": _total, "blocks": _block}[kind]
    headings = records = 0

    def take(number: int, _: int, line: str) -> None:
        nonlocal headings, records
        fields = line.rstrip("\t ").split("\t")
        if not headings:
            headings = number
            return
        if len(fields) != len(log.headings):
            raise ValueError(line)
        add(log, number, fields)
        records += 1

    take_lines(source, log.losses, take, "not a line of this ns-3 trace")
    if not keep:
        log.rows.clear()
        log.links.numbers.clear()
    return records


def _pdu(log: _Log, number: int, fields: list[str]) -> None:
    """An RLC PDU as sent or, with its delay, as received."""
    cell, rnti, lcid, size = (_whole(text) for text in fields[1:5])
    received = len(fields) > len(SENT)
    if received:
        nanoseconds(fields[5])
    link = log.link(f"cell {cell} RNTI {rnti} LCID {lcid}", log.uplink)
    log.rows.append(
        FrameRow(number, nanoseconds(_decimal(fields[0])), link, not received, "PDU", length_bytes=size)
    )


def _block(log: _Log, number: int, fields: list[str]) -> None:
    """A transport block as the far end's PHY received it; `corrupt` 1 is an erasure."""
    values = dict(zip(log.headings, fields, strict=True))
    bearer = f"cell {_whole(values['cellId'])} RNTI {_whole(values['rnti'])} PHY"
    link = log.link(
        bearer, {"UL": True, "DL": False}[values["DL/UL"]] if values["DL/UL"] in ("UL", "DL") else None
    )
    kind = "BAD" if values.get("corrupt") == "1" else "PDU"
    when = nanoseconds(_decimal(values["time"]))
    log.rows.append(FrameRow(number, when, link, False, kind, length_bytes=_whole(values["tbSize"])))


def _total(log: _Log, number: int, fields: list[str]) -> None:
    """Numbers of PDUs and octets of one bearer over an interval."""
    start, end = nanoseconds(_decimal(fields[0])), nanoseconds(_decimal(fields[1]))
    cell, imsi, rnti, lcid, sent, sent_bytes, received, received_bytes = (
        _whole(text) for text in fields[2:10]
    )
    link = log.link(f"cell {cell} RNTI {rnti} LCID {lcid}", log.uplink)
    log.totals.append(
        {
            "record": number, "link": link, "start_ns": start, "end_ns": end, "imsi": imsi,
            "pdus_sent": sent, "sent_bytes": sent_bytes,
            "pdus_received": received, "received_bytes": received_bytes,
        }
    )  # fmt: skip


def _whole(text: str) -> int:
    return whole(text, INT32)


def _decimal(text: str) -> str:
    """A number as C++ streams print it, without its exponent."""
    mantissa, letter, exponent = text.lower().partition("e")
    if not letter:
        return text
    shift = whole(exponent.removeprefix("+"), _MOST_SHIFT, -_MOST_SHIFT)
    before, _, fraction = mantissa.partition(".")
    digits = "0" * _MOST_SHIFT + before + fraction + "0" * _MOST_SHIFT
    point = _MOST_SHIFT + len(before) + shift
    return f"{digits[:point].lstrip('0') or '0'}.{digits[point:]}"

"""Time/sequence graphs for xplot from one observation point, drawn as tcptrace does.

White: data (an arrow down at its first byte, up at its end, a diamond with PSH), red with an R if
retransmitted; green: the highest acknowledgement, with a tick at a duplicate one; yellow: the right
edge of the advertised window; purple with an S: SACK blocks; orange: SYN and FIN; magenta: RST.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import ACK, FIN, MARKS, PSH, RST, SYN
from multitracer.parsers.shared.lines import seconds

if TYPE_CHECKING:
    import pandas as pd

DUPLICATES = 3
"""The number of duplicate acknowledgements that triggers fast retransmit (RFC 5681 3.2)."""

_AGAIN = MARKS["retransmission"]
_COLUMNS = ("time_ns", "sender", "seq", "ack", "payload_bytes", "flags", "window_bytes", "marks")


def write_connection(directory: Path, tables: Mapping[str, pd.DataFrame], connection: int, point: int) -> list[Path]:
    """Write both directions of a connection at one point: N.client_tsg.xpl and N.server_tsg.xpl.

    `tables` must have segments and connections. With `packets` the graph has the raw sequence numbers,
    else it begins at zero; with `sack` (segment, left, right) it has the SACK blocks.
    """
    directory.mkdir(parents=True, exist_ok=True)
    segments, sack = tables["segments"], tables.get("sack")
    own = segments[(segments["connection"] == connection) & (segments["point"] == point)]
    own = own.sort_values("time_ns", kind="stable")
    row = tables["connections"].set_index("connection").loc[connection]
    ends = {"client": str(row["client"]), "server": str(row["server"])}
    written = []
    for sender, name in enumerate(ends):
        path = directory / f"{connection}.{name}_tsg.xpl"
        isn = initial_number(own[own["sender"] == sender], tables.get("packets"))
        write(path, own, sender, (ends[name], ends["server" if sender == 0 else "client"]), isn=isn, sack=sack)
        written.append(path)
    return written


def initial_number(sent: pd.DataFrame, packets: pd.DataFrame | None) -> int:
    """The raw sequence number of relative number 0, from the first packet of `sent`; 0 without packets."""
    if packets is None or not len(sent):
        return 0
    return int((int(packets["raw_seq"].to_numpy()[sent.index[0]]) - int(sent["seq"].iloc[0])) & 0xFFFFFFFF)


def write(
    path: Path,
    segments: pd.DataFrame,
    sender: int,
    ends: tuple[str, str],
    *,
    isn: int = 0,
    sack: pd.DataFrame | None = None,
) -> None:
    """Write the graph of the data of `sender` (0 client, 1 server); `ends` are its ip:port and the peer's.

    `segments` are those of one connection at one point, ordered by time; their index is their row in
    the whole table, to which `sack` refers. `isn` is added to all relative sequence numbers.
    """
    with path.open("w", encoding="utf-8") as out:
        out.write(f"timeval double\ntitle\n{ends[0]}_==>_{ends[1]} (time sequence graph)\n")
        out.write("xlabel\ntime\nylabel\nsequence number\n")
        blocks = _blocks(segments, isn, sack) if sack is not None else {}
        out.writelines(f"{line}\n" for line in _commands(segments, sender, isn, blocks))
        out.write("go\n")


def _blocks(segments: pd.DataFrame, isn: int, sack: pd.DataFrame) -> dict[int, list[tuple[int, int]]]:
    """The SACK blocks (left, right) of each segment, by its row, in the graph's sequence numbers."""
    own = sack[np.isin(sack["segment"].to_numpy(), segments.index.to_numpy())]
    found: dict[int, list[tuple[int, int]]] = {}
    for row, left, right in zip(own["segment"].tolist(), own["left"].tolist(), own["right"].tolist(), strict=True):
        found.setdefault(row, []).append((isn + left, isn + right))
    return found


def _commands(segments: pd.DataFrame, sender: int, isn: int, blocks: dict[int, list[tuple[int, int]]]) -> Iterator[str]:
    columns: list[list[Any]] = [segments[name].tolist() for name in _COLUMNS]
    steps = _Steps()
    for row, *fields in zip(segments.index.tolist(), *columns, strict=True):
        time_ns, who, seq, ack, payload, flags, window, marks = fields
        time = _time(time_ns)
        if who == sender:
            yield from _sent(time, isn + seq, payload, flags, bool(marks & _AGAIN))
            if flags & RST:
                yield from (f"atext {time} {isn + seq} magenta", "RST_OUT")
        elif flags & RST:
            yield from (f"atext {time} {isn + ack if ack >= 0 else steps.ack} magenta", "RST_IN")
        elif flags & ACK and ack >= 0:
            yield from steps.acknowledged(time, isn + ack, isn + ack + window if window >= 0 else None, payload)
            yield from _sacked(time, blocks.get(row, []))


def _time(time_ns: int) -> str:
    """Seconds with six decimals, as tcptrace writes them; nine if the capture has nanoseconds."""
    text = seconds(time_ns)
    return text[:-3] if text.endswith("000") else text


def _sent(time: str, seq: int, payload: int, flags: int, again: bool) -> Iterator[str]:
    """A segment of the sender: SYN and FIN in orange, data and bare acknowledgements in white or red."""
    end = seq + payload
    if again:
        yield from ("red", f"atext {time} {end}", "R")
    yield "white"
    if flags & SYN:
        yield from (
            "orange",
            f"diamond {time} {seq}",
            f"atext {time} {end + 1}",
            "SYN",
            f"uarrow {time} {end + 1}",
        )
        yield f"line {time} {seq} {time} {end + 1}"
    elif flags & FIN:
        yield from ("orange", f"darrow {time} {seq}", f"line {time} {seq} {time} {end + 1}")
        yield from (f"box {time} {end + 1}", f"atext {time} {end + 1}", "FIN")
    else:
        if again:
            yield "red"
        yield f"darrow {time} {seq}"
        if flags & PSH and payload:
            yield from (f"diamond {time} {end} white", f"dot {time} {end} white")
        else:
            yield f"uarrow {time} {end}"
        if payload:
            yield f"line {time} {seq} {time} {end}"


def _sacked(time: str, blocks: list[tuple[int, int]]) -> Iterator[str]:
    """The SACK blocks of one acknowledgement, numbered if there are several; S at the first, the newest."""
    if not blocks:
        return
    yield "purple"
    for number, (left, right) in enumerate(blocks, start=1):
        yield from (f"line {time} {left} {time} {right}", f"htick {time} {left}", f"htick {time} {right}")
        if len(blocks) > 1:
            yield from (f"rtext {time} {right}", str(number))
    yield from (f"atext {time} {blocks[0][1]}", "S")


class _Steps:
    """The step lines of the acknowledgements and of the window's right edge."""

    def __init__(self) -> None:
        self.time = ""
        self.ack = 0
        self.edge: int | None = None
        self.repeats = 0

    def acknowledged(self, time: str, ack: int, edge: int | None, payload: int) -> Iterator[str]:
        """The lines up to one acknowledgement; the first acknowledgement only sets their start."""
        if self.time:
            yield from self._step("green", "dtick", time, self.ack, ack)
            repeated = ack == self.ack and edge == self.edge and not payload
            self.repeats = self.repeats + 1 if repeated else 0
            if self.repeats == DUPLICATES:
                yield from (f"atext {time} {ack}", "3")
            if self.edge is not None and edge is not None:
                yield from self._step("yellow", "utick", time, self.edge, edge)
        self.time, self.ack, self.edge = time, ack, edge

    def _step(self, colour: str, tick: str, time: str, before: int, now: int) -> Iterator[str]:
        yield from (colour, f"line {self.time} {before} {time} {before}")
        yield f"line {time} {before} {time} {now}" if now != before else f"{tick} {time} {now}"

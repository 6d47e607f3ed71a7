"""The packets, flows, SACK blocks and SYN options of a capture, collected piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import build
from multitracer.parsers.shared.flow_table import FlowEnds, FlowTable, TunnelsOf
from multitracer.wire.tcpip import TYPES, PacketColumns

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.parsers.shared.records import Records
    from multitracer.wire.tcpip import Decoded

_SPARE = 1 << 16
"""Room for so many packets more than are expected, which are not of one size."""
_MOST_AHEAD = 1 << 25
"""Room for at most so many packets more than were read: the first ones may be small, and the file large."""
_COLUMNS = {**TYPES._asdict(), "record": np.uint32, "time_ns": np.int64, "interface": np.int16}
"""The types of the columns; the last three say of each packet what its record does."""


class Packets:
    """The packets that one decoder found in the pieces of a capture; its flows are numbered over all pieces."""

    def __init__(self) -> None:
        self.ends = FlowEnds()
        self.count = 0
        self._columns: dict[str, Any] = {}
        self._sack: list[Any] = []
        self._syn: list[Any] = []

    def room(self, count: int, records: Records) -> PacketColumns:
        """Where `decode` puts the packets, at most `count`, of the records that are added next."""
        stop = self.count + count
        if not self._columns or stop > len(self._columns["flow"]):
            self._enlarge(self._expected(stop, records))
        return PacketColumns(*(self._columns[name][self.count : stop] for name in PacketColumns._fields))

    def add(self, decoded: Decoded, records: Records, at: Any, data: Any, tunnels_of: TunnelsOf) -> None:
        """Take what was decoded out of `data`: of the records' rows `at`, or of all records, in their `room` (None)."""
        self.ends.add(data, decoded.flow_first, decoded.flow_label, tunnels_of)
        count = len(decoded.columns["flow"])
        if at is not None:
            for kept, values in zip(self.room(count, records), decoded.columns.values(), strict=True):
                kept[:] = values
        rows = decoded.rows if at is None or decoded.rows is None else at[decoded.rows]
        rows = at if decoded.rows is None else rows
        own = {"record": records.number, "time_ns": records.time_ns, "interface": records.interface}
        for name, values in own.items():
            self._columns[name][self.count : self.count + count] = values if rows is None else values[rows]
        for tables, table in ((self._sack, decoded.sack), (self._syn, decoded.syn)):
            table[:, 0] += self.count
            tables.append(table)
        self.count += count

    @staticmethod
    def _expected(count: int, records: Records) -> int:
        """How many packets the file may hold, by how many are in the part that was read; twice as many if unknown."""
        if records.read >= records.file_bytes:
            return 2 * count
        return max(2 * count, min(count * records.file_bytes // records.read + _SPARE, count + _MOST_AHEAD))

    def _enlarge(self, size: int) -> None:
        """Give all columns room for `size` packets; what is never written of them takes no memory."""
        for name, dtype in _COLUMNS.items():
            larger = np.empty(size, dtype=dtype)
            if self.count:
                larger[: self.count] = self._columns[name][: self.count]
            self._columns[name] = larger

    def columns(self, flows: FlowTable, *, alone: bool) -> dict[str, Any]:
        """All packets, with the numbers that their flows have in the capture's table; they are not kept."""
        number_of, swapped = flows.add(self.ends)
        packets = {name: self._columns.pop(name)[: self.count] for name in list(self._columns)}
        flow = packets.pop("flow")
        if not alone or swapped.any():
            packets["direction"] = packets["direction"] ^ swapped[flow]
            flow = number_of[flow]
        return packets | {"flow": flow}

    def options(self, before: int) -> tuple[Any, Any]:
        """Rows (packet, left, right) of SACK blocks and (packet, mss, wscale or -1) of SYNs, after so many packets."""
        shift = np.array([before, 0, 0])
        return np.concatenate(self._sack) + shift, np.concatenate(self._syn) + shift


def tables(fast: Packets, inner: Packets) -> dict[str, pd.DataFrame]:
    """The tables of all packets, those inside envelopes too, in the order of the file."""
    parts = [fast, inner] if inner.count else [fast]
    flows, columns, options, before = FlowTable(), [], [], 0
    for part in parts:
        options.append(part.options(before))
        columns.append(part.columns(flows, alone=len(parts) == 1))
        before += part.count
    joined = {name: _joined([packets.pop(name) for packets in columns]) for name in list(columns[0])}
    sack, syn = (np.concatenate(one) for one in zip(*options, strict=True))
    if len(parts) > 1:
        joined, sack, syn = _in_file_order(joined, sack, syn)
    # Zeros take no memory before they are written.
    joined["input"] = np.zeros(len(joined["record"]), dtype=np.int16)
    joined["link_repeat"] = np.zeros(len(joined["record"]), dtype=np.int8)
    # Copied, as all columns are contiguous: kernels would be compiled for strided columns too.
    packet, left, right = np.ascontiguousarray(sack[:, 0]), sack[:, 1].astype(np.uint32), sack[:, 2].astype(np.uint32)
    opening = {"packet": np.ascontiguousarray(syn[:, 0]), "mss_bytes": syn[:, 1], "wscale": syn[:, 2]}
    return {
        "packets": build("packets", joined),
        "flows": flows.table(),
        "sack_blocks": build("sack_blocks", {"packet": packet, "raw_left": left, "raw_right": right}),
        "syn_options": build("syn_options", opening),
    }


def _in_file_order(packets: dict[str, Any], sack: Any, syn: Any) -> tuple[dict[str, Any], Any, Any]:
    """Packets in the order of their records, and the tables whose first column names their places."""
    order = np.argsort(packets["record"], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    sack[:, 0], syn[:, 0] = place[sack[:, 0]], place[syn[:, 0]]
    sack, syn = (table[np.argsort(table[:, 0], kind="stable")] for table in (sack, syn))
    return {name: values[order] for name, values in packets.items()}, sack, syn


def _joined(parts: list[Any]) -> Any:
    """The arrays one after the other, which are not kept; one alone is not copied."""
    if len(parts) == 1:
        return parts.pop()
    joined = np.concatenate(parts)
    parts.clear()
    return joined

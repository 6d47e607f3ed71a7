"""The records of a capture that are not analysed: losses, and what is out of scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import tally
from multitracer.model.trace import Skip
from multitracer.wire import layers

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.records import Records

_REASONS = {
    layers.CUT: "cut by the snap length within the headers",
    layers.MALFORMED: "not a valid IP or TCP header",
    layers.EMPTY: "record without octets",
    layers.LACKING: "IP fragments of datagrams that are not complete in the capture",
    layers.LACKING_CAPWAP: "fragments of CAPWAP packets that are not complete in the capture",
    layers.OVERLAPPING: "overlapping IPv6 fragments, which a receiver discards (RFC 5722)",
}
_COUNTED = {
    layers.UDP: "udp", layers.QUIC: "quic", layers.ICMP: "icmp", layers.OTHER: "other", layers.FRAGMENT: "fragments",
}  # fmt: skip
_RECORD = np.dtype([("number", np.int64), ("offset", np.int64), ("interface", np.int16), ("status", np.int8)])


class LeftOut:
    """The records without a TCP packet, over all pieces of a capture."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def add(self, records: Records, status: Any) -> None:
        """Take a piece's records."""
        rows = np.flatnonzero(status != layers.TCP)
        part = np.empty(len(rows), dtype=_RECORD)
        part["number"], part["offset"] = records.number[rows], records.offset[rows] + records.start
        part["interface"], part["status"] = records.interface[rows], status[rows]
        self._parts.append(part)

    def decide(self, fates: Iterable[tuple[int, int]]) -> None:
        """Give records, by number, the status that only later ones have shown."""
        decided = list(fates)
        if decided:
            number, fate = np.array(decided, dtype=np.int64).T
            found = self._all()
            found["status"][np.searchsorted(np.ascontiguousarray(found["number"]), number)] = fate

    def of(self, status: int, kinds: list[int], link_types: Collection[int], *, but: Collection[int] = ()) -> int:
        """How many records of these link types have a status, `but` those; `kinds` are the interfaces' link types."""
        found = self._all()
        found = found[np.isin(np.array(kinds)[found["interface"]], list(link_types)) & (found["status"] == status)]
        return int(np.isin(found["number"], list(but), invert=True).sum())

    def note(self, kinds: list[int], recording: Recording) -> None:
        """Note the records: losses as skips, those out of scope as counts."""
        found = self._all()
        status = np.ascontiguousarray(found["status"])
        counts = np.zeros(layers.CODES, dtype=np.int64)
        tally(status, counts)
        for code, reason in _REASONS.items():
            if counts[code]:
                first = found[int(np.argmax(status == code))]
                recording.skips.append(Skip(reason, int(first["number"]), int(first["offset"]), int(counts[code])))
        if counts[layers.NO_LINK_TYPE]:
            unread = found[status == layers.NO_LINK_TYPE]
            unknown = sorted({kinds[int(n)] for n in np.unique(unread["interface"])})
            reason = f"link type {', '.join(map(str, unknown))} is not read here"
            place = int(unread["number"][0]), int(unread["offset"][0])
            recording.skips.append(Skip(reason, *place, len(unread)))
        for code, name in _COUNTED.items():
            if counts[code]:
                recording.counts[name] = int(counts[code])
        _note_scope(counts, recording)

    def _all(self) -> Any:
        if len(self._parts) != 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]


def _note_scope(counts: Any, recording: Recording) -> None:
    """Say what a reader of the report should know about them."""
    if counts[layers.PART]:
        note = "Holds fragments, of IP or CAPWAP: a datagram has the time and record of the fragment that completed it."
        recording.notes.append(note)
    if not len(recording.tables["packets"]) and recording.counts:
        held = ", ".join(f"{count} {name}" for name, count in recording.counts.items())
        recording.notes.append(f"Holds no TCP packet that is read here ({held}).")
    if recording.counts.get("udp") or recording.counts.get("quic"):
        recording.notes.append("Holds UDP or QUIC packets, which are out of scope: only TCP is analysed.")

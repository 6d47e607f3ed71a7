"""Rows of the frames table from RLC PDUs, for all that record these: dumps, captures, handset logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from multitracer.model.schema import build
from multitracer.parsers.shared.lines import Losses
from multitracer.wire import rlc_lte, rlc_nr, rlc_umts
from multitracer.wire.bits import MalformedPduError

if TYPE_CHECKING:
    import pandas as pd

NACK_LIMIT = 2_000_000
"""A few octets can report thousands of PDUs missing: NACKs of an input beyond this number are left out."""

Nacks = tuple[tuple[int, int, int], ...]
OTHER_END = {"mobile": "network", "network": "mobile"}


class FrameRow(NamedTuple):
    """One row of the frames table: the columns that RLC has, by their names."""

    record: int
    time_ns: int
    link: int
    sent: bool
    type: str
    sn: int = -1
    nr: int = -1
    poll: int = -1
    length_bytes: int = -1
    payload_bytes: int = -1
    so: int = -1
    framing: int = -1
    last_segment: int = -1
    lis: tuple[int, ...] | None = None
    nacks: Nacks | None = None
    data: bytes | None = None


class At(NamedTuple):
    """The record, time and link of a PDU, and whether it was logged where it was sent."""

    record: int
    time_ns: int
    link: int
    sent: bool


@dataclass
class Links:
    """Numbers the links of one input: one per protocol, bearer and sender."""

    numbers: dict[tuple[str, str, str | None], int] = field(default_factory=dict)

    def number(self, protocol: str, bearer: str, sender: str | None) -> int:
        """The link's number; the next free one for a new link."""
        return self.numbers.setdefault((protocol, bearer, sender), len(self.numbers))

    @property
    def senders(self) -> list[str | None]:
        """The end that sends on each link."""
        return [sender for _, _, sender in self.numbers]

    def table(self) -> pd.DataFrame:
        """The links table."""
        keys = list(self.numbers)
        reverse = [
            self.numbers.get((protocol, bearer, OTHER_END.get(sender or "")), -1)
            for protocol, bearer, sender in keys
        ]
        columns = list(zip(*keys, strict=True)) or [(), (), ()]
        return build(
            "links",
            {
                "link": range(len(keys)),
                "protocol": list(columns[0]),
                "bearer": list(columns[1]),
                "sender": list(columns[2]),
                "reverse": reverse,
            },
        )


def frames_table(rows: list[FrameRow], senders: list[str | None]) -> pd.DataFrame:
    """The frames table of `rows`, in their order; `senders[link]` is the end that sends on it."""
    columns = dict(zip(FrameRow._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    columns = {name: columns.get(name, ()) for name in FrameRow._fields}
    ends = {True: senders, False: [OTHER_END.get(sender or "") for sender in senders]}
    sides = [ends[sent][link] for sent, link in zip(columns["sent"], columns["link"], strict=True)]
    times = columns["time_ns"]
    return build("frames", {"input": [0] * len(rows), "recorded_ns": times, "side": sides, **columns})


@dataclass
class PduRows:
    """Decodes PDUs into rows; malformed PDUs are counted in `losses`."""

    rows: list[FrameRow] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    nacks_left: int = NACK_LIMIT

    def umts_am(self, at: At, octets: bytes, li_bits: int = 0) -> None:
        """Add a UMTS PDU of acknowledged mode; `li_bits` as in rlc_umts.decode."""
        try:
            pdu = rlc_umts.decode(octets, li_bits)
            status = rlc_umts.piggybacked(pdu) if isinstance(pdu, rlc_umts.Amd) else None
        except MalformedPduError as error:
            return self._malformed("UMTS", error, at)
        if isinstance(pdu, rlc_umts.Amd):
            self.rows.append(_umts_data(at, pdu, octets))
            if status is not None:
                self._umts_status(at, status, -1, None)
        elif isinstance(pdu, rlc_umts.Status):
            self._umts_status(at, pdu, len(octets), octets)
        else:
            kind = "RESET_ACK" if pdu.ack else "RESET"
            self.rows.append(FrameRow(*at, kind, pdu.rsn, length_bytes=len(octets), payload_bytes=0))
        return None

    def umts_um(self, at: At, octets: bytes, li_bits: int = 0) -> None:
        """Add a UMTS PDU of unacknowledged mode."""
        try:
            pdu = rlc_umts.decode_um(octets, li_bits)
        except MalformedPduError as error:
            return self._malformed("UMTS", error, at)
        payload = rlc_umts.payload_bytes(pdu.lis, len(pdu.data), pdu.li_bits)
        self.rows.append(
            FrameRow(
                *at, "UMD", pdu.sn, length_bytes=len(octets), payload_bytes=payload, lis=pdu.lis,
                data=octets[1:],
            )
        )  # fmt: skip
        return None

    def lte_am(
        self, at: At, octets: bytes, spec: rlc_lte.Lte36322 = rlc_lte.AM10, cut_from: int | None = None
    ) -> None:
        """Add an LTE PDU of acknowledged mode; `cut_from` is its size where only the header was logged."""
        size = len(octets) if cut_from is None else cut_from
        try:
            pdu = rlc_lte.decode_header(octets, size, spec)
        except MalformedPduError as error:
            return self._malformed("LTE", error, at)
        if isinstance(pdu, rlc_lte.Status):
            nacks = tuple((nack.sn, nack.so_start, nack.so_end) for nack in pdu.nacks)
            return self._status(at, pdu.ack_sn, nacks, size, octets)
        fixed = spec.sn_bits // 8 + (1 if pdu.so is None else 3)
        row = FrameRow(
            *at, "AMD", pdu.sn, -1, int(pdu.poll), size,
            size - fixed - rlc_lte.extension_bytes(len(pdu.lis), spec.li_bits),
            -1 if pdu.so is None else pdu.so, pdu.fi, -1 if pdu.so is None else int(pdu.last_segment),
            pdu.lis, None, octets[fixed:] if cut_from is None else None,
        )  # fmt: skip
        self.rows.append(row)
        return None

    def lte_um(self, at: At, octets: bytes, sn_bits: int, li_bits: int = 11) -> None:
        """Add an LTE PDU of unacknowledged mode."""
        try:
            pdu = rlc_lte.decode_um(octets, sn_bits, li_bits)
        except MalformedPduError as error:
            return self._malformed("LTE", error, at)
        payload, fixed = len(pdu.data), 1 if sn_bits == 5 else 2
        self.rows.append(
            FrameRow(
                *at, "UMD", pdu.sn, length_bytes=len(octets), payload_bytes=payload, framing=pdu.fi,
                lis=pdu.lis, data=octets[fixed:],
            )
        )  # fmt: skip
        return None

    def nr_am(self, at: At, octets: bytes, spec: rlc_nr.Nr38322 = rlc_nr.AM12) -> None:
        """Add an NR PDU of acknowledged mode."""
        try:
            pdu = rlc_nr.decode(octets, spec)
        except MalformedPduError as error:
            return self._malformed("NR", error, at)
        if isinstance(pdu, rlc_nr.Status):
            return self.nr_status(at, pdu, spec, len(octets), octets)
        row = FrameRow(
            *at, "AMD", pdu.sn, -1, int(pdu.poll), len(octets), len(pdu.data),
            -1 if pdu.so is None else pdu.so, pdu.si, -1, None, None, pdu.data,
        )  # fmt: skip
        self.rows.append(row)
        return None

    def nr_status(
        self, at: At, status: rlc_nr.Status, spec: rlc_nr.Nr38322, size: int = -1, octets: bytes | None = None
    ) -> None:
        """Add an NR status report, -1 octets long where that is not told."""
        few = sum(max(nack.count, 1) for nack in status.nacks) <= self.nacks_left
        self._status(at, status.ack_sn, rlc_nr.missing(status, spec) if few else None, size, octets)

    def nr_um(self, at: At, octets: bytes, sn_bits: int) -> None:
        """Add an NR PDU of unacknowledged mode."""
        try:
            pdu = rlc_nr.decode_um(octets, sn_bits)
        except MalformedPduError as error:
            return self._malformed("NR", error, at)
        self.rows.append(
            FrameRow(
                *at, "UMD", -1 if pdu.sn is None else pdu.sn, length_bytes=len(octets),
                payload_bytes=len(pdu.data), so=-1 if pdu.so is None else pdu.so, framing=pdu.si,
                data=pdu.data,
            )
        )  # fmt: skip
        return None

    def transparent(self, at: At, octets: bytes) -> None:
        """Add a PDU of transparent mode: all of it is user data."""
        size = len(octets)
        self.rows.append(FrameRow(*at, "TMD", length_bytes=size, payload_bytes=size, data=octets))

    def _umts_status(self, at: At, status: rlc_umts.Status, size: int, octets: bytes | None) -> None:
        """Add a status report, and a row for each window move in it; only the first row has the octets."""
        lsn = rlc_umts.acknowledged(status)
        nacks = tuple((sn, -1, -1) for sn in rlc_umts.missing(status))
        moves = [s for s in status.sufis if isinstance(s, rlc_umts.Mrw | rlc_umts.MrwAck)]
        if lsn is not None or nacks or not moves:
            self._status(at, -1 if lsn is None else lsn, nacks, size, octets)
            size, octets = -1, None
        for move in moves:
            kind, sn, n = (
                ("MRW", move.sns[-1], move.n_length)
                if isinstance(move, rlc_umts.Mrw)
                else ("MRW_ACK", move.sn, move.n)
            )
            payload = 0 if size >= 0 else -1
            self.rows.append(
                FrameRow(*at, kind, sn, length_bytes=size, payload_bytes=payload, lis=(n,), data=octets)
            )
            size, octets = -1, None

    def _status(self, at: At, ack_sn: int, nacks: Nacks | None, size: int, octets: bytes | None) -> None:
        if nacks is not None:
            self.nacks_left -= len(nacks)
        if nacks is None or self.nacks_left < 0:
            nacks = None
            self.losses.add(f"NACKs beyond {NACK_LIMIT} left out", at.record)
        payload = 0 if size >= 0 else -1
        row = FrameRow(*at, "STATUS", -1, ack_sn, -1, size, payload, nacks=nacks, data=octets)
        self.rows.append(row)

    def _malformed(self, rat: str, error: MalformedPduError, at: At) -> None:
        what = "".join(c for c in str(error) if not c.isdigit())
        self.losses.add(f"malformed {rat} RLC PDU: {' '.join(what.split())}", at.record)


def _umts_data(at: At, pdu: rlc_umts.Amd, octets: bytes) -> FrameRow:
    payload = rlc_umts.payload_bytes(pdu.lis, len(pdu.data), pdu.li_bits)
    he = 1 if pdu.lis else 2 * pdu.ends_sdu
    return FrameRow(
        *at, "AMD", pdu.sn, -1, int(pdu.poll), len(octets), payload, -1, he, -1, pdu.lis, None, octets[2:]
    )

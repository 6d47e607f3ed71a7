"""The IP packets in records that the fast path does not know: in tunnels, in rare link layers, and in fragments.

Each record is unwrapped by itself, fragments of IP datagrams are put together over the whole capture, and what is
inside is decoded by the fast path out of a second buffer.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.kernels import octets
from multitracer.compute.patience import Patience
from multitracer.parsers.shared.lines import Losses
from multitracer.wire import layers, reassembly, tcpip, tunnels
from multitracer.wire.flows import Flows
from multitracer.wire.inside import Closed, tunnel_of
from multitracer.wire.user_tunnels import find_user_tunnels, steps_into

if TYPE_CHECKING:
    from multitracer.parsers.shared.records import Records
    from multitracer.wire.inside import Step, Tunnel

_MOST_FRAGMENTED = 4
"""Fragmented datagrams inside one another that are put together."""
_MANY_FLOWS = 256
"""From so many on, the GTP-U tunnels of a piece's new flows are found in compiled code."""
_SETTLED = -1
"""In place of a fragment's record: its packets tell what becomes of the record."""


class Inner(NamedTuple):
    """An IP packet from inside a record: the record's row, the packet, and how many of its octets were not captured."""

    row: int
    packet: tunnels.Opened
    missing: int


class Unwrapped(NamedTuple):
    """The IP packets in the envelopes of a piece, decoded, and the octets that they are in."""

    inner: list[Inner]
    decoded: tcpip.Decoded
    data: Any
    offset: Any


class Envelopes:
    """Opens the records of a capture, piece by piece."""

    def __init__(self) -> None:
        self.closed = Counter[str]()
        """What could not be opened, by name."""
        self.losses = Losses()
        """The same, with where it was first met: what is in it may have been TCP."""
        self.flows = Flows()
        self._decoder, self._of_fragments = tunnels.TunnelDecoder(), tunnels.TunnelDecoder()
        self._fragments = reassembly.Reassembly()
        self._fragment_record = array("q")
        """By fragment, the number of its record, or _SETTLED."""
        self._labels: dict[object, int] = {None: 0}
        self._patience = Patience("opening envelopes")

    def open(self, records: Records, status: Any) -> Unwrapped | None:
        """The IP packets in a piece's records; notes in `status` what became of each record, as far as it is known."""
        rows = np.flatnonzero((status == layers.UNKNOWN) | (status == layers.FRAGMENT))
        if not len(rows):
            return None
        status[status == layers.UNKNOWN] = layers.OTHER
        begun = len(self._fragment_record)
        whole = [packet for one in self._inside(records, rows.tolist()) for packet in self._whole(records, one, 0)]
        if not whole:
            return None
        unwrapped = self._decode(whole)
        self._settle(records, [one.row for one in whole], unwrapped.decoded.status, status, begun)
        return unwrapped

    def fates(self) -> Iterator[tuple[int, int]]:
        """The number of each record of fragments, and what became of it; no more records come."""
        self._fragments.finish()
        for fragment, fate in self._fragments.fate.items():
            if self._fragment_record[fragment] != _SETTLED:
                yield self._fragment_record[fragment], fate

    def _inside(self, records: Records, rows: list[int]) -> list[Inner]:
        """The innermost IP packets of records; counts the envelopes that cannot be opened."""
        found: list[Inner] = []
        for row in self._patience.told(rows, records.read, records.file_bytes):
            missing = int(records.original[row] - records.captured[row])
            place = int(records.interface[row]), records.direction(row)
            packets = self._decoder.packets(
                records.octets(row), records.link_type(row), missing=missing, place=place
            )
            found += self._opened(packets, records, row, missing)
        return found

    def _opened(
        self, packets: Iterable[tunnels.Opened | Closed], records: Records, row: int, missing: int
    ) -> Iterator[Inner]:
        for packet in packets:
            if isinstance(packet, Closed):
                self.closed[packet.name] += 1
                place = int(records.number[row]), records.start + int(records.offset[row])
                self.losses.add(f"packet in an envelope that is not opened ({packet.name})", *place)
            else:
                yield Inner(row, packet, missing)

    def _whole(self, records: Records, one: Inner, depth: int) -> Iterator[Inner]:
        """The packet; of a fragment what is inside the datagram that it completes, which `depth` others were around.

        Whatever is around them, fragments of one datagram are put together: of one in a tunnel some may have been
        fragmented again outside of it, and others not.
        """
        if not one.packet.is_fragment:
            yield one
        elif depth < _MOST_FRAGMENTED:
            self._take(records, one)
            completed, self._fragments.datagrams = self._fragments.datagrams, []
            for datagram in completed:
                packets = self._of_fragments.of_fragments(datagram.octets, one.packet.steps)
                for found in self._opened(packets, records, one.row, datagram.missing):
                    yield from self._whole(records, found, depth + 1)

    def _take(self, records: Records, one: Inner) -> None:
        """Add a fragment to those that are held."""
        row, packet, _ = one
        # They tell copies of a fragment at two places apart.
        addresses = records.octets(row)[: tunnels.ADDRESS_OCTETS.get(records.link_type(row), 0)]
        ports, size = (packet.part.ports, packet.part.size) if packet.part else (b"", len(packet.octets))
        place = (int(records.interface[row]), addresses, packet.steps, ports)
        number, time_ns = len(self._fragment_record), int(records.time_ns[row])
        self._fragments.add(reassembly.Fragment(number, place, time_ns, packet.octets, size))
        self._fragment_record.append(int(records.number[row]))

    def _decode(self, inner: list[Inner]) -> Unwrapped:
        """Decode packets from inside records."""
        sizes = np.array([len(one.packet.octets) for one in inner], dtype=np.int64)
        data = octets(b"".join(one.packet.octets for one in inner))
        offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        missing = np.array([one.missing for one in inner], dtype=np.int64)
        found = tcpip.decode(
            data, offset, sizes.astype(np.int32), (sizes + missing).astype(np.int32),
            np.zeros(len(inner), dtype=np.int16), np.array([layers.RAW_IP], dtype=np.int64), self._numbers(inner),
            tcpip.Into(self.flows),
        )  # fmt: skip
        # Frames of a link are not looked for in tunnels.
        for row in np.flatnonzero(np.isin(found.status, (layers.UNKNOWN, layers.LINK_FRAME))).tolist():
            found.status[row] = layers.UDP if tunnels.is_datagram(inner[row].packet.octets) else layers.OTHER
        return Unwrapped(inner, found, data, offset)

    def _numbers(self, inner: list[Inner]) -> Any:
        """A number for the tunnel around each packet, 0 for none."""
        tunnel = (one.packet.tunnel for one in inner)
        identities = (around and around.identity for around in tunnel)
        return np.array([self._labels.setdefault(one, len(self._labels)) for one in identities], dtype=np.int64)

    def _settle(self, records: Records, rows: list[int], inside: Any, status: Any, begun: int) -> None:
        """Give the records the status of the packets in them, above all of TCP packets; no fate will change it.

        `begun` is how many fragments there were before this piece.
        """
        at = np.array(rows, dtype=np.int64)
        status[at] = inside
        status[at[inside == layers.TCP]] = layers.TCP
        settled = set(records.number[at].tolist())
        for fragment in range(begun, len(self._fragment_record)):
            if self._fragment_record[fragment] in settled:
                self._fragment_record[fragment] = _SETTLED


def tunnels_around(records: Records, rows: list[int]) -> list[Tunnel | None]:
    """The tunnels around the packets of records that the fast path decoded."""
    steps = _steps_around if len(rows) < _MANY_FLOWS else _steps_around_many
    return [tunnel_of(one) for one in steps(records, rows)]


def _steps_around_many(records: Records, rows: list[int]) -> list[tuple[Step, ...]]:
    """The same as `_steps_around`; what is around GTP-U tunnels is opened once a label, other envelopes one by one."""
    at = np.array(rows, dtype=np.int64)
    link_types = np.array(records.link_types, dtype=np.int64)[records.interface[at]]
    found = find_user_tunnels(records.data, records.offset[at], records.captured[at], link_types)
    inside = found.outer >= 0
    labels, first = np.unique(found.label[inside], return_index=True)
    before = _steps_around(records, at[inside][first].tolist())
    around = {label: steps[:-1] for label, steps in zip(labels.tolist(), before, strict=True)}
    others = iter(_steps_around(records, at[~inside].tolist()))
    return [
        (*around[label], step) if step else next(others)
        for step, label in zip(steps_into(records.data, found), found.label.tolist(), strict=True)
    ]


def _steps_around(records: Records, rows: list[int]) -> list[tuple[Step, ...]]:
    """The steps to the first packet in each record, outermost first."""
    decoder = tunnels.TunnelDecoder()
    found = (next(decoder.packets(records.octets(row), records.link_type(row)), None) for row in rows)
    return [one.steps if isinstance(one, tunnels.Opened) else () for one in found]

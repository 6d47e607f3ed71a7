"""The flows table: the ends and the tunnel of every flow, over all parts of a capture."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from ipaddress import IPv6Address
from socket import inet_ntoa
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model.schema import build
from multitracer.wire import layers

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.wire.inside import Tunnel

Ends = tuple[str, int, str, int]
"""Addresses and ports of both ends."""
TunnelsOf = Callable[[Any], "list[Tunnel | None]"]
"""The tunnels around the packets whose IP headers are at these offsets."""

_PORT = np.array([256, 1])
"""The weights of a port's two octets."""


class FlowEnds:
    """The ends of the flows that one decoder numbered, and the tunnels of those in one, over all pieces."""

    def __init__(self) -> None:
        self.ends: list[Ends] = []
        self.tunnels: dict[int, Tunnel | None] = {}
        self._by_label: dict[int, Tunnel | None] = {}

    def add(self, data: Any, first: Any, label: Any, tunnels_of: TunnelsOf) -> None:
        """Take the flows that a piece began.

        `first` has the offset in `data` of the IP header of each flow's first packet, `label` 0 for flows that are
        in no tunnel.
        """
        if not len(first):  # as in most pieces of a capture with few flows
            return
        before = len(self.ends)
        self.ends += _ends(data, first)
        for at, tunnel in self._tunnels(first, label, tunnels_of).items():
            self.tunnels[before + at] = tunnel

    def _tunnels(self, first: Any, label: Any, tunnels_of: TunnelsOf) -> dict[int, Tunnel | None]:
        """The tunnel of each flow that is in one; opened once a label where that tells all of it."""
        inside = np.flatnonzero(label).tolist()
        unknown: dict[int, int] = {}
        for flow in inside:
            if label[flow] not in self._by_label:
                unknown.setdefault(int(label[flow]), flow)
        if unknown:
            opened = tunnels_of(first[list(unknown.values())])
            self._by_label |= dict(zip(unknown, opened, strict=True))
        tunnels = {flow: self._by_label[int(label[flow])] for flow in inside}
        left = [flow for flow, tunnel in tunnels.items() if tunnel is None or not tunnel.told]
        return tunnels | dict(zip(left, tunnels_of(first[left]) if left else [], strict=True))


class FlowTable:
    """Numbers the flows of a capture's decoders alike."""

    def __init__(self) -> None:
        self._ends: list[Ends] = []
        self._known: dict[tuple[Ends, Hashable], int] = {}
        self._tunnels: dict[int, Tunnel] = {}

    def add(self, flows: FlowEnds) -> tuple[Any, Any]:
        """For each flow of a decoder, its number in the table, and whether its ends are the other way round there."""
        if not self._ends and not flows.tunnels:
            self._ends += flows.ends
            return np.arange(len(flows.ends), dtype=np.int32), np.zeros(len(flows.ends), dtype=np.int8)
        if not self._known:
            self._known.update(zip(((ends, None) for ends in self._ends), itertools.count()))
        found = [self._add(ends, flows.tunnels.get(flow)) for flow, ends in enumerate(flows.ends)]
        numbers, swapped = zip(*found, strict=True) if found else ((), ())
        return np.array(numbers, dtype=np.int32), np.array(swapped, dtype=np.int8)

    def _add(self, ends: Ends, tunnel: Tunnel | None) -> tuple[int, bool]:
        identity = tunnel and tunnel.identity
        forward, turned = (ends, identity), ((*ends[2:], *ends[:2]), identity)
        swapped = turned in self._known and forward not in self._known
        number = self._known.setdefault(turned if swapped else forward, len(self._known))
        if number == len(self._ends):
            self._ends.append(ends)
        if tunnel and number not in self._tunnels:
            self._tunnels[number] = tunnel
        return number, swapped

    def table(self) -> pd.DataFrame:
        """All flows, in the order of their numbers."""
        count = len(self._ends)
        columns: dict[str, Any] = {"flow": range(count), "tunnel": [""] * count}
        columns |= {"outer_a": [""] * count, "outer_b": [""] * count}
        for number, tunnel in self._tunnels.items():
            columns["tunnel"][number] = tunnel.text
            columns["outer_a"][number], columns["outer_b"][number] = tunnel.source, tunnel.destination
        ends = list(zip(*self._ends, strict=True)) or [(), (), (), ()]
        return build("flows", columns | dict(zip(("address_a", "port_a", "address_b", "port_b"), ends, strict=True)))


def _ends(data: Any, first: Any) -> Iterator[Ends]:
    """Addresses and ports of the packets whose IP headers begin at `first`; of fragments only first ones."""
    four = data[first] >> 4 == 4
    tcp = first + 4 * (data[first] & 15).astype(np.int64)
    tcp[~four] = np.array([layers.transport_of(data, at) for at in first[~four]], dtype=np.int64)
    source, destination = np.empty(len(first), dtype=object), np.empty(len(first), dtype=object)
    for mine, at, size in ((four, 12, 4), (~four, 8, 16)):
        source[mine] = _addresses(_octets_at(data, first[mine] + at, size))
        destination[mine] = _addresses(_octets_at(data, first[mine] + at + size, size))
    near, far = (_octets_at(data, tcp + at, 2) @ _PORT for at in (0, 2))
    return zip(source.tolist(), near.tolist(), destination.tolist(), far.tolist(), strict=True)


def _addresses(octets: Any) -> Any:
    """The address in each row as text; each different address is converted once."""
    size = octets.shape[1]
    different, place = np.unique(octets.view(f"V{size}").ravel(), return_inverse=True)
    texts = [inet_ntoa(one) if size == 4 else str(IPv6Address(one)) for one in different.tolist()]
    return np.array(texts, dtype=object)[place]


def _octets_at(data: Any, first: Any, count: int) -> Any:
    """The `count` octets from each of the offsets `first` on, one row each."""
    return data[first[:, None] + np.arange(count)]

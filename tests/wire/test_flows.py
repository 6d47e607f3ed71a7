"""Flows: packets with the same two ends, in either direction, for any number of flows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import ipv4, ipv6, tcp

from multitracer.compute.kernels import octets
from multitracer.wire import flows as wire
from multitracer.wire import layers, tcpip

Ends = tuple[str, int, str, int]


def flows_of(packets: list[bytes]) -> list[tuple[int, int]]:
    """(Flow, direction) of each packet of a raw IP capture."""
    sizes = np.array([len(packet) for packet in packets], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    interface = np.zeros(len(packets), dtype=np.int16)
    kinds = np.array([layers.RAW_IP], dtype=np.int64)
    columns = tcpip.decode(octets(b"".join(packets)), offset, sizes, sizes, interface, kinds).columns
    return list(zip(columns["flow"].tolist(), columns["direction"].tolist(), strict=True))


def expected(ends: list[Ends]) -> list[tuple[int, int]]:
    """The same from a dictionary: flows in order of appearance, direction 0 that of the first packet."""
    known: dict[Ends, int] = {}
    found = []
    for source, port, destination, other in ends:
        forward, reverse = (source, port, destination, other), (destination, other, source, port)
        backwards = reverse in known and forward not in known
        flow = known[reverse] if backwards else known.setdefault(forward, len(known))
        found.append((flow, int(backwards)))
    return found


def packet(ends: Ends) -> bytes:
    """A segment from one end to the other."""
    source, port, destination, other = ends
    made = ipv6 if ":" in source else ipv4
    return made(tcp(b"a", ports=(port, other)), source=source, destination=destination)


FEW = st.lists(
    st.tuples(
        st.sampled_from(["10.0.0.1", "10.0.0.2"]), st.integers(1, 3), st.sampled_from(["10.0.0.1", "10.0.0.3"]),
        st.integers(1, 3),
    ),
    min_size=1, max_size=200,
)  # fmt: skip


ALIKE = ["2001:db8::1", "2001:db8::8000:1", "2001:db8::2"]
"""The first two addresses have the same hash."""
FEW_ALIKE = st.lists(
    st.tuples(st.sampled_from(ALIKE), st.just(1), st.sampled_from(ALIKE), st.integers(1, 2)), min_size=1, max_size=200
)


@given(FEW | FEW_ALIKE)
def test_flows_are_numbered_within_and_across_batches(ends: list[Ends]) -> None:
    """Packets get the right flow and direction when flows recur within a batch, across batches and in reverse."""
    assert flows_of([packet(one) for one in ends]) == expected(ends)


@pytest.mark.slow
@pytest.mark.parametrize("mapped", [str, lambda address: f"2001:db8::{address}"], ids=["IPv4", "IPv6"])
def test_flows_keep_their_numbers_while_the_table_grows(mapped: object) -> None:
    """3,000 flows, each in both directions and shuffled, keep their numbers while the table grows."""
    chance = random.Random(7)
    every = [(f"10.0.{n % 7}.{n % 251}", 1000 + n, "10.9.9.9", 80) for n in range(3000)]
    ends = [(mapped(a), p, mapped(b), q) for a, p, b, q in every]  # type: ignore[operator]
    ends = [*ends, *((b, q, a, p) for a, p, b, q in ends)]
    chance.shuffle(ends)
    assert flows_of([packet(one) for one in ends]) == expected(ends)


def test_flows_that_collide_keep_their_own_numbers() -> None:
    """In a table of eight slots, flows that collide keep their own numbers."""
    table, known = np.full(8, wire.EMPTY, dtype=np.int64), wire.room_for(8)
    packets = [packet(("10.0.0.1", port, "10.0.0.2", 80)) for port in range(1, 8)]
    for _ in range(2):
        numbers = [wire.find_flow(octets(one), 0, 20, 0, table, known, number) for number, one in enumerate(packets)]
        assert numbers == [2 * number for number in range(7)]

"""Packets before and after a firewall: in one flow, with one set of numbers, at two places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.vantage.label_places import Placed
from multitracer.vantage.renumbering import Rewritten, find_rewritten
from multitracer.vantage.translated_copies import find_translated

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_SHIFTS = ("seq_shift", "ack_shift")
"""Columns that packets have until `with_own_numbers` takes them away: what was added to raw_seq and raw_ack."""


def join_rewritten(placed: Placed) -> Placed:
    """Give packets that a firewall rewrote the flow and the numbers that they had at the place that saw them first."""
    tables, packets = placed.tables, placed.tables["packets"]
    place = packets["interface"].to_numpy() if placed.place is None else placed.place
    found = find_rewritten(packets, tables["syn_options"], tables["flows"], place)
    found += find_translated(tables, place, found)
    if not found:
        return placed
    made, names = _place_of_each(found, packets, place, dict(placed.names))
    packets = _rewritten_back(packets, found)
    sack = _shifted_blocks(tables["sack_blocks"], packets)
    texts = dict(placed.notes)
    for number, count in _counts(found, packets).items():
        were = "connection was" if count == 1 else "connections were"
        text = f"{count} {were} seen before and after address translation or new sequence numbers."
        texts[number] = f"{texts[number]} {text}" if number in texts else text
    tables = {**tables, "packets": packets, "sack_blocks": sack}
    return replace(placed, tables=tables, place=made, names=names, notes=texts)


def _counts(found: list[Rewritten], packets: pd.DataFrame) -> dict[int, int]:
    number = packets["input"].to_numpy()[[one.far.syn for one in found]]
    inputs, counts = np.unique(number, return_counts=True)
    return dict(zip(inputs.tolist(), counts.tolist(), strict=True))


def _place_of_each(
    found: list[Rewritten], packets: pd.DataFrame, place: Any, names: dict[tuple[int, int], str]
) -> tuple[Any, dict[tuple[int, int], str]]:
    """The places with what one place saw twice told apart, and their names."""
    made, number = place.copy(), packets["input"].to_numpy()
    beyond: dict[tuple[tuple[int, int], int], int] = {}
    for one in found:
        here = int(number[one.near.syn]), int(place[one.near.syn])
        if here == (int(number[one.far.syn]), int(place[one.far.syn])):
            there = beyond.setdefault((here, one.depth), int(place.max()) + 1 + len(beyond))
            made[one.far.rows] = there
            behind = "a firewall" if one.depth == 1 else f"{one.depth} firewalls"
            names[here[0], there] = names.get(here, f"interface {here[1]}") + f", behind {behind}"
    return made, names


def _rewritten_back(packets: pd.DataFrame, found: list[Rewritten]) -> pd.DataFrame:
    """The packets with the first place's flow, direction and numbers."""
    flow, direction = (packets[name].to_numpy().copy() for name in ("flow", "direction"))
    shift = np.zeros((2, len(packets)), dtype=np.int64)
    for one in found:
        rows = one.far.rows
        added = np.array(one.near.isn) - np.array(one.far.isn)
        end = direction[rows] ^ direction[one.far.syn]
        shift[0, rows], shift[1, rows] = added[end], added[1 - end]
        direction[rows], flow[rows] = end ^ direction[one.near.syn], flow[one.near.syn]
    numbers = _moved(packets, shift)
    return with_columns(packets, flow=flow, direction=direction, **numbers, **dict(zip(_SHIFTS, shift, strict=True)))


def _moved(packets: pd.DataFrame, shift: Any) -> dict[str, Any]:
    return {
        name: ((packets[name].to_numpy().astype(np.int64) + added) & 0xFFFFFFFF).astype(np.uint32)
        for name, added in zip(("raw_seq", "raw_ack"), shift, strict=True)
    }


def _shifted_blocks(blocks: pd.DataFrame, packets: pd.DataFrame) -> pd.DataFrame:
    """SACK blocks with the acknowledgements' shift, but where the firewall had left them as they were."""
    packet = blocks["packet"].to_numpy()
    added, ack = packets["ack_shift"].to_numpy()[packet], packets["raw_ack"].to_numpy()[packet].astype(np.int64)
    edges = {name: blocks[name].to_numpy().astype(np.int64) for name in ("raw_left", "raw_right")}
    left = edges["raw_left"]
    added = np.where(_apart(left + added - ack) <= _apart(left - ack), added, 0)
    return with_columns(
        blocks, **{name: ((values + added) & 0xFFFFFFFF).astype(np.uint32) for name, values in edges.items()}
    )


def _apart(difference: Ints) -> Ints:
    """The distance of two 32-bit numbers."""
    result: Ints = np.abs((difference + (1 << 31)) % (1 << 32) - (1 << 31))
    return result


def with_own_numbers(packets: pd.DataFrame) -> pd.DataFrame:
    """The packets with the sequence and acknowledgement numbers that were captured."""
    if _SHIFTS[0] not in packets:
        return packets
    back = [-packets[name].to_numpy() for name in _SHIFTS]
    return with_columns(packets.drop(columns=list(_SHIFTS)), **_moved(packets, back))

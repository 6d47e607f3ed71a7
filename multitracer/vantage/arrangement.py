"""The packets of one observation point in order of time, where several files recorded them at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.vantage.points import Points

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

_NAMING_PACKETS = ("sack_blocks", "syn_options")
"""Tables whose column `packet` is a row of packets."""


def in_time_order(
    tables: Mapping[str, pd.DataFrame], points: Points
) -> tuple[Mapping[str, pd.DataFrame], Points, Ints | None]:
    """The tables and points with the packets of each point of several inputs in order of time, and their rows before.

    The rows are None where nothing moved: captures that followed one another, and those of one input each, are in
    order already.
    """
    packets = tables["packets"]
    first = _first_inputs(points)
    if not first:
        return tables, points, None
    number, time = packets["input"].to_numpy(), packets["time_ns"].to_numpy()
    block = number.copy()
    for one, other in first.items():
        block[number == one] = other
    merged = np.isin(number, list(first))
    order = np.lexsort((np.where(merged, time, 0), block))
    moved = np.empty(len(order), dtype=np.int64)
    moved[order] = np.arange(len(order))
    arranged = dict(tables) | {"packets": packets.take(order).reset_index(drop=True)}
    arranged |= {name: _renumbered(tables[name], moved) for name in _NAMING_PACKETS}
    return arranged, replace(points, point=points.point[order], captured_twice=points.captured_twice[order]), order


def _first_inputs(points: Points) -> dict[int, int]:
    """For each input of a point that has several at once, the first of these inputs."""
    return {number: min(point.inputs) for point in points.points if point.at_once for number in point.inputs}


def _renumbered(table: pd.DataFrame, moved: Ints) -> pd.DataFrame:
    """A table whose packets have moved, in their order."""
    packet = moved[table["packet"].to_numpy()]
    order = np.argsort(packet, kind="stable")
    return with_columns(table.take(order).reset_index(drop=True), packet=packet[order])


def as_one_input(packets: pd.DataFrame, points: Points) -> pd.DataFrame:
    """The packets with one input number for all files that recorded one point at once; their order is the rows'."""
    first = _first_inputs(points)
    if not first:
        return packets
    number: Any = packets["input"].to_numpy().copy()
    for one, other in first.items():
        number[packets["input"].to_numpy() == one] = other
    return with_columns(packets, input=number)

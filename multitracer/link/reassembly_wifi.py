"""The IP packets that one direction of a Wi-Fi link carried: MSDUs, alone, in A-MSDUs, or in fragments.

Sequence numbers count MSDUs and A-MSDUs (802.11-2020 10.3.2.14.2). A frame that is no repeat begins a new one, even
with the number of an earlier one. Encrypted frames are packets whose octets are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from multitracer.link.packets import CarriedPacket, Rows
from multitracer.wire import ieee80211
from multitracer.wire.ieee80211 import AGGREGATED, MESH, MORE_FRAGMENTS

if TYPE_CHECKING:
    import pandas as pd

_IP = (0x0800, 0x86DD)


def reassemble(frames: pd.DataFrame, rows: Rows) -> list[CarriedPacket]:
    """The packets of `rows` of the frames table, all of one direction, in the order of their first transmission."""
    rows = rows[np.lexsort((frames["record"].to_numpy()[rows], frames["time_ns"].to_numpy()[rows]))]
    names = ("sn_unwrapped", "fragment", "framing", "retry", "payload_bytes")
    columns = {name: frames[name].to_numpy()[rows].tolist() for name in names}
    data = frames["data"].to_numpy(dtype=object)[rows]
    numbers: dict[int, list[int]] = {}
    groups: list[list[int]] = []
    for place, number in enumerate(columns["sn_unwrapped"]):
        if number < 0:
            continue
        new = not columns["retry"][place] and columns["fragment"][place] == 0
        if new or number not in numbers:
            groups.append(numbers.setdefault(number, []))
            if len(groups[-1]):
                groups[-1] = numbers[number] = []
        numbers[number].append(place)
    return [
        CarriedPacket(octets, rows[group], rows[_first(group, columns["fragment"])], sizes, 0, whole)
        for group in groups
        for octets, sizes, whole in _packets(group, columns, data)
    ]


def _first(group: list[int], fragment: list[int]) -> list[int]:
    """The first transmission of each fragment that was heard."""
    return sorted({fragment[place]: place for place in reversed(group)}.values())


def _packets(
    group: list[int], columns: dict[str, list[int]], data: np.ndarray
) -> Iterable[tuple[bytes, np.ndarray, bool]]:
    """(Octets, how many of them in each row, whether they are all) of each packet of an MSDU or A-MSDU."""
    carried = np.array([max(0, columns["payload_bytes"][place]) for place in group], dtype=np.int32)
    parts = {columns["fragment"][place]: place for place in group}
    last = parts[max(parts)]
    whole = len(parts) == max(parts) + 1 and not columns["framing"][last] & MORE_FRAGMENTS
    if not whole or any(data[place] is None for place in parts.values()):
        yield b"", carried, False
        return
    body = b"".join(data[parts[number]] for number in sorted(parts))
    flags = columns["framing"][group[0]]
    for kind, packet in ieee80211.msdus(body, aggregated=bool(flags & AGGREGATED), mesh=bool(flags & MESH)):
        if kind in _IP:
            sizes = np.full(len(group), len(packet), dtype=np.int32) if len(parts) == 1 else carried
            yield packet, sizes, True

"""Extracts erasure traces from the logs of a link's ends: which blocks were lost.

RLP has a block every 20 ms (40 ms for 576 bits), so the log of the receiving end is enough: a block whose
check failed was lost. RLC sends PDUs only when it has something to send, so both ends' logs are needed: a PDU that
one end sent and the other never logged was lost. Without the sender's log, the PDUs that the receiver logged as
damaged are the lost ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.link.recovery import PAIRED, latest
from multitracer.link.timing import MS, RLP_FRAME_MS, at_once, interval_of
from multitracer.model.errors import InputError
from multitracer.replay.erasures.trace import Bools, ErasureTrace, Ints
from multitracer.wire.rlp import FCS_BYTES, HEADER_BYTES

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Trace

BAD = "BAD"
TTI_MS = 10
"""25.302's usual transmission time interval."""
_KEY = ("type", "sn", "nr", "poll", "so", "length_bytes")
"""Columns that are the same in both ends' logs of one PDU."""
_HINT = (
    "RLP needs the log of the receiving end with its BAD frames; RLC the logs of both ends, or BAD PDUs in the "
    "receiver's."
)


def erasures(trace: Trace, name: str) -> list[ErasureTrace]:
    """Which blocks were lost, for each link and direction that the logs show.

    Raises InputError where they show none, naming the logs that would.
    """
    frames, links = trace.tables["frames"], trace.tables["links"]
    if not len(frames):
        raise InputError(name, "holds no link frames to extract erasures from", hint=_HINT)
    found = list(_each(trace, frames, links, name))
    if not found:
        raise InputError(name, "does not tell which blocks were lost", hint=_HINT)
    return found


def _each(trace: Trace, frames: pd.DataFrame, links: pd.DataFrame, name: str) -> Iterator[ErasureTrace]:
    rows = links[["link", "reverse", "protocol", "bearer", "sender"]].itertuples(index=False)
    for link, reverse, protocol, bearer, sender in rows:
        own = frames[frames["link"] == link]
        several = len(links) > 2
        label = f"{name}, sent by {sender or 'one end'}" + (f", bearer {bearer}" if several and bearer else "")
        made = _rlp(trace, own, label) if protocol == "rlp" else _rlc(own, label)
        yield from (replace(one, link=f"{name} {min(link, reverse)}") for one in made)


# RLP: blocks on a grid


def _rlp(trace: Trace, own: pd.DataFrame, label: str) -> Iterator[ErasureTrace]:
    received = own[~own["sent"]]
    if not len(received) and (own["type"] == BAD).any():
        received = own  # a monitor on the air: the blocks that it could not decode itself
    if not len(received):
        return
    log = int(received["input"].mode().iloc[0])
    received = received[received["input"] == log].sort_values("record", kind="stable")
    information = int(received["length_bytes"].max())
    block_ms = RLP_FRAME_MS.get(information, 20)
    nulls = str(trace.inputs[log].recording.metadata.get("nulls", "")).lower() == "logged"
    slots, early = slots_of(np.maximum.accumulate(received["time_ns"].to_numpy()), block_ms * MS)
    erased = np.full(int(slots[-1]) + 1, nulls, dtype=np.bool_)
    erased[slots] = (received["type"] == BAD).to_numpy()
    silent = len(erased) - len(slots)
    notes = []
    if silent:
        counted = "lost: NULL frames are logged" if nulls else "received: NULL frames are not logged"
        notes.append(f"{silent} blocks without a line count as {counted}.")
    if early:
        notes.append(f"{early} frames came sooner after one another than a block lasts, and count as the next block.")
    size = max(information, 25) + HEADER_BYTES + FCS_BYTES
    yield ErasureTrace(label, erased, size, block_ms, notes=tuple(notes))


def slots_of(time_ns: Any, slot_ns: int) -> tuple[Ints, int]:
    """The number of the slot in which each time (ascending) lies, from 0, and how many frames had to be moved on.

    The times in logs have jitter, and drift against the radio's clock: the grid of slots follows slowly.
    """
    slots = np.zeros(len(time_ns), dtype=np.int64)
    early = place_slots(np.ascontiguousarray(time_ns, dtype=np.int64), slot_ns, slots)
    return slots, int(early)


@kernel
def place_slots(time_ns: Any, slot_ns: int, slots: Any) -> int:
    """Fill `slots`; the grid's phase moves by an eighth of each frame's deviation."""
    early, phase = 0, time_ns[0]
    for row in range(1, len(time_ns)):
        steps = (time_ns[row] - phase + slot_ns // 2) // slot_ns
        if steps < 1:
            steps = 1
            early += 1
        slots[row] = slots[row - 1] + steps
        phase += steps * slot_ns
        phase += (time_ns[row] - phase) // 8
    return early


# RLC: PDUs as they were sent


def _rlc(own: pd.DataFrame, label: str) -> Iterator[ErasureTrace]:
    sent, came = _one_log(own[own["sent"] & (own["type"] != BAD)]), _one_log(own[~own["sent"]])
    if not len(came) or not (own["length_bytes"] > 0).any():
        return
    seen = sent if len(sent) else came
    block_ms, notes = _pace_ms(np.sort(seen["time_ns"].to_numpy()))
    block_bytes = int(np.median(seen.loc[seen["length_bytes"] > 0, "length_bytes"].to_numpy()))
    if not len(sent):
        if (came["type"] == BAD).any():
            note = "Its blocks are the PDUs that the receiving end logged, those that failed included."
            yield ErasureTrace(label, (came["type"] == BAD).to_numpy(), block_bytes, block_ms, notes=(note, *notes))
        return
    lost = _never_arrived(sent, came[came["type"] != BAD])
    if lost is not None and len(lost):
        note = "Its blocks are the PDUs that were sent: time in which none was sent is left out."
        yield ErasureTrace(label, lost, block_bytes, block_ms, notes=(note, *notes))


def _pace_ms(times: Ints) -> tuple[float, tuple[str, ...]]:
    """The time from one PDU to the next while the sender always has one, and a note where it is not known."""
    interval_ns = interval_of(times)
    if interval_ns is None:
        return TTI_MS, (f"How long a block lasts does not show in the log: {TTI_MS} ms is taken.",)
    return interval_ns / at_once(times, interval_ns) / MS, ()


def _one_log(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the log that has most of them, in order."""
    if not len(rows):
        return rows
    return rows[rows["input"] == rows["input"].mode().iloc[0]].sort_values(["time_ns", "record"], kind="stable")


def _never_arrived(sent: pd.DataFrame, came: pd.DataFrame) -> Bools | None:
    """For each PDU sent, whether it was lost; None where the two logs do not match.

    An arrival belongs to the transmission one transit time before it. PDUs in flight when the far log ends,
    or sent before it begins, are left out.
    """
    key, far = _keys(sent, came)
    time, at = sent["time_ns"].to_numpy(), came["time_ns"].to_numpy()
    transit = _transit(key, time, far, at)
    if transit is None:
        return None
    order = np.lexsort((time, key))
    apart = _least_apart(key[order], time[order])
    left = latest(key[order], time[order], far, at - transit + apart // 2)
    # Equal PDUs sent in one opportunity are matched in their order.
    fits = (left >= 0) & (np.abs(at - transit - time[order[left]]) <= apart // 2)
    seen = (at - transit >= time[0]) & (at - transit <= time[-1])
    if not seen.any() or fits[seen].mean() < PAIRED:
        return None
    lost = np.ones(len(time), dtype=np.bool_)
    lost[order[left[fits]]] = False
    within = (time >= at[0] - transit - apart // 2) & (time <= at[-1] - transit + apart // 2)
    return lost[within]


def _keys(sent: pd.DataFrame, came: pd.DataFrame) -> tuple[Ints, Ints]:
    """A number for each row, the same for rows that agree in all columns that identify a PDU."""
    columns = [
        np.concatenate([_numbers(table[name]) for table in (sent, came)]) for name in _KEY if name in sent
    ]
    _, key = np.unique(np.stack(columns), axis=1, return_inverse=True)
    key = key.reshape(-1)
    return key[: len(sent)], key[len(sent) :]


def _numbers(column: pd.Series[Any]) -> Any:
    return column.cat.codes.to_numpy().astype(np.int64) if column.dtype == "category" else column.to_numpy(np.int64)


def _transit(key: Ints, time: Ints, far: Ints, at: Ints) -> int | None:
    """The time from one end's log to the other's: the median over PDUs that each log has exactly once."""
    once, places, count = np.unique(key, return_index=True, return_counts=True)
    there, arrivals, many = np.unique(far, return_index=True, return_counts=True)
    _, mine, theirs = np.intersect1d(once[count == 1], there[many == 1], return_indices=True)
    if not len(mine):
        return None
    return int(np.median(at[arrivals[many == 1][theirs]] - time[places[count == 1][mine]]))


def _least_apart(key: Ints, time: Ints) -> int:
    """The shortest time between two transmissions of one PDU, in rows sorted by both; 1 s where none was repeated."""
    same = np.diff(time)[np.diff(key) == 0]
    same = same[same > 0]
    return int(same.min()) if len(same) else 1_000 * MS

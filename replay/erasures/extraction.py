"""Extracts erasure traces from the logs of a link's ends: which blocks were lost.

RLP has a block in every opportunity, so the log of the receiving end is enough: a block whose
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
from multitracer.link.frames import DATA_TYPES
from multitracer.link.pace import MS, first_stated, pace_of, stated
from multitracer.link.recovery import PAIRED, latest
from multitracer.model.errors import InputError
from multitracer.replay.erasures.trace import Bools, ErasureTrace, Ints
from multitracer.wire.rlp import FCS_BYTES, HEADER_BYTES

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Trace

BAD = "BAD"
_LEAST_INFORMATION = 25
"""Octets of information in the smallest frame (24.022 4.1), taken where none was logged."""
_MOST_SILENT = 10_000_000
"""So many blocks may be without a line: two days of 20 ms."""
_UNKNOWN_PACE = "How long a block lasts is not in the log's header, nor does it show: block_ms is unknown."
_REPORTS = ("STATUS", "MRW", "MRW_ACK")
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
        made = _rlp(trace, own, label) if protocol == "rlp" else _rlc(trace, own, label)
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
    frames = trace.tables["frames"]
    whole = frames[(frames["input"] == log) & (frames["type"].isin(DATA_TYPES))]
    header = trace.inputs[log].recording.metadata
    nulls = str(header.get("nulls", "")).lower() == "logged"
    times = np.maximum.accumulate(received["time_ns"].to_numpy())
    waiting = np.ones(len(times), dtype=np.bool_) if nulls else _carrying(received)
    block_ns = pace_of(stated(header), times, waiting, one_each=True).interval_ns
    bad = (received["type"] == BAD).to_numpy()
    if block_ns is None:
        notes: tuple[str, ...] = (_UNKNOWN_PACE, "Blocks without a line are left out.")
        yield ErasureTrace(label, bad, _frame_bytes(received, whole), None, notes=notes)
        return
    slots, early = slots_of(times, block_ns)
    _refuse_silence(label, slots, received["record"].to_numpy())
    erased, notes = _on_grid(slots, bad, early, nulls)
    yield ErasureTrace(label, erased, _frame_bytes(received, whole), _in_ms(block_ns), notes=notes)


def _frame_bytes(received: pd.DataFrame, log: pd.DataFrame) -> int:
    """The size of a direction's frames; if none with information came, that of any frame in the log."""
    information = [int(rows["length_bytes"].max()) for rows in (received, log) if len(rows)]
    return next((size for size in information if size > 0), _LEAST_INFORMATION) + HEADER_BYTES + FCS_BYTES


def _carrying(frames: pd.DataFrame) -> Bools:
    """Frames that a sender with more to send follows with another; of a damaged one it cannot be seen."""
    return frames["type"].isin((*DATA_TYPES, BAD)).to_numpy()


def _in_ms(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns // MS if time_ns % MS == 0 else time_ns / MS


def _refuse_silence(label: str, slots: Ints, records: Ints) -> None:
    """Raise InputError where a log holds nothing for days: it is of several recordings, or has a wrong time."""
    silent = np.diff(slots) - 1
    if silent.max(initial=0) > _MOST_SILENT:
        after = int(np.argmax(silent)) + 1
        raise InputError(
            label, f"has no line of {int(silent.max()):,} blocks before this one", record=int(records[after]),
            hint="Cut the log there: it is of several recordings, or a time in it is wrong.",
        )  # fmt: skip


def _on_grid(slots: Ints, bad: Bools, early: int, nulls: bool) -> tuple[Bools, tuple[str, ...]]:
    """Which blocks were lost, those without a line too, and notes on these."""
    erased = np.full(int(slots[-1]) + 1, nulls, dtype=np.bool_)
    erased[slots] = bad
    silent = len(erased) - len(slots)
    notes = []
    if silent:
        counted = "lost: NULL frames are logged" if nulls else "received: NULL frames are not logged"
        notes.append(f"{silent} blocks without a line count as {counted}.")
    if early:
        notes.append(f"{early} frames came sooner after one another than a block lasts, and count as the next block.")
    return erased, tuple(notes)


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


def _rlc(trace: Trace, own: pd.DataFrame, label: str) -> Iterator[ErasureTrace]:
    sent, came = _one_log(own[own["sent"] & (own["type"] != BAD)]), _one_log(own[~own["sent"]])
    if not len(came) or not (own["length_bytes"] > 0).any():
        return
    seen = sent if len(sent) else came
    headers = (trace.inputs[int(log)].recording.metadata for log in seen["input"].unique())
    block_ns = pace_of(first_stated(headers), seen["time_ns"].to_numpy(), _carrying(seen), one_each=False).frame_ns
    note, lost = "Its blocks are the PDUs that were sent: time in which none was sent is left out.", None
    if len(sent):
        lost = _never_arrived(sent, came, block_ns)
    elif (came["type"] == BAD).any():
        note = "Its blocks are the PDUs that the receiving end logged, those that failed included."
        lost = (came["type"] == BAD).to_numpy()
    if lost is not None and len(lost):
        notes = (note,) if block_ns else (note, _UNKNOWN_PACE)
        yield ErasureTrace(label, lost, _pdu_bytes(seen), _in_ms(block_ns), notes=notes)


def _pdu_bytes(seen: pd.DataFrame) -> int:
    """The usual size of data PDUs; of all if there are none."""
    sized = seen[seen["length_bytes"] > 0]
    data = sized[sized["type"].isin(DATA_TYPES)]
    return int(np.median((data if len(data) else sized)["length_bytes"].to_numpy()))


def _one_log(rows: pd.DataFrame) -> pd.DataFrame:
    """The PDUs of the log that has most of them, in order: without further reports that one PDU carries."""
    if not len(rows):
        return rows
    rows = rows[rows["input"] == rows["input"].mode().iloc[0]].sort_values(["time_ns", "record"], kind="stable")
    carried = (rows["type"].isin(_REPORTS) & (rows["length_bytes"] < 0)).to_numpy()
    return rows[~carried | (np.diff(rows["time_ns"].to_numpy(), prepend=-1) > 0)]


def _never_arrived(sent: pd.DataFrame, logged: pd.DataFrame, block_ns: int | None) -> Bools | None:
    """For each PDU sent, whether it was lost; None where it does not match what the far end `logged`.

    An arrival belongs to the transmission one transit time before it. PDUs in flight when the far log ends,
    or sent before it begins, are left out.
    """
    came, moments = logged[logged["type"] != BAD], logged["time_ns"].to_numpy()
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
    near = min(apart, block_ns or apart) // 2
    return lost[(time >= moments[0] - transit - near) & (time <= moments[-1] - transit + near)]


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

"""TCP state logs of a host: the connection of each record, and the log's clock.

A kernel's trace clock starts at boot. Its offset follows from the acknowledgements that both the log and
the capture at the same end saw: a log that fires before a segment is processed shows snd_una change one
record after the acknowledgement that moved it. A log of retransmissions alone is placed by `resend_log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.model.trace import Clock, ClockPiece, Input
from multitracer.tcp import resend_log
from multitracer.tcp.host_clock import CAPTURE_DELAY_NS, clock_by_settings
from multitracer.vantage.clocks import stated_clock, to_reference

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

LEAST_ACKS = 3
"""With fewer acknowledgements in common, the clock is not estimated."""


def assign_connections(state: pd.DataFrame, connections: pd.DataFrame) -> pd.DataFrame:
    """The records with `connection` and `sender` by their sockets; -1 where no capture saw the connection.

    After port reuse, the connection that was open at the record's time is taken.
    """
    ends: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    columns = (connections[name].tolist() for name in ("client", "server", "start_ns"))
    for number, (client, server, start) in enumerate(zip(*columns, strict=True)):
        ends.setdefault((client, server), []).append((start, number, 0))
        ends.setdefault((server, client), []).append((start, number, 1))
    sockets: dict[tuple[str, str], list[int]] = {}
    for row, socket in enumerate(zip(state["local"], state["remote"], strict=True)):
        sockets.setdefault(socket, []).append(row)
    connection, sender = np.full(len(state), -1, dtype=np.int32), np.full(len(state), -1, dtype=np.int8)
    time_ns = state["time_ns"].to_numpy()
    for socket, rows in sockets.items():
        uses = sorted(ends.get(socket, []))
        if not uses:
            continue
        later = np.searchsorted([start for start, _, _ in uses], time_ns[rows], side="right") - 1
        chosen = np.maximum(later, 0)
        connection[rows] = np.array([number for _, number, _ in uses])[chosen]
        sender[rows] = uses[0][2]
    return with_columns(state, connection=connection, sender=sender)


def align_log(
    state: pd.DataFrame, segments: pd.DataFrame, raw_ack: npt.NDArray[np.uint32], connections: pd.DataFrame,
    beside: Ints, inputs: Sequence[Input], reference: str, stated: Mapping[int, tuple[float, float]],
) -> tuple[pd.DataFrame, list[Input]]:  # fmt: skip
    """The records on the reference clock, and the inputs with the clocks of those that have any.

    Records whose clock cannot be estimated are left out, and their input gets a note. `beside` is the
    observation point at each end, shape (connections, 2), -1 for none.
    """
    time_ns, keep = state["time_ns"].to_numpy().copy(), np.ones(len(state), dtype=np.bool_)
    rows_of = {entry.number: np.flatnonzero(state["input"].to_numpy() == entry.number) for entry in inputs}
    clocks: dict[int, Clock] = {}
    for entry in inputs:
        rows = rows_of[entry.number]
        if len(rows):
            records = assign_connections(state.iloc[rows], connections)
            clocks[entry.number] = _clock(entry, records, segments, raw_ack, beside, reference, stated)
    _place_by_resends(clocks, rows_of, state, segments, connections, beside, inputs)
    _place_by_settings(clocks, rows_of, state, inputs)
    with_clock = list(inputs)
    for number, entry in enumerate(inputs):
        if entry.number not in clocks:
            continue
        rows, clock = rows_of[entry.number], clocks[entry.number]
        with_clock[number] = replace(entry, clock=clock)
        if clock.pieces:
            time_ns[rows] = to_reference(state["recorded_ns"].to_numpy()[rows], clock)
        else:
            keep[rows] = False
            with_clock[number] = with_clock[number].with_notes(f"Left out: {clock.how}.")
    state = with_columns(state, time_ns=time_ns)[keep].reset_index(drop=True)
    return assign_connections(state, connections), with_clock


def _place_by_resends(
    clocks: dict[int, Clock], rows_of: Mapping[int, Ints], state: pd.DataFrame, segments: pd.DataFrame,
    connections: pd.DataFrame, beside: Ints, inputs: Sequence[Input],
) -> None:  # fmt: skip
    """Place the logs that have no acknowledgements by their retransmissions, in `clocks`."""
    kernels = {entry.number: entry.path for entry in inputs if entry.recording.clock == "monotonic"}
    known = [
        (kernels[number], clock.pieces[0].offset_ns, clock.error_s or 0.0)
        for number, clock in clocks.items()
        if number in kernels and clock.pieces
    ]
    for number, clock in clocks.items():
        if not clock.pieces:
            mine = state.iloc[rows_of[number]]
            pairs = resend_log.sockets(mine, segments, connections, beside)
            if pairs:
                start = int(mine["recorded_ns"].iloc[0])
                clocks[number] = resend_log.place(pairs, clock.reference, start, known)


def _place_by_settings(
    clocks: dict[int, Clock], rows_of: Mapping[int, Ints], state: pd.DataFrame, inputs: Sequence[Input]
) -> None:
    """Place the logs that nothing in the captures places by the clocks of their host, in `clocks`."""
    for entry in inputs:
        clock = clocks.get(entry.number)
        if clock is not None and not clock.pieces and entry.recording.clock == "monotonic":
            start = int(state["recorded_ns"].iloc[rows_of[entry.number][0]])
            clocks[entry.number] = clock_by_settings(entry, inputs, clock.reference, start) or clock


def _clock(
    entry: Input, state: pd.DataFrame, segments: pd.DataFrame, raw_ack: npt.NDArray[np.uint32],
    beside: Ints, reference: str, stated: Mapping[int, tuple[float, float]],
) -> Clock:  # fmt: skip
    start = int(state["recorded_ns"].iloc[0])
    if entry.number in stated:
        return stated_clock(reference, *stated[entry.number], start)
    differences = _clock_differences(state, segments, raw_ack, beside)
    if entry.recording.clock == "epoch":
        error = entry.recording.metadata.get("clock_error_s")
        how = "is the host's calendar" + (f", to within {error:g} s" if error else "") + ", taken to be the capture's"
        return Clock(reference, 0.0, 0.0, error, error, how, (ClockPiece(start, 0),))
    if len(differences) < LEAST_ACKS:
        how = "its clock is the machine's uptime, and no acknowledgement in it could be found in a capture beside it"
        return Clock(reference, how=how)
    offset = int(np.median(differences))
    spread = float(np.quantile(np.abs(differences - offset), 0.9))
    error = (spread + CAPTURE_DELAY_NS) / 1e9
    how = f"placed by {len(differences)} acknowledgements that the log and the capture both saw"
    return Clock(reference, offset / 1e9, 0.0, error, error, how, (ClockPiece(start, offset),))


def _clock_differences(
    state: pd.DataFrame, segments: pd.DataFrame, raw_ack: npt.NDArray[np.uint32], beside: Ints
) -> Ints:
    """Log time minus capture time (ns) of every acknowledgement that moved snd_una."""
    found = [np.empty(0, dtype=np.int64)]
    received = state[(state["event"] == "recv") & (state["connection"] >= 0) & state["snd_una"].notna()]
    for (connection, sender), records in received.groupby(["connection", "sender"]):
        point = beside[connection, sender]
        if point < 0:
            continue  # no capture at this end: the others saw the acknowledgements at other times
        rows = np.flatnonzero(
            (segments["connection"].to_numpy() == connection)
            & (segments["sender"].to_numpy() == 1 - sender)
            & (segments["point"].to_numpy() == point)
        )
        acknowledged, first = np.unique(raw_ack[rows], return_index=True)
        una, logged = records["snd_una"].to_numpy(), records["recorded_ns"].to_numpy()
        moved = np.flatnonzero(una[1:] != una[:-1])
        at = np.searchsorted(acknowledged, una[moved + 1])
        at = np.minimum(at, max(len(acknowledged) - 1, 0))
        same = (acknowledged[at] == una[moved + 1]) if len(acknowledged) else np.zeros(len(moved), dtype=np.bool_)
        times = segments["time_ns"].to_numpy()[rows[first[at[same]]]]
        found.append(logged[moved[same]] - times)
    return np.concatenate(found)

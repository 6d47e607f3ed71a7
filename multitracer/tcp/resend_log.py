"""A kernel's log of its retransmissions (tcp_retransmit_skb), beside the resends that a capture holds.

The log has no sequence numbers. It is placed by the clock of another log of that kernel, if the resends confirm it,
else by the pattern of its times; its events belong to the resends one to one and in order. A kernel stack below an
event says what made TCP resend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.compute.arrays import with_columns
from multitracer.model.schema import MARKS, TRIGGERS
from multitracer.model.trace import Clock, ClockPiece, Input

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

LEAST_RESENDS = 3
"""With fewer resends in common, a log is not placed by their times alone."""
_SAME_NS = 1_000_000
"""Upper bound of the delay between tracepoint and capture on an idle host."""
_MOST_DIFFERENCES = 4_000_000
_SHARE = 0.9
"""This share of the events, or of the resends if they are fewer, must have a partner."""
_RIVAL = 0.8
"""Regular resends fit shifted, too: no other offset may give more than this share of what the best gives."""
_TIMER, _PROBE, _ACKNOWLEDGEMENTS = range(3)
_RECOVERY, _LOSS = 3, 4  # of ca_state
_TEXTS = {
    "timeout": "the kernel's log shows that its retransmission timer ran out",
    "probe": "the kernel's log shows a tail loss probe",
    "fast": "the kernel's log shows that acknowledgements set it off, as the first of a recovery",
    "recovery": "the kernel's log shows that acknowledgements set it off, within a recovery",
}
_BY_ACKNOWLEDGEMENTS = {"acknowledgements": "fast", "either": "recovery"}
"""What acknowledgements set off, where nothing else tells whether it was the first of its recovery: in a state that was
not logged, and after a lost stack."""


class Times(NamedTuple):
    """Times in ns of the events (on the log's clock) and of the resends of one socket, each in order."""

    logged: Ints
    resent: Ints


def sockets(state: pd.DataFrame, segments: pd.DataFrame, connections: pd.DataFrame, beside: Ints) -> list[Times]:
    """Per socket, the logged retransmissions and the resends captured at that end, of all uses of its ports.

    `segments` have their marks; `beside` is the observation point at each end, shape (connections, 2), -1 for none.
    """
    events = state[state["event"].to_numpy() == "retransmit"]
    if not len(events):
        return []
    resent = segments.take(np.flatnonzero(segments["marks"].to_numpy() & MARKS["retransmission"]))
    end = np.stack([resent["connection"].to_numpy().astype(np.int64), resent["sender"].to_numpy()])
    resent, end = resent[end[0] >= 0], end[:, end[0] >= 0]
    own = resent["point"].to_numpy() == beside[end[0], end[1]]
    time, end = resent["time_ns"].to_numpy()[own], end[:, own]
    ends = [connections[name].to_numpy() for name in ("client", "server")]
    found = []
    for (local, remote), mine in events.groupby(["local", "remote"]):
        uses = [np.flatnonzero((ends[way] == local) & (ends[1 - way] == remote)) for way in (0, 1)]
        here = (np.isin(end[0], uses[0]) & (end[1] == 0)) | (np.isin(end[0], uses[1]) & (end[1] == 1))
        if here.any():
            found.append(Times(np.sort(mine["recorded_ns"].to_numpy()), np.sort(time[here])))
    return found


def place(pairs: Sequence[Times], reference: str, start_ns: int, known: Sequence[tuple[str, int, float]]) -> Clock:
    """The clock of a log of retransmissions, without pieces if it cannot be placed.

    `known` are other logs on a kernel's clock: their names, offsets in ns and errors in s.
    """
    for name, offset, error in known:
        agreeing, expected = _agreeing(pairs, offset, _SAME_NS + round(error * 1e9))
        if expected and agreeing >= _SHARE * expected:
            how = f"is the clock of {name}: with it {agreeing} of {expected} retransmissions are those in the capture"
            return Clock(reference, offset / 1e9, 0.0, error, error, how, (ClockPiece(start_ns, offset),))
    found = _by_pattern(pairs)
    if found is None:
        how = "its clock is the machine's uptime, and its retransmissions could not be matched to those in a capture"
        return Clock(reference, how=how)
    offset = found
    differences = np.concatenate([_partners(one, offset, 2 * _SAME_NS) for one in pairs]) - offset
    middle = int(np.median(differences))
    offset += middle
    error = (float(np.quantile(np.abs(differences - middle), 0.9)) + _SAME_NS) / 1e9
    how = f"placed by {len(differences)} retransmissions that the log and the capture both saw"
    return Clock(reference, offset / 1e9, 0.0, error, error, how, (ClockPiece(start_ns, offset),))


def _agreeing(pairs: Sequence[Times], offset: int, tolerance: int) -> tuple[int, int]:
    """How many events have a resend of their own with this offset, and how many should."""
    agreeing = sum(len(_partners(one, offset, tolerance)) for one in pairs)
    return agreeing, sum(min(len(one.logged), len(one.resent)) for one in pairs)


def _partners(times: Times, offset: int, tolerance: int) -> Ints:
    """Log time less capture time of events and resends, one to one and in order, where they are near each other."""
    found, at = [], 0
    for logged in (times.logged - offset).tolist():
        while at < len(times.resent) and times.resent[at] < logged - tolerance:
            at += 1
        if at < len(times.resent) and times.resent[at] <= logged + tolerance:
            found.append(logged + offset - int(times.resent[at]))
            at += 1
    return np.array(found, dtype=np.int64)


def _by_pattern(pairs: Sequence[Times]) -> int | None:
    """The offset in ns with which nearly all events are resends, if no other is near as good; None if there is none."""
    if sum(len(one.logged) * len(one.resent) for one in pairs) > _MOST_DIFFERENCES:
        pairs = [Times(one.logged[:1000], one.resent[:4000]) for one in pairs[:1]]
    differences = np.sort(np.concatenate([(one.logged[:, None] - one.resent).ravel() for one in pairs]))
    within = np.searchsorted(differences, differences + 2 * _SAME_NS, side="right") - np.arange(len(differences))
    best, best_count, second = 0, 0, 0
    for at in np.argsort(-within, kind="stable")[:200].tolist():
        offset = int(differences[at]) + _SAME_NS
        if best_count and abs(offset - best) <= 4 * _SAME_NS:
            continue
        count, _ = _agreeing(pairs, offset, 2 * _SAME_NS)
        if count > best_count:
            best, best_count, second = offset, count, best_count
        else:
            second = max(second, count)
    _, expected = _agreeing(pairs, best, 0)
    if best_count < max(LEAST_RESENDS, _SHARE * expected) or second > _RIVAL * best_count:
        return None
    return best


def with_kernel_triggers(resent: pd.DataFrame, state: pd.DataFrame, inputs: Sequence[Input]) -> pd.DataFrame:
    """The retransmissions with the triggers that a kernel's own log shows, where it has stacks.

    `state` is on the reference clock; only logs whose clock has an error bound are used.
    """
    errors = {entry.number: entry.clock.error_s for entry in inputs if entry.clock is not None}
    logged = state[np.isin(state["event"].to_numpy(), ("retransmit", "state")) & (state["connection"].to_numpy() >= 0)]
    if not len(resent) or not logged["resent_by"].notna().any():
        return resent
    trigger, because = (np.array(resent[name], dtype=object) for name in ("trigger", "because"))
    for number, own in logged.groupby("input"):
        error = errors.get(int(number))
        for rows, events in _by_socket(resent, own) if error is not None else ():
            _assign(rows, resent["time_ns"].to_numpy()[rows], events, round((error or 0) * 1e9), trigger, because)
    import pandas as pd

    untold = because == np.array(resent["because"], dtype=object)
    in_doubt = resent["in_doubt"].to_numpy() & untold
    trigger = pd.Categorical(trigger, categories=TRIGGERS)
    return with_columns(resent, trigger=trigger, because=because, in_doubt=in_doubt)


def _by_socket(resent: pd.DataFrame, logged: pd.DataFrame) -> Iterator[tuple[Ints, pd.DataFrame]]:
    """Per end, the rows of its resends in order of time, and what was logged there."""
    order = np.argsort(resent["time_ns"].to_numpy(), kind="stable")
    connection, sender = (resent[name].to_numpy()[order] for name in ("connection", "sender"))
    for (number, local), events in logged.groupby(["connection", "local"]):
        rows = order[(connection == number) & (sender == local)]
        if len(rows):
            yield rows, events.sort_values("time_ns", kind="stable")


def _assign(rows: Ints, times: Ints, events: pd.DataFrame, error_ns: int, trigger: Any, because: Any) -> None:
    """Enter the kernel's triggers of one socket's events into those of its resends."""
    kinds = _kinds(events)
    logged = events["time_ns"].to_numpy()[(events["event"] == "retransmit").to_numpy()]
    together = np.concatenate([logged, times])
    order = np.argsort(together, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(together[order]) > error_ns) + 1):
        theirs = [kinds[at] for at in np.sort(group[group < len(logged)]).tolist()]
        ours = np.sort(group[group >= len(logged)]) - len(logged)
        for row, kind in zip(rows[ours].tolist(), _spread(theirs, len(ours)), strict=True):
            kind = _BY_ACKNOWLEDGEMENTS.get(kind, kind) if trigger[row] not in ("fast", "recovery") else kind
            if kind in _TEXTS:
                trigger[row] = kind
                because[row] = f"{_TEXTS[kind]}; {because[row].partition('; ')[2]}"


def _spread(kinds: list[str], count: int) -> list[str]:
    """The kind of each of `count` resends by the events at that time; "" where they do not tell.

    The kernel logs once what it resends at once, though it may be several segments.
    """
    if len(kinds) == count:
        return kinds
    if kinds and count and set(kinds[1:]) <= {"recovery"} and kinds[0] in ("fast", "recovery"):
        return kinds[:1] + ["recovery"] * (count - 1)
    if len(set(kinds)) == 1:
        return kinds[:1] * count
    return [""] * count


def _kinds(events: pd.DataFrame) -> list[str]:
    """What made a socket resend, for each logged retransmission: a trigger, one of _BY_ACKNOWLEDGEMENTS, or "".

    Where a stack was lost after a recovery began, its resend may have been the first of it, and the next one was not.
    """
    kinds, state, begun, missed = [], -1, False, False
    columns = (events[name].tolist() for name in ("event", "ca_state", "resent_by"))
    for event, ca_state, resent_by in zip(*columns, strict=True):
        if event == "state":
            begun = ca_state == _RECOVERY and (begun or state != _RECOVERY)
            state, missed = int(ca_state), missed and begun
            continue
        kind = {_TIMER: "timeout", _PROBE: "probe", _ACKNOWLEDGEMENTS: "acknowledgements"}.get(resent_by, "")
        missed = begun and (missed or not kind)
        if kind == "acknowledgements" and state in (_RECOVERY, _LOSS):
            kind = "either" if missed else "fast" if begun and state == _RECOVERY else "recovery"
            begun = missed = False
        kinds.append(kind)
    return kinds

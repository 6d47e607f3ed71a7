"""Unwrapped sequence numbers of frames, which frames were retransmissions, and the resets before each.

Sequence numbers count modulo the size of their field. In the sender's log a number is a retransmission
unless it is the next new one; in the receiver's log it is taken for the one nearest to the expected one.

A reset concerns both directions of a bearer. Each direction restarts its numbers when its own sender
takes part in the reset: frames still in flight towards the end that began it have the old numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.schema import FRAME_TYPES
from multitracer.wire import ieee80211, rlp
from multitracer.wire.rlc_nr import SI_FIRST

if TYPE_CHECKING:
    import pandas as pd

MODULI = {
    "rlp": (rlp.MODULUS,),
    "rlc-umts": (4096,),  # 25.322 9.2.2.3
    "rlc-lte": (1024, 65536),  # 36.322 6.2.3.3
    "rlc-nr": (4096, 262144),  # 38.322 6.2.3.3
    "wifi": (ieee80211.MODULUS,),
}
LARGEST_NUMBER = max(max(sizes) for sizes in MODULI.values()) - 1
DATA_TYPES = ("I RR", "I RNR", "I REJ", "I SREJ", "AMD", "DATA")
RESET_TYPES = ("SABM", "RESET")
RESET_DONE_TYPES = ("UA", "RESET_ACK")
RELEASE_TYPES = ("DISC", "DM")
ACTIVE_TYPES = (*DATA_TYPES, "RR", "RNR", "REJ", "SREJ", "STATUS")
"""Frames that an end sends only while the link is connected and not being reset."""
ASKING_TYPES = ("SREJ", "I SREJ")
"""Frames whose N(R) is a number asked for, not the next expected (24.022 5.2.2)."""

SAME_RESET_NS = 80_000_000
"""An EVENT record this close to a frame of the same reset is not counted again: the longest TTI (25.302 7.1)."""

_OTHER, _DATA, _RESET, _DONE, _ACTIVE, _RELEASE = range(6)
_WHOLE = np.int64(1) << 40

# Columns of `state`, one row per link, for one log; _RESETS is counted in the row of a bearer's lower link.
# _AGAIN: how often an end has counted anew by itself since the reset before.
_NEXT, _EXPECTED, _FIRST, _STARTED, _EPOCH, _OPEN, _BEGAN, _WAS_ACTIVE, _RESETS, _AGAIN, _RELEASED = range(11)
_STATES = 11


def number_frames(frames: pd.DataFrame, links: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """`frames` with `sn_unwrapped`, `epoch` and `transmission` filled in, log by log.

    `transmission` is how often the frame's octets had been sent before, by the sender's log; in the
    receiver's log it stays null, because frames lost on the way are not in it. A retransmission of a
    frame sent before the log began stays without one, and without a number where it would be negative.
    """
    if not len(frames):
        return frames
    columns, numbers = _frame_columns(frames, links), _link_numbers(frames, links)
    made = Numbered(*(np.full(len(frames), -1, dtype=dtype) for dtype in (np.int64, np.int32, np.int16)))
    alone = events[lone_resets(frames, events, links)].sort_values("record", kind="stable")
    log_of = frames["input"].to_numpy()
    for log in np.unique(log_of):
        rows = np.flatnonzero(log_of == log)
        rows = rows[np.argsort(columns.record[rows], kind="stable")]
        here = alone[alone["input"] == log]
        resets = LoneResets(here["record"].to_numpy(), here["link"].to_numpy().astype(np.int64))
        number_rows(rows, columns, resets, numbers, _initial_state(numbers), made)
    return with_columns(frames, **made._asdict() | {"transmission": by_retry_bit(made.transmission, frames)})


def by_retry_bit(transmission: Any, frames: pd.DataFrame) -> Any:
    """`transmission` with what the retry bit of a Wi-Fi frame says: earlier transmissions may not have been heard."""
    retry = frames["retry"].to_numpy()
    return np.where(retry == 1, np.maximum(transmission, 1), np.where(retry == 0, 0, transmission)).astype(np.int16)


def _frame_columns(frames: pd.DataFrame, links: pd.DataFrame) -> FrameColumns:
    record, link, sent, sn, so, payload = (
        frames[name].to_numpy() for name in ("record", "link", "sent", "sn", "so", "payload_bytes")
    )
    code, link = frame_classes(frames), link.astype(np.int64)
    of_nr = (links["protocol"] == "rlc-nr").to_numpy()[link]
    begins = of_nr & (frames["framing"].to_numpy() == SI_FIRST)  # without an SO, which is 0: 38.322 6.2.2.4
    return FrameColumns(code, record, link, sent, sn, np.where(begins, 0, so), payload.astype(np.int64))


def _link_numbers(frames: pd.DataFrame, links: pd.DataFrame) -> LinkNumbers:
    modulus = np.array([modulus_of(frames, links, int(link)) for link in links["link"]], dtype=np.int64)
    own, other = links["link"].to_numpy().astype(np.int64), links["reverse"].to_numpy().astype(np.int64)
    return LinkNumbers(modulus, (links["protocol"] == "rlp").to_numpy(), np.where(other < 0, own, other))


def _initial_state(numbers: LinkNumbers) -> LogState:
    """The state before a log's first frame."""
    links = np.zeros((len(numbers.modulus), _STATES), dtype=np.int64)
    # In RLP a SABM also sets the link up; an RLC entity exists before its first frame.
    links[:, _WAS_ACTIVE] = ~numbers.narrow
    shape = 2 * len(links), int(numbers.modulus.max())
    top, times = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    return LogState(links, np.full(shape, -1, dtype=np.int64), top, times)


def frame_classes(frames: pd.DataFrame) -> Any:
    """The class of each frame for numbering (_DATA, _RESET, ...), an int array of shape (frames,)."""
    meaning = dict.fromkeys(ACTIVE_TYPES, _ACTIVE) | dict.fromkeys(DATA_TYPES, _DATA)
    meaning |= dict.fromkeys(RESET_TYPES, _RESET) | dict.fromkeys(RESET_DONE_TYPES, _DONE)
    meaning |= dict.fromkeys(RELEASE_TYPES, _RELEASE)
    return np.array([meaning.get(kind, _OTHER) for kind in FRAME_TYPES])[frames["type"].cat.codes.to_numpy()]


def lone_resets(frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame) -> Any:
    """A mask over `events`: resets without a reset frame of the same bearer near them in the same log."""
    alone = np.array((events["event"] == "reset") & (events["link"] >= 0), dtype=np.bool_)
    resets = frames[frames["type"].isin((*RESET_TYPES, *RESET_DONE_TYPES))]
    bearer = np.maximum(links["link"].to_numpy(), links["reverse"].to_numpy())
    reset_at, reset_log = resets["time_ns"].to_numpy(), resets["input"].to_numpy()
    reset_bearer = bearer[resets["link"].to_numpy()]
    at, log, of = (events[name].to_numpy() for name in ("time_ns", "input", "link"))
    for place in np.flatnonzero(alone):
        same = (reset_log == log[place]) & (reset_bearer == bearer[of[place]])
        alone[place] = not (same & (np.abs(reset_at - at[place]) <= SAME_RESET_NS)).any()
    return alone


def modulus_of(frames: pd.DataFrame, links: pd.DataFrame, link: int) -> int:
    """The modulus of a link's sequence numbers: the protocol's smallest field that holds all numbers seen."""
    own = frames["link"].to_numpy() == link
    largest = int(frames["sn"].to_numpy()[own].max(initial=0))
    moduli = MODULI[str(links["protocol"].iloc[link])]
    return next((modulus for modulus in moduli if largest < modulus), moduli[-1])


class FrameColumns(NamedTuple):
    """What numbering reads of the frames: one element per row of the frames table."""

    code: Any
    """The class of the frame (_DATA, _RESET, ...)."""
    record: Any
    link: Any
    sent: Any
    sn: Any
    so: Any
    payload_bytes: Any


class LoneResets(NamedTuple):
    """The resets that one log has no frame of, in order of record."""

    record: Any
    link: Any


class LinkNumbers(NamedTuple):
    """How each link numbers its frames: one element per link."""

    modulus: Any
    narrow: Any
    """RLP's: so few numbers that the one nearest to the expected number may be the wrong one."""
    reverse: Any
    """The link of the other direction; the link itself if it has none."""


class LogState(NamedTuple):
    """Progress in one log; the last three have the shape (2 * links, modulus), a row per link and end."""

    links: Any
    """Columns _NEXT, _EXPECTED and so on, one row per link."""
    seen: Any
    """The last unwrapped number of each sequence number; -1 if none was seen."""
    top: Any
    """The end of the octets of that frame sent so far."""
    times: Any
    """How often the frame was retransmitted."""


class Numbered(NamedTuple):
    """The columns that numbering fills: one element per row of the frames table."""

    sn_unwrapped: Any
    epoch: Any
    transmission: Any


@kernel
def nearest(expected: int, sn: int, size: int) -> int:
    """`sn` unwrapped modulo `size` to the value nearest to `expected`."""
    ahead = (sn - expected) % size
    return expected + (ahead - size if ahead >= size // 2 else ahead)


@kernel
def restart_numbers(end: int, bearer: int, state: Any, seen: Any) -> None:
    """Restart the numbers of direction `end`, unless it has done so since the bearer's last reset."""
    if state[end, _EPOCH] != state[bearer, _RESETS]:
        state[end, _EPOCH] = state[bearer, _RESETS]
        state[end, _AGAIN] = 0
        forget_numbers(end, state, seen)


@kernel
def forget_numbers(end: int, state: Any, seen: Any) -> None:
    """The next number of direction `end` is its first."""
    state[end, _STARTED] = 0
    seen[2 * end, :] = -1
    seen[2 * end + 1, :] = -1


@kernel
def count_reset(own: int, other: int, state: Any) -> None:
    """A reset of the bearer of two directions begins: an epoch that neither of them has had."""
    state[min(own, other), _RESETS] += 1 + max(state[own, _AGAIN], state[other, _AGAIN])
    state[own, _WAS_ACTIVE] = state[other, _WAS_ACTIVE] = 0


@kernel
def follow_reset(kind: int, own: int, other: int, narrow: bool, state: Any, seen: Any) -> None:
    """Follow resets through one frame; crossing requests, and retransmitted ones, are the same reset.

    An end that waits for the answer to its request sends nothing else. So a request from an end that
    sent nothing else since its last request is a retransmission, whether or not the log has the answer.
    In RLP, which does not tell it from a new one (24.022 5.2.2.1), its peer counts anew whenever it answers.
    """
    bearer = min(own, other)
    if kind == _RELEASE:
        state[own, _WAS_ACTIVE] = state[other, _WAS_ACTIVE] = 0
        state[own, _OPEN] = state[other, _OPEN] = 0
        state[own, _RELEASED] = state[other, _RELEASED] = 1
    elif kind == _RESET:
        state[own, _RELEASED] = state[other, _RELEASED] = 0
        active = state[own, _WAS_ACTIVE] == 1 or (state[own, _BEGAN] == 0 and state[other, _WAS_ACTIVE] == 1)
        if active and state[own, _OPEN] == 0 and state[other, _OPEN] == 0:
            count_reset(own, other, state)
        state[own, _OPEN] = state[own, _BEGAN] = 1
        restart_numbers(own, bearer, state, seen)
    elif kind == _DONE:
        if state[other, _OPEN] == 1:
            state[other, _OPEN] = 0
            restart_numbers(own, bearer, state, seen)
        if narrow and state[own, _STARTED] == 1 and state[own, _RELEASED] == 0:
            state[own, _AGAIN] += 1
            forget_numbers(own, state, seen)
    elif kind != _OTHER and state[own, _EPOCH] == state[bearer, _RESETS]:
        state[own, _WAS_ACTIVE], state[own, _BEGAN] = 1, 0
        if state[own, _OPEN] == 1:
            state[own, _OPEN] = 0
            restart_numbers(other, bearer, state, seen)


@kernel
def unwrap(sn: int, size: int, narrow: bool, sent: bool, state: Any, seen: Any) -> int:
    """`sn` unwrapped: the next new number, or one sent before.

    `state` and `seen` are the rows of one direction in one log.
    """
    following, first = state[_NEXT], state[_FIRST]
    if not narrow:
        return nearest(following, sn, size)
    expected = following if sent else state[_EXPECTED]
    value = expected + (sn - expected) % size
    far = value > following + size // 2
    if sent and value != following and seen[sn] >= 0:
        # 24.022 5.2.1: at most 61 of 62 numbers are open, so the next new one cannot be a repeat.
        return value - size
    if not sent and far and seen[sn] == value - size:
        # Far ahead of all numbers received, and received one modulus earlier: a retransmission.
        return value - size
    if far and value - size < first:
        # Numbers are not skipped at a log's start: the frame is from before the log's first.
        return value - size
    return value


@kernel
def number_rows(
    rows: Any, frames: FrameColumns, resets: LoneResets, numbers: LinkNumbers, log: LogState, made: Numbered
) -> None:
    """Number the frames `rows` of one log, in order of record."""
    state, seen, reverse = log.links, log.seen, numbers.reverse
    event = 0
    for row in rows:
        while event < len(resets.record) and resets.record[event] < frames.record[row]:
            end = resets.link[event]
            bearer = min(end, reverse[end])
            count_reset(end, reverse[end], state)
            restart_numbers(end, bearer, state, seen)
            restart_numbers(reverse[end], bearer, state, seen)
            event += 1
        own = frames.link[row]
        if own < 0:
            continue
        follow_reset(frames.code[row], own, reverse[own], numbers.narrow[own], state, seen)
        made.epoch[row] = state[own, _EPOCH] + state[own, _AGAIN]
        # A number too large for its field is a damaged record: it would be outside `seen`.
        if frames.code[row] == _DATA and 0 <= frames.sn[row] < numbers.modulus[own]:
            number_frame(row, own, frames, numbers, log, made)


@inlined
def number_frame(row: int, own: int, frames: FrameColumns, numbers: LinkNumbers, log: LogState, made: Numbered) -> None:
    """Number a frame of user data of link `own`."""
    state, seen, sn = log.links[own], log.seen, frames.sn[row]
    size, narrow, place = numbers.modulus[own], numbers.narrow[own], 2 * own + (1 if frames.sent[row] else 0)
    if state[_STARTED] == 0:
        state[_STARTED] = 1
        # A log may begin in the middle of a session; after a reset numbers begin at 0.
        state[_FIRST] = sn if state[_EPOCH] + state[_AGAIN] == 0 else 0
        state[_NEXT] = state[_EXPECTED] = state[_FIRST]
    value = unwrap(sn, size, narrow, frames.sent[row], state, seen[place])
    if value < 0:
        return
    made.sn_unwrapped[row] = value
    state[_NEXT] = max(state[_NEXT], value + 1)
    if seen[place, sn] != value:
        seen[place, sn] = value
        log.top[place, sn] = 0
        log.times[place, sn] = 0
    while narrow and seen[place, state[_EXPECTED] % size] == state[_EXPECTED]:
        state[_EXPECTED] += 1
    count_transmission(row, place, value >= state[_FIRST], frames, log, made)


@inlined
def count_transmission(row: int, place: int, known: bool, frames: FrameColumns, log: LogState, made: Numbered) -> None:
    """Note how often a frame's octets had been sent before; `known`: its first transmission is in the log."""
    sn, so, payload = frames.sn[row], frames.so[row], frames.payload_bytes[row]
    first = max(so, np.int64(0))
    if frames.sent[row]:
        if first < log.top[place, sn]:
            log.times[place, sn] += 1
            made.transmission[row] = min(log.times[place, sn], np.int64(32767))
        elif known:
            made.transmission[row] = 0
    end = first + payload if so >= 0 and payload >= 0 else _WHOLE
    log.top[place, sn] = max(log.top[place, sn], end)

"""Frames by themselves: which number each one really has, which were repeats, which reset came before.

Numbers on the air count modulo the width of their field. At the sending end a number is a repeat
unless it is the next new one; at the receiving end it is the one nearest to what is expected.

A reset concerns one bearer. Each direction of it counts anew from where its own sender takes part:
what was still in flight towards the end that began the reset belongs to the numbers before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.compute.kernels import kernel
from multitracer.model.schema import FRAME_TYPES
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

MODULI = {
    "rlp": (rlp.MODULUS,),
    "rlc-umts": (4096,),  # 25.322 9.2.2.3
    "rlc-lte": (1024, 65536),  # 36.322 6.2.3.3
    "rlc-nr": (4096, 262144),  # 38.322 6.2.3.3
}
LARGEST_NUMBER = max(max(sizes) for sizes in MODULI.values()) - 1
DATA_TYPES = ("I RR", "I RNR", "I REJ", "I SREJ", "AMD")
RESET_TYPES = ("SABM", "RESET")
RESET_DONE_TYPES = ("UA", "RESET_ACK")
RELEASE_TYPES = ("DISC", "DM")
SPEAKING_TYPES = (*DATA_TYPES, "RR", "RNR", "REJ", "SREJ", "STATUS")
"""Frames that only an end of a connected link sends, and only while it is not resetting it."""

BESIDE_NS = 80_000_000
"""An EVENT this close to a frame that says the same is no second event: the longest TTI (25.302 7.1)."""

_OTHER, _DATA, _RESET, _DONE, _SPEAKS, _RELEASE = range(6)
_WHOLE = np.int64(1) << 40

# One direction's state, as one log shows it; resets are counted at the lower link of a bearer.
_NEXT, _EXPECTED, _FIRST, _STARTED, _EPOCH, _OPEN, _BEGAN, _SPOKE, _RESETS = range(9)
_STATES = 9


def numbered(frames: pd.DataFrame, links: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """The frames with `sn_unwrapped`, `epoch` and `transmission`, found log by log.

    `transmission` counts how often a frame's octets had been sent before, by the sending end's log;
    at the receiving end it stays null: what was lost on the way does not show there. A frame from
    before all that its log has stays without a number.
    """
    if not len(frames):
        return frames
    code = codes(frames)
    unwrapped = np.full(len(frames), -1, dtype=np.int64)
    epoch = np.full(len(frames), -1, dtype=np.int32)
    transmission = np.full(len(frames), -1, dtype=np.int16)
    modulus = np.array([modulus_of(frames, links, int(link)) for link in links["link"]], dtype=np.int64)
    narrow = (links["protocol"] == "rlp").to_numpy()
    own, other = links["link"].to_numpy().astype(np.int64), links["reverse"].to_numpy().astype(np.int64)
    other = np.where(other < 0, own, other)
    names = ("input", "record", "link", "sent", "sn", "so", "payload_bytes")
    columns = {name: frames[name].to_numpy() for name in names}
    alone = events[lone_resets(frames, events, links)].sort_values("record", kind="stable")
    largest = int(modulus.max())
    for log in np.unique(columns["input"]):
        rows = np.flatnonzero(columns["input"] == log)
        rows = rows[np.argsort(columns["record"][rows], kind="stable")]
        here = alone[alone["input"] == log]
        state = np.zeros((len(links), _STATES), dtype=np.int64)
        # Only RLP is set up by what also resets it; an RLC entity is there before its first frame.
        state[:, _SPOKE] = ~narrow
        number_rows(
            rows, code, columns["record"], columns["link"].astype(np.int64), columns["sent"], columns["sn"],
            columns["so"], columns["payload_bytes"].astype(np.int64), here["record"].to_numpy(),
            here["link"].to_numpy().astype(np.int64), modulus, narrow, other, state,
            np.full((2 * len(links), largest), -1, dtype=np.int64),
            np.zeros((2 * len(links), largest), dtype=np.int64),
            np.zeros((2 * len(links), largest), dtype=np.int64), unwrapped, epoch, transmission,
        )  # fmt: skip
    return with_columns(frames, sn_unwrapped=unwrapped, epoch=epoch, transmission=transmission)


def codes(frames: pd.DataFrame) -> Any:
    """Per frame, what it means for numbering: data, part of a reset, a sign of life, or nothing."""
    meaning = dict.fromkeys(SPEAKING_TYPES, _SPEAKS) | dict.fromkeys(DATA_TYPES, _DATA)
    meaning |= dict.fromkeys(RESET_TYPES, _RESET) | dict.fromkeys(RESET_DONE_TYPES, _DONE)
    meaning |= dict.fromkeys(RELEASE_TYPES, _RELEASE)
    return np.array([meaning.get(kind, _OTHER) for kind in FRAME_TYPES])[frames["type"].cat.codes.to_numpy()]


def lone_resets(frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame) -> Any:
    """Which events are a reset that no frame beside them tells, log by log; a mask over `events`."""
    alone = np.array((events["event"] == "reset") & (events["link"] >= 0), dtype=np.bool_)
    resets = frames[frames["type"].isin((*RESET_TYPES, *RESET_DONE_TYPES))]
    bearer = np.maximum(links["link"].to_numpy(), links["reverse"].to_numpy())
    reset_at, reset_log = resets["time_ns"].to_numpy(), resets["input"].to_numpy()
    reset_bearer = bearer[resets["link"].to_numpy()]
    at, log, of = (events[name].to_numpy() for name in ("time_ns", "input", "link"))
    for place in np.flatnonzero(alone):
        same = (reset_log == log[place]) & (reset_bearer == bearer[of[place]])
        alone[place] = not (same & (np.abs(reset_at - at[place]) <= BESIDE_NS)).any()
    return alone


def modulus_of(frames: pd.DataFrame, links: pd.DataFrame, link: int) -> int:
    """What a link's numbers count modulo: the narrowest field that holds all those seen."""
    own = frames["link"].to_numpy() == link
    largest = int(frames["sn"].to_numpy()[own].max(initial=0))
    moduli = MODULI[str(links["protocol"].iloc[link])]
    return next((modulus for modulus in moduli if largest < modulus), moduli[-1])


@kernel
def nearest(expected: int, sn: int, size: int) -> int:
    """The number that `sn` stands for, nearest to the one expected."""
    ahead = (sn - expected) % size
    return expected + (ahead - size if ahead >= size // 2 else ahead)


@kernel
def take_part(end: int, bearer: int, state: Any, seen: Any) -> None:
    """The sender of a direction counts anew from here on."""
    if state[end, _EPOCH] != state[bearer, _RESETS]:
        state[end, _EPOCH] = state[bearer, _RESETS]
        state[end, _STARTED] = 0
        seen[2 * end, :] = -1
        seen[2 * end + 1, :] = -1


@kernel
def note(kind: int, own: int, other: int, state: Any, seen: Any) -> None:
    """What a frame tells of resets; crossing requests, and repeats of one, are the same reset.

    An end that waits for its answer sends nothing else: a request from one that has not spoken since
    its last is a repeat, whatever the log shows of the answer.
    """
    bearer = min(own, other)
    if kind == _RELEASE:
        state[own, _SPOKE] = state[other, _SPOKE] = 0
        state[own, _OPEN] = state[other, _OPEN] = 0
    elif kind == _RESET:
        spoke = state[own, _SPOKE] == 1 or (state[own, _BEGAN] == 0 and state[other, _SPOKE] == 1)
        if spoke and state[own, _OPEN] == 0 and state[other, _OPEN] == 0:
            state[bearer, _RESETS] += 1
            state[own, _SPOKE] = state[other, _SPOKE] = 0
        state[own, _OPEN] = state[own, _BEGAN] = 1
        take_part(own, bearer, state, seen)
    elif kind == _DONE:
        if state[other, _OPEN] == 1:
            state[other, _OPEN] = 0
            take_part(own, bearer, state, seen)
    elif kind != _OTHER and state[own, _EPOCH] == state[bearer, _RESETS]:
        state[own, _SPOKE], state[own, _BEGAN] = 1, 0
        if state[own, _OPEN] == 1:
            state[own, _OPEN] = 0
            take_part(other, bearer, state, seen)


@kernel
def place_number(sn: int, size: int, narrow: bool, sent: bool, state: Any, seen: Any) -> int:
    """The number that `sn` stands for: the next new one, or one that was open already.

    `state` and `seen` are of one direction in one log.
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
        # Far ahead of all that came, and seen a round before: the sender went back to it.
        return value - size
    if far and value - size < first:
        # Nothing was skipped at the very beginning: it is from before the log's first frame.
        return value - size
    return value


@kernel
def number_rows(
    rows: Any, code: Any, record: Any, link: Any, sent: Any, sn: Any, so: Any, payload: Any, resets: Any,
    reset_link: Any, modulus: Any, narrow: Any, other: Any, state: Any, seen: Any, top: Any, times: Any,
    unwrapped: Any, epoch: Any, transmission: Any,
) -> None:  # fmt: skip
    """Number one log's frames; `seen`, `top` and `times` are per direction, end and number.

    They hold the last number unwrapped, how many of its octets were sent, and how often.
    """
    event = 0
    for row in rows:
        while event < len(resets) and resets[event] < record[row]:
            end = reset_link[event]
            bearer = min(end, other[end])
            state[bearer, _RESETS] += 1
            take_part(end, bearer, state, seen)
            take_part(other[end], bearer, state, seen)
            state[end, _SPOKE] = state[other[end], _SPOKE] = 0
            event += 1
        own = link[row]
        if own < 0:
            continue
        note(code[row], own, other[own], state, seen)
        epoch[row] = state[own, _EPOCH]
        size, place = modulus[own], 2 * own + (1 if sent[row] else 0)
        # A number that no field holds is damage: it would be outside `seen`.
        if code[row] != _DATA or sn[row] < 0 or sn[row] >= size:
            continue
        if state[own, _STARTED] == 0:
            state[own, _STARTED] = 1
            # A log may begin in the middle; a reset begins at 0.
            state[own, _FIRST] = sn[row] if state[own, _EPOCH] == 0 else 0
            state[own, _NEXT] = state[own, _EXPECTED] = state[own, _FIRST]
        value = place_number(sn[row], size, narrow[own], sent[row], state[own], seen[place])
        if value < 0:
            continue
        unwrapped[row] = value
        state[own, _NEXT] = max(state[own, _NEXT], value + 1)
        if seen[place, sn[row]] != value:
            seen[place, sn[row]] = value
            top[place, sn[row]] = 0
            times[place, sn[row]] = 0
        while narrow[own] and seen[place, state[own, _EXPECTED] % size] == state[own, _EXPECTED]:
            state[own, _EXPECTED] += 1
        first = max(so[row], np.int64(0))
        end_octet = first + payload[row] if so[row] >= 0 and payload[row] >= 0 else _WHOLE
        if sent[row]:
            if first < top[place, sn[row]]:
                times[place, sn[row]] += 1
                transmission[row] = min(times[place, sn[row]], np.int64(32767))
            elif value >= state[own, _FIRST]:
                transmission[row] = 0
        top[place, sn[row]] = max(top[place, sn[row]], end_octet)

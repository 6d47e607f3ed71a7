"""Frames by themselves: which number each one really has, which were repeats, which reset came before.

Numbers on the air count modulo the width of their field. At the sending end a number is a repeat
unless it is the next new one; at the receiving end it is the one nearest to what is expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.kernels import kernel
from multitracer.parsers.wire import rlp
from multitracer.tables import FRAME_TYPES

if TYPE_CHECKING:
    import pandas as pd

MODULI = {
    "rlp": (rlp.MODULUS,),
    "rlc-umts": (4096,),  # 25.322 9.2.2.3
    "rlc-lte": (1024, 65536),  # 36.322 6.2.3.3
    "rlc-nr": (4096, 262144),  # 38.322 6.2.3.3
}
DATA_TYPES = ("I RR", "I RNR", "I REJ", "I SREJ", "AMD")
RESET_TYPES = ("SABM", "RESET")
RESET_DONE_TYPES = ("UA", "RESET_ACK")

_OTHER, _DATA, _RESET = range(3)
_WHOLE = np.int64(1) << 40

# One link's state, as one log shows it.
_NEXT, _EXPECTED, _STARTED = range(3)


def number(frames: pd.DataFrame, links: pd.DataFrame, events: pd.DataFrame) -> None:
    """Fill `sn_unwrapped`, `epoch` and `transmission` of frames, log by log.

    `transmission` counts how often a frame's octets had been sent before, by the sending end's log;
    at the receiving end it stays null: what was lost on the way does not show there.
    """
    if not len(frames):
        return
    code = codes(frames)
    unwrapped = np.full(len(frames), -1, dtype=np.int64)
    epoch = np.full(len(frames), -1, dtype=np.int32)
    transmission = np.full(len(frames), -1, dtype=np.int16)
    modulus = np.array([modulus_of(frames, links, int(link)) for link in links["link"]], dtype=np.int64)
    narrow = (links["protocol"] == "rlp").to_numpy()
    names = ("input", "record", "link", "sent", "sn", "so", "payload_bytes")
    columns = {name: frames[name].to_numpy() for name in names}
    largest = int(modulus.max())
    for log in np.unique(columns["input"]):
        rows = np.flatnonzero(columns["input"] == log)
        rows = rows[np.argsort(columns["record"][rows], kind="stable")]
        resets = np.sort(events["record"].to_numpy()[_resets(events, int(log))])
        number_rows(
            rows, code, columns["record"], columns["link"].astype(np.int64), columns["sent"], columns["sn"],
            columns["so"], columns["payload_bytes"].astype(np.int64), resets, modulus, narrow,
            np.zeros((len(links), 3), dtype=np.int64), np.full((2 * len(links), largest), -1, dtype=np.int64),
            np.zeros((2 * len(links), largest), dtype=np.int64), unwrapped, epoch, transmission,
        )  # fmt: skip
    frames["sn_unwrapped"], frames["epoch"], frames["transmission"] = unwrapped, epoch, transmission


def codes(frames: pd.DataFrame) -> Any:
    """Per frame: data, a reset's beginning, or other."""
    by_type = np.array(
        [_DATA if kind in DATA_TYPES else _RESET if kind in RESET_TYPES else _OTHER for kind in FRAME_TYPES]
    )
    return by_type[frames["type"].cat.codes.to_numpy()]


def _resets(events: pd.DataFrame, log: int) -> Any:
    return (events["input"].to_numpy() == log) & (events["event"] == "reset").to_numpy()


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
def number_rows(
    rows: Any, code: Any, record: Any, link: Any, sent: Any, sn: Any, so: Any, payload: Any, resets: Any,
    modulus: Any, narrow: Any, state: Any, seen: Any, top: Any, unwrapped: Any, epoch: Any, transmission: Any,
) -> None:  # fmt: skip
    """Number one log's frames; `seen` and `top` are per direction and number (last unwrapped, octets sent)."""
    event, resets_so_far, data_since = 0, np.int64(0), True
    times = np.zeros_like(seen)
    for row in rows:
        mark = code[row] == _RESET
        while event < len(resets) and resets[event] < record[row]:
            mark = True
            event += 1
        if mark and data_since:
            # What follows within one exchange (a crossing SABM, a repeated RESET) is the same reset.
            resets_so_far += 1
            data_since = False
            state[:, _STARTED] = 0
            seen[:, :] = -1
        epoch[row] = resets_so_far
        if code[row] != _DATA or sn[row] < 0:
            continue
        data_since = True
        own = link[row]
        size, place = modulus[own], 2 * own + (1 if sent[row] else 0)
        if state[own, _STARTED] == 0:
            state[own, _STARTED] = 1
            # A log may begin in the middle; a reset begins at 0.
            state[own, _NEXT] = state[own, _EXPECTED] = sn[row] if resets_so_far == 0 else 0
        if not narrow[own]:
            value = nearest(state[own, _NEXT], sn[row], size)
        elif sent[row]:
            value = state[own, _NEXT] + (sn[row] - state[own, _NEXT]) % size
            # 24.022 5.2.1: at most 61 of 62 numbers are open, so the next new one cannot be a repeat.
            if value != state[own, _NEXT] and seen[place, sn[row]] >= 0:
                value -= size
        else:
            value = state[own, _EXPECTED] + (sn[row] - state[own, _EXPECTED]) % size
            # Far ahead of all that came, and seen a round before: the sender went back to it.
            if value > state[own, _NEXT] + size // 2 and seen[place, sn[row]] == value - size:
                value -= size
        unwrapped[row] = value
        state[own, _NEXT] = max(state[own, _NEXT], value + 1)
        if seen[place, sn[row]] != value:
            seen[place, sn[row]] = value
            top[place, sn[row]] = 0
            times[place, sn[row]] = 0
        while narrow[own] and seen[place, state[own, _EXPECTED] % size] == state[own, _EXPECTED]:
            state[own, _EXPECTED] += 1
        first = max(so[row], np.int64(0))
        end = first + payload[row] if so[row] >= 0 and payload[row] >= 0 else _WHOLE
        if sent[row]:
            if first < top[place, sn[row]]:
                times[place, sn[row]] += 1
                transmission[row] = min(times[place, sn[row]], np.int64(32767))
            else:
                transmission[row] = 0
        top[place, sn[row]] = max(top[place, sn[row]], end)

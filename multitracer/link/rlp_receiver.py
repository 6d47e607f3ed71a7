"""What an RLP entity took in of the frames that its log received, and under which number (3GPP TS 24.022 5).

N(S) counts modulo 62 in a window of 61, so a frame that comes again after the window has moved on is a new one to the
receiver: it delivers old characters in the place of new ones, and drops the frame that had the new ones. Each frame
that an entity sends says in N(R) where its window begins. Where that says otherwise than what is followed here, or is
said too rarely, nothing is told; nor of a link that negotiated (XID), as in a smaller window old frames are known.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import ASKING_TYPES
from multitracer.wire import rlp

if TYPE_CHECKING:
    import pandas as pd

Ints = npt.NDArray[np.int64]

OFTEN = 0.9
"""At least as many frames with N(R) there have to be for each that was delivered: RLP sends one in each slot."""


MOST_BEFORE = 8
"""Frames that may come before the first N(R): of more it is not known which of them were old ones."""


class Taken(NamedTuple):
    """The frames whose characters an entity delivered, in that order; shape (frames,)."""

    rows: Ints
    numbers: Ints
    """By the receiver's count, from each reset on."""


def frames_taken(frames: pd.DataFrame, received: Ints, reverse: int) -> Taken | None:
    """The frames that the entity with this log delivered; None where its N(R)s do not bear out what is followed.

    `received` are rows of the frames table of one direction, all from one log; the entity sends on the link `reverse`.
    """
    own = np.isin(frames["input"].to_numpy(), frames["input"].to_numpy()[received])
    sent = np.flatnonzero(own & frames["sent"].to_numpy() & (frames["link"] == reverse).to_numpy())
    rows = np.concatenate([received, sent])
    rows = rows[np.argsort(frames["record"].to_numpy()[rows], kind="stable")]
    names = ("type", "sn", "nr", "poll", "command", "sent")
    columns = [frames[name].to_numpy()[rows].tolist() for name in names]
    kinds = set(frames["type"].iloc[rows].astype(str).unique().tolist())
    asks = set(frames["type"].iloc[sent].astype(str).unique().tolist())
    if "XID" in kinds or frames["input"].iloc[received].nunique() != 1:
        return None
    entity = _Receiver(buffers=asks.isdisjoint(("REJ", "I REJ")))
    for row, kind, sn, nr, poll, command, is_sent in zip(rows.tolist(), *columns, strict=True):
        if is_sent:
            if not entity.sends(str(kind), nr):
                return None
        else:
            entity.receives(row, str(kind), sn, poll == 1, command == 1)
    if entity.told < OFTEN * len(entity.delivered):  # between two N(R)s a wrong step could go unseen
        return None
    rows_taken, numbers = zip(*entity.delivered, strict=True) if entity.delivered else ((), ())
    return Taken(np.array(rows_taken, dtype=np.int64), np.array(numbers, dtype=np.int64))


def as_taken(frames: pd.DataFrame, heard: Taken) -> pd.DataFrame:
    """The frames with the numbers that the receiver counted, and the times at which it delivered them in sequence."""
    numbers, times = (frames[name].to_numpy().copy() for name in ("sn_unwrapped", "time_ns"))
    numbers[heard.rows] = heard.numbers
    times[heard.rows] = np.maximum.accumulate(times[heard.rows])
    return frames.assign(sn_unwrapped=numbers, time_ns=times)


class _Receiver:
    """The receiving side of an entity."""

    def __init__(self, *, buffers: bool) -> None:
        self.buffers = buffers
        """Whether what comes out of sequence is kept: not by an entity that asks by REJ for all from a number on."""
        self.delivered: list[tuple[int, int]] = []
        """(Row, number) of each frame."""
        self.expected, self.known = 0, False
        """Where the window begins; not known before the log's first frame that tells."""
        self.first: list[tuple[int, int]] | None = []
        """(Row, N(S)) of what came before the first N(R), from which alone it is told; None afterwards."""
        self.waiting: dict[int, int] = {}
        """The rows of frames out of sequence, by number."""
        self.resetting = False
        self.told = 0
        """How many frames of its own said where the window begins, or what is missing in it."""
        self.held: deque[int] = deque()
        """Where the window began one after the other, modulo 62, from the last that a frame sent told."""

    def begin(self, number: int) -> None:
        """The window begins here from now on."""
        self.expected, self.known = number, True
        self.held.append(number % rlp.MODULUS)

    def restart(self) -> None:
        """A reset: numbers begin at zero."""
        self.begin(0)
        self.waiting.clear()
        self.first = None

    def sends(self, kind: str, nr: int) -> bool:
        """A frame of its own; whether its N(R) is where the window began when it was made, which may be long before."""
        if kind == "SABM":
            self.resetting = True
            self.restart()
        self.told += kind in _ACKNOWLEDGING or kind in ASKING_TYPES
        if kind not in _ACKNOWLEDGING:
            return True
        if self.first is not None and len(self.first) > MOST_BEFORE:
            return False
        if not self.known or (self.first is not None and nr not in self.held):
            self.begin_anew(nr)
        self.first = None
        while self.held and self.held[0] != nr:
            self.held.popleft()
        return bool(self.held)

    def begin_anew(self, number: int) -> None:
        """The window began here when the log did: the first frame that came was not the next in sequence."""
        came, self.first = self.first or [], None
        for kept in (self.waiting, self.delivered, self.held):
            kept.clear()
        self.begin(number)
        for row, sn in came:
            self.take(row, sn)

    def receives(self, row: int, kind: str, sn: int, poll: bool, command: bool) -> None:
        """A frame of the other end."""
        if kind in ("SABM", "UA"):
            if kind == "SABM" or self.resetting:
                self.resetting = False
                self.restart()
        elif self.resetting:
            return
        elif not kind.startswith("I "):
            if poll and command:  # the other end will go back to N(R)
                self.waiting.clear()
        elif not (poll and command):  # 24.022 5.3: such an I+S command is ignored
            self.take(row, sn)

    def take(self, row: int, sn: int) -> None:
        """An information frame."""
        if self.first is not None:
            self.first.append((row, sn))
        if not self.known:
            self.begin(sn)
        number = self.expected + (sn - self.expected) % rlp.MODULUS
        if number - self.expected >= rlp.LARGEST_WINDOW or (number > self.expected and not self.buffers):
            return
        self.waiting.setdefault(number, row)
        if number > self.expected:
            return
        while self.expected in self.waiting:
            self.delivered.append((self.waiting.pop(self.expected), self.expected))
            self.expected += 1
        self.begin(self.expected)


_ACKNOWLEDGING = ("RR", "RNR", "REJ", "I RR", "I RNR", "I REJ")
"""Frames whose N(R) is the next number expected."""

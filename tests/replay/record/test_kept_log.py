"""The log of a link that is kept part by part, and given back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from multitracer.replay.arq import notes
from multitracer.replay.arq.fields import table
from multitracer.replay.arq.notes import Log
from multitracer.replay.arq.rlc.frames import FRAME
from multitracer.replay.arq.rlp.state import FRAME as RLP_FRAME
from multitracer.replay.record import kept_log
from multitracer.replay.record.kept_log import KeptLog


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and parts whose ends fall among the rows of these tests."""
    monkeypatch.setattr(kept_log, "CHUNK", 16)
    monkeypatch.setattr(kept_log, "PART_ROWS", 7)


def logged(dtype: Any, seed: int = 1) -> Log:
    """Rows of any events, and a frame beside each, with some of its octets where it has any."""
    draw = np.random.default_rng(seed)
    rows, frames = table(100, notes.ROW), table(100, dtype)
    for name in notes.ROW.names:
        rows[name] = draw.integers(0, 9, len(rows))
    for name in dtype.names:
        frames[name] = draw.integers(1, 200, frames[name].shape)
    return Log(None, rows, frames)


def kept(log: Log, *, frames: bool = True) -> KeptLog:
    """That log, kept in parts of several lengths, one of them without rows."""
    found, ends = KeptLog(frames=frames), [0, 1, 1, 40, 100]
    for first, end in pairwise(ends):
        found.append(Log(None, log.rows[first:end], log.frames[first:end]))
    return found


def test_all_rows_are_given_back_in_order() -> None:
    """At once, and in parts of a number of rows."""
    log, found = logged(RLP_FRAME), kept(logged(RLP_FRAME), frames=False)
    assert found.rows().tolist() == log.rows.tolist()
    parts = [part.rows.tolist() for part in found.parts()]
    assert [row for part in parts for row in part] == log.rows.tolist()
    assert [len(part) for part in parts] == [7] * 14 + [2]


def test_frames_without_octets_are_kept_beside_all_rows() -> None:
    """RLP's log says by the header of what came whose reset it was."""
    log = logged(RLP_FRAME)
    assert [frame for part in kept(log).parts() for frame in part.frames.tolist()] == log.frames.tolist()


def test_frames_that_were_sent_keep_their_numbers_and_octets() -> None:
    """Those that each has, and no octet of a neighbour's; at an arrival there is no frame."""
    log, place = logged(FRAME), 0
    for part in kept(log).parts():
        for row, frame in zip(part.rows, part.frames, strict=True):
            own, sent = log.frames[place], row.event == notes.SENT
            assert [frame[name] for name in FRAME.names[:-1]] == [own[name] * sent for name in FRAME.names[:-1]]
            assert frame.octets[: frame.kept].tolist() == own.octets[: frame.kept].tolist()
            assert not frame.octets[frame.kept :].any()
            place += 1
    assert place == len(log.rows)


def test_a_frame_takes_the_room_of_its_own_octets(monkeypatch: pytest.MonkeyPatch) -> None:
    """And some 200 octets beside, where the engine's log has room for the longest."""
    monkeypatch.setattr(kept_log, "CHUNK", 1 << 10)
    log, found = logged(FRAME), KeptLog(frames=True)
    log.rows["event"] = np.where(np.arange(100) % 2, notes.RECEIVED, notes.SENT)
    for _ in range(100):
        found.append(log)
    tables = [found._rows, found._frames._heads, found._frames._octets]  # type: ignore[union-attr]
    octets, frames = int(log.frames["kept"][::2].sum()) * 100, 50 * 100
    assert sum(each.whole().nbytes for each in tables) <= octets + 200 * frames

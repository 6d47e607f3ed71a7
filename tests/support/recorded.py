"""What tests of recorded runs share: losses to run over, and what was recorded as tables."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multitracer.parsers.shared.experiment import read
from multitracer.replay.erasures import loading
from multitracer.replay.erasures.trace import ErasureTrace

SLOTS, OUTAGE = 700, range(300, 480)
COLUMNS = ["time_ns", "type", "sn", "nr", "poll", "command", "length_bytes", "payload_bytes", "l2r", "data"]
"""Columns of RLP frames that a log and a capture have both."""


def losses(seed: int, slots: int = SLOTS) -> np.ndarray:
    """One in twenty, but none of the first, and all of an outage."""
    lost = np.random.default_rng(seed).random(slots) < 0.05
    lost[:5] = False
    lost[OUTAGE.start : OUTAGE.stop] = True
    return lost.astype(np.uint8)


def frames_in(path: Path) -> pd.DataFrame:
    """The frames that a file holds, all of it read."""
    trace = read(str(path))
    assert not trace.inputs[0].recording.skips
    return trace.tables["frames"]


def rows(table: pd.DataFrame, columns: list[str]) -> list[list[Any]]:
    """Some columns as plain rows; reports carry no user data, whether a reader says 0 octets or nothing."""
    table = table.assign(payload_bytes=table["payload_bytes"].where(table["length_bytes"] >= 0, 0))
    return table[columns].astype({"type": str}).to_numpy().tolist()


def traces_in(folder: Path, to: Path) -> dict[str, ErasureTrace]:
    """The erasure traces that the logs alone tell, by who sent the blocks."""
    shutil.copytree(folder, to / "logs", ignore=shutil.ignore_patterns("erasures.*"))
    return {trace.name.split(" by ")[1]: trace for trace in loading.load(str(to / "logs"))}

"""Analyses of the labelled recordings, each made once from a folder that holds no truth, and the truth beside."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
from shared_data import instruments, shared

from multitracer import Analysis, analyze

BOTH_LAYERS = (
    "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip


@cache
def analysed(folder: str, *left_out: str) -> Analysis:
    """The analysis of all recordings of a folder but those left out (by the beginning of their names)."""
    source = shared("linux", folder)
    names = [file.name for file in source.iterdir()]
    left_out_names = tuple(name for name in names if name.startswith(left_out)) if left_out else ()
    with tempfile.TemporaryDirectory() as directory:
        copy = instruments(source, Path(directory), leave_out=left_out_names)
        return analyze(sorted(map(str, copy.iterdir())))


def truth(folder: str, name: str) -> pd.DataFrame:
    """A table of the truth of a folder."""
    return pd.read_csv(shared("linux", folder, name))

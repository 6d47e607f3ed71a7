"""Analyses of the labelled recordings, made once in a run, from folders without truth files; and the truth tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
from made_once import made_once
from shared_data import instruments, shared

from multitracer import Analysis, analyze

BOTH_LAYERS = (
    "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset", "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip


@made_once
def analysed(folder: str, *left_out: str) -> Analysis:
    """The analysis of all recordings of a folder except those whose names begin with one of `left_out`.

    A folder is named within linux/, or with its own parent (stacks/paws).
    """
    source = labelled(folder)
    names = [file.name for file in source.iterdir()]
    left_out_names = tuple(name for name in names if name.startswith(left_out)) if left_out else ()
    with tempfile.TemporaryDirectory() as directory:
        copy = instruments(source, Path(directory), leave_out=left_out_names)
        return analyze(sorted(map(str, copy.iterdir())))


def truth(folder: str, name: str) -> pd.DataFrame:
    """One of a folder's truth tables."""
    return pd.read_csv(labelled(folder) / name)


def labelled(folder: str) -> Path:
    """Where a folder is."""
    return shared(*(folder if "/" in folder else f"linux/{folder}").split("/"))

"""What a campaign keeps of each experiment, in the experiment's own result directory.

.multitracer/experiment.json   the row of compare.json, the findings, what was skipped and said, and of what inputs,
                               options and version this is the result (a hash, so that no name is in it)
.multitracer/lines.npz         what is drawn of it: the arrays SERIES/x and SERIES/y, as NumPy writes them
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from multitracer.export.result_directory import OURS
from multitracer.report.comparison import Experiment
from multitracer.report.panel_data import Source

RECORD, LINES = "experiment.json", "lines.npz"
LAYOUT = 6
"""Another number with whatever changes in what is kept: a result with an older one is made anew."""


@dataclass(frozen=True)
class Kept:
    """An experiment of a campaign: its row in compare.json, and what the campaign says of it beside."""

    row: dict[str, Any]
    key: str = ""
    """A hash of all that the result depends on; "" where it cannot be known."""
    skipped: dict[str, int] = field(default_factory=dict)
    """The number of skipped records by path."""
    said: list[str] = field(default_factory=list)
    """What was said on stderr while it was analysed."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """As comparison.Experiment has them."""
    left_out: int = 0
    """How many findings it has beside these."""


def save(kept: Kept, lines: Mapping[str, Source], directory: Path) -> None:
    """Write what is kept to a folder of results."""
    folder = directory / OURS
    folder.mkdir()
    (folder / RECORD).write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="ascii")
    arrays = {f"{series}/{name}": values for series, source in lines.items() for name, values in source.items()}
    with (folder / LINES).open("wb") as file:
        np.savez(file, **arrays)


def load(directory: Path) -> Kept | None:
    """What was kept of an experiment; None where there is nothing."""
    try:
        return Kept(**json.loads((directory / OURS / RECORD).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def experiment(kept: Kept, directory: Path) -> Experiment:
    """The experiment for the comparison; its lines are read when they are drawn."""
    lines = {} if kept.row["error"] else Lines(directory / OURS / LINES)
    return Experiment(kept.row, lines, kept.findings, kept.left_out)


class Lines(Mapping[str, Source]):
    """The lines that are drawn of an experiment, by series, read from the file each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, series: str) -> Source:
        with self._path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[f"{series}/{name}"] for name in self._names[series]}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names of each series' arrays."""
        found: dict[str, list[str]] = {}
        with self._path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            for key in arrays.files:
                series, _, name = key.partition("/")
                found.setdefault(series, []).append(name)
        return found

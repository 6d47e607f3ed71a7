"""Values that take long to make, such as analyses: made once in a run of tests, or twice where two need one at once.

What one process of `-n` has made, another loads; in a run without `-n` they are only kept in memory.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

_FOLDER = "MULTITRACER_TESTS_MADE"
"""The variable by which the processes of `-n` learn of their folder."""
Made = TypeVar("Made")


def begin() -> None:
    """Make the folder that the processes of a run share; before they are started."""
    os.environ[_FOLDER] = tempfile.mkdtemp(prefix="multitracer-made-")


def end() -> None:
    """Remove it; nothing is done where there is none."""
    if folder := os.environ.pop(_FOLDER, None):
        shutil.rmtree(folder, ignore_errors=True)


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Keep what a function gives for each set of arguments; these are told apart by how they are written."""

    @cache
    @wraps(make)
    def kept(*arguments: object) -> Made:
        folder = os.environ.get(_FOLDER)
        if folder is None:
            return make(*arguments)
        place = Path(folder, sha256(repr((make.__module__, make.__qualname__, arguments)).encode()).hexdigest())
        if place.exists():
            loaded: Made = pickle.loads(place.read_bytes())
            return loaded
        made = make(*arguments)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            pickle.dump(made, file)
        Path(file.name).replace(place)  # whole or not there, as both may write it
        return made

    return kept

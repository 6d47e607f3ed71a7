"""What a report of some inputs is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOST_NAMES = 3


def title(inputs: Sequence[dict[str, Any]]) -> str:
    """The names of the first inputs of the summary that were read; of inputs that were not, where none was."""
    read = [one for one in inputs if one["format"] != "unknown"] or inputs
    names = ", ".join(Path(one["path"]).name for one in read[:MOST_NAMES])
    more = len(read) - MOST_NAMES
    return "MultiTracer: " + (f"{names} and {more} more" if more > 0 else names or "report")

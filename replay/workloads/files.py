"""Sizes of files that are transferred one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np


def sizes(uniform: Any, least: int, most: int) -> Any:
    """Sizes from `least` to `most` octets, log-uniform, from uniform numbers; int64."""
    drawn = np.rint(least * (most / least) ** np.asarray(uniform)).astype(np.int64)
    return np.clip(drawn, least, most)

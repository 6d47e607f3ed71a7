"""Chains: doubly linked lists within a table, which a row can leave from the middle at a constant cost.

The rows have the fields `previous` and `next`. Chain k is headed by the row `places + k` after all places; a
place is in at most one chain of its table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.compute.kernels import kernel
from multitracer.replay.arq.fields import table


def chained(places: int, chains: int, dtype: Any) -> Any:
    """A table of zeros with `places` places and `chains` empty chains; `dtype` has the fields `previous` and `next`."""
    rows = table(places + chains, dtype)
    rows["previous"] = rows["next"] = np.arange(places + chains)
    return rows


@kernel
def append(rows: Any, chain: int, place: int) -> None:
    """Put `place`, which is in no chain, at the end of one."""
    last = rows[chain].previous
    rows[last].next = place
    rows[place].previous = last
    rows[place].next = chain
    rows[chain].previous = place


@kernel
def remove(rows: Any, place: int) -> None:
    """Take `place` out of the chain it is in, if any."""
    before, after = rows[place].previous, rows[place].next
    rows[before].next = after
    rows[after].previous = before
    rows[place].previous = place
    rows[place].next = place

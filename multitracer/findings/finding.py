"""One finding: a row of the findings table, and what it is about."""

from __future__ import annotations

from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One finding; `evidence` holds numbers and record references."""

    kind: str
    layer: str
    connection: int
    start_ns: int
    end_ns: int
    verdict: str
    because: str
    evidence: dict[str, Any]
    segments: Any = ()
    """Rows of `segments` that it is about: those lost, dropped, flushed or sent again; not in the table."""
    resends: Any = ()
    """Rows of `retransmissions` that it is about; not in the table."""
    bearer: int = -1
    """The lower number of the link's two directions that it is about; not in the table."""


COLUMNS = Finding._fields[:8]
"""The fields that are columns of the findings table."""

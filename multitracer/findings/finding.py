"""One finding: a row of the findings table."""

from __future__ import annotations

from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One row of the findings table; `evidence` holds numbers and record references."""

    kind: str
    layer: str
    connection: int
    start_ns: int
    end_ns: int
    verdict: str
    because: str
    evidence: dict[str, Any]

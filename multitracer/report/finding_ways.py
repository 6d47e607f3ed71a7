"""Which direction of its connection each finding is about."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from multitracer.model.analysis import Analysis

_ENDS = ("client", "server")


class FindingWays:
    """0 of a finding about what the data's sender sent, 1 of one about the other end, None where it tells neither.

    A finding names an end as its sender, or records with the data of one.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def of(self, finding: dict[str, Any]) -> int | None:
        """The way of a finding of the summary."""
        number = finding["connection"]
        if number is None:
            return None
        evidence = finding["evidence"]
        senders = self._named(number, evidence.get("sender")) or self._recorded(number, evidence.get("records") or ())
        return int(senders.pop() != self.analysis.ends.main[number]) if len(senders) == 1 else None

    def _named(self, number: int, sender: str | None) -> set[int]:
        """The end that is called so, or has this address and port."""
        addresses = self.analysis.connections
        return {end for end, name in enumerate(_ENDS) if sender in (name, addresses[name].iat[number])}

    def _recorded(self, number: int, records: Any) -> set[int]:
        """The ends of a connection whose data is in some records."""
        known, connection, sender = self._data
        keys = np.array([_key(one["input"], one["record"]) for one in records], dtype=np.int64)
        rows = np.searchsorted(known, keys)
        rows = rows[known[np.minimum(rows, len(known) - 1)] == keys] if len(known) else rows[:0]
        return set(sender[rows[connection[rows] == number]].tolist())

    @cached_property
    def _data(self) -> tuple[Any, Any, Any]:
        """Of every segment with data, in the order of the first: the key of its record, its connection and sender."""
        segments = self.analysis.tables["segments"]
        own = segments[(segments["payload_bytes"] > 0).to_numpy()]
        number, record, connection, sender = (
            own[name].to_numpy().astype(np.int64) for name in ("input", "record", "connection", "sender")
        )
        order = np.argsort(_key(number, record), kind="stable")
        return _key(number, record)[order], connection[order], sender[order]


def _key(number: Any, record: Any) -> Any:
    return (number << 48) + record

"""The arrays in which one direction after the other is looked at, so that each needs none of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.accounting.limit_shares import CURRENT, Ledger
from multitracer.accounting.path_rate import BINS, BLOCK, MOST_PIECES, PIECE_FIELDS, Rates
from multitracer.accounting.sending_state import BATCH, FIELDS, LISTS, Events
from multitracer.accounting.shared_rate import SAMPLE_FIELDS
from multitracer.model.limits import LIMITS


class Room(NamedTuple):
    """Arrays that are used anew for each direction."""

    events: Events
    state: Any
    samples: Any
    histogram: Any
    pieces: Any
    rates: Rates
    changes: Any
    """Of each end whose path had several rates: end, when each began, the octets that show it, and in how many ns."""
    changed: Any
    """The number of rows of `changes`, one element."""
    ledger: Ledger
    pool: Any
    """The samples of the rates of all ends, as `shared_rates` reads them."""
    pooled: Any
    """The number of rows of `pool`, one element."""
    singles: Any
    """Single deliveries of ends whose own do not show their path's rate, as `shared_rates` reads them."""
    singles_noted: Any
    """The number of rows of `singles`, one element."""


def room_for(lengths: Any) -> Room:
    """Arrays for the longest of directions of so many rows each; pages that are never written take no memory."""
    rows = int(lengths.max(initial=0))
    events = Events(
        row=np.empty(rows, dtype=np.int32), sent_ns=np.empty(rows, dtype=np.int64),
        stop=np.empty(rows, dtype=np.int64), wire_bytes=np.empty(rows, dtype=np.int32),
        resend=np.empty(rows, dtype=np.int8), kind=np.empty(rows, dtype=np.int8), firsts=np.empty(rows, dtype=np.int32),
        lost=np.empty(rows, dtype=np.int8),
        delivered_ns=np.empty(rows, dtype=np.int64), delivered_upto=np.empty(rows, dtype=np.int32),
        delivered_row=np.empty(rows, dtype=np.int32), delivered_flag=np.empty(rows, dtype=np.int8),
        trip_ns=np.empty((rows, 2), dtype=np.int64),
        needed=np.empty((rows, 3), dtype=np.int64), waits=np.empty((rows, 4), dtype=np.int64),
        causes=np.empty(rows + 1, dtype=np.int64), spans=np.empty((LISTS, rows + 1, 2), dtype=np.int64),
        counts=np.zeros(LISTS, dtype=np.int64), fetched=np.empty((BATCH, 3), dtype=np.int64),
    )  # fmt: skip
    counts = (FIELDS, BINS, LISTS, len(LIMITS), CURRENT)
    fields, bins, pointers, spent, current = (np.zeros(count, dtype=np.int64) for count in counts)
    kept = np.empty((2 * int(lengths.sum()), 4), dtype=np.int64)
    pieces = np.zeros((MOST_PIECES, PIECE_FIELDS), dtype=np.int64)
    changes = np.empty((int(lengths.sum()) // BLOCK, 4), dtype=np.int64)
    return Room(
        events, fields, np.empty((rows, 4), dtype=np.int64), bins, pieces,
        Rates(np.zeros(MOST_PIECES, dtype=np.int64), np.zeros(MOST_PIECES)), changes, np.zeros(1, dtype=np.int64),
        Ledger(pointers, spent, current, kept), np.empty((int(lengths.sum()), SAMPLE_FIELDS), dtype=np.int64),
        np.zeros(1, dtype=np.int64), np.empty((int(lengths.sum()), SAMPLE_FIELDS), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )  # fmt: skip

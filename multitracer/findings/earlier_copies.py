"""For each retransmission the latest earlier copy of its first octet, at the point beside its sender."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.findings.observations import Observations

NONE = -1


def earlier_copies(observed: Observations) -> Any:
    """Rows of `segments`, int64, one for each row of `retransmissions`; NONE where no earlier copy was captured."""
    segment = observed.retransmission_columns["segment"].astype(np.int64)
    found = np.full(len(segment), NONE, dtype=np.int64)
    known = np.flatnonzero(segment >= 0)
    connection, sender = (observed.column(name)[segment[known]].astype(np.int64) for name in ("connection", "sender"))
    stream = 2 * connection + sender
    for end in np.unique(stream).tolist():
        direction = observed.direction(end // 2, end % 2)
        if direction is not None:
            mine = known[stream == end]
            found[mine] = _in_stream(observed, observed.rows_sent(direction), segment[mine])
    return found


def _in_stream(observed: Observations, sent: Any, resent: Any) -> Any:
    """The copies of `resent` among the rows `sent`, which are in the order sent."""
    payload = observed.column("payload_bytes")[sent]
    sent, payload = sent[payload > 0], payload[payload > 0]
    if not len(sent):
        return np.full(len(resent), NONE, dtype=np.int64)
    seq = observed.column("seq")[sent]
    order = np.argsort(seq, kind="stable")  # of one sequence number, in the order sent
    place_of = np.empty(len(order), dtype=np.int64)
    place_of[order] = np.arange(len(order))
    place = place_of[np.minimum(np.searchsorted(sent, resent), len(sent) - 1)]
    before = place - 1
    same = (place > 0) & (seq[order][np.maximum(before, 0)] == observed.column("seq")[resent])
    found = np.where(same, sent[order][np.maximum(before, 0)], NONE)
    # A resend that begins inside an earlier segment: rare, one by one.
    starts, longest = seq[order], int(payload.max(initial=0))
    for at in np.flatnonzero(~same).tolist():
        first = int(observed.column("seq")[resent[at]])
        low, high = np.searchsorted(starts, [first - longest, first], side="right")
        near = order[low:high]
        near = near[(seq[near] + payload[near] > first) & (sent[near] < resent[at])]
        found[at] = sent[near.max()] if len(near) else NONE
    return found

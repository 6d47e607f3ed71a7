"""After a loss inside the link, a header decompressor rebuilt segments from a stale context.

They carry the sender's checksum but a sequence number too low by what was lost (RFC 1144 4.1). The
receiver discards them silently until a segment with an uncompressed header comes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.directions import Direction
from multitracer.findings.finding import Finding
from multitracer.findings.grouping import groups_without_gap
from multitracer.findings.needs import BOTH_ENDS
from multitracer.findings.observations import Observations

KINDS = ("header-decompression-failure",)
NEEDS = (BOTH_ENDS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each run of segments that arrived with the same shift of sequence numbers."""
    for direction in observed.captured_at_both_ends:
        yield from _in_direction(observed, direction)


def _in_direction(observed: Observations, direction: Direction) -> Iterator[Finding]:
    sent = observed.rows_sent(direction)
    came = observed.rows(direction.connection, direction.receiver_point, direction.sender)
    stray = came[~observed.paired[came] & (observed.column("payload_bytes")[came] > 0)]
    lost = sent[(observed.arrived[sent] != 1) & (observed.column("payload_bytes")[sent] > 0)]
    originals = _originals(observed, stray, lost)
    if not (observed.column("checksum_ok")[sent] == 1).any():
        yield from _of_unknown_origin(observed, direction, stray[originals < 0])
    stray, originals = stray[originals >= 0], originals[originals >= 0]
    if not len(stray):
        return
    shift = observed.column("seq")[originals] - observed.column("seq")[stray]
    for run in groups_without_gap(np.cumsum(np.concatenate([[0], np.diff(shift) != 0])), 0):
        group, offset = stray[run], int(shift[run][0])
        if len(group) < observed.thresholds.decompression_segments or offset <= 0:
            continue
        yield _finding(observed, direction, group, originals[run], offset)


def _of_unknown_origin(observed: Observations, direction: Direction, stray: Any) -> Iterator[Finding]:
    """Damaged arrivals of which the sender's capture, without checksums of its own, cannot tell the originals."""
    damaged, time = stray[observed.column("checksum_ok")[stray] == 0], observed.column("time_ns")
    if len(damaged) >= observed.thresholds.decompression_segments:
        yield Finding(
            "header-decompression-failure", "link", direction.connection, int(time[damaged[0]]),
            int(time[damaged[-1]]), "undecided",
            f"{len(damaged)} segments arrived with wrong checksums: undecided, because checksums were filled in after "
            "the sender's capture, so that none tells which segment it was when it was sent",
            {"count": len(damaged), "records": observed.references(damaged)},
        )  # fmt: skip


def _originals(observed: Observations, stray: Any, lost: Any) -> Any:
    """For each stray arrival the lost segment, in order, with the same checksum field and length; -1 if none."""
    keys = list(zip(*(observed.column(name)[lost].tolist() for name in ("checksum", "payload_bytes")), strict=True))
    places: dict[tuple[int, int], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    found = np.full(len(stray), -1, dtype=np.int64)
    reached = 0
    wanted = zip(*(observed.column(name)[stray].tolist() for name in ("checksum", "payload_bytes")), strict=True)
    for i, key in enumerate(wanted):
        candidates = places.get(key, ())
        at = bisect_left(candidates, reached)
        if at < len(candidates):
            found[i] = lost[candidates[at]]
            reached = candidates[at] + 1
    return found


def _finding(observed: Observations, direction: Direction, group: Any, originals: Any, offset: int) -> Finding:
    time = observed.column("time_ns")
    start, end = int(time[group[0]]), int(time[group[-1]])
    verified = observed.column("checksum_ok")[group]
    acks = observed.rows(direction.connection, direction.receiver_point, 1 - direction.sender)
    answers = int(((time[acks] >= start) & (time[acks] <= end)).sum())
    resets = [begun for _, begun, _, _ in observed.intervals("reset") if begun <= end]
    if (verified == 0).all() and answers == 0:
        verdict, reason = "confirmed", "their checksums are wrong and the receiver answered none of them"
    elif (verified < 0).any():
        verdict = "undecided"
        reason = "undecided, because the capture cuts packets short and checksums cannot be verified"
    else:
        verdict, reason = "undecided", f"undecided, because the receiver sent {answers} packets meanwhile"
    return Finding(
        "header-decompression-failure", "link", direction.connection, start, end, verdict,
        f"{len(group)} segments arrived with the checksum of segments sent but sequence numbers too low by "
        f"{offset} bytes: {reason}" + ("; a link reset came before" if resets else ""),
        {"count": len(group), "offset_bytes": offset, "acks_meanwhile": answers, "resets_before": len(resets),
         "records": observed.references(group)},
        segments=originals,
    )  # fmt: skip

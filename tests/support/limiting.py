"""What limited the client of a script of a few segments, captured beside it, at both ends, or where it is told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sending import Segment, ack, blocks, data, judged, table
from two_ends import MS

from multitracer.accounting.limits import Told, find_limits
from multitracer.model.limits import LIMITS, Limits
from multitracer.model.paths import Paths
from multitracer.tcp.connection_rows import Groups
from multitracer.tcp.measures import measure

NEAR, NOWHERE = 0, -1
ROUND_TRIP_MS = 100.0


def paths_of(rows: int, *, sender: int = NEAR, receiver: int = NOWHERE) -> Paths:
    """Where the client's data, and the server's acknowledgements, were captured."""
    near, far = np.array([[sender, receiver]]), np.array([[receiver, sender]])
    return Paths(near, far, np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int8))


def measured(frame: pd.DataFrame, round_trip_ms: float = ROUND_TRIP_MS) -> pd.DataFrame:
    """The measures of segments, but for their least round trip, which is told."""
    return _measured(frame)[0].assign(rtt_min_ms=round_trip_ms)


def _measured(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The measures, and the segments with their marks; a window of unknown scale is one that is not closed."""
    window = frame["window_bytes"].to_numpy()
    raw = np.where(window < 0, 1, np.minimum(window, 0xFFFF)).astype(np.uint16)
    return measure(frame, pd.DataFrame({"segment": np.empty(0, dtype=np.int64)}), raw)


def found(*segments: Segment, paths: Paths | None = None, told_bps: float | None = None) -> Limits:
    """What limited the client in a script, from the capture beside it unless `paths` says otherwise."""
    _, frame = _measured(table(segments))
    where = paths or paths_of(len(frame))
    resent, told = judged(*segments), Told(told_bps)
    return find_limits(frame, blocks(segments), measured(frame), Groups(frame, 1), where, resent, told)


def milliseconds(limits: Limits, end: int = 0) -> dict[str, float]:
    """How long each cause limited an end, without those that never did."""
    lasted = (limits.end_ns[end] - limits.start_ns[end]) / MS
    shares = dict(zip(LIMITS, limits.shares[end].tolist(), strict=True))
    return {name: round(share * lasted, 3) for name, share in shares.items() if share}


def at_both_ends(
    *near: Segment, arrivals: dict[int, float], lost: Sequence[int] = (), told_bps: float | None = None
) -> Limits:
    """What limited the client of a script at its side, of which the numbered segments arrived at these times (ms).

    Of others nothing is known but of those that were `lost`.
    """
    count, far = len(near), [near[at]._replace(ms=ms) for at, ms in arrivals.items()]
    paths = paths_of(count + len(far), receiver=1)
    paths.arrival[list(arrivals)], paths.arrived[list(arrivals)] = np.arange(len(far)) + count, 1
    paths.arrived[list(lost)] = 0
    frame = table((*near, *far))
    frame["point"] = np.repeat([0, 1], [count, len(far)]).astype(np.int16)
    return find_limits(frame, blocks(()), measured(frame), Groups(frame, 1), paths, judged(*near), Told(told_bps))


def queue(*spacing: float) -> tuple[pd.DataFrame, Paths]:
    """Segments sent at once, which arrive so many ms after one another, captured at both ends and acknowledged."""
    count = len(spacing)
    sent = [data(0, 1 + 960 * n, 961 + 960 * n) for n in range(count)]
    seen = [one._replace(ms=50 + sum(spacing[: n + 1])) for n, one in enumerate(sent)]
    acks = [ack(100 + sum(spacing[: n + 1]), 961 + 960 * n) for n in range(count)]
    paths = paths_of(3 * count, receiver=1)
    paths.arrival[:count], paths.arrived[:count] = np.arange(count) + count, 1
    frame = table((*sent, *seen, *acks))
    frame["point"] = np.repeat([0, 1, 0], count).astype(np.int16)
    return frame, paths


def queued(*spacing: float, told_bps: float | None = None) -> Limits:
    """What limited the client of such a queue."""
    frame, paths = queue(*spacing)
    return find_limits(frame, blocks(()), measured(frame), Groups(frame, 1), paths, judged(), Told(told_bps))

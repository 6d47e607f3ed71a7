"""Small scenes for detectors: a few segments at two points, frames, intervals; times in ms from START."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from two_ends import MS, START
from two_ends import segments as segments_table

from multitracer.findings import Observations
from multitracer.findings.directions import Direction, Directions
from multitracer.link.coverage import Coverage
from multitracer.model.limits import LIMITS, Limits, RateChanges, Stretches
from multitracer.model.schema import ACK, MARKS, build

CLIENT, SERVER = "10.0.0.1:1000", "10.0.0.2:80"
LEAST_RTT_MS = 100


def at(ms: float) -> int:
    """A time in ns, given in ms after START."""
    return START + round(ms * MS)


class Seen(NamedTuple):
    """One segment captured at its sender's point; `came` is the time at the other point (None: lost)."""

    sent: float
    came: float | None = None
    seq: int = 1
    size: int = 0
    sender: int = 0
    ack: int = 1
    flags: int = ACK
    marks: tuple[str, ...] = ()
    window: int = 65535
    checksum: int = 0
    checksum_ok: int = 1


@dataclass(frozen=True)
class Scene(Observations):
    """A scene of which only what matters is in the tables: the links' logs count as whole, but for `holes` in ms."""

    holes: tuple[tuple[float, float], ...] = ()

    def coverage(self, link: int, *, by_sender: bool) -> Coverage:  # noqa: ARG002 - all logs are alike
        """All of the time but the holes."""
        start, stop = (np.array([at(hole[side]) for hole in self.holes], dtype=np.int64) for side in (0, 1))
        return Coverage(at(-3_600_000), at(3_600_000), start, stop)


def scene(seen: Sequence[Seen] = (), **parts: Any) -> Scene:
    """A scene of one connection between client (point 0) and server (point 1).

    Each Seen makes a row at its sender's point and, if it arrived, one at the other.
    """
    rows: list[tuple[float, int, Seen]] = [(one.sent, one.sender, one) for one in seen]
    rows += [(one.came, 1 - one.sender, one) for one in seen if one.came is not None]
    table = segments_table(
        {
            "time_ns": [at(time) for time, _, _ in rows],
            "point": [point for _, point, _ in rows],
            "sender": [one.sender for _, _, one in rows],
            "seq": [one.seq for _, _, one in rows],
            "ack": [one.ack for _, _, one in rows],
            "payload_bytes": [one.size for _, _, one in rows],
            "flags": [one.flags for _, _, one in rows],
            "window_bytes": [one.window for _, _, one in rows],
            "checksum": [one.checksum for _, _, one in rows],
            "checksum_ok": [one.checksum_ok for _, _, one in rows],
            "marks": [sum(MARKS[mark] for mark in one.marks) for _, _, one in rows],
        }
    )
    arrival, arrived = np.full(len(rows), -1, dtype=np.int64), np.full(len(rows), -1, dtype=np.int8)
    arrived[: len(seen)] = 0
    came = [place for place, one in enumerate(seen) if one.came is not None]
    arrival[came] = np.arange(len(seen), len(rows))
    arrived[came] = [seen[place].checksum_ok != 0 for place in came]
    order = np.argsort(table["time_ns"].to_numpy(), kind="stable")
    back = np.empty(len(rows), dtype=np.int64)
    back[order] = np.arange(len(rows))
    arrival = np.where(arrival >= 0, back[arrival], -1)[order]
    data = [sum(one.size for one in seen if one.sender == sender) for sender in (0, 1)]
    given: dict[str, Any] = {
        "segments": table.iloc[order].reset_index(drop=True),
        "connections": _connections(),
        "retransmissions": retransmissions(),
        "directions": Directions.of(
            Direction(0, end, end, 1 - end, LEAST_RTT_MS * MS, data_bytes=data[end]) for end in (0, 1)
        ),
        "arrival": arrival,
        "arrived": arrived[order],
        "clock_error_ns": {(0, 1): MS, (1, 0): MS},
        "log_error_ns": {(link, by_sender, 0): MS for link in range(4) for by_sender in (True, False)},
        "links": links(),
    }
    return Scene(**{**given, **parts})


def limits(*stretches: tuple[str, float, float], by_arrivals: bool = True) -> Limits:
    """What limited the client: stretches of a cause, in ms."""
    cause, start, stop = ([one[place] for one in stretches] for place in range(3))
    columns = (
        np.zeros(len(stretches)),
        [LIMITS.index(name) for name in cause],
        *(list(map(at, x)) for x in (start, stop)),
    )
    return Limits(
        np.full((2, len(LIMITS)), np.nan), np.full(2, np.nan), np.zeros(2, dtype=np.int8), np.full(2, -1),
        np.full(2, -1), Stretches(*(np.array(column, dtype=np.int64) for column in columns)),
        np.array([by_arrivals, False]), RateChanges(*(np.empty(0) for _ in range(3))), np.zeros(2, dtype=np.bool_),
    )  # fmt: skip


def _connections() -> pd.DataFrame:
    return build(
        "connections",
        {
            "connection": [0], "flow": [0], "client": [CLIENT], "server": [SERVER], "start_ns": [START],
            "end_ns": [at(60_000)], "handshake_seen": [True], "closed": ["fin"], "isn_known_client": [True],
            "isn_known_server": [True], "window_scaled": [True],
        },
    )  # fmt: skip


def retransmissions(*rows: dict[str, Any]) -> pd.DataFrame:
    """The retransmissions table; each row needs `ms`, and may set any column."""
    plain = {
        "input": 0, "record": 1, "connection": 0, "sender": CLIENT, "seq": 1, "payload_bytes": 1000,
        "trigger": "timeout", "spurious": "no", "because": "a rule decided", "late_ack": -1, "in_doubt": False,
    }  # fmt: skip
    full = [{**plain, **row, "time_ns": at(row["ms"])} for row in rows]
    columns = [*plain, "time_ns", *(["segment"] if any("segment" in row for row in rows) else [])]
    return build("retransmissions", {name: [row[name] for row in full] for name in columns})


def segment_frames(*rows: dict[str, Any]) -> pd.DataFrame:
    """The segment_frames table; times in ms under `sent`, `first`, `last`, `delivered`, `queue`; None unknown."""
    plain = {
        "connection": 0, "sender": CLIENT, "link": 0, "seq": 1, "payload_bytes": 1000, "transmission": 0,
        "frames": 10, "frame_retransmissions": 0, "matched_by": "payload", "carried_bytes": 1040,
    }  # fmt: skip
    times = {"sent": "sent_ns", "first": "first_frame_ns", "last": "last_frame_ns", "delivered": "delivered_ns"}
    columns: dict[str, list[Any]] = {name: [row.get(name, value) for row in rows] for name, value in plain.items()}
    for short, name in times.items():
        columns[name] = [-1 if row.get(short) is None else at(row[short]) for row in rows]
    columns["queue_ns"] = [-1 if row.get("queue") is None else round(row["queue"] * MS) for row in rows]
    for name in ("segment", "ack", "logged_ns", "last_sn"):
        columns[name] = [row.get(name, -1) for row in rows]
    columns["end_sn"] = [row.get("end_sn", row.get("last_sn", -1)) for row in rows]
    columns["epoch"] = [row.get("epoch", -1) for row in rows]
    return build("segment_frames", columns)


def intervals(*rows: tuple[str, float, float], link: int = 0) -> pd.DataFrame:
    """Intervals of a link: (kind, start, end) in ms."""
    return pd.DataFrame(
        {
            "link": np.full(len(rows), link, dtype=np.int16),
            "kind": [kind for kind, _, _ in rows],
            "start_ns": np.array([at(start) for _, start, _ in rows], dtype=np.int64),
            "end_ns": np.array([at(end) for _, _, end in rows], dtype=np.int64),
            "because": ["the log says so" for _ in rows],
        }
    )


def links() -> pd.DataFrame:
    """Two bearers: links 0 and 1 are the directions of one, 2 and 3 those of another."""
    return build(
        "links",
        {
            "link": range(4), "protocol": ["rlp"] * 4, "bearer": ["one", "one", "other", "other"],
            "sender": ["mobile", "network"] * 2, "reverse": [1, 0, 3, 2],
        },
    )  # fmt: skip


def accounting(*rows: tuple[float, float, str]) -> pd.DataFrame:
    """The accounting table: (start, end, cause) in ms."""
    return build(
        "accounting",
        {
            "link": [0] * len(rows),
            "start_ns": [at(start) for start, _, _ in rows],
            "end_ns": [at(end) for _, end, _ in rows],
            "cause": [cause for _, _, cause in rows],
        },
    )


def frames(*rows: tuple[float, bool, str, int]) -> pd.DataFrame:
    """Frames as the mobile logged them: (ms, sent, type, transmission)."""
    return build(
        "frames",
        {
            "record": range(1, len(rows) + 1),
            "time_ns": [at(ms) for ms, _, _, _ in rows],
            "recorded_ns": [at(ms) for ms, _, _, _ in rows],
            "link": [0 if sent else 1 for _, sent, _, _ in rows],
            "side": ["mobile"] * len(rows),
            "sent": [sent for _, sent, _, _ in rows],
            "type": [kind for _, _, kind, _ in rows],
            "transmission": [transmission for _, _, _, transmission in rows],
        },
    )


def numbered(*rows: tuple[float, str, int, int, int]) -> pd.DataFrame:
    """The log of a link's sender: (ms, type, number, transmission, N_LENGTH); MRW_ACKs come from its peer."""
    table = frames(*((ms, kind != "MRW_ACK", kind, again) for ms, kind, _, again, _ in rows))
    number = [sn for _, _, sn, _, _ in rows]
    counted_on = [sn if kind == "AMD" else -1 for _, kind, sn, _, _ in rows]
    return table.assign(sn=number, sn_unwrapped=counted_on, epoch=0, lis=[(n,) for *_, n in rows])

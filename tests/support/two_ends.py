"""Made-up transfers seen at two points, with the truth about which packet is which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from multitracer import tables

MS = 1_000_000
START = 1_700_000_000 * 10**9


def segments(columns: dict[str, np.ndarray | list[int]]) -> pd.DataFrame:
    """A segments table of the columns given; the others have plain values."""
    rows = len(columns["time_ns"])
    time = np.asarray(columns["time_ns"], dtype=np.int64)
    plain = {
        **{name: np.zeros(rows) for name in ("input", "point", "connection", "sender", "payload_bytes")},
        **{name: np.zeros(rows) for name in ("tsval", "tsecr", "options", "ip_id", "checksum", "marks")},
        **{name: np.ones(rows) for name in ("seq", "ack", "checksum_ok")},
        "record": np.arange(1, rows + 1),
        "recorded_ns": time,
        "flags": np.full(rows, tables.ACK),
        "window_bytes": np.full(rows, 65535),
    }
    plain["wire_bytes"] = np.asarray(columns.get("payload_bytes", plain["payload_bytes"])) + 40
    return tables.build("segments", {**plain, **columns})


@dataclass
class Path:
    """How a transfer's packets travel: ns, and ns for each byte; data goes one way, ACKs the other."""

    forward_ns: int = 50 * MS
    backward_ns: int = 50 * MS
    forward_byte_ns: float = 8_000.0
    backward_byte_ns: float = 1_000.0
    queue_ns: int = 40 * MS
    jitter_ns: int = 200_000
    loss: float = 0.0
    offset_ns: int = 0
    drift: float = 0.0
    step_at_s: float = 1e9
    step_ns: int = 0


def transfer(
    path: Path, seconds: float, spacing_ms: float = 10.0, seed: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """(Segments at the sender, at the receiver on its own clock, row at the receiver of each at the sender).

    A handshake, data segments of several sizes, one ACK for each arrival, every lost segment resent.
    """
    random = np.random.default_rng(seed)
    count = max(6, int(seconds * 1000 / spacing_ms))
    sent = np.sort(random.uniform(0, seconds * 1e9, count)).astype(np.int64)
    size = np.where(np.arange(count) < 4, 20, np.where(random.random(count) < 0.9, 1460, 200))
    busy = path.queue_ns * random.random(count) * (random.random(count) < 0.95)
    way = path.forward_ns + path.forward_byte_ns * (size + 40) + busy
    way += random.exponential(path.jitter_ns, count)
    there = np.maximum.accumulate(sent + way.astype(np.int64) + np.arange(count))
    lost = random.random(count) < path.loss
    order = np.flatnonzero(~lost)
    answered = there[order] + 20_000
    back = path.backward_ns + path.backward_byte_ns * 40 + random.exponential(path.jitter_ns, len(order))
    home = np.maximum.accumulate(answered + back.astype(np.int64) + np.arange(len(order)))
    seq = 1 + np.cumsum(size) - size
    data = {"sender": 0, "payload": size, "seq": seq, "ack": np.ones(count, np.int64)}
    acks = {"sender": 1, "payload": np.zeros(len(order), np.int64), "seq": np.ones(len(order), np.int64)}
    acks["ack"] = np.maximum.accumulate(seq[order] + size[order])
    here = _table([(sent, data, np.arange(count)), (home, acks, np.arange(len(order)))])
    seen = [(there[order], {k: v if k == "sender" else v[order] for k, v in data.items()}, order)]
    far = _table([*seen, (answered, acks, np.arange(len(order)))])
    identity = {key: row for row, key in enumerate(zip(far["sender"], far["ip_id"], strict=True))}
    truth = [identity.get(key, -1) for key in zip(here["sender"], here["ip_id"], strict=True)]
    true_ns = far["time_ns"].to_numpy()
    far["time_ns"] = far["recorded_ns"] = other_clock(true_ns, path)
    return here, far, np.array(truth)


def other_clock(time_ns: np.ndarray, path: Path) -> np.ndarray:
    """What the other clock showed at these times."""
    since = time_ns - START
    stepped = np.where(since >= path.step_at_s * 1e9, path.step_ns, 0)
    return np.asarray(time_ns + path.offset_ns + np.round(since * path.drift).astype(np.int64) + stepped)


def _table(parts: list[tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]]) -> pd.DataFrame:
    """Both directions of one point, in order of time; `ip_id` tells the packet."""
    time = np.concatenate([START + times for times, _, _ in parts])
    order = np.argsort(time, kind="stable")
    columns = {
        "time_ns": time,
        "sender": np.concatenate([np.full(len(times), part["sender"]) for times, part, _ in parts]),
        "seq": np.concatenate([part["seq"] for _, part, _ in parts]),
        "ack": np.concatenate([part["ack"] for _, part, _ in parts]),
        "payload_bytes": np.concatenate([part["payload"] for _, part, _ in parts]),
        "ip_id": np.concatenate([identity + 1 for _, _, identity in parts]),
    }
    return segments({name: values[order] for name, values in columns.items()})

"""Made-up transfers seen at two points, with the truth about which packet is which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from multitracer.model import schema

MS = 1_000_000
START = 1_700_000_000 * 10**9


def segments(columns: dict[str, np.ndarray | list[int]]) -> pd.DataFrame:
    """A segments table with the given columns; the others have default values."""
    rows = len(columns["time_ns"])
    time = np.asarray(columns["time_ns"], dtype=np.int64)
    plain = {
        **{name: np.zeros(rows) for name in ("input", "point", "connection", "sender", "payload_bytes")},
        **{name: np.zeros(rows) for name in ("tsval", "tsecr", "options", "ip_id", "checksum", "marks")},
        **{name: np.ones(rows) for name in ("seq", "ack", "checksum_ok")},
        "record": np.arange(1, rows + 1),
        "recorded_ns": time,
        "flags": np.full(rows, schema.ACK),
        "window_bytes": np.full(rows, 65535),
    }
    plain["wire_bytes"] = np.asarray(columns.get("payload_bytes", plain["payload_bytes"])) + 40
    return schema.build("segments", {**plain, **columns})


@dataclass
class Path:
    """How a transfer's packets travel: ns, and ns for each byte; data goes one way, ACKs the other."""

    forward_ns: int = 50 * MS
    backward_ns: int = 50 * MS
    forward_byte_ns: float = 8_000.0
    backward_byte_ns: float = 1_000.0
    queue_ns: int = 40 * MS
    """Capacity of the link's queue; cross traffic adds exponential jitter."""
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

    Some small segments, then data of two sizes at random instants, and one ACK for each arrival.
    """
    random = np.random.default_rng(seed)
    count = max(6, int(seconds * 1000 / spacing_ms))
    sent = np.sort(random.uniform(0, seconds * 1e9, count)).astype(np.int64)
    size = np.where(np.arange(count) < 4, 20, np.where(random.random(count) < 0.9, 1460, 200))
    there, dropped = _travelled(path.forward_ns, path.forward_byte_ns, path, sent, size + 40, random)
    lost = (random.random(count) < path.loss) | dropped
    order = np.flatnonzero(~lost)
    answered = there[order] + 20_000
    ack_sizes = np.full(len(order), 40)
    home, unanswered = _travelled(path.backward_ns, path.backward_byte_ns, path, answered, ack_sizes, random)
    back = np.flatnonzero(~unanswered)
    seq = 1 + np.cumsum(size) - size
    data = {"sender": 0, "payload": size, "seq": seq, "ack": np.ones(count, np.int64)}
    acks = {"sender": 1, "payload": np.zeros(len(order), np.int64), "seq": np.ones(len(order), np.int64)}
    acks["ack"] = np.maximum.accumulate(seq[order] + size[order])
    came = {k: v if k == "sender" else v[back] for k, v in acks.items()}
    here = _table([(sent, data, np.arange(count)), (home[back], came, back)])
    seen = [(there[order], {k: v if k == "sender" else v[order] for k, v in data.items()}, order)]
    far = _table([*seen, (answered, acks, np.arange(len(order)))])
    identity = {key: row for row, key in enumerate(zip(far["sender"], far["ip_id"], strict=True))}
    truth = [identity.get(key, -1) for key in zip(here["sender"], here["ip_id"], strict=True)]
    true_ns = far["time_ns"].to_numpy()
    far.attrs["true_ns"] = true_ns
    far["time_ns"] = far["recorded_ns"] = other_clock(true_ns, path)
    return here, far, np.array(truth)


def _travelled(
    way_ns: int, byte_ns: float, path: Path, sent: np.ndarray, size: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(Arrival times after cross traffic, a FIFO link and propagation delay; mask of dropped packets)."""
    ready = sent + random.exponential(path.jitter_ns, len(sent))
    free, arrived, dropped = 0.0, np.empty(len(sent), dtype=np.int64), np.zeros(len(sent), dtype=bool)
    for n, (start, octets) in enumerate(zip(np.maximum.accumulate(ready).tolist(), size.tolist(), strict=True)):
        dropped[n] = free - start > path.queue_ns
        if not dropped[n]:
            free = max(free, start) + octets * byte_ns
        arrived[n] = free + way_ns
    return arrived + np.arange(len(sent)), dropped


def other_clock(time_ns: np.ndarray, path: Path) -> np.ndarray:
    """These times on the other point's clock."""
    since = time_ns - START
    stepped = np.where(since >= path.step_at_s * 1e9, path.step_ns, 0)
    return np.asarray(time_ns + path.offset_ns + np.round(since * path.drift).astype(np.int64) + stepped)


def _table(parts: list[tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]]) -> pd.DataFrame:
    """The segments table of both directions at one point, ordered by time; `ip_id` identifies the packet."""
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

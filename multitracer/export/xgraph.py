"""Series in xgraph's format, scaled as by the original MultiTracer: all values in bytes, over seconds.

SRTT and its variation are multiplied by 10,000 bytes per second, link sequence numbers by the user octets
in a full frame. Link events without a number are drawn at the sequence number that the link had sent last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from multitracer.export.series import HOST_SERIES, Array, file_name

if TYPE_CHECKING:
    import pandas as pd

BYTES_PER_SECOND = 10_000
"""The scale of SRTT and its variation in the original MultiTracer."""

_IN_SECONDS = ("TcpSnd-srtt", "TcpSnd-vrtt")


def write(
    named: Mapping[str, pd.DataFrame], directory: Path, connection: int = 0, frame_bytes: float = 1
) -> list[Path]:
    """Write each series of bytes to a file of its name; `frame_bytes` is the user octets of a full link frame."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in named.items():
        if name in HOST_SERIES:
            continue
        path = directory / file_name(name, connection)
        path.write_text(text(name, scaled(name, frame, named, frame_bytes)), encoding="utf-8")
        written.append(path)
    return written


def scaled(name: str, frame: pd.DataFrame, named: Mapping[str, pd.DataFrame], frame_bytes: float = 1) -> pd.DataFrame:
    """One series with its values in bytes."""
    if name in _IN_SECONDS:
        return frame.assign(value=frame["value"] * BYTES_PER_SECOND)
    if name.startswith("Tcp"):
        return frame
    value = frame["value"].to_numpy(dtype=float)
    if np.isnan(value).all():
        value = _last_sent(frame["time_s"].to_numpy(), named.get(name[:7] + "data"))
    return frame.assign(value=value * frame_bytes)


def text(name: str, frame: pd.DataFrame) -> str:
    """The text of one xgraph data set: its name in quotes, then one point per line."""
    points = zip(frame["time_s"].tolist(), frame["value"].tolist(), strict=True)
    body = "".join(f"{time:.9f} {value:.10g}\n" for time, value in points)
    return f'TitleText: {name}\nXUnitText: s\nYUnitText: bytes\n"{name}"\n{body}\n'


def frame_bytes(frames: pd.DataFrame, link: int | None) -> float:
    """Octets of user data in a full frame of a link; 1 if unknown."""
    if link is None or not len(frames):
        return 1
    payload = frames.loc[frames["link"] == link, "payload_bytes"].to_numpy()
    return float(max(payload.max(initial=0), 1))


def _last_sent(times: Array, data: pd.DataFrame | None) -> Array:
    if data is None or not len(data):
        return np.zeros(len(times))
    at = np.searchsorted(data["time_s"].to_numpy(), times, side="right") - 1
    return np.where(at >= 0, data["value"].to_numpy(dtype=float)[at], 0.0)

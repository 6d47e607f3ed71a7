"""Series as xgraph reads them, scaled as the original tool drew them: everything in bytes over seconds.

SRTT and its variation stand at 10,000 bytes a second; link sequence numbers are multiplied by the
octets of user data that a full frame carries. An instant without a height stands at the sequence
number that the link had sent last.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from multitracer.export.series import Array, file_name

if TYPE_CHECKING:
    import pandas as pd

BYTES_PER_SECOND = 10_000
"""At what height the original drew one second of SRTT."""

_IN_SECONDS = ("TcpSnd-srtt", "TcpSnd-vrtt")


def write(
    named: Mapping[str, pd.DataFrame], directory: Path, connection: int = 0, frame_bytes: float = 1
) -> list[Path]:
    """Write each series to a file of its name; `frame_bytes` is what a full link frame carries."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in named.items():
        path = directory / file_name(name, connection)
        path.write_text(text(name, scaled(name, frame, named, frame_bytes)), encoding="utf-8")
        written.append(path)
    return written


def scaled(
    name: str, frame: pd.DataFrame, named: Mapping[str, pd.DataFrame], frame_bytes: float = 1
) -> pd.DataFrame:
    """One series in bytes."""
    if name in _IN_SECONDS:
        return frame.assign(value=frame["value"] * BYTES_PER_SECOND)
    if name.startswith("Tcp"):
        return frame
    value = frame["value"].to_numpy(dtype=float)
    if np.isnan(value).all():
        value = _last_sent(frame["time_s"].to_numpy(), named.get(name[:7] + "data"))
    return frame.assign(value=value * frame_bytes)


def text(name: str, frame: pd.DataFrame) -> str:
    """One data set: its name in quotes, then a point a line."""
    points = zip(frame["time_s"].tolist(), frame["value"].tolist(), strict=True)
    body = "".join(f"{time:.9f} {value:.10g}\n" for time, value in points)
    return f'TitleText: {name}\nXUnitText: s\nYUnitText: bytes\n"{name}"\n{body}\n'


def frame_bytes(frames: pd.DataFrame, link: int | None) -> float:
    """Octets of user data in a full frame of a link; 1 when it is not known."""
    if link is None or not len(frames):
        return 1
    payload = frames.loc[frames["link"] == link, "payload_bytes"].to_numpy()
    return float(max(payload.max(initial=0), 1))


def _last_sent(times: Array, data: pd.DataFrame | None) -> Array:
    if data is None or not len(data):
        return np.zeros(len(times))
    at = np.searchsorted(data["time_s"].to_numpy(), times, side="right") - 1
    return np.where(at >= 0, data["value"].to_numpy(dtype=float)[at], 0.0)

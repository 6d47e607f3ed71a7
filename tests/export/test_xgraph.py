"""Series as xgraph reads them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from multitracer.export import xgraph


def frame(*points: tuple[float, float | None]) -> pd.DataFrame:
    """A series from its points."""
    return pd.DataFrame({"time_s": [t for t, _ in points], "value": [value for _, value in points]}, dtype=float)


def test_all_series_are_scaled_to_bytes(tmp_path: Path) -> None:
    """A second of SRTT is 10,000 bytes, a frame what it carries; an event is drawn at the last number."""
    named = {
        "TcpSnd-cwnd": frame((1.5, 2896)),
        "TcpSnd-srtt": frame((1.5, 0.25)),
        "RlpSnd-data": frame((1, 10), (2, 11)),
        "RlpSnd-xoff": frame((0.5, None), (2.5, None)),
    }
    xgraph.write(named, tmp_path, connection=1, frame_bytes=24)
    assert (tmp_path / "TcpSnd-cwnd.1").read_text().endswith('"TcpSnd-cwnd"\n1.500000000 2896\n\n')
    assert "\n1.500000000 2500\n" in (tmp_path / "TcpSnd-srtt.1").read_text()
    assert '"RlpSnd-data"\n1.000000000 240\n2.000000000 264\n' in (tmp_path / "RlpSnd-data").read_text()
    assert '"RlpSnd-xoff"\n0.500000000 0\n2.500000000 264\n' in (tmp_path / "RlpSnd-xoff").read_text()
    assert (tmp_path / "TcpSnd-cwnd.1").read_text().startswith("TitleText: TcpSnd-cwnd\n")


def test_a_full_frame_is_the_largest() -> None:
    """What a frame carries is known from the log, or taken for one."""
    frames = pd.DataFrame({"link": [0, 0, 1], "payload_bytes": [24, 3, 99]})
    assert xgraph.frame_bytes(frames, 0) == 24
    assert xgraph.frame_bytes(frames, 7) == 1
    assert xgraph.frame_bytes(frames, None) == 1


def test_what_is_no_number_of_bytes_has_no_file(tmp_path: Path) -> None:
    """A rate and a count do not go on an axis of bytes."""
    named = {name: frame((1, 8000)) for name in ("TcpSnd-cwnd", "TcpSnd-throughput", "TcpSnd-resends")}
    assert xgraph.write(named, tmp_path) == [tmp_path / "TcpSnd-cwnd"]

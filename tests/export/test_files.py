"""The result directory."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from repository import EXAMPLES

from multitracer import analyze, read
from multitracer.compute import threads
from multitracer.export import files
from multitracer.export.json_text import json_text
from multitracer.model.schema import build


def test_unknown_values_are_nulls_and_known_ones_are_exact() -> None:
    """Neither -1 nor a rounded time reaches a file."""
    times = np.array([1_795_210_707_951_964_123, -1])
    columns = {
        "connection": [0, -1],
        "sender": ["a:1", None],
        "link": [0, 0],
        "seq": [1, 2],
        "payload_bytes": [3, 4],
        "matched_by": ["time", None],
    }
    frame = build("segment_frames", columns | {"first_frame_ns": times})
    back = files.as_arrow("segment_frames", frame).to_pandas()
    assert back["first_frame_ns"].tolist() == [1_795_210_707_951_964_123, pd.NA]
    assert back["connection"].tolist() == [0, pd.NA]
    assert back["sender"].isna().tolist() == [False, True]
    assert "segment" not in back  # kept in memory only


def test_a_link_log_alone_still_gives_the_links_series(tmp_path: Path) -> None:
    """Without any connection the link's curves are there, TCP's are not."""
    analysis = analyze(read(str(EXAMPLES / "rlp-reset" / "rlpdump.mobile.txt")))
    names = {path.stem for path in files.write_series(analysis, tmp_path)}
    assert {"RlpSnd-data", "RlpSnd-data-rexmt"} <= names
    assert not any(name.startswith("Tcp") for name in names)


@pytest.mark.parametrize("allowed", [1, 2])
def test_a_summary_of_many_batches_is_whole(allowed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread makes the text of the next ones while one is written."""
    document = {"inputs": [{"path": f"{number}.pcap"} for number in range(5000)], "findings": [], "links": [1.5, None]}
    monkeypatch.setattr(files, "_BATCH_BYTES", 1)
    monkeypatch.setitem(threads._allowed, "threads", allowed)
    assert files.write_summary(document, tmp_path).read_bytes() == json_text(document) + b"\n"


def test_a_short_summary_is_written_without_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a process may start no more."""
    monkeypatch.setitem(threads._allowed, "threads", 2)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", None)
    assert files.write_summary({"links": []}, tmp_path).read_bytes() == json_text({"links": []}) + b"\n"


def test_an_error_of_writing_ends_the_thread_that_makes_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is an error like any other, also in the midst of a long text."""

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_BATCH_BYTES", 1)
    monkeypatch.setattr(files, "begin_writing", no_space)
    before = threading.active_count()
    with pytest.raises(OSError, match="No space left"):
        files.write_summary({"inputs": list(range(10_000))}, tmp_path)
    assert threading.active_count() == before


@pytest.mark.slow
def test_of_many_connections_those_with_most_data_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of series files is bounded whatever the capture holds."""
    monkeypatch.setattr(files, "MOST_CONNECTIONS", 1)
    analysis = analyze(read(str(EXAMPLES / "loss2" / "snd.pcap")))
    assert {path.name for path in files.write_series(analysis, tmp_path)} == {"TcpSnd-data.1.csv", "TcpSnd-ack.1.csv"}

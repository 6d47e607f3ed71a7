"""Analyses of the transfers of which it is known what limited them, each made once from some of its inputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from made_once import made_once
from shared_data import shared

from multitracer import Analysis, AnalyzeOptions, analyze, read

BOTH, SENDER, RECEIVER = ("snd.pcap", "rcv.pcap"), ("snd.pcap",), ("rcv.pcap",)
INPUTS = {*BOTH, "tcp_probe.txt.gz", "retransmit.txt.gz"}


@made_once
def analysed(folder: str, names: tuple[str, ...], rate_bps: float | None = None) -> Analysis:
    """The analysis of some of a folder's inputs."""
    assert set(names) <= INPUTS
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            (Path(directory) / name).write_bytes(shared("blame", folder, name).read_bytes())
        paths = sorted(map(str, Path(directory).iterdir()))
        return analyze(read(*paths), AnalyzeOptions(link_rate_bps=rate_bps))

"""`multitracer export`: other tools' files, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import EXAMPLES

from multitracer import cli


def test_it_prints_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """stdout is the list of files, and only the asked-for format is there."""
    snd = EXAMPLES / "rlp-reset" / "snd.pcap"
    assert cli.run(["export", str(snd), "--format", "xplot", "-o", str(tmp_path)]) == 0
    listed = capsys.readouterr().out.split()
    assert sorted(listed) == sorted(map(str, tmp_path.rglob("*.xpl")))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".multitracer", "xplot"]


def test_without_a_format_all_are_written(tmp_path: Path) -> None:
    """Every export has its folder."""
    snd = EXAMPLES / "rlp-reset" / "snd.pcap"
    assert cli.run(["export", str(snd), "-o", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {".multitracer", "xgraph", "xplot", "csv"}

"""The README's example in Python does what it says."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT


@pytest.mark.slow
def test_the_readmes_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line, in a folder that has the examples; the values in its comments are the ones it gives."""
    section = (ROOT / "README.md").read_text().split("## In Python")[1].split("\n## ")[0]
    code = textwrap.dedent("\n".join(line for line in section.splitlines() if line.startswith("    ") or not line))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    analysis = names["analysis"]
    assert analysis.verdict.startswith("Of 56.5 s new data took 53 % ")
    assert analysis.verdict in capsys.readouterr().out
    assert f"{analysis.summary()['accounting']['idle_recovery']:.2f}" == "0.22"
    assert (tmp_path / "report.html").stat().st_size > 1_000_000

"""What is tested is what is read here, whichever way the package is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import tested_code
from house import FOLDERS
from repository import ROOT

WHERE = "import {0}; print({0}.__file__)"


@pytest.mark.parametrize("package", FOLDERS.values())
def test_a_process_that_a_test_starts_runs_the_same_code(package: str) -> None:
    """Also in the repository's root, where the folder `multitracer` lacks the other two packages."""
    command = [sys.executable, "-c", WHERE.format(package)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == import_module(package).__file__


def test_an_installed_copy_of_other_sources_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that was changed, or is gone, since the package was installed is named."""
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / "parsers" / "pcap.py").write_text("")
    monkeypatch.setattr(tested_code, "ROOT", tmp_path)
    found = tested_code.different_files()
    assert {"parsers/pcap.py", "parsers/snoop.py", "multitracer/cli.py"} <= set(found)
    assert "pip install" in (tested_code.complaint() or "")

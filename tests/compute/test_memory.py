"""How one command collects garbage, and which pages of memory NumPy asks for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from multitracer.cli import cli


def test_garbage_is_collected_less_often() -> None:
    """At every two million new objects, and not at all at exit."""
    code = (
        "import gc\n"
        "from multitracer.compute import memory\n"
        "memory.settle(); print(gc.get_threshold()[0])\n"
        "memory.leave(); print(len(gc.get_objects()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2000000", "0"]


def test_numpy_asks_for_no_huge_pages() -> None:
    """The kernel puts none of an array's memory down for them (`hg` in smaps)."""
    code = (
        "from multitracer.compute import memory\n"
        "memory.prefer_small_pages()\n"
        "import numpy as np\n"
        "kept = np.ones(1 << 23)\n"
        "print(any('hg' in line.split() for line in open('/proc/self/smaps') if line.startswith('VmFlags')))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NUMPY_MADVISE_HUGEPAGE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(("before", "after"), [(None, "0"), ("1", "1")])
def test_analyze_prefers_small_pages(before: str | None, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the user has said which."""
    monkeypatch.setenv("NUMPY_MADVISE_HUGEPAGE", before or "")
    if before is None:
        monkeypatch.delenv("NUMPY_MADVISE_HUGEPAGE")
    CliRunner().invoke(cli, ["analyze", "no such file"])
    assert os.environ["NUMPY_MADVISE_HUGEPAGE"] == after

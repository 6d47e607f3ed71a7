"""Faults while results are written; `python tests/support/faults.py` does many more runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import KINDS, NEW, OLD, SAID, UNREAD, Faults

IN_MEMORY = Path("/dev/shm")
STRUCK = {"kill_at_a_rename": {f"{NEW} recovered"}, "file_limit": {OLD}, "full_disk": {OLD}, "cut_while_read": {SAID}}
"""How some of the runs must end for a fault to have been one."""


@pytest.fixture(scope="module")
def faults() -> Iterator[Faults]:
    """The old and the new result, each written once; in memory where that is, since waiting for a disk takes longer."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as scratch:
        yield Faults(Path(scratch))


def can_mount() -> bool:
    """Whether a process may have mounts of its own."""
    script = "import faults; faults.own_mounts()"
    path = os.pathsep.join(sys.path)
    return not subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False
    ).returncode


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_leaves_a_whole_result(kind: str, faults: Faults) -> None:
    """The old result, the new one, or no summary and what `--recover` makes the new one of; a cut input is said."""
    if kind == "full_disk" and not can_mount():
        pytest.skip("a small file system needs root, or a user namespace that may mount")
    left = {faults.strike(kind) for _ in range(round(20 * KINDS[kind]))}
    assert left <= ({SAID, UNREAD} if kind == "cut_while_read" else {OLD, NEW, f"{NEW} recovered"})
    assert STRUCK.get(kind, left) & left, f"no {kind} did anything: {left}"

"""Kernels give the same results compiled, as plain Python, and compiled with bounds checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_modes import MODES
from repository import EXAMPLES

from multitracer.compute import kernels

COMPILED = """
import sys
from multitracer.compute import kernels, process_settings
from multitracer import analyze
from multitracer.export.json_text import json_text
process_settings.settle()  # compiling makes many objects
kernels.choose = lambda records: None  # compiled, however few records there are
sys.stdout.buffer.write(json_text(analyze(sys.argv[1:]).summary()))
"""


@cache
def summary(mode: str) -> dict[str, Any]:
    """The summary of the example with both layers, made by a process with these settings."""
    environment = {**os.environ, **MODES[mode]}
    inputs = [str(path) for path in sorted((EXAMPLES / "rlp-reset").iterdir())]
    command = [sys.executable, "-W", "error", "-c", COMPILED, *inputs]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.compiled
@pytest.mark.parametrize("mode", ["compiled", "bounds-checked"])
def test_each_way_of_running_kernels_gives_the_same_summary(mode: str) -> None:
    """Compiled and bounds-checked against plain: every key of the summary; no warning, no access out of bounds."""
    assert summary(mode) == summary("plain")


RECORDS = """
import numpy as np
from multitracer.compute.kernels import Kernel
def step(ends, number, room):
    end = ends[number]
    end.sent = (end.sent + number) & 0xFF
    note(end, room)
    return end.sent
def note(end, room):
    room[0] += end.sent
    end.lost = end.sent > 3
note = Kernel(note)
ends = np.zeros(3, dtype=[("sent", "i8"), ("lost", "?"), ("times", "i8", (2,))]).view(np.recarray)
room = np.zeros(1, dtype=np.int64)
step = Kernel(step)
print([int(step(ends, number, room)) for number in (0, 1, 2, 2, 2)], ends.lost.tolist(), room.tolist())
"""


@pytest.mark.compiled
@pytest.mark.parametrize("mode", MODES)
def test_record_fields_work_in_each_way_of_running(mode: str, tmp_path: Path) -> None:
    """A kernel reads and writes the fields of a record array's element by name, also when given the element."""
    (tmp_path / "script.py").write_text(RECORDS)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **MODES[mode]}
    command = [sys.executable, "-W", "error", str(tmp_path / "script.py")]
    printed = {
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout for _ in range(2)
    }
    assert printed == {"[0, 1, 2, 4, 6] [False, False, True] [13]\n"}


@pytest.mark.compiled
def test_kernels_work_without_numbas_undocumented_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba's option that omits reference counting a kernel gives the same result, more slowly."""
    monkeypatch.setattr(kernels, "_UNCOUNTED", {"_unknown_to_numba": True})
    monkeypatch.setattr(kernels, "_state", dict.fromkeys(kernels._state, False))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(kernels.Kernel, "_place", None)  # not written to the cache
    values = np.arange(3)
    kernels.Kernel(fill_with)(values, 7)
    assert values.tolist() == [7, 7, 7]


def fill_with(values: Any, value: int) -> None:
    """A kernel without a result."""
    for place in range(len(values)):
        values[place] = value

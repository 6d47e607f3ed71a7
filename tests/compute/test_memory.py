"""How one command holds its memory."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from multitracer.compute import memory


def test_garbage_is_collected_less_often() -> None:
    """At every half a million new objects, and not at all at exit."""
    code = (
        "import gc\n"
        "from multitracer.compute import memory\n"
        "memory.settle(); print(gc.get_threshold()[0])\n"
        "memory.leave(); print(len(gc.get_objects()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["500000", "0"]


def test_a_c_library_without_mallopt_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system has glibc."""
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    before = gc.get_threshold()
    try:
        memory.settle()
        assert gc.get_threshold()[0] == 500_000
    finally:
        gc.set_threshold(*before)

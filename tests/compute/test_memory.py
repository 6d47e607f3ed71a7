"""How one command collects garbage."""

from __future__ import annotations

import subprocess
import sys


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

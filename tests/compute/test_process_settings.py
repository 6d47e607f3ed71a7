"""How one command collects garbage, and which threads its libraries start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_garbage_is_collected_less_often() -> None:
    """At every two million new objects, and not at all at exit."""
    code = (
        "import gc\n"
        "from multitracer.compute import process_settings\n"
        "process_settings.settle(); print(gc.get_threshold()[0])\n"
        "process_settings.leave(); print(len(gc.get_objects()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2000000", "0"]


FINDER = """
import os, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"))
sys.meta_path.insert(0, Finder())
sys.argv = ["multitracer", "analyze", "/none"]
from multitracer.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("settings", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2"), ({"OMP_NUM_THREADS": "2"}, "None")]
)
def test_openblas_starts_no_thread_unless_it_is_told_to(settings: dict[str, str], threads: str) -> None:
    """Set before the command imports NumPy: its threads would poll for work on processors that others have use for."""
    others = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", FINDER], env=others | settings, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [threads], done.stderr

"""How one command collects garbage, and which threads its libraries start."""

from __future__ import annotations

import os
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


def threads_of_numpy(settings: dict[str, str]) -> str:
    """The number of OpenBLAS's threads asked for, and of the process's, where a command imported NumPy."""
    code = (
        "from multitracer.compute import memory\n"
        "memory.settle()\n"
        "import os, numpy; print(os.environ['OPENBLAS_NUM_THREADS'], len(os.listdir('/proc/self/task')))"
    )
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    return subprocess.run(
        [sys.executable, "-c", code], env=others | settings, capture_output=True, text=True, check=True
    ).stdout


def test_openblas_starts_no_thread_unless_it_is_told_to() -> None:
    """Its threads would poll for work on processors that the command has use for; what the environment says holds."""
    assert threads_of_numpy({}).split() == ["1", "1"]
    assert threads_of_numpy({"OPENBLAS_NUM_THREADS": "2"}).split()[0] == "2"

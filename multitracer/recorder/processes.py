"""Processes that this one starts, and how they end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 2); os.execvp(sys.argv[1], sys.argv[1:])"
"""PR_SET_PDEATHSIG (linux/prctl.h) with SIGINT, and then the command."""


def ending_with_this_process(started: Sequence[str]) -> list[str]:
    """The command, ended by the kernel when this process is killed: by setpriv of util-linux, without it by Python."""
    setpriv = shutil.which("setpriv")
    if setpriv and Path(setpriv).resolve().name == "setpriv":  # busybox's cannot
        return ["setpriv", "--pdeathsig", "INT", "--", *started]
    return [sys.executable, "-I", "-S", "-c", _TIED, *started]


def wait_or_kill(process: subprocess.Popen[Any], most_s: float) -> None:
    """Wait until a process that was asked to end has done so, and kill it after that time."""
    try:
        process.wait(most_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

"""Several emulated links at once, each with hosts, processes, seed and folder of its own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

from multitracer.recorder.processes import ending_with_this_process, wait_or_kill

_GRACE_S = 30.0


def run_all(commands: Sequence[Sequence[str]]) -> int:
    """Run commands at once, until all have ended; the first exit status that is not 0, or 0.

    They end with this process, however it ends, and when it is interrupted.
    """
    processes = [subprocess.Popen(ending_with_this_process(list(command))) for command in commands]
    try:
        return next(filter(None, [process.wait() for process in processes]), 0)
    finally:
        for process in processes:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt it if it still runs, and give it time to clear up."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    wait_or_kill(process, _GRACE_S)

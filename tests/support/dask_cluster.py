"""A Dask cluster on this machine, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two workers: its address, and the workers' processes."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    port = address.rpartition(":")[2]
    path = str(Path(__file__).parent)  # what tests let it run is there
    environment = {**os.environ, "PYTHONPATH": path}
    quiet = {"env": environment, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", port, "--host", "127.0.0.1"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    scheduler = subprocess.Popen([*dask, "--no-dashboard"], **quiet)  # type: ignore[call-overload]
    workers = [subprocess.Popen([*worker, "--no-dashboard"], **quiet) for _ in range(2)]  # type: ignore[call-overload]
    try:
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()

"""Several emulated links at once: they end together, and each by itself."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from multitracer.replay.emulate.pairs import run_all

NOTE = "import sys, time, pathlib; pathlib.Path(sys.argv[1]).write_text('begun'); "


def noting(path: Path, then: str) -> list[str]:
    """A command that says that it began, and then does something."""
    return [sys.executable, "-c", NOTE + then, str(path)]


def test_the_first_status_that_is_not_0_is_given(tmp_path: Path) -> None:
    """When all have ended."""
    commands = [noting(tmp_path / str(status), f"sys.exit({status})") for status in (0, 3, 4)]
    assert run_all(commands) == 3
    assert len(list(tmp_path.iterdir())) == 3
    assert run_all(commands[:1]) == 0


@pytest.mark.slow
def test_all_are_interrupted_with_this_process(tmp_path: Path) -> None:
    """And have ended when it goes on."""
    commands = [noting(tmp_path / str(number), "time.sleep(60)") for number in range(2)]

    def interrupt() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    begun = time.monotonic()
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_all(commands)
    assert time.monotonic() - begun < 30

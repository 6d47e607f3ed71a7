"""The trace file system is mounted where nobody else sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from multitracer.recorder import tracefs

MOUNTED = "import multitracer.recorder.tracefs as t; import os; print(os.listdir(f'/proc/self/fd/{t._mounted()}'))"
WAIT_S = 10


def mounts() -> set[str]:
    """The mounts of trace file systems that any process sees, by the mount namespace."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            space, lines = (process / "ns/mnt").readlink(), (process / "mounts").read_text().splitlines()
            found |= {f"{space}: {line}" for line in lines if line.split()[2] == "tracefs"}
    return found


def added_mounts(before: set[str]) -> set[str]:
    """Those that were not there before, once what mounted them has had some time to end."""
    end = time.monotonic() + WAIT_S
    while (added := mounts() - before) and time.monotonic() < end:
        time.sleep(0.05)
    return added


def mounting(*path: str) -> subprocess.Popen[str]:
    """A process that mounts it, with further folders of programs."""
    environment = {**os.environ, "PATH": ":".join([*path, os.environ["PATH"]])}
    return subprocess.Popen([sys.executable, "-c", MOUNTED], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.fixture(autouse=True)
def _it_can_be_mounted() -> None:
    try:
        os.close(tracefs._mounted())
    except OSError as error:
        pytest.skip(f"the trace file system cannot be mounted: {error}")


def test_it_is_used_without_a_mount_that_others_see() -> None:
    """It is open, and works, after the process that mounted it has ended."""
    before = mounts()
    with mounting() as process:
        assert "instances" in process.communicate()[0]
    assert added_mounts(before) == set()


def test_a_kill_while_it_is_mounted_leaves_no_mount(tmp_path: Path) -> None:
    """Between the mount and all that follows it."""
    mount, mounted, before = shutil.which("mount"), tmp_path / "mounted", mounts()
    (tmp_path / "mount").write_text(f'#!/bin/sh\n{mount} "$@"; touch {mounted}; sleep 1\n')
    (tmp_path / "mount").chmod(0o755)
    with mounting(str(tmp_path)) as process:
        while not mounted.exists():
            assert process.poll() is None
            time.sleep(0.01)
        assert mounts() - before
        process.kill()
    assert added_mounts(before) == set()

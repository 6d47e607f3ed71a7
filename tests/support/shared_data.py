"""Access to recordings that are not in the repository because of their size or licence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


class State:
    """What is known about the test that runs; tests/conftest.py keeps it."""

    in_fast_test = False


state = State()


def shared(*parts: str) -> Path:
    """A file or folder of the shared data; skips the test, with the reason, where there is none.

    Fails a test that is marked fast: those run everywhere.
    """
    if state.in_fast_test:
        pytest.fail("this test needs the shared data: mark it with pytest.mark.data", pytrace=False)
    root = Path(os.environ.get("MULTITRACER_DATA") or _BESIDE)
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in {root}: set MULTITRACER_DATA to the folder that holds it")
    return path


TRUTH_FILES = ("truth.json", "packets.csv", "link.csv.gz", "retransmissions.csv", "findings.csv")

LINUX = (
    "loss2", "stall", "reset", "overflow", "xonxoff", "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset",
    "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip


BLAME = ("application", "receiver", "sendbuffer", "slowlink", "stall", "timeout")


def instruments(folder: Path, into: Path, *, leave_out: tuple[str, ...] = ()) -> Path:
    """Copy a folder's recordings, without its truth files, to a folder of their own."""
    for file in sorted(folder.iterdir()):
        truth = file.name in TRUTH_FILES or file.name.startswith("erasures.")
        if not truth and file.name not in leave_out:
            (into / file.name).write_bytes(file.read_bytes())
    return into

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
    root = _root()
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in {root}: set MULTITRACER_DATA to the folder that holds it")
    return path


def _root() -> Path:
    return Path(os.environ.get("MULTITRACER_DATA") or _BESIDE)


def shared_root() -> Path | None:
    """The folder of the shared data; None where there is none."""
    return _root() if _root().is_dir() else None


INPUTS = (
    "snd.pcap", "rcv.pcap", "rcv_otherclock.pcap", "tcp_probe.txt", "retransmit.txt", "ss.txt", "rlpdump.mobile.txt",
    "rlpdump.network.txt", "rlcdump.mobile.txt", "rlcdump.network.txt", "rlc.network.pcap",
)  # fmt: skip
"""What instruments wrote, of the files of a labelled transfer; all else is truth."""

LINUX = (
    "loss2", "stall", "reset", "overflow", "xonxoff", "rlp-good", "rlp-bad", "rlp-reset", "rlp-vj-reset",
    "rlp-xonxoff", "rlc-inseq", "rlc-outseq", "rlc-reset",
)  # fmt: skip


STACKS = ("offload", "paws", "lone-probe", "nosack-timer", "undo")
"""Transfers with the kernel's call stack at every retransmission."""
BLAME = ("application", "receiver", "sendbuffer", "slowlink", "stall", "timeout")
"""Transfers of which it is known what limited them."""


def instruments(folder: Path, into: Path, *, leave_out: tuple[str, ...] = ()) -> Path:
    """Copy a folder's recordings, without its truth files, to a folder of their own."""
    for file in sorted(folder.iterdir()):
        if file.name.removesuffix(".gz") in INPUTS and file.name not in leave_out:
            (into / file.name).write_bytes(file.read_bytes())
    return into

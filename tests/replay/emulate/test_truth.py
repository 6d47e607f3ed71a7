"""The truth beside an emulated transfer, and the analysis of what was recorded of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from emulated_cases import analysed, compared, emulated

from multitracer.model.errors import MissingCapabilityError
from multitracer.recorder import needs

KEYS = {
    "link.protocol": "raw", "link.rate_bps": 384_000, "link.delay_s": 0.02, "link.frame_bytes": 576, "kernel.mtu": 576,
    "link.queue_frames": 12, "channel.model": "uniform", "channel.frame_loss_rate": 0.04,
    "workload.kind": "file-transfer", "workload.file_bytes": 30_000, "kernel.congestion_control": "reno",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.compiled
def test_the_analysis_finds_what_link_and_kernel_know(tmp_path: Path) -> None:
    """Every resend, why the kernel sent it, and whether it was needless; what limited the transfer nearly."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root of a Linux machine")
    if missing := needs.all_missing("lo"):
        pytest.skip(f"{missing[0].what}: needs {missing[0].needs}")
    try:
        truth = emulated(KEYS, 3, tmp_path / "run")
    except MissingCapabilityError as error:
        pytest.skip(str(error))
    found = compared(truth, analysed(tmp_path / "run"))
    assert (found.missing, found.trigger_wrong, found.spurious_wrong) == ([], [], [])
    assert found.resends == found.found >= 1
    assert found.trigger_unknown < found.resends
    assert {one["spurious"] for one in truth["retransmissions"]} <= {"yes", "no"}
    if truth["limits"] is None:  # the kernel's log lacks what sent something again
        assert found.trigger_unknown > 0
    else:
        assert found.limits is not None
        assert max(map(abs, found.limits.values())) < 5
    assert truth["accounting"] is None  # nothing logs the frames of a raw link

"""Frame sizes in step with evenly spaced losses."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.replay.erasures.trace import ErasureTrace, evenly_spaced
from multitracer.replay.retrace.resonance import in_step, spacing_blocks
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import retrace


def test_spacing_is_known_of_even_losses_alone() -> None:
    """Not of losses by chance, of few, nor of those side by side."""
    assert spacing_blocks(evenly_spaced(100, 4730)) == pytest.approx(47.3, abs=0.1)
    assert spacing_blocks(np.random.default_rng(1).random(4730) < 0.02) is None
    assert spacing_blocks(evenly_spaced(5, 100)) is None
    assert spacing_blocks(np.ones(100, dtype=bool)) is None


def test_sizes_are_in_step_where_the_spacing_is_a_whole_number_of_frames() -> None:
    """A spacing of 47.3 blocks: with frames of 6, 12 and 16, not of 5, 11 and 17, nor of single blocks."""
    assert [blocks for blocks in (1, 5, 6, 11, 12, 16, 17, 60) if in_step(47.3, blocks)] == [6, 12, 16]


@pytest.mark.slow
def test_frames_in_step_with_losses_are_named() -> None:
    """RLP carries little at 12 blocks, much at 11; the remark names 12. Where nothing is sent again there is none."""
    trace = ErasureTrace("t", evenly_spaced(634, 30_000))
    found = retrace([trace], Settings("rlp", (330, 360), resamples=0))[0]
    assert float(found.exact_bps[1] or 0) < 0.5 * float(found.exact_bps[0] or 0)
    assert found.remarks[0].startswith("a loss comes every 47.3 blocks, in step with frames of 360 octets")
    assert all(retrace([trace], Settings(name, (360,), resamples=0))[0].remarks == [] for name in ("ideal", "raw"))

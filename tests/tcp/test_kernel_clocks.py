"""The kernel's own clocks of a socket, from samples of its state."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from multitracer.model.schema import build
from multitracer.tcp.kernel_clocks import kernel_clocks


def samples(*rows: tuple[int, int, int, float | None]) -> pd.DataFrame:
    """Samples: time, connection, sender, and how long it was busy, in s."""
    time, connection, sender, busy = (list(column) for column in zip(*rows, strict=True))
    known = np.array([np.nan if one is None else one for one in busy])
    return build(
        "tcp_state",
        {
            "time_ns": time, "recorded_ns": time, "connection": connection, "sender": sender,
            "event": ["sample"] * len(rows), "busy_s": known,
            "rwnd_limited_s": known / 2, "sndbuf_limited_s": 0 * known,
        },
    )  # fmt: skip


def test_the_last_sample_of_each_end_counts() -> None:
    """The clocks go on from the beginning of the connection; samples need not be in order."""
    found = kernel_clocks(samples((2, 0, 1, 6.0), (1, 0, 1, 4.0), (3, 1, 0, 8.0), (4, -1, -1, 9.0)), 2)
    assert found[1].tolist() == [6, 3, 0]
    assert found[2].tolist() == [8, 4, 0]
    assert np.isnan(found[[0, 3]]).all()


def test_in_a_window_it_counts_how_far_they_went() -> None:
    """From the first sample to the last; one sample alone shows no time."""
    found = kernel_clocks(samples((1, 0, 0, 4.0), (2, 0, 0, 6.0), (3, 0, 1, 8.0)), 1, of_part=True)
    assert found.tolist() == [[2, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("rows", [(), ((1, 0, 0, None),)])
def test_without_them_nothing_is_known(rows: tuple[tuple[int, int, int, None], ...]) -> None:
    """An older ss, another kind of log, or none."""
    state = samples(*rows) if rows else build("tcp_state", {name: [] for name in ("time_ns", "recorded_ns", "event")})
    assert np.isnan(kernel_clocks(state, 1)).all()

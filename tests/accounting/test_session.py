"""What a link's window held back, where only its log tells how large it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from multitracer.accounting.session import _surely_held
from multitracer.link.timing import Timing

MS = 1_000_000


@pytest.mark.parametrize(("known", "expected"), [(True, [[10, 20], [40, 90]]), (False, [[40, 90]])])
def test_a_frame_of_control_between_data_shows_no_full_window(known: bool, expected: list[list[int]]) -> None:
    """Data has the air until 10 ms, from 20 to 40, and again from 90 ms on; a frame takes 10 ms."""
    air: Any = SimpleNamespace(
        start_ns=MS * np.array([0, 10, 20, 90]), end_ns=MS * np.array([10, 20, 40, 100]),
        data=np.array([True, False, True, True]),
    )  # fmt: skip
    logged: Any = SimpleNamespace(timing=Timing(10 * MS, 1), window_known=known)
    start, end = _surely_held((np.array([0]), np.array([100 * MS])), air, logged)
    assert (np.column_stack([start, end]) // MS).tolist() == expected

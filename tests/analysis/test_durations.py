"""How lengths of time are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.analysis.durations import duration_text

UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (1e-9, "0.001 us"), (25e-6, "25 us"), (0.0000999, "0.1 ms"), (0.0055, "5.5 ms"),
        (0.0096, "9.6 ms"), (0.00996, "10 ms"), (0.14, "140 ms"), (0.9996, "1.0 s"), (17.06, "17.1 s"),
        (99.96, "100 s"), (12345, "12,345 s"),
    ],
)  # fmt: skip
def test_a_length_of_time_is_written_in_its_unit(seconds: float, text: str) -> None:
    """Rounding never leads to a thousand of the smaller unit, nor to an exponent."""
    assert duration_text(seconds) == text


@given(st.floats(1e-9, 1e7))
def test_what_is_written_is_the_length_to_two_digits(seconds: float) -> None:
    """Read back, it is off by at most a twentieth."""
    number, unit = duration_text(seconds).split()
    assert float(number.replace(",", "")) * UNITS_S[unit] == pytest.approx(seconds, rel=0.0501)

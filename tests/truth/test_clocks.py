"""A receiver's clock that was set apart from the sender's, found again."""

from __future__ import annotations

from shared_data import shared

from multitracer import analyze

SET_OFFSET_S, SET_DRIFT_PPM = -1.5, -25.0


def test_a_clock_behind_and_drifting_is_found() -> None:
    """Offset within 2 ms and drift within 5 ppm of what was set; the stated error is small, and true."""
    folder = shared("linux", "loss2")
    analysis = analyze([folder / "snd.pcap", folder / "rcv_otherclock.pcap"])
    clock = analysis.trace.inputs[1].clock
    assert clock is not None
    assert clock.offset_s is not None
    assert clock.drift_ppm is not None
    assert clock.error_s is not None
    error = abs(clock.offset_s - SET_OFFSET_S)
    assert error <= 0.002
    assert abs(clock.drift_ppm - SET_DRIFT_PPM) <= 5
    assert error <= clock.error_s <= 0.010


def test_a_shared_clock_shows_no_offset() -> None:
    """Two captures by one clock are found to agree within the stated error."""
    folder = shared("linux", "loss2")
    clock = analyze([folder / "snd.pcap", folder / "rcv.pcap"]).trace.inputs[1].clock
    assert clock is not None
    assert clock.offset_s is not None
    assert clock.error_s is not None
    assert abs(clock.offset_s) <= clock.error_s <= 0.010

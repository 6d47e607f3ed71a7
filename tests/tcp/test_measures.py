"""What is measured of one end: when its data was acknowledged, and the windows that it advertised."""

from __future__ import annotations

import math

import pytest
from limiting import measured
from sending import Segment, ack, data, table
from two_ends import MS, START

from multitracer.model.schema import ACK, FIN, RST
from multitracer.tcp.measures import NO_WINDOW

CLIENT, SERVER = 0, 1


def of_client(*script: Segment) -> dict[str, float]:
    """What is measured of the client of a script."""
    return dict(measured(table(script)).set_index("sender").loc[CLIENT])


def acknowledged_ms(*script: Segment) -> float:
    """When the last new data of the client was acknowledged."""
    return (of_client(*script)["data_acked_ns"] - START) / MS


def fin(ms: float, number: int) -> Segment:
    """The client sends no more; the FIN has this number."""
    return Segment(ms, CLIENT, seq=number, flags=FIN | ACK)


def test_goodput_ends_with_the_last_acknowledgement_of_data_not_of_a_fin() -> None:
    """1000 octets in 100 ms are 80 kbit/s, however much later the client ends the connection."""
    transfer = (data(0, 1, 1001), ack(100, 1001))
    for script in (transfer, (*transfer, fin(5000, 1001), ack(5100, 1002))):
        assert of_client(*script)["goodput_bps"] == pytest.approx(80_000)


def test_acknowledgements_of_old_data_or_by_a_reset_are_none_of_new_data() -> None:
    """One that repeats a number, one below it, and a RST's come too late."""
    late = (ack(200, 101), ack(300, 51), Segment(400, SERVER, ack=201, flags=RST | ACK))
    assert acknowledged_ms(data(0, 1, 101), ack(100, 101), data(150, 101, 201), *late) == 100


def test_acknowledgements_of_data_that_was_not_captured_count_up_to_what_was() -> None:
    """After a number that acknowledges more than was seen, data below it that is seen later is acknowledged again."""
    assert acknowledged_ms(data(0, 1, 101), ack(100, 301), ack(200, 401)) == 100
    assert acknowledged_ms(data(0, 1, 101), ack(100, 301), data(150, 101, 201), ack(200, 301)) == 200


def test_data_that_was_never_acknowledged_has_no_goodput() -> None:
    """Nor a time of acknowledgement."""
    measures = of_client(data(0, 1, 101))
    assert (measures["data_from_ns"], measures["data_acked_ns"]) == (START, -1)
    assert math.isnan(measures["goodput_bps"])


def test_goodput_does_not_wait_for_data_that_was_recorded_behind_its_acknowledgement() -> None:
    """200 octets in 50 ms are 32 kbit/s, in 100 ms 16, whatever a FIN, or a resend of what was not captured, does."""
    late = (data(0, 1, 101), ack(50, 201), data(50, 101, 201))
    assert of_client(*late, fin(60_000, 201), ack(60_010, 202))["goodput_bps"] == pytest.approx(32_000)
    again = (data(0, 1, 101), ack(100, 301), data(5000, 101, 201), ack(5100, 301))
    assert of_client(*again)["goodput_bps"] == pytest.approx(16_000)


def test_times_stand_still_while_a_clock_that_was_set_back_catches_up() -> None:
    """Nothing is acknowledged before it is sent."""
    measures = of_client(ack(-5, 1), data(-20_000, 1, 101), ack(10, 101), data(-9990, 101, 201), ack(-9980, 201))
    assert (measures["data_from_ns"], measures["data_acked_ns"]) == (START - 5 * MS, START + 10 * MS)


def test_one_packet_that_is_dated_ahead_does_not_spoil_the_rates() -> None:
    """2000 octets in 2 s are 8 kbit/s, though a segment in between is dated an hour later."""
    script = (data(0, 1, 1001), data(3_600_000, 1001, 1501), ack(1000, 1501), data(1500, 1501, 2001), ack(2000, 2001))
    measures = of_client(*script)
    assert (measures["goodput_bps"], measures["throughput_bps"]) == pytest.approx((8000, 8000))


def test_the_least_window_is_that_of_any_segment_but_a_reset() -> None:
    """A reset's window means nothing (RFC 9293 3.5.2); without any window there is none."""
    reset = Segment(300, SERVER, ack=101, flags=RST | ACK, window=0)
    windows = (ack(0, 1, window=500), ack(100, 101, window=400), ack(200, 101))
    assert of_client(*windows, reset)["peer_window_min_bytes"] == 400
    assert of_client(data(0, 1, 101))["peer_window_min_bytes"] == NO_WINDOW


def test_a_window_whose_scale_is_not_known_is_none() -> None:
    """-1 octets in the table of segments."""
    assert of_client(data(0, 1, 101), ack(9, 101, window=-1))["peer_window_min_bytes"] == NO_WINDOW

"""What the frames of a simulated link were: first transmissions, repeats, control."""

from __future__ import annotations

import numpy as np

from multitracer.replay.simulate.frames_sent import FramesSent, Offered, octets_of

PACKETS = [Offered(begin, begin + 100, 40, 60, (0, 0), begin) for begin in (0, 100)]


def frames(*rows: tuple[int, int, int]) -> FramesSent:
    """Frames of 50 octets, one after the other: their octets of the stream, and whether they are numbered."""
    first, last, numbered = np.array(rows, dtype=np.int64).T
    begin = np.arange(len(rows), dtype=np.int64)
    return FramesSent(begin, begin + 1, 0 * begin + 50, first, last, numbered, last - first, 0 * begin)


def test_a_frame_without_octets_is_a_repeat_the_second_time() -> None:
    """It says that a packet ends where the frame before it did; a control frame at the same place is no repeat."""
    end, status = (100, 100, 1), (100, 100, 0)
    assert octets_of(frames((0, 100, 1), end, status, end), PACKETS).repeat.tolist() == [False, False, False, True]
    assert octets_of(frames((0, 100, 1), end, (100, 200, 1), end), PACKETS).repeat.tolist() == [False] * 3 + [True]


def test_octets_that_went_before_are_no_packets() -> None:
    """Of a repeat nothing counts as a packet's first transmission."""
    found = octets_of(frames((0, 100, 1), (100, 200, 1), (0, 100, 1)), PACKETS)
    assert found.repeat.tolist() == [False, False, True]
    assert found.packets.tolist() == [100, 100, 0]

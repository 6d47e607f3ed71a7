"""What the frames of a simulated link were: first transmissions, repeats, control."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.replay.arq.fields import NEVER
from multitracer.replay.simulate.frames_sent import (
    ANSWER,
    REQUEST,
    Arrivals,
    FramesSent,
    Offered,
    octets_of,
    resets_of,
    waited_until,
)

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


@pytest.mark.parametrize(
    ("given_up", "until"),
    [((NEVER, NEVER), [3, NEVER]), ((1, 1), [3, 5]), ((1, 4), [3, 5]), ((1, 9), [3, 9])],
)
def test_a_packet_that_is_given_up_waits_on_in_the_frames_made_of_it(
    given_up: tuple[int, int], until: list[int]
) -> None:
    """The second is given up when half of it is in a frame, which is sent after a repeat and before the request."""
    status = (0, 0, 0)
    sent = frames((0, 50, 1), status, (50, 100, 1), (0, 50, 1), (100, 150, 1), status)
    assert waited_until(sent, PACKETS, np.array(given_up, dtype=np.int64)).tolist() == until


def asked(*rows: tuple[int, int, int | None]) -> tuple[FramesSent, Arrivals]:
    """A side's requests and answers: when sent, which, and when they came to the other side; None if damaged."""
    columns = zip(*rows, strict=True)
    begin, request, came = (np.array([-1 if x is None else x for x in column], dtype=np.int64) for column in columns)
    nothing = np.zeros(len(rows), dtype=np.int64)
    sent = FramesSent(begin, begin + 1, nothing, nothing, nothing, nothing, nothing, request)
    return sent, Arrivals(came, (came >= 0).astype(np.int64))


def resets(
    one: tuple[FramesSent, Arrivals], other: tuple[FramesSent, Arrivals], *, either_resets: bool = False
) -> list[tuple[int, int, int]]:
    """The resets of a link on which two sides asked and answered."""
    return resets_of((one[0], other[0]), (other[1], one[1]), 1000, either_resets=either_resets)


def test_a_request_is_repeated_until_its_side_has_heard_an_answer() -> None:
    """That it hears the other's request, which crossed its own, is none."""
    crossing = asked((50, REQUEST, 150), (110, ANSWER, 210))
    assert resets(asked((10, REQUEST, 110), (160, ANSWER, 260), (200, REQUEST, 300)), crossing) == [(10, 110, 260)]
    again = asked((10, REQUEST, 110), (160, ANSWER, 260), (400, REQUEST, None))
    assert resets(again, crossing) == [(10, 110, 260), (400, 1000, 1000)]


@pytest.mark.parametrize(
    ("either_resets", "found"), [(True, [(10, 110, 260), (400, 460, 560)]), (False, [(10, 110, 1000)])]
)
def test_a_request_that_comes_ends_a_reset_of_rlp(either_resets: bool, found: list[tuple[int, int, int]]) -> None:
    """Of two requests that cross one is lost: in RLP its side asks no more, and the next request is another reset."""
    crossing = asked((50, REQUEST, None), (110, ANSWER, 260), (460, ANSWER, 560))
    assert resets(asked((10, REQUEST, 110), (400, REQUEST, 460)), crossing, either_resets=either_resets) == found


def test_a_reset_is_settled_when_its_answer_has_come() -> None:
    """The first answer was lost; the request is sent again, and answered again."""
    asking = asked((10, REQUEST, 60), (300, REQUEST, 350))
    assert resets(asking, asked((60, ANSWER, None), (350, ANSWER, 400))) == [(10, 60, 400)]

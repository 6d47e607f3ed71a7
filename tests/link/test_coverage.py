"""What the numbers of frames show of a log: where it lacks some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scenes import at, frames, links

from multitracer.link.coverage import NOTHING, Coverage, coverage


class Frame(NamedTuple):
    """A frame as the mobile logged it; `nr` is what it acknowledges."""

    ms: float
    number: int = -1
    sent: bool = True
    nr: int = -1
    octets: bytes | None = None
    epoch: int = 0
    kind: str = "I RR"


def log(*seen: Frame) -> pd.DataFrame:
    """The frames table of one log."""
    made = frames(*((one.ms, one.sent, one.kind, 0) for one in seen))
    number, nr, epoch = (np.array([getattr(one, name) for one in seen]) for name in ("number", "nr", "epoch"))
    octets = np.array([one.octets for one in seen] + [None], dtype=object)[:-1]
    return made.assign(sn=number % 62, sn_unwrapped=number, nr=nr, epoch=epoch, data=octets, length_bytes=30, so=-1)


def holes(seen: Sequence[Frame], *, by_sender: bool = True) -> list[tuple[int, int]]:
    """The holes of the log of the mobile, which sends on link 0, in ms."""
    found = coverage(log(*seen), links(), 0 if by_sender else 1, by_sender=by_sender)
    edges = ([round((time - at(0)) / 1e6) for time in side.tolist()] for side in (found.start_ns, found.stop_ns))
    return list(zip(*edges, strict=True))


def plain(*numbers: int, since: int = 0, sent: bool = True, epoch: int = 0) -> list[Frame]:
    """Frames of these numbers, 20 ms apart."""
    return [Frame(since + 20 * place, number, sent, epoch=epoch) for place, number in enumerate(numbers)]


def test_frames_in_a_row_leave_no_hole() -> None:
    """Nor do repeats, and numbers that begin again after a reset."""
    assert holes([*plain(0, 1, 2, 1, 3), *plain(0, 1, since=100, epoch=1)]) == []
    assert holes(plain(17, 18)) == []  # a log may begin at any number


def test_a_number_that_was_skipped_is_a_hole() -> None:
    """From the last frame before it, whatever was repeated meanwhile; after a reset from 0 on."""
    assert holes(plain(0, 1, 2, 1, 5, 6)) == [(40, 80)]
    assert holes([*plain(0, 1), *plain(2, 3, since=40, epoch=1)]) == [(20, 40)]


def test_other_octets_under_a_number_are_a_hole() -> None:
    """As all numbers were used between; where the log has no octets, nothing shows it."""
    seen = [Frame(0, 0, octets=b"a"), Frame(20, 1, octets=b"b"), Frame(40, 0, octets=b"a"), Frame(60, 0, octets=b"c")]
    assert holes(seen) == [(20, 60)]
    assert holes([one._replace(octets=None) for one in seen]) == []


def test_what_was_acknowledged_and_is_not_there_is_a_hole() -> None:
    """What was not acknowledged may have been lost on the air, and what came late is there."""
    came = plain(0, 1, 4, sent=False)
    assert holes([*came, Frame(60, 0, nr=2)], by_sender=False) == []
    assert holes([*came, Frame(60, 0, nr=5)], by_sender=False) == [(20, 60)]
    assert holes([*came, *plain(2, 3, sent=False, since=60), Frame(100, 0, nr=5)], by_sender=False) == []


@pytest.mark.parametrize(("old", "found"), [((3,), []), ((20,), [(1280, 1480)]), ((), [(1280, 1480)])])
def test_an_old_frame_may_have_been_taken_for_a_new_one(old: Sequence[int], found: list[tuple[int, int]]) -> None:
    """RLP's window holds all numbers but one: what came again after it was acknowledged may be taken so."""
    came = [Frame(20 * number, number, sent=False) for number in (*range(65), 66, 67, 68)]
    told = [Frame(20 * number + 1, 0, nr=number + 1, kind="RR") for number in range(63)]
    again = [Frame(1270, number, sent=False) for number in old]
    seen = sorted([*came, *told, *again, Frame(1480, 0, nr=67 % 62)], key=lambda one: one.ms)
    assert holes(seen, by_sender=False) == found


@pytest.mark.parametrize(
    ("again_ms", "left_out", "found"),
    [(90, -1, []), (70, -1, [(1280, 1381)]), (90, 30, [(580, 701), (1280, 1381)])],
)
def test_what_an_old_frame_was_taken_for_may_be_told_late(
    again_ms: int, left_out: int, found: list[tuple[int, int]]
) -> None:
    """An N(R) may wait in the device: the old frame of number 3 came before the log shows that 3 was acknowledged.

    Taken for 65, it has to be in the window, which begins above 3 but is one short of all numbers (24.022 5.2.1). Where
    the log does lack a frame that was acknowledged, 30, nothing is known.
    """
    came = [Frame(20 * number, number, sent=False) for number in (*range(65), 66, 67, 68)]
    expected = [*range(1, 65), 66, 67, 68, 69]
    told = [Frame(one.ms + 101, 0, nr=nr % 62, kind="RR") for one, nr in zip(came, expected, strict=True)]
    old = Frame(again_ms, 3, sent=False)
    seen = sorted([*(one for one in came if one.number != left_out), *told, old], key=lambda one: one.ms)
    assert holes(seen, by_sender=False) == found


@pytest.mark.parametrize(("heard", "found"), [(61, []), (62, [(40, 1400)])])
def test_a_silence_in_which_the_peer_used_all_numbers_is_a_hole(heard: int, found: list[tuple[int, int]]) -> None:
    """RLP has 62, so that the next number is as without the hole; where the peer has none, the link was idle."""
    own = [*plain(0, 1, 2), *plain(3, since=1400)]
    assert holes(own) == []
    peer = log(*plain(*range(heard), since=60)).assign(sent=False, input=1, record=range(heard))
    both = pd.concat([log(*own), peer], ignore_index=True)
    covered = coverage(both, links(), 0, by_sender=True)
    edges = [round((int(time) - at(0)) / 1e6) for side in (covered.start_ns, covered.stop_ns) for time in side]
    assert [tuple(edges)] * bool(edges) == found


def test_a_log_without_numbers_covers_nothing() -> None:
    """Nor does none."""
    assert coverage(log(Frame(0, kind="RR")), links(), 0, by_sender=True) is NOTHING
    assert coverage(log(Frame(0, 0)), links(), 2, by_sender=True) is NOTHING


def test_a_time_is_covered_between_holes() -> None:
    """A hole's edges are frames that the log has; beyond its begin and end nothing is covered."""
    one = Coverage(0, 100, np.array([20]), np.array([30]))
    since, until = np.array([0, 0, 20, 25, 30, 30, -1]), np.array([20, 21, 25, 28, 40, 101, 5])
    assert one.covers(since, until).tolist() == [True, False, False, False, True, False, False]
    apart = one.apart(5)
    assert (apart.begin_ns, apart.end_ns, apart.start_ns.tolist(), apart.stop_ns.tolist()) == (5, 95, [15], [35])

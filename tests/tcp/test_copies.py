"""What copies of the same octets prove of one another, against a plain comparison of each with each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitracer.tcp.copies import LOST, NO, NO_VERDICT, UNDECIDED, YES, Copies, Told, copy_fate, judged

COPY = st.tuples(
    st.integers(0, 1), st.integers(0, 5), st.integers(1, 4), st.sampled_from([NO_VERDICT, YES, NO, UNDECIDED]),
    st.sampled_from([-1, 0, 1]), *[st.booleans()] * 3,
)  # fmt: skip


def copies(drawn: list[tuple[int, ...]]) -> Copies:
    """Copies in the order sent, as (end, start, size, verdict, arrived, gone, doubtful, answered)."""
    end, start, size, verdict, arrived, gone, doubtful, answered = (
        np.array(column, dtype=np.int64) for column in zip(*drawn, strict=True)
    )
    row = np.arange(len(drawn))
    order = np.lexsort((row, start + size, start, end))
    columns = end, start, start + size, row, verdict, arrived, gone != 0, doubtful != 0, answered != 0
    return Copies(*(column[order] for column in columns))


def plainly(made: Copies) -> list[int]:
    """The fate of each, compared with all others."""
    found = []
    told = Told(*np.zeros((len(Told._fields), len(made.end)), dtype=np.bool_))
    for at in range(len(made.end)):
        shared = (made.end == made.end[at]) & (made.start < made.stop[at]) & (made.stop > made.start[at])
        earlier, later = shared & (made.row < made.row[at]), shared & (made.row > made.row[at])
        inside = (made.start >= made.start[at]) & (made.stop <= made.stop[at])
        told.lost[at] = (later & inside & (made.verdict == NO)).any()
        told.open_[at] = (later & ~made.gone & (made.verdict != YES)).any()
        told.preceded[at] = earlier.any()
        told.alive[at] = (earlier & ~made.gone).any()
        found.append(copy_fate(made, at, told))
    return found


@given(st.lists(COPY, min_size=1, max_size=12))
def test_each_copy_is_compared_with_all_that_share_octets(drawn: list[tuple[int, ...]]) -> None:
    """Whatever their order, sizes and overlaps."""
    made = copies(drawn)
    assert judged(made).tolist() == plainly(made)


def test_many_copies_of_the_same_octets_are_judged_in_one_pass() -> None:
    """A closed window is probed for hours with one octet: comparing each with each would take as long."""
    made = copies([(0, 1, 1, NO, -1, 0, 0, 1)] * 200_000)
    assert (judged(made)[:-1] == LOST).all()

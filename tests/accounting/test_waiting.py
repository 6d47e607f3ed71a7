"""Until when data that the link's log does not show may have waited for it."""

from __future__ import annotations

import numpy as np
import pytest

from multitracer.accounting.waiting import Occupied

FRAME, LOG_END = 10, 1000


def occupied(*spans: tuple[int, int]) -> Occupied:
    """A link that could not send new data in these spans."""
    start, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return Occupied(start, end, LOG_END, FRAME)


@pytest.mark.parametrize(
    ("spans", "until"),
    [
        (((0, 500), (505, 995)), LOG_END),
        (((0, 500), (600, 1000)), 500),
        ((), 100),
        (((105, 400),), 400),
    ],
    ids=["never free", "free for longer than a frame takes", "free at once", "held soon after"],
)
def test_what_was_never_sent_waits_until_the_link_could_have_sent_it(
    spans: tuple[tuple[int, int], ...], until: int
) -> None:
    """It was not there when the link could have sent it, and did not: a queue had dropped it."""
    assert occupied(*spans).until(100) == until

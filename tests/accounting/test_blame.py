"""Blame: every instant without new data is charged to the root of a chain of findings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.accounting.blame import Resends, find_blame, latest_to_begin, roots
from multitracer.accounting.session import CODES, Accounting, totalled

S = 10**9
NOTHING = Resends(*(np.empty(0, dtype=np.int64) for _ in Resends._fields))


def accounting(*parts: tuple[float, str]) -> Accounting:
    """A session of these parts (seconds, cause), one after the other from 0."""
    ends = np.cumsum([round(long * S) for long, _ in parts])
    starts = np.concatenate([[0], ends[:-1]])
    return totalled(0, starts, ends, np.array([CODES[cause] for _, cause in parts]), stops_known=True)


def findings(*rows: tuple[str, float, float, int]) -> pd.DataFrame:
    """Confirmed findings: kind, start and end in seconds, row of the finding that caused it."""
    kinds, starts, ends, causes = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "kind": kinds, "layer": ["link"] * len(rows), "verdict": ["confirmed"] * len(rows),
            "because": [f"finding {number}" for number in range(len(rows))],
            "start_ns": [round(at * S) for at in starts], "end_ns": [round(at * S) for at in ends],
            "caused_by": np.array(causes),
        }
    )  # fmt: skip


def seconds(blame: list[Any]) -> dict[str, float]:
    """Seconds by cause."""
    return {one.cause: one.lost_ns / S for one in blame}


def test_time_is_charged_to_the_root_of_the_chain() -> None:
    """Idle time that a timeout explains, which a reset caused, which an outage caused, is the outage's."""
    session = accounting((10, "new_data"), (3, "link_retransmitted"), (1, "link_reset"), (12, "idle_recovery"))
    table = findings(
        ("link-outage", 10, 13, -1), ("link-reset", 13, 14, 0), ("timeout", 26, 26, 1), ("idle-link", 14, 26, 2)
    )
    lost, blame = find_blame(session, table, NOTHING)
    assert seconds(blame) == {"link-outage": 16.0}
    assert lost[0] == 16.0
    assert np.isnan(lost[1:]).all()


def test_a_finding_explains_only_causes_that_its_kind_can_leave() -> None:
    """Inside an outage the time in which the sender of a local drop waited is not the drop's; nobody is guessed."""
    session = accounting((5, "new_data"), (2, "idle_sender"), (1, "unknown"))
    _, blame = find_blame(session, findings(("flow-control-gap", 0, 8, -1)), NOTHING)
    assert seconds(blame) == {"unexplained": 3.0}
    assert blame[0].layer == "unknown"
    assert blame[0].findings == []


def test_of_several_findings_the_latest_to_begin_explains() -> None:
    """A recovery hole inside a stretch of link repeats takes its own part of the repeats' time."""
    session = accounting((10, "link_retransmitted"))
    table = findings(("link-retransmissions", 0, 10, -1), ("link-recovery-hole", 4, 6, -1))
    _, blame = find_blame(session, table, NOTHING)
    assert seconds(blame) == {"link-retransmissions": 8.0, "link-recovery-hole": 2.0}


def test_an_undecided_finding_is_charged_nothing() -> None:
    """What is not known to have happened explains nothing."""
    table = findings(("link-outage", 0, 10, -1)).assign(verdict="undecided")
    lost, blame = find_blame(accounting((10, "link_retransmitted")), table, NOTHING)
    assert seconds(blame) == {"unexplained": 10.0}
    assert lost[0] == 0.0


def test_what_tcp_sent_again_is_charged_by_what_was_on_the_air() -> None:
    """A resend's air time belongs to what lost its earlier copy, whenever that was."""
    session = accounting((10, "new_data"), (1, "tcp_retransmitted"), (1, "tcp_retransmitted"))
    resends = Resends(np.array([10 * S, 11 * S]), np.array([11 * S, 12 * S]), np.array([0, 1]))
    _, blame = find_blame(session, findings(("local-drop", 2, 2, -1), ("spurious-timeout", 9, 9, -1)), resends)
    assert seconds(blame) == {"local-drop": 1.0, "spurious-timeout": 1.0}


_SPAN = st.tuples(st.integers(0, 50), st.integers(0, 50))


@given(
    parts=st.lists(st.tuples(st.integers(1, 9), st.sampled_from(sorted(CODES))), min_size=1, max_size=20),
    spans=st.lists(_SPAN, max_size=8),
)
def test_blame_and_what_was_carried_add_up_to_the_session(parts: list[tuple[int, str]], spans: list[Any]) -> None:
    """new_data + link_overhead + all shares of blame = 1, whatever was found."""
    session = accounting(*parts)
    rows = [("link-outage", min(span), max(span), -1) for span in spans] or [("link-outage", 0, 0, -1)]
    _, blame = find_blame(session, findings(*rows), NOTHING)
    carried = session.shares["new_data"] + session.shares["link_overhead"]
    assert carried + sum(one.share for one in blame) == pytest.approx(1, abs=1e-9)


@given(st.lists(_SPAN, max_size=10))
def test_pieces_cover_the_intervals_once_each_by_the_latest(spans: list[tuple[int, int]]) -> None:
    """Every instant in an interval has one piece, that of an interval which holds it and began last."""
    intervals = [(min(span), max(span), number) for number, span in enumerate(spans)]
    owner = {at: number for begin, stop, number in latest_to_begin(intervals) for at in range(begin, stop)}
    for at in range(51):
        holding = [one for one in intervals if one[0] <= at < one[1]]
        assert (at in owner) == bool(holding)
        if holding:
            assert intervals[owner[at]][0] == max(start for start, _, _ in holding)


def test_the_root_of_a_chain_is_what_nothing_caused() -> None:
    """Three findings in a chain and one alone."""
    assert roots(np.array([-1, 0, 1, -1])).tolist() == [0, 0, 0, 3]

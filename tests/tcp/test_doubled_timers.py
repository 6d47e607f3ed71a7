"""What the sender's own log tells of its timer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scenes import CLIENT, SERVER, at, retransmissions

from multitracer.tcp.doubled_timers import with_doubled_timers


def state(*rows: tuple[float, float, float], local: str = CLIENT) -> pd.DataFrame:
    """(ms, smoothed round trip, timeout), the latter in seconds."""
    ms, srtt, rto = (np.array(column) for column in zip(*rows, strict=True))
    times = np.array([at(one) for one in ms], dtype=np.int64)
    return pd.DataFrame({
        "input": 0, "time_ns": times, "connection": 0, "local": local, "srtt_s": srtt, "rto_s": rto
    })  # fmt: skip


def triggers(log: pd.DataFrame, *sent: tuple[float, str], told: bool = False) -> list[str]:
    """Of what was sent again at these times, for these reasons, which a kernel's log `told` or not."""
    rows = [{"ms": ms, "trigger": trigger, "segment": number} for number, (ms, trigger) in enumerate(sent)]
    resent = with_doubled_timers(retransmissions(*rows), log, np.full(len(rows), told))
    return resent["trigger"].astype(str).tolist()


BEFORE = (100, 1.5, 3.5)


def test_what_was_sent_as_the_timeout_doubled_the_timer_sent() -> None:
    """What follows is its repair; what a kernel's log tells stands."""
    log = state(BEFORE, (2000, 1.5, 7.0001))
    assert triggers(log, (2000, "fast"), (2050, "recovery")) == ["timeout", "recovery"]
    assert triggers(log, (2000, "fast"), told=True) == ["fast"]


@pytest.mark.parametrize("other_ms", [1000, 1999.5, 2000.5])
def test_a_doubling_tells_nothing_where_more_was_sent_since_the_row_before(other_ms: float) -> None:
    """A log of samples shows it late: it may be the other one that the timer sent."""
    sent = sorted([(other_ms, "fast"), (2000, "recovery")])
    assert triggers(state(BEFORE, (2000, 1.5, 7.0)), *sent) == [trigger for _, trigger in sent]


def test_rows_of_another_log_are_not_compared() -> None:
    """Each has its own times."""
    log = state(BEFORE, (2000, 1.5, 7.0)).assign(input=[0, 1])
    assert triggers(log, (2000, "fast")) == ["fast"]


@pytest.mark.parametrize(
    "after",
    [(2000, 1.5, 6.9), (2000, 1.6, 7.0), (2005, 1.5, 7.0)],
    ids=["not double", "another round trip", "later"],
)
def test_a_timeout_that_changed_otherwise_tells_nothing(after: tuple[float, float, float]) -> None:
    """A new round trip changes it, too, and what was logged later is of something else."""
    assert triggers(state(BEFORE, after), (2000, "fast")) == ["fast"]


def test_the_other_end_s_log_tells_nothing() -> None:
    """It has a timer of its own."""
    assert triggers(state(BEFORE, (2000, 1.5, 7.0), local=SERVER), (2000, "fast")) == ["fast"]


def test_the_reason_names_the_log_and_keeps_the_rest() -> None:
    """What was said of need stands."""
    resent = retransmissions({"ms": 2000, "trigger": "fast", "segment": 0, "because": "3 duplicates; missing"})
    found = with_doubled_timers(resent, state(BEFORE, (2000, 1.5, 7.0)), np.zeros(1, dtype=np.bool_))
    assert found["because"].iat[0] == "the sender's log has its timeout doubled then; missing"
    assert not found["in_doubt"].any()


def test_a_row_of_no_connection_names_no_socket() -> None:
    """As the samples of a test that has no address have none."""
    nameless = state((1000, 1.5, 3.5), (2000, 1.5, 7.0)).assign(connection=-1, local=None)
    log = pd.concat([nameless, state(BEFORE, (2000, 1.5, 7.0))], ignore_index=True)
    assert triggers(log, (2000, "fast")) == ["timeout"]
    assert triggers(nameless, (2000, "fast")) == ["fast"]

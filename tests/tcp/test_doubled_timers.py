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
    return pd.DataFrame({"time_ns": times, "connection": 0, "local": local, "srtt_s": srtt, "rto_s": rto})


def triggers(log: pd.DataFrame, *sent: tuple[float, str]) -> list[str]:
    """Of what was sent again at these times, for these reasons."""
    rows = [{"ms": ms, "trigger": trigger, "segment": number} for number, (ms, trigger) in enumerate(sent)]
    return with_doubled_timers(retransmissions(*rows), log)["trigger"].astype(str).tolist()


BEFORE = (100, 1.5, 3.5)


def test_what_was_sent_as_the_timeout_doubled_the_timer_sent() -> None:
    """The first of it; what follows is its repair."""
    log = state(BEFORE, (2000, 1.5, 7.0001))
    assert triggers(log, (2000, "fast"), (2000.3, "recovery")) == ["timeout", "recovery"]


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
    found = with_doubled_timers(resent, state(BEFORE, (2000, 1.5, 7.0)))
    assert found["because"].iat[0] == "the sender's log has its timeout doubled then; missing"
    assert not found["in_doubt"].any()

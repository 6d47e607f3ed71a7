"""When TCP waited for a timer while the link was idle: only if nothing that it resent was on its way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sending import ack, again, data, table
from two_ends import MS, START

from multitracer.accounting.idle_causes import Carried, recoveries, sending
from multitracer.model.schema import ACK, RST

FRAMES = ("seq", "payload_bytes", "sent_ns", "delivered_ns", "first_frame_ns", "segment")
SCRIPT = (ack(0, 1), data(1, 1, 101), again(1000, 1, 101), ack(1300, 101))


def carried(*rows: tuple[float, ...]) -> pd.DataFrame:
    """Rows of segment_frames, times in ms."""
    table = pd.DataFrame(np.array(rows, dtype=np.float64).reshape(-1, len(FRAMES)), columns=list(FRAMES))
    for name in ("sent_ns", "delivered_ns", "first_frame_ns"):
        table[name] = np.where(table[name] >= 0, START + table[name].astype(np.int64) * MS, -1)
    return table.astype(np.int64)


def waits(spurious: str, late_ack: int, data_rows: pd.DataFrame, answers: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Since when TCP waited or repaired, and perhaps did, in ms."""
    segments, rows = table(SCRIPT), np.arange(len(SCRIPT))
    resent = pd.DataFrame({
        "time_ns": [START + 1000 * MS], "trigger": ["timeout"], "spurious": [spurious], "late_ack": [late_ack],
        "seq": [1], "payload_bytes": [100],
    })  # fmt: skip
    sent = sending(segments, rows, 0)
    assert sent is not None
    found = recoveries(sent, segments, rows, 0, resent, Carried(data_rows, answers))
    sure, perhaps = (((spans[0] - START) // MS).tolist() for spans in found)
    return sure, perhaps


NOTHING = carried()


@pytest.mark.parametrize(
    ("spurious", "late_ack", "data_rows", "answers", "expected"),
    [
        ("no", -1, NOTHING, NOTHING, ([1], [])),
        ("unknown", 0, NOTHING, NOTHING, ([1], [])),
        ("unknown", -1, NOTHING, NOTHING, ([1000], [1])),
        ("unknown", -1, carried((1, 100, 1, 1200, 5, 1)), NOTHING, ([1000], [])),
        ("unknown", -1, NOTHING, carried((1, 0, -1, 1300, 900, 3)), ([1000], [])),
        ("yes", 1, NOTHING, NOTHING, ([1000], [])),
    ],
    ids=["lost", "no acknowledgement came back", "not known", "data on the link", "answer on the link", "late answer"],
)
def test_a_timer_is_waited_for_where_nothing_was_on_its_way(
    spurious: str, late_ack: int, data_rows: pd.DataFrame, answers: pd.DataFrame, expected: tuple[list[int], list[int]]
) -> None:
    """The link's log shows what was: the earlier copy, or its answer, that came after the timer had run out."""
    assert waits(spurious, late_ack, data_rows, answers) == expected


@pytest.mark.parametrize(("repaired_ms", "since_ms"), [(500, 500), (1500, 1)])
def test_a_needless_resend_s_timer_is_waited_for_where_other_data_was_missing_then(
    repaired_ms: int, since_ms: int
) -> None:
    """The second segment was lost: its repair had been sent before the timer ran out, and came, or was sent later."""
    resends = sorted([(1000, 1, 101, "timeout", "yes"), (repaired_ms, 101, 201, "fast", "no")])
    script = (
        ack(0, 1), data(1, 1, 101), data(2, 101, 201),
        *(again(ms, begin, end) for ms, begin, end, *_ in resends), ack(1800, 201),
    )  # fmt: skip
    segments, rows = table(script), np.arange(len(script))
    times, begins, _, triggers, verdicts = zip(*resends, strict=True)
    resent = pd.DataFrame({
        "time_ns": [START + ms * MS for ms in times], "trigger": triggers, "spurious": verdicts, "late_ack": 1,
        "seq": begins, "payload_bytes": 100,
    })  # fmt: skip
    sent = sending(segments, rows, 0)
    assert sent is not None
    found = recoveries(sent, segments, rows, 0, resent, Carried(NOTHING, NOTHING)).sure
    assert (found[0][0] - START) // MS == since_ms


def test_a_reset_neither_acknowledges_nor_closes_the_window() -> None:
    """Its number and its window mean nothing to an end that goes on: 100 octets stay outstanding."""
    script = (ack(0, 1, window=500), data(1, 1, 101), ack(50, 101), data(60, 101, 201))
    reset = ack(90, 201, window=0)._replace(flags=ACK | RST)
    sent = sending(table((*script, reset)), np.arange(len(script) + 1), 0)
    assert sent is not None
    assert (sent.outstanding_bytes[-1], sent.window_bytes[-1], sent.last_acked_ns) == (100, 65535, START + 50 * MS)

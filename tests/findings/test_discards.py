"""What an RLC entity may have given up by itself is not a reset's."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from scenes import Seen, at, frames, intervals, scene, segment_frames

from multitracer.findings import find
from multitracer.findings.discards import Until, perhaps_given_up
from multitracer.findings.observations import Observations

UNTIL = Until(at(0), at(100), at(120))


def logged(*rows: tuple[float, str, int, int, int]) -> pd.DataFrame:
    """The log of a link's sender: (ms, type, number, transmission, N_LENGTH); MRW_ACKs come from its peer."""
    table = frames(*((ms, kind != "MRW_ACK", kind, again) for ms, kind, _, again, _ in rows))
    number = [sn for _, _, sn, _, _ in rows]
    return table.assign(sn=number, sn_unwrapped=number, epoch=0, lis=[(n,) for *_, n in rows])


def carried() -> Observations:
    """Four packets of one PDU each, sent at 1 to 4 ms, that never came out of the link."""
    seen = scene([Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(4)])
    rows = [{"sent": n, "first": n + 1, "last": n + 1, "segment": n, "frames": 1} for n in range(4)]
    return replace(seen, segment_frames=segment_frames(*rows))


NEW = [(n + 1, "AMD", n, 0, 0) for n in range(4)]
NAMED_TWICE = [(20, "AMD", 0, 2, 0), (30, "MRW", 0, 0, 1), (50, "AMD", 1, 2, 0), (60, "MRW", 2, 0, 0)]


@pytest.mark.parametrize(
    ("rows", "given_up"),
    [
        ([], [0, 0, 0, 0]),
        ([(60, "MRW", 2, 0, 0), (70, "MRW_ACK", 2, 0, 0)], [1, 1, 0, 0]),
        ([(60, "MRW", 2, 0, 1), (70, "MRW_ACK", 3, 0, 0)], [1, 1, 1, 0]),
        ([(60, "MRW", 2, 0, 0)], [1, 1, 1, 1]),
        ([(60, "MRW", -1, 0, 0)], [1, 1, 1, 1]),
        ([*NAMED_TWICE], [1, 1, 0, 0]),
        ([*NAMED_TWICE, (70, "AMD", 2, 2, 0)], [1, 1, 1, 0]),
        ([*NAMED_TWICE, (70, "AMD", 2, 3, 0)], [1, 1, 1, 1]),
    ],
)
def test_what_may_have_been_given_up(rows: list[tuple[float, str, int, int, int]], given_up: list[int]) -> None:
    """What an MRW names; while it is unanswered all, or by MaxDAT up to the last PDU that was sent as often as any.

    Where a PDU that no MRW gave up was sent more often, no count of transmissions explains the MRWs.
    """
    observed = replace(carried(), frames=logged(*NEW, *rows))
    segments = observed.rows(0, 0, 0)
    assert perhaps_given_up(observed, 0, segments, UNTIL).tolist() == [bool(one) for one in given_up]


def test_logs_of_both_ends_show_what_was_lost_together() -> None:
    """Two segments sent at once never came out of the link; so did their acknowledgement: likely, by the logs alone."""
    seen = scene([*(Seen(sent=n, seq=1 + 1000 * n, size=1000) for n in range(4)), Seen(sent=300, came=350, sender=1)])
    points = ("receiver_point", "sender_point")
    alone = [one._replace(**{name: -1}) for one, name in zip(seen.directions, points, strict=True)]
    rows = [{"sent": n, "first": n + 1, "last": n + 2, "segment": n, "seq": 1 + 1000 * n} for n in range(4)]
    rows = [one | ({"delivered": 50} if n in (0, 3) else {}) for n, one in enumerate(rows)]
    answer = {"first": 60, "last": 61, "link": 1, "payload_bytes": 0, "sender": seen.connections["server"].iat[0]}
    found = find(replace(seen, directions=alone, segment_frames=segment_frames(*rows, answer), frames=logged(*NEW),
                         link_intervals=intervals())).table  # fmt: skip
    lost = found[found["kind"].isin(["burst-loss", "ack-loss"])]
    assert lost[["kind", "layer", "verdict"]].to_numpy().tolist() == [
        ["burst-loss", "link", "likely"], ["ack-loss", "link", "likely"],
    ]  # fmt: skip
    assert lost["evidence"].map(lambda one: one["count"]).tolist() == [2, 1]

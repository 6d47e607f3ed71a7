"""What the limits of one capture make of a timeout that neither SACK nor timestamps judge: by what answers it."""

from __future__ import annotations

import pandas as pd
import pytest
from limiting import found, measured, milliseconds, paths_of
from sending import Segment, ack, again, blocks, data, judged, syn_ack, table

from multitracer.accounting.limits import find_limits
from multitracer.tcp.connection_rows import Groups

WARM = (data(0, 1, 101), ack(100, 101))
"""A round trip of 100 ms."""
FLIGHT = tuple(data(100, 101 + 100 * n, 201 + 100 * n) for n in range(4))
TIMEOUT = again(900, 101, 201)
UNSURE_MS = 100
"""The first segment's: how fast its path is, it alone does not show."""


def spent(*script: Segment) -> dict[str, float]:
    """The ms of each cause, after a warm start; the verdicts on timeouts are open."""
    resent = judged(*WARM, *script)
    assert set(resent.loc[resent["trigger"] == "timeout", "spurious"]) == {"unknown"}
    return milliseconds(found(*WARM, *script))


def test_an_answer_that_stops_at_what_was_resent_shows_the_rest_to_be_lost() -> None:
    """The timer was waited for from the last acknowledgement before; the repair goes on until all is acknowledged."""
    limits = spent(*FLIGHT, TIMEOUT, ack(1000, 201), again(1000, 201, 301), again(1000, 301, 401), ack(1100, 501))
    assert limits == {"timeout_recovery": 1000, "unknown": UNSURE_MS}


def test_an_answer_to_all_that_was_sent_shows_the_acknowledgements_to_be_lost() -> None:
    """No duplicate had come: the segments behind the first came, as if nothing had been missing."""
    limits = spent(*FLIGHT, TIMEOUT, ack(1000, 501), data(1000, 501, 601), ack(1100, 601))
    assert not {"timeout_recovery", "path_stall"} & set(limits)
    assert limits["unknown"] == UNSURE_MS


@pytest.mark.parametrize("second", [again(2500, 101, 201), again(2500, 101, 251)])
def test_timeouts_in_a_row_are_answered_together(second: Segment) -> None:
    """However many octets each of them sends again."""
    limits = spent(*FLIGHT, TIMEOUT, second, ack(2600, 501), data(2600, 501, 601), ack(2700, 601))
    assert not {"timeout_recovery", "path_stall"} & set(limits)


def test_after_a_duplicate_the_octets_had_been_missing() -> None:
    """One is too few for a fast retransmission."""
    limits = spent(*FLIGHT, ack(200, 101), TIMEOUT, ack(1000, 501))
    assert limits["timeout_recovery"] >= 0.98 * 900


@pytest.mark.parametrize(
    "no_duplicate", [ack(200, 101)._replace(size=100), ack(200, 101)._replace(window=40_000)], ids=["data", "window"]
)
def test_what_is_no_duplicate_tells_nothing(no_duplicate: Segment) -> None:
    """Data of the other end, or a window update."""
    limits = spent(*FLIGHT, no_duplicate, TIMEOUT, ack(1000, 501), data(1000, 501, 601), ack(1100, 601))
    assert "timeout_recovery" not in limits


def test_an_answer_that_comes_too_soon_is_of_an_earlier_copy() -> None:
    """Less than a round trip after the resend: whether that was needed stays open."""
    limits = spent(*FLIGHT, TIMEOUT, ack(970, 201), ack(980, 301), ack(990, 401), ack(1000, 501))
    assert "timeout_recovery" not in limits


def test_a_needless_timeout_leaves_no_timer_behind() -> None:
    """What is repaired long after it was not found by it."""
    later = (data(9000, 501, 601), data(9000, 601, 701), ack(9100, 501), again(9104, 501, 601), ack(9204, 701))
    script = (*WARM, *FLIGHT, TIMEOUT, ack(1000, 501), *later)
    frame, resent = table(script), judged(*script)
    kinds = resent["trigger"].cat.categories, resent["spurious"].cat.categories
    known = resent.assign(
        trigger=pd.Categorical(["timeout", "recovery"], kinds[0]), spurious=pd.Categorical(["unknown", "no"], kinds[1])
    )
    limits = find_limits(frame, blocks(script), measured(frame), Groups(frame, 1), paths_of(len(frame)), known)
    assert "timeout_recovery" not in milliseconds(limits)


def test_a_timeout_that_the_receiver_reports_to_be_needless_shows_acknowledgements_to_be_lost() -> None:
    """The path did not stand still: data had come."""
    script = (syn_ack(-1), *WARM, *FLIGHT, TIMEOUT, ack(1000, 501, dsack=(101, 201)), data(1000, 501, 601))
    script = (*script, ack(1100, 601))
    assert judged(*script)["spurious"].tolist() == ["yes"]
    limits = milliseconds(found(*script))
    assert "path_stall" not in limits
    assert limits.get("unknown", 0) <= 2 * UNSURE_MS


def test_what_was_sent_once_more_later_was_not_on_the_bottleneck_until_then() -> None:
    """The acknowledgement may be of the last copy: of the one before nothing is known."""
    repaired = (ack(1000, 401), again(1000, 401, 501), data(1000, 501, 601), again(3000, 401, 501), ack(3100, 501))
    limits = milliseconds(found(*WARM, *FLIGHT, TIMEOUT, *repaired, ack(3200, 601), told_bps=800_000))
    assert limits["timeout_recovery"] >= 0.95 * 2000

"""Triggers in a capture of the data sender's packets alone: the timer, where the waits between resends double."""

from __future__ import annotations

import pytest
from sending import FLIGHT, Segment, again, judged
from two_ends import MS, START

from multitracer.compute import kernels
from multitracer.tcp.retransmission_trigger import FIRST_PROBES_NS

BEFORE_PROBES_MS = (FIRST_PROBES_NS - START) // MS - 86_400_000


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def triggers(sent: list[Segment], *resent_ms: float, since_ms: float = 0) -> list[str]:
    """The trigger of each resend of the first segment that was sent."""
    script = [*sent, *(again(when, 1, 101) for when in resent_ms)]
    return judged(*(one._replace(ms=since_ms + one.ms) for one in script))["trigger"].tolist()


def test_resends_at_doubling_waits_are_the_timers() -> None:
    """RFC 6298 5.5; only the first may have been acknowledgements', or a tail loss probe (RFC 8985 7)."""
    for sent in (FLIGHT, FLIGHT[:1]):
        assert triggers(sent, 250, 850, 2050, 4450) == ["unknown", "timeout", "timeout", "timeout"]
        assert triggers(sent, 300, 900, 2100, 4500) == ["unknown", "timeout", "timeout", "timeout"]


def test_the_first_is_the_timers_too_where_nothing_else_was_possible() -> None:
    """A segment with nothing behind it, before tail loss probes were first described in 2012."""
    assert triggers(FLIGHT[:1], 250, 850, 2050, 4450, since_ms=BEFORE_PROBES_MS) == ["timeout"] * 4
    assert triggers(FLIGHT[:1], 300, 900, since_ms=BEFORE_PROBES_MS) == ["timeout"] * 2
    assert triggers(FLIGHT, 250, 850, 2050, 4450, since_ms=BEFORE_PROBES_MS) == ["unknown"] + ["timeout"] * 3


def test_resends_at_even_waits_have_no_known_trigger() -> None:
    """Neither the acknowledgements nor the timer that they restart are known."""
    assert triggers(FLIGHT, 300, 600, 900) == ["unknown"] * 3
    assert triggers(FLIGHT[:1], 300, 600, 900, since_ms=BEFORE_PROBES_MS) == ["unknown"] * 3


def test_one_resend_has_no_known_trigger() -> None:
    """A single wait doubles nothing."""
    assert triggers(FLIGHT, 300) == ["unknown"]


def test_one_doubled_wait_after_the_first_resend_may_be_chance() -> None:
    """What the first resend waited for is not known, so that twice as long means nothing."""
    assert triggers(FLIGHT, 300, 900) == ["unknown"] * 2

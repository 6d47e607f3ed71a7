"""Triggers in a capture of the data sender's packets alone: the timer, where the waits between resends double."""

from __future__ import annotations

import pytest
from sending import FLIGHT, Segment, again, data, judged, syn_ack
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


def test_waits_too_short_for_a_timer_are_none() -> None:
    """RFC 6298 2.4 asks for a second at least, Linux takes 200 ms."""
    assert triggers(FLIGHT, 60, 120, 240, 480) == ["unknown"] * 4


def test_resends_of_one_octet_may_be_window_probes() -> None:
    """Their waits double too (RFC 9293 3.8.6.1), and the closed window was not captured."""
    sent = [data(0, 1, 2), *(again(when, 1, 2) for when in (5_000, 15_000, 35_000, 75_000))]
    assert judged(*sent)["trigger"].tolist() == ["unknown"] * 4


def test_acknowledgements_of_a_handshake_alone_tell_of_no_timer() -> None:
    """More was sent than the window of a SYN+ACK allows: what opened it further was not captured."""
    sent = [syn_ack(-20), *(data(n, 1 + 1000 * n, 1001 + 1000 * n) for n in range(100))]
    assert judged(*sent, again(1_000, 1, 1001))["trigger"].tolist() == ["unknown"]
    assert judged(*sent[:11], again(1_000, 1, 1001))["trigger"].tolist() != ["unknown"]


def test_a_timer_known_by_its_doubling_says_so() -> None:
    """Nothing is said of acknowledgements that are not in the capture."""
    script = [*FLIGHT, *(again(when, 1, 101) for when in (300, 900, 2_100))]
    assert "twice as long" in judged(*script)["because"].iloc[-1]

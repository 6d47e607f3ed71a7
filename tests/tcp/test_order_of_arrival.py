"""What the order of arrivals tells of resends: what was sent before one came after its octets (RFC 5682)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordered_path import script_of
from sending import Segment, ack, again, data, judged, syn_ack

from multitracer.compute import kernels

WARM = (data(0, 1, 101), ack(100, 101))
"""A first round trip sample of 100 ms."""
PAIR = (data(200, 101, 201), data(201, 201, 301))
FLIGHT = tuple(data(200 + n, 101 + 100 * n, 201 + 100 * n) for n in range(4))
WITHOUT_SACK = syn_ack(-1, sack=False)
AFTER = (again(500, 101, 201), ack(620, 201), again(621, 201, 301), ack(640, 301))
"""Of PAIR: both resends are needless."""


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def test_what_was_sent_before_a_resend_and_came_after_its_bytes_proves_it_needless():
    """As F-RTO (RFC 5682): an acknowledgement stops at the resent bytes, the next bytes' original came after it."""
    script = (*WARM, *PAIR, again(500, 101, 201), ack(620, 201), again(621, 201, 301))
    found = judged(*script, ack(640, 301))
    assert found["spurious"].tolist() == ["yes", "yes"]
    assert found["late_ack"].tolist() == [1, 1]
    assert found["because"].iloc[0].endswith("by a copy that was sent before this")
    assert judged(*script, ack(721, 301))["spurious"].tolist() == ["unknown", "unknown"]
    keep_alives = data(150, 100, 101), data(900, 300, 301)
    assert judged(*WARM, keep_alives[0], *PAIR, *AFTER, keep_alives[1])["spurious"].tolist() == ["yes", "yes"]


def test_of_several_timeouts_each_is_needless_that_came_after_the_originals():
    """The timer ran out twice while the path held everything."""
    resends = (again(500, 101, 201), again(1100, 101, 201), ack(1400, 201), again(1401, 201, 301), ack(1410, 301))
    assert judged(*WARM, *PAIR, *resends)["spurious"].tolist() == ["yes", "yes", "yes"]


def test_a_needless_resend_proves_that_of_the_bytes_below_and_so_on_downwards():
    """The last of three came too soon for its resend; so the second had come before its own, and the first."""
    script = (*WARM, *PAIR, data(202, 301, 401), again(500, 101, 201), ack(620, 201))
    resent = (again(621, 201, 301), ack(700, 301), again(701, 301, 401), ack(710, 401))
    assert judged(*script, *resent)["spurious"].tolist() == ["yes", "yes", "yes"]


@pytest.mark.parametrize(
    "script",
    [
        (*PAIR, again(450, 201, 301), again(500, 101, 201), ack(601, 301)),
        (data(200, 101, 191), data(201, 201, 301), again(500, 101, 191), ack(620, 191), *AFTER[2:]),
        (*PAIR, data(202, 301, 401), data(203, 401, 501), ack(310, 101, (401, 501)), ack(311, 101, (301, 501)), *AFTER),
        (*PAIR, data(202, 301, 401), AFTER[0], ack(610, 101, (301, 401)), ack(620, 201, dsack=(101, 151)), *AFTER[2:]),
        (*PAIR, again(400, 201, 301), AFTER[0], ack(600, 201, window=0), data(900, 201, 301), ack(1000, 301)),
    ],
    ids=["one acknowledgement", "other bytes between", "path reorders", "later data came first", "window probe"],
)  # fmt: skip
def test_the_next_bytes_prove_nothing_unless_they_came_later_and_in_order(script: tuple[Segment, ...]):
    """They came together with these, or nobody knows; or by a copy that was sent later, as a probe."""
    told = judged(*WARM, *PAIR, *AFTER), judged(*WARM, *script)
    assert [table.set_index("seq")["spurious"][101] for table in told] == ["yes", "unknown"]


def test_the_next_bytes_prove_nothing_of_what_later_data_had_passed():
    """The receiver had asked for it because of later data: then the path did not keep the order."""
    script = (*WARM, *FLIGHT, ack(302, 101), ack(303, 101), again(304, 101, 201), ack(404, 201), again(405, 201, 301))
    assert judged(*script, ack(410, 501))["spurious"].tolist() == ["yes", "yes"]
    assert judged(WITHOUT_SACK, *script, ack(410, 501))["spurious"].tolist() == ["unknown", "yes"]


@given(st.randoms(use_true_random=False))
def test_no_verdict_is_wrong_on_a_path_that_keeps_the_order(random):
    """Of a sender that sends anything again at any time, whatever is lost or held: needless or needed as it was."""
    script, needless = script_of(random)
    if not needless:
        return
    found = judged(*script)
    for told, was_passed, came_before in zip(found["spurious"], found["passed"], needless, strict=True):
        assert told in ("unknown", "yes" if came_before else "no")
        assert not (was_passed and came_before)

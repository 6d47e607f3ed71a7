"""RLP as it is told: resets, stops and a buffer behind its end; and the release of a call that N2 gave up."""

from __future__ import annotations

import numpy as np
import pytest
from rlp_story import SLOT_NS, A, B, Run, link, story

from multitracer.model.errors import UsageError
from multitracer.replay.arq import orders
from multitracer.replay.arq.rlp import state
from multitracer.replay.arq.rlp.entity import Parameters, ended, obey

FULL = 24


def told(run: Run, side: int, *given: tuple[int, int]) -> Run:
    """The run with orders by slot for one side."""
    obey(run.engine.b if side == B else run.engine.a, [(slot * SLOT_NS, what) for slot, what in given])
    return run


def lines(run: Run, *words: str) -> list[str]:
    """The story of a run: the lines with one of these words."""
    return [line for line in story(run.carry().log) if any(word in line for word in words)]


def test_an_order_resets_the_link() -> None:
    """SABM in its slot, UA a round trip later; what was unacknowledged or waited is given up, what comes later not."""
    run = told(link(30, a=((0, 20 * FULL), (12, FULL))), A, (5, orders.RESET))
    assert lines(run, "SABM", "UA", "reset", "flush") == [
        "5 A reset", "5 A flush 432", "5 A > SABM P", "7 B < SABM P", "7 B reset", "7 B flush 0", "7 B > UA F",
        "9 A < UA F",
    ]  # fmt: skip
    assert run.flushed(A) == [(2 * FULL, 20 * FULL)]
    assert run.summary(B)["delivered"] == 6 * FULL  # three of them were on their way
    assert run.deliveries[-1].tolist()[2:] == [20 * FULL, 21 * FULL]


def test_resets_during_a_reset_are_one() -> None:
    """The second order finds the link in the middle of the first."""
    run = told(link(30, a=((0, 20 * FULL),)), A, (5, orders.RESET), (6, orders.RESET), (20, orders.RESET))
    run.carry()
    assert run.summary(A)["resets"] == 2


def test_the_far_end_stops_the_sender_and_lets_it_go_on() -> None:
    """XOFF and XON are in frames of B's; A sends no new octets from the one to the other."""
    run = told(link(40, a=None), B, (10, orders.STOP), (20, orders.GO))
    run.carry()
    rows = run.engine.log.rows
    stopped = rows[rows["event"] == state.XOFF]["time_ns"] // SLOT_NS
    let_go = rows[rows["event"] == state.XON]["time_ns"] // SLOT_NS
    assert (stopped.tolist(), let_go.tolist()) == ([12], [22])
    frames = run.engine.log.frames["header"]
    ours = (rows["event"] == 2) & (rows["side"] == A) & (frames >> state.COUNT_AT > 0)
    slots = (rows["time_ns"] // SLOT_NS)[ours]
    assert not ((slots > 12) & (slots < 22)).any()
    assert {11, 22} <= set(slots.tolist())
    assert int(run.engine.a.xoff_ns) == 10 * SLOT_NS


def test_a_reset_ends_a_stop_until_it_is_told_again() -> None:
    """Both ends begin with XON; B, still stopped, says so anew."""
    run = told(told(link(60, a=None), B, (10, orders.STOP), (40, orders.GO)), A, (20, orders.RESET))
    run.carry()
    rows = run.engine.log.rows
    assert (rows[rows["event"] == state.XOFF]["time_ns"] // SLOT_NS).tolist() == [12, 25]
    assert (rows[rows["event"] == state.XON]["time_ns"] // SLOT_NS).tolist() == [42]
    assert int(run.engine.a.xoff_ns) == (20 - 12 + 42 - 25) * SLOT_NS


def test_too_many_orders_are_refused() -> None:
    """With how many there can be."""
    with pytest.raises(UsageError, match="1024 is the most"):
        told(link(2), A, *[(slot, orders.RESET) for slot in range(1025)])


@pytest.mark.slow
@pytest.mark.parametrize("hysteresis", [500, 1056])
def test_a_buffer_emptied_slower_than_the_link_sets_the_mean_rate(hysteresis: int) -> None:
    """Gaps last a round trip and as long as hysteresis and overshoot take to drain; it is never empty by then."""
    drain, delay = 960, 10
    run = link(
        2500, a=None, delay_slots=delay, t1_ns=30 * SLOT_NS,
        parameters_b={"drain_bytes_per_s": drain, "xon_bytes": 404, "xoff_bytes": 404 + hysteresis},
    ).carry()  # fmt: skip
    rows = run.engine.log.rows
    stopped, let_go = (rows[rows["event"] == event]["time_ns"] for event in (state.XOFF, state.XON))
    gaps = (let_go - stopped[: len(let_go)])[1:] / 1e9
    round_trip = 2 * delay * SLOT_NS / 1e9
    overshoot = (1200 - drain) * round_trip
    assert np.abs(gaps - round_trip - (hysteresis + overshoot) / drain).max() < 0.05
    ends = run.deliveries
    first, last = (int(np.searchsorted(ends[:, 0], at)) for at in (let_go[1], let_go[-1]))
    rate = (ends[last, 3] - ends[first, 3]) / ((ends[last, 0] - ends[first, 0]) / 1e9)
    assert rate == pytest.approx(drain, rel=0.03)


def test_a_call_is_released_where_n2_is_exceeded() -> None:
    """DISC in the place of SABM; the peer answers UA, and nothing is sent any more."""
    run = link(60, a=((0, FULL), (40, FULL)), lost_a=tuple(range(12)), n2=1, after_n2="release")
    assert lines(run, "DISC", "UA", "SABM") == ["12 A > DISC P", "14 B < DISC P", "14 B > UA F", "16 A < UA F"]
    assert (run.summary(A)["state"], run.summary(B)["state"]) == (state.DETACHED, state.DETACHED)
    assert run.summary(A)["resets"] == 0
    assert ended(run.engine.a)
    assert run.flushed(A) == [(0, FULL)]
    assert len(run.deliveries) == 0


def test_a_release_nobody_answers_ends_too() -> None:
    """DISC goes 1 + N2 times, then the link has failed; also where SABM would be repeated for ever."""
    run = link(120, a=((0, FULL),), lost_a=tuple(range(120)), n2=2, after_n2="release", persistent=True)
    assert len(lines(run, "A > DISC")) == 3
    assert run.summary(A)["state"] == state.FAILED
    assert ended(run.engine.a)
    assert not ended(run.engine.b)


def test_after_n2_has_two_words() -> None:
    """Another one is refused."""
    with pytest.raises(UsageError, match="it must be reset or release"):
        Parameters(after_n2="hang-up")

"""Whole runs of SR: saturated links, runs in parts, and the same log compiled and plain."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from arq_links import counters, link, log_lines, run
from kernel_modes import MODES

from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.driver import Engine

QUICK = SrParameters(timeout_ms=200, ack_delay_ms=40)


def saturated(parameters: SrParameters, opportunities: int, both: bool, erased: bool = False) -> Engine:
    """A link that always has 250 octets to send, after so many opportunities of 10 ms."""
    gone = np.full(opportunities, erased)
    return run(link(parameters, saturated=(250, 250 if both else 0), lost=(gone, gone)), opportunities)


@pytest.mark.parametrize("window", [1, 2, 3, 4, 127])
def test_saturated_throughput_is_the_window_over_the_round_trip(window: int) -> None:
    """Without errors: min(1, window / 4) frames an opportunity, as an ACK takes 4 opportunities to come back."""
    driven = saturated(SrParameters(window=window, ack_delay_ms=0), 402, both=False)
    assert counters(driven)[1]["delivered_sdus"] == 100 * min(window, 4)


def test_saturated_directions_do_not_disturb_each_other() -> None:
    """With data both ways every opportunity carries data, and every ACK travels with it."""
    for side in counters(saturated(SrParameters(), 402, both=True)):
        assert (side["delivered_octets"], side["acks"], side["timeouts"]) == (400 * 250, 0, 0)


def test_all_erased_ends_with_nothing() -> None:
    """No frame ever arrives: 0 octets, and the frames sent within a timeout again and again, until the end."""
    a, b = counters(saturated(SrParameters(), 400, both=False, erased=True))
    assert (b["delivered_octets"], a["unacknowledged"], a["first_sendings"]) == (0, 110, 110)
    assert a["first_sendings"] + a["retransmissions"] == 400


def test_run_goes_on_where_it_ended() -> None:
    """One call or many make the same log, and the log begins anew when it was emptied."""
    erased = [np.isin(np.arange(40), sorted(each)) for each in ({1, 4, 9}, {5})]
    whole, driven = (link(QUICK, offers=([0] * 8, [30] * 5), lost=(erased[0], erased[1])) for _ in range(2))
    run(whole, 40)
    pieces: list[tuple[int, ...]] = []
    for first in range(0, 40, 7):
        run(driven, min(first + 7, 40))
        pieces += driven.log.rows.tolist()
        driven.clear()
    assert pieces == whole.log.rows.tolist()
    assert len(driven.log.rows) == 0


def test_sdus_are_offered_in_the_order_of_their_times() -> None:
    """Whatever order they are given in."""
    driven = run(link(QUICK, offers=([20, 0], [])), 40)
    assert log_lines(driven, ("RECEIVED", "ACK_TIMEOUT"))[:3] == [
        "0 A SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "20 A SENT DATA 1 echo 0",
    ]


ALL_LINKS = """
import hashlib
import numpy as np
from multitracer.replay.arq.raw.parameters import RawParameters
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.arq.sr.parameters import SrParameters
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.raw import RAW
from multitracer.replay.engine.source import source
from multitracer.replay.engine.sr import SR
sdus = [(k * 70_000_000, 1, k + 1) for k in range(900)]
links = (RAW, RawParameters()), (SR, SrParameters()), (SR, SrParameters(window=9, renack="none")), (
    SR, AsrParameters(alpha=1, beta=4)), (SR, SrParameters(nack="one-outstanding"))
for protocol, parameters in links:
    erased = np.random.default_rng(3).random((2, 3000)) < 0.15
    forth, back = (Direction(82_000_001, slot_ns=32_000_000, channel=Erased(each)) for each in erased)
    keep = Keep(log=30_000, ledger=64)
    engine = Engine(protocol, (parameters, parameters), forth, back, source(sdus, saturated=(250, 0)), keep)
    engine.run(2999 * 32_000_000)
    digest = hashlib.sha256(engine.log.rows.tobytes() + engine.log.frames.tobytes()).hexdigest()
    print(protocol.counters(engine.a), protocol.counters(engine.b), digest)
"""


@pytest.mark.compiled
def test_each_way_of_running_gives_the_same_log() -> None:
    """Compiled, plain and bounds-checked runs of all these links log the same to the nanosecond."""
    running = []
    for switches in MODES.values():
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", **switches}
        command = [sys.executable, "-W", "error", "-c", ALL_LINKS]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    logs = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(logs) == 1
    assert min(logs).count("\n") == 5

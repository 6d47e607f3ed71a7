"""The engine: slotted and serialised links, eager and lazy hand-down, flows, channels, and runs in parts."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_modes import MODES

from multitracer.model.errors import UsageError
from multitracer.replay.arq.notes import DELIVERED, DROPPED, ERASED, RECEIVED, SENT
from multitracer.replay.engine.direction import BadTimes, Direction, Erased, RandomErasures
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import kinds

MS = 1_000_000
SLOT_NS, DELAY_NS = 10 * MS, 35 * MS
DATA_BYTES, FRAME_BYTES = 54, 60
RATE_BPS = 8 * FRAME_BYTES * 10**9 // SLOT_NS
SAME_SIZE = {"raw": {}, "sr": {"control_bytes": FRAME_BYTES}, "asr": {"control_bytes": FRAME_BYTES}}
"""Parameters by which every frame has FRAME_BYTES."""
PATIENT = {"rlp": {"n2": 1000, "window": 31}, "rlc-am": {"max_dat": 255}}
"""Parameters by which no loss of the air ends in a reset."""
few_losses = st.lists(st.integers(0, 150), max_size=12)
offered = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 1), st.integers(1, 80)), max_size=40)


def engine(name: str, forth: Direction, back: Direction, given_: Any, **chosen: Any) -> Engine:
    """A protocol's entities over two directions, all logged."""
    known = kinds()[name]
    parameters = known.parameters(**chosen)
    return Engine(known.protocol, (parameters, parameters), forth, back, given_, Keep(20_000, 5_000, 5_000, 4))


def events(driven: Engine, *kinds: int) -> list[tuple[int, ...]]:
    """Time, side, which, octets and number of what happened."""
    rows = driven.log.rows
    return rows[np.isin(rows["event"], kinds)][["time_ns", "side", "event", "octets", "number"]].tolist()


def erased(places: list[int]) -> Erased:
    """A channel that loses some of 200 frames."""
    return Erased(np.isin(np.arange(200), places))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(SAME_SIZE)), few_losses, few_losses)
def test_a_busy_serialised_link_is_a_slotted_one_of_its_rate(name: str, there: list[int], back: list[int]) -> None:
    """Frames of one size back to back: the same event at the same time."""
    logs = []
    for air in ({"slot_ns": SLOT_NS, "delay_ns": DELAY_NS + SLOT_NS}, {"rate_bps": RATE_BPS, "delay_ns": DELAY_NS}):
        ways = [Direction(channel=erased(lost), **air) for lost in (there, back)]
        run = engine(name, *ways, source(saturated=(DATA_BYTES, DATA_BYTES)), **SAME_SIZE[name]).run(150 * SLOT_NS)
        logs.append(events(run, SENT, RECEIVED, ERASED, DELIVERED))
    assert logs[0] == logs[1]
    assert len(logs[0]) >= 4 * 140


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(kinds())), few_losses, few_losses, st.integers(1, 40))
def test_octets_count_for_the_times_by_which_they_had_come(
    name: str, there: list[int], back: list[int], slots: int
) -> None:
    """As the reports of a second run say, in which everything is reported."""
    ways = [Direction(DELAY_NS, SLOT_NS, channel=erased(lost)) for lost in (there, back)]
    times = np.arange(1, 10) * slots * SLOT_NS
    known, offers = kinds()[name], source(saturated=(20, 0))
    parameters = known.parameters()
    alone = Engine(known.protocol, (parameters, parameters), *ways, offers).run_through(times)
    full = engine(name, *ways, source(saturated=(20, 0)))
    assert (full.run_through(times) == alone).all()
    rows = full.handed[full.handed["side"] == 1]
    sizes = rows["end"] - rows["start"]
    assert alone.tolist() == [int(sizes[rows["first_ns"] <= time].sum()) for time in times]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=30), st.integers(1, 3), st.booleans())
def test_a_slotted_frame_takes_the_first_opportunity_with_room(
    offers: list[tuple[int, int]], per_slot: int, eager: bool
) -> None:
    """On the grid after any silence, an offer at an opportunity's very time included; packets past the entity too."""
    given_ = [(slot * SLOT_NS + [0, 1, 7 * MS, SLOT_NS - 1][at], 0, 10, at % 2, at % 2) for slot, at in sorted(offers)]
    ways = [Direction(DELAY_NS, SLOT_NS, per_slot, eager=eager) for _ in (0, 1)]
    used: dict[int, int] = {}
    for time, *_ in given_:
        slot = next(k for k in range(-(-time // SLOT_NS), 200) if used.get(k, 0) < per_slot)
        used[slot] = used.get(slot, 0) + 1
    sent = [row[0] for row in events(engine("raw", *ways, source(given_)).run(200 * SLOT_NS), SENT)]
    assert sent == [slot * SLOT_NS for slot in sorted(used) for _ in range(used[slot])]


@settings(max_examples=20, deadline=None)
@given(offered, few_losses)
def test_raw_frames_leave_at_the_same_times_either_way(offers: list[tuple[int, ...]], lost: list[int]) -> None:
    """Raw frames leave at the same times whether they wait above the entity or below."""
    given_ = [(at * MS, side, octets) for at, side, octets in offers]
    logs = []
    for eager in (False, True):
        ways = [Direction(DELAY_NS, rate_bps=rate, eager=eager, channel=erased(lost)) for rate in (20_000, 9_600)]
        logs.append(events(engine("raw", *ways, source(given_)).run(60_000 * MS), SENT, RECEIVED, ERASED, DELIVERED))
    assert logs[0] == logs[1]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["rlp", "sr", "asr", "rlc-am"]), st.booleans(), st.booleans(), offered, few_losses)
def test_everything_offered_is_delivered_once_and_in_order(
    name: str, eager: bool, slotted: bool, offers: list[tuple[int, ...]], lost: list[int]
) -> None:  # fmt: skip
    """Slotted or serialised, eager or lazy: each SDU comes after it was offered, its octets no later than itself."""
    given_ = [(at * MS, side, octets) for at, side, octets in offers]
    air = {"slot_ns": SLOT_NS} if slotted else {"rate_bps": 20_000}
    ways = [Direction(DELAY_NS, eager=eager, channel=erased(lost), **air) for _ in (0, 1)]
    chosen = PATIENT.get(name, {})
    run = engine(name, *ways, source(given_), **chosen).run(100_000 * MS)
    for side in (0, 1):
        came = run.sdus[run.sdus["side"] == 1 - side]
        sent = sorted((at, octets) for at, who, octets in given_ if who == side)
        assert came["sdu"].tolist() == list(range(len(sent)))
        assert came["offered_ns"].tolist() == [at for at, _ in sent]
        assert sorted(came["octets"].tolist()) == sorted(octets for _, octets in sent)
        assert (came["offered_ns"] < came["first_ns"]).all()
        assert (came["first_ns"] <= came["last_ns"]).all()
        assert (came["last_ns"] <= came["time_ns"]).all()
        handed = run.handed[run.handed["side"] == 1 - side]
        assert handed["start"][1:].tolist() == handed["end"][:-1].tolist()
        assert (handed["end"] - handed["start"]).sum() == sum(octets for _, octets in sent)
    assert len(run.gone) == 0


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.sampled_from(sorted(kinds())), st.booleans(), offered, few_losses, st.lists(st.integers(0, 9000)))
def test_a_run_in_parts_is_the_run_at_once(
    name: str, eager: bool, offers: list[tuple[int, ...]], lost: list[int], stops: list[int]
) -> None:  # fmt: skip
    """Wherever it stopped in between."""
    given_ = [(at * MS, side, octets) for at, side, octets in offers]
    runs = []
    for parts in ([], sorted(stops)):
        ways = [Direction(DELAY_NS, rate_bps=rate, eager=eager, channel=erased(lost)) for rate in (20_000, 30_000)]
        run = engine(name, *ways, source(given_, [(0, 50, 1, 20, 30)]))
        for stop in (*parts, 9_000):
            run.run(stop * MS)
        runs.append(run)
    whole, parted = runs
    assert whole.log.rows.tolist() == parted.log.rows.tolist()
    assert whole.handed.tolist() == parted.handed.tolist()
    assert whole.sdus.tolist() == parted.sdus.tolist()


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["rlp", "sr", "rlc-am"]), st.booleans(), few_losses, st.integers(3, 30))
def test_flows_in_one_queue_keep_their_identity_and_order(name: str, eager: bool, lost: list[int], size: int) -> None:
    """Two flows through the entity, packets past it: all counted, none changed, the entity's all delivered."""
    windows = [(0, 50, 1, size, 30), (0, 70, 2, size, 30), (1, 40, 1, 5, 10)]
    media = [(at * MS, 0, 33, 9, 1) for at in range(0, 900, 30)]
    ways = [Direction(DELAY_NS, rate_bps=48_000, eager=eager, channel=erased(lost)) for _ in (0, 1)]
    chosen = PATIENT.get(name, {})
    run = engine(name, *ways, source(media, windows), **chosen).run(100_000 * MS)
    came = run.sdus[run.sdus["side"] == 1]
    for flow, octets in ((1, 50), (2, 70)):
        own = came[came["flow"] == flow]
        assert own["octets"].tolist() == [octets] * 30
        assert (np.diff(own["sdu"]) > 0).all()
    past = came[came["flow"] == 9]
    assert past["octets"].tolist() == [33] * len(past)
    assert (np.diff(past["sdu"]) > 0).all()
    gone = run.gone[run.gone["flow"] == 9]
    assert sorted([*past["sdu"].tolist(), *gone["sdu"].tolist()]) == list(range(30))
    windows_now = run.link.upper.source.windows
    assert windows_now["delivered"].tolist() == [30, 30, 10]
    assert windows_now["under_way"].tolist() == [0, 0, 0]


def test_a_full_queue_drops_and_counts_control_frames() -> None:
    """Of a burst of 20 packets one is on the air and five wait; the rest is dropped."""
    ways = [Direction(DELAY_NS, rate_bps=9_600, eager=True, queue_frames=5) for _ in (0, 1)]
    run = engine("raw", *ways, source([(0, 0, 60)] * 20)).run(10_000 * MS)
    assert len(events(run, SENT)) == 6
    assert len(events(run, DROPPED)) == run.link.forth.state.dropped == 14


def test_a_queue_that_holds_loses_nothing() -> None:
    """Frames are made when there is room for them."""
    ways = [Direction(DELAY_NS, rate_bps=9_600, eager=True, queue_frames=5, drops=False) for _ in (0, 1)]
    run = engine("raw", *ways, source([(0, 0, 60)] * 20)).run(10_000 * MS)
    assert (len(events(run, SENT)), len(events(run, DROPPED)), len(run.sdus)) == (20, 0, 20)


def test_several_frames_use_one_opportunity() -> None:
    """A batch of three each slot, all of which arrive together."""
    ways = [Direction(DELAY_NS, SLOT_NS, per_slot=3) for _ in (0, 1)]
    run = engine("raw", *ways, source([(0, 0, 60)] * 7)).run(1000 * MS)
    assert [at // MS for at, *_ in events(run, SENT)] == [0, 0, 0, 10, 10, 10, 20]
    assert [at // MS for at, *_ in events(run, RECEIVED)] == [35, 35, 35, 45, 45, 45, 55]


def test_each_direction_has_its_rate_and_delay() -> None:
    """A frame of 60 octets takes 50 ms at 9600 bit/s and 10 ms at 48 kbit/s."""
    ways = Direction(DELAY_NS, rate_bps=9_600), Direction(5 * MS, rate_bps=48_000)
    run = engine("raw", *ways, source([(0, 0, 54), (0, 1, 54)])).run(1000 * MS)
    assert [(at // MS, side) for at, side, *_ in events(run, RECEIVED)] == [(15, 0), (85, 1)]


@pytest.mark.parametrize("block", [1, 3, 4096])
def test_random_numbers_decide_about_erasures_in_order(block: int) -> None:
    """However many at a time: frame k is lost if number k is below the rate."""
    generator = np.random.default_rng(3)
    channel = RandomErasures(generator.random, 0.3, block=block)
    ways = Direction(DELAY_NS, SLOT_NS, channel=channel), Direction(DELAY_NS, SLOT_NS)
    run = engine("raw", *ways, source([(0, 0, 60)] * 50)).run(1000 * MS)
    fate = [event == ERASED for _, _, event, *_ in events(run, RECEIVED, ERASED)]
    assert fate == (np.random.default_rng(3).random(50) < 0.3).tolist()


def test_bit_errors_hit_by_octets() -> None:
    """With number u a frame of n octets is lost if u is below 1 - (1 - ber)^(8 n)."""
    channel = RandomErasures(lambda n: np.full(n, 0.4), bit_error_rate=1e-3)
    way = Direction(DELAY_NS, SLOT_NS, channel=channel)
    run = engine("raw", way, way, source([(0, 0, octets) for octets in (20, 50, 60, 200)])).run(1000 * MS)
    fate = [(octets, event == ERASED) for _, _, event, octets, _ in events(run, RECEIVED, ERASED)]
    assert fate == [(n, 1 - 0.999 ** (8 * n) > 0.4) for n in (26, 56, 66, 206)]
    assert {lost for _, lost in fate} == {False, True}


@pytest.mark.parametrize(("rule", "lost"), [("touch", [1, 2, 3]), ("end", [1, 2])])
def test_bad_times_lose_what_touches_them_or_ends_in_them(rule: str, lost: list[int]) -> None:
    """Frames last 10 ms; the bad time is from 15 to 35 ms."""
    ways = [Direction(DELAY_NS, SLOT_NS, channel=BadTimes([15 * MS, 35 * MS], rule)) for _ in (0, 1)]
    run = engine("raw", *ways, source([(0, 0, 60)] * 6)).run(1000 * MS)
    fate = [event == ERASED for _, _, event, *_ in events(run, RECEIVED, ERASED)]
    assert [k for k, gone in enumerate(fate) if gone] == lost


def test_queues_grow_with_the_number_of_packets_in_flight() -> None:
    """A thousand small packets in flight at once on a long fast path, all kept apart."""
    ways = [Direction(1000 * MS, rate_bps=10**9) for _ in (0, 1)]
    run = engine("raw", *ways, source([(k * 1000, 0, 1 + k % 50) for k in range(1000)])).run(5000 * MS)
    assert run.sdus["sdu"].tolist() == list(range(1000))
    assert run.sdus["octets"].tolist() == [1 + k % 50 for k in range(1000)]
    assert len(run.link.forth.air) >= 1000


def test_what_a_reset_loses_is_reported_by_sdu() -> None:
    """An outage ends in a reset of RLP: every SDU of the time came, or is known to be gone."""
    outage = Erased(np.isin(np.arange(2000), np.arange(20, 140)))
    ways = [Direction(DELAY_NS, SLOT_NS, channel=outage) for _ in (0, 1)]
    given_ = [(k * 20 * MS, 0, 50) for k in range(60)]
    run = engine("rlp", *ways, source(given_), n2=2, t1_ns=100 * MS, persistent=True).run(20_000 * MS)
    assert run.a.resets + run.b.resets > 0
    assert len(run.gone) > 0
    assert sorted([*run.sdus["sdu"].tolist(), *run.gone["sdu"].tolist()]) == list(range(60))
    assert (run.lost["end"] - run.lost["start"]).sum() == run.a.flushed + run.b.flushed


def test_an_endless_source_needs_a_limit_below_an_eager_entity() -> None:
    """Otherwise frames would be made without end."""
    way = Direction(DELAY_NS, SLOT_NS, eager=True)
    with pytest.raises(UsageError, match="queue of limited length"):
        engine("raw", way, way, source(saturated=(10, 0)))


RUNS = """
import hashlib, numpy as np
from multitracer.replay.engine.direction import BadTimes, Direction, RandomErasures, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import kinds
MS, digest = 10**6, hashlib.sha256()
for name in ("raw", "rlp", "sr"):
    known = kinds()[name]
    for air in ({"slot_ns": 10 * MS, "per_slot": 2}, {"rate_bps": 48_000}):
        for eager in (False, True):
            ways = [Direction(35 * MS, eager=eager, queue_frames=8, channel=channel, **air) for channel in
                    (RandomErasures(np.random.default_rng(1).random, 0.1, block=50), BadTimes([300 * MS, 340 * MS]))]
            given = source([(k * 7 * MS, k % 2, 40, k % 3, int(k % 3 == 2)) for k in range(60)], [(0, 50, 1, 20, 40)])
            run = Engine(known.protocol, [known.parameters()] * 2, *ways, given, Keep(9000, 900, 900, 2)).run(2000 * MS)
            for array in (run.log.rows, run.log.frames, run.handed, run.lost, run.sdus, run.gone):
                digest.update(np.ascontiguousarray(array).tobytes())
print(digest.hexdigest())
"""


@cache
def digest(mode: str) -> str:
    """Of whole runs, as one process of that kind makes them."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    run = [sys.executable, "-W", "error", "-c", RUNS]
    return subprocess.run(run, capture_output=True, text=True, env={**kept, **MODES[mode]}, check=True).stdout


@pytest.mark.compiled
@pytest.mark.parametrize("mode", ["compiled", "bounds-checked"])
def test_compiled_and_plain_runs_are_equal(mode: str) -> None:
    """Every event, stretch and SDU of three protocols on either kind of link; nothing is read out of bounds."""
    assert digest(mode) == digest("plain") != ""


def test_what_happens_at_an_instant_is_one_event_of_its_kind() -> None:
    """Two SDUs at once over an eager raw link, and a third while the first is on the air.

    At 0 both are offered (1) and handed down, the first is put on the air (2), its last bit lets the second go (3), the
    third is offered meanwhile (4) and handed down (5), and goes (6); three arrivals (7, 8, 9), after each of which the
    receiver is asked for an answer (10, 11, 12).
    """
    forth, back = (Direction(DELAY_NS, rate_bps=RATE_BPS, eager=True) for _ in range(2))
    offers = [(0, 0, FRAME_BYTES), (0, 0, FRAME_BYTES), (5 * MS, 0, FRAME_BYTES)]
    driven = engine("raw", forth, back, source(offers)).run(1000 * MS)
    assert driven.events == 12


@pytest.mark.parametrize("step", [1, 7, 100])
def test_events_are_the_same_in_parts_and_where_room_has_to_grow(step: int) -> None:
    """Going on counts nothing twice."""
    forth, back = (Direction(DELAY_NS, rate_bps=RATE_BPS, channel=erased([3, 5]), eager=True) for _ in range(2))
    offers = [(k * MS, 0, DATA_BYTES) for k in range(100)]
    known = kinds()["sr"]
    counted = []
    for room, until in ((4, range(step * MS, 5000 * MS, step * MS)), (4096, [5000 * MS])):
        parameters = (known.parameters(), known.parameters())
        driven = Engine(known.protocol, parameters, forth, back, source(offers), Keep(ledger=room))
        for part in [*until, 5000 * MS]:
            driven.run(part)
        counted.append(driven.events)
    assert counted[0] == counted[1] > 200


def test_frames_of_an_entity_that_find_the_queue_full_are_counted_apart() -> None:
    """A packet past it is on the air; of five of its own two wait and three are dropped, as is a later one past it."""
    forth, back = (Direction(DELAY_NS, rate_bps=RATE_BPS, eager=True, queue_frames=2) for _ in range(2))
    offers = [(0, 0, FRAME_BYTES, 1, 1), *[(1, 0, FRAME_BYTES)] * 5, (2, 0, FRAME_BYTES, 1, 1)]
    state = engine("raw", forth, back, source(offers)).run(MS).link.forth.state
    assert (int(state.handed), int(state.handed_dropped), int(state.dropped)) == (5, 3, 4)

"""The protocols as retrace runs them: what they carry, how their timers grow, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_modes import compiled

from multitracer.model.errors import UsageError
from multitracer.replay.channels.gilbert import Gilbert
from multitracer.replay.erasures.trace import ErasureTrace, frames_lost
from multitracer.replay.retrace import PROTOCOLS
from multitracer.replay.retrace.document import document
from multitracer.replay.retrace.models import Air, kinds, named
from multitracer.replay.retrace.settings import Settings
from multitracer.replay.retrace.throughput import air_of, retrace

RELIABLE = ("rlp", "rlc-am", "sr", "asr")
ROOM = {"raw": 24, "rlp": 24, "sr": 24, "asr": 24, "rlc-tm": 30, "rlc-um": 29, "rlc-am": 28}
"""Octets of user data in a frame of 30."""
CLEAN = ErasureTrace("clean", np.zeros(1500, dtype=bool))


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Iterator[None]:
    """Plain, short traces at many sizes take ten times as long."""
    with compiled():
        yield


def row(trace: ErasureTrace, model: str, sizes: tuple[int, ...] = (30, 120), **more: object) -> dict[str, object]:
    """What retrace.json says of one trace."""
    asked = Settings(model, sizes, resamples=0, **more)  # type: ignore[arg-type]
    found: dict[str, object] = document(retrace([trace], asked))["traces"][0]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("model", [entry.name for entry in PROTOCOLS])
def test_a_clean_trace_carries_what_frames_have_room_for(model: str) -> None:
    """All but the first round trip, less RLC's length indicators, and ASR's own needless repeats."""
    sdu = {"sdu_bytes": "1500"} if model in ("rlc-um", "rlc-am") else {}
    more = {"alpha": "4", "beta": "2"} if model == "asr" else {}
    found = row(CLEAN, model, (30,), parameters={**sdu, **more})
    share = found["throughput_bps"]["30"] / (8 * ROOM[model] / 0.02)  # type: ignore[index]
    assert 0.93 < share <= 1


@pytest.mark.parametrize("model", RELIABLE)
@pytest.mark.parametrize("lost", ["every block is lost", "every frame of the answers' direction is lost"])
def test_a_dead_direction_gives_throughput_0_with_the_reason(model: str, lost: str) -> None:
    """Throughput 0, and an end, whichever direction is dead; without answers only what a window holds arrives."""
    dead = ErasureTrace("dead", np.ones(1500, dtype=bool))
    both = lost == "every block is lost"
    found = document(
        retrace([dead if both else CLEAN], Settings(model, (30,), resamples=0), {"clean": dead, "dead": dead})
    )["traces"][0]
    if both:
        assert found["throughput_bps"] == {"30": 0.0}
        assert "lost" in found["ended"]["30"]
        assert found["optimal_frame_bytes"] is None
    else:
        assert found["throughput_bps"]["30"] * 30 / 8000 < 512 * 28


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(kinds()))
def test_every_model_has_its_parameters_in_the_result(model: str) -> None:
    """By name, in plain values."""
    parameters = row(CLEAN, model)["parameters"]
    assert isinstance(parameters, dict)
    assert all(isinstance(value, int | float | str | bool) for value in parameters.values())
    assert parameters or model == "rlc-tm"


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=100, max_size=600), st.integers(1, 9))
@settings(deadline=None, max_examples=20)
def test_transparent_mode_carries_the_frames_that_are_not_lost(erased: list[bool], blocks: int) -> None:
    """Each frame sent is counted, and the octets of each that came."""
    found = retrace([ErasureTrace("t", np.array(erased))], Settings("rlc-tm", (30 * blocks,), resamples=0))[0]
    whole = np.array(erased[: len(erased) // blocks * blocks]).reshape(-1, blocks)
    came = int((~whole.any(axis=1)).sum())
    assert found.octets.sum() == 30 * blocks * came
    assert found.counts[30 * blocks] == {"sender": {"sent": len(whole)}, "receiver": {"delivered": came}}


@pytest.mark.slow
@given(st.lists(st.booleans(), min_size=100, max_size=600), st.sampled_from(sorted(kinds())))
@settings(deadline=None, max_examples=30)
def test_no_model_carries_more_than_its_frames_hold(erased: list[bool], model: str) -> None:
    """Whatever is lost, each size's throughput is at most that of the frames that came through."""
    trace = ErasureTrace("t", np.array(erased))
    found = retrace([trace], Settings(model, (30, 90), resamples=0))[0]
    for place, size in enumerate(found.sizes):
        blocks = size // 30
        groups = np.array(erased[: len(erased) // blocks * blocks]).reshape(-1, blocks)
        assert found.octets[place].sum() <= size * int((~groups.any(axis=1)).sum())
        assert (found.octets[place] >= 0).all()


runs_of_blocks = st.lists(st.tuples(st.integers(1, 200), st.integers(1, 120)), min_size=8, max_size=30)


@pytest.mark.slow
@given(runs_of_blocks, st.sampled_from(sorted(kinds())), st.booleans())
@settings(deadline=None, max_examples=40)
def test_no_stretch_books_more_than_its_own_frames_brought(
    runs: list[tuple[int, int]], model: str, in_sequence: bool
) -> None:
    """However long octets wait for others before them, they count where they came; all of them count somewhere."""
    erased = np.repeat(np.arange(2 * len(runs)) % 2 == 1, [length for run in runs for length in run])
    more = {} if model != "rlc-am" or in_sequence else {"in_sequence": "no"}
    asked = Settings(model, (30, 90), parameters=more, resamples=0)
    found = retrace([ErasureTrace("t", erased)], asked)[0]
    for place, size in enumerate(found.sizes):
        came = frames_lost(erased, size // 30) == 0
        edges = np.minimum(-(-np.append(found.starts, len(erased)) // (size // 30)), len(came))
        brought = np.diff(np.concatenate([[0], np.cumsum(came)])[edges])
        assert (found.octets[place] >= 0).all()
        assert (found.octets[place] <= size * brought).all()
        counted = found.counts[size]["receiver"]
        in_all = counted["delivered"] * size if model == "rlc-tm" else counted.get("delivered_octets")
        assert found.octets[place].sum() == (counted["delivered"] if model == "rlp" else in_all)


LEAST_OVERHEAD = {"rlp": 6, "rlc-am": 2, "rlc-um": 1, "rlc-tm": 0}
"""Octets of a frame that are no user data at least: 24.022 5.1 with L2R's status; 25.322 9.2.1."""


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(kinds()))
@given(seed=st.integers(0, 10**6), sizes=st.sets(st.integers(1, 40), min_size=2, max_size=5))
@settings(deadline=None, max_examples=8)
def test_no_choice_of_sizes_by_the_minute_exceeds_the_channel(model: str, seed: int, sizes: set[int]) -> None:
    """With hindsight too, no protocol carries more than the ideal link with its overhead."""
    generator = np.random.default_rng(seed)
    means = generator.uniform(50, 1000), generator.uniform(1, 200)
    runs = np.stack([generator.geometric(1 / mean, 400) for mean in means], axis=1).ravel()
    trace = ErasureTrace("t", np.repeat(np.arange(800) % 2 == 1, runs)[:12_000])
    bytes_of = tuple(30 * blocks for blocks in sorted(sizes))
    overhead = LEAST_OVERHEAD.get(model) or named(model, {}).parameters.get("header_bytes", 0)
    asked = Settings("ideal", bytes_of, overhead=overhead, resamples=0), Settings(model, bytes_of, resamples=0)
    ideal, real = (retrace([trace], each)[0].by_minute for each in asked)
    assert (real.octets <= ideal.octets).all()
    assert (real.throughput_of_choice(real.chosen) or 0) <= (ideal.throughput_of_choice(ideal.chosen) or 0)


@pytest.mark.slow
def test_the_best_size_does_not_depend_on_the_length_of_the_trace() -> None:
    """Of RLC AM over one bursty channel: that of 300 minutes may be the best by the first 10 and 60 of them."""
    erased = Gilbert(0.0042, 0.08).generate(900_000, 78)
    asked = Settings("rlc-am", (30, 90, 150, 210, 270, 390, 600, 900), resamples=400)
    found = [retrace([ErasureTrace("t", erased[: 3000 * minutes])], asked)[0] for minutes in (10, 60, 300)]
    longest = found[-1].optimal_frame_bytes
    assert longest is not None
    for one in found:
        assert one.optimal_ci95_bytes is not None
        low, high = one.optimal_ci95_bytes
        assert low <= longest <= high < 900


def test_timers_wait_longer_for_longer_frames() -> None:
    """T1(k) = T1 + 4 (k - 1) block_ms; the link's round trip is that of one-block frames."""
    air = Air(np.zeros(1), np.zeros(1), 120, 20_000_000, 4, 400_000_000)
    assert air.patience_ns == 4 * 3 * 20_000_000
    assert air.delay_ns == 200_000_000 + 3 * 20_000_000
    assert Air(np.zeros(1), np.zeros(1), 30, 20_000_000, 1, 400_000_000).patience_ns == 0


def test_a_round_trip_holds_two_blocks_at_least() -> None:
    """The value and its range are named."""
    with pytest.raises(UsageError, match="--rtt-ms 30 is below two blocks; it must be 40 or more"):
        row(CLEAN, "rlp", rtt_ms=30)


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("rlp", {"N3": "6"}, "no parameter 'N3'\nDid you mean n2"),
        ("rlp", {"window": "62"}, "window is 62; it must be 1 to 61"),
        ("rlp", {"n2": "many"}, "n2=many is not a whole number"),
        ("rlp", {"t1_ms": "0"}, "t1_ns is 0"),
        ("sr", {"window": "129"}, "window 129 must be a whole number from 1 to 128"),
        ("sr", {"header_bytes": "30"}, "no room behind a header of 30"),
        ("rlc-am", {"tx_window": "5000"}, "tx_window is 5000; it must be from 1 to 2047"),
        ("rlc-am", {"sdu_bytes": "4"}, "sdu_bytes 4 must be 8 to 65535"),
        ("rlc-um", {"li_bits": "9"}, "li_bits is 9"),
        ("asr", {"max_timeout_ms": "9"}, "max_timeout_ms 9 must be 0 or from 10"),
        ("raw", {"header_bytes": "-1"}, "header_bytes -1"),
        ("rlc-tm", {"x": "1"}, "It has none"),
    ],
)
def test_nonsense_is_refused_with_its_range(model: str, given: dict[str, str], said: str) -> None:
    """Names that there are not, values that are none, and values out of range."""
    with pytest.raises(UsageError) as refused:
        row(CLEAN, model, (30,), parameters=given)
    assert said in str(refused.value)


def test_times_may_be_given_in_milliseconds() -> None:
    """t1_ms sets t1_ns."""
    assert named("rlp", {"t1_ms": "520"}).parameters["t1_ns"] == 520_000_000
    assert named("rlp", {"N2": "10"}).parameters["n2"] == 10


@pytest.mark.slow
def test_an_asr_timeout_that_runs_away_is_said_and_can_be_limited() -> None:
    """At 7 blocks a frame, each lost with 10 %, the timeout feeds on itself; at single blocks it does not."""
    trace = ErasureTrace("t", np.random.default_rng(3).random(180_000) < 0.1)
    found = row(trace, "asr", (30, 210))
    capped = row(trace, "asr", (30, 210), parameters={"max_timeout_ms": "5000"})
    (said,) = found["warnings"]["210"]  # type: ignore[index]
    largest_ms = found["counts"]["210"]["sender"]["largest_timeout_ms"]  # type: ignore[index]
    assert said.startswith(f"the timeout ran away, to {largest_ms / 1000:.0f} s")
    assert list(found["warnings"]) == ["210"]  # type: ignore[call-overload]
    assert capped["warnings"] == {}
    assert capped["counts"]["210"]["sender"]["largest_timeout_ms"] == 5000  # type: ignore[index]
    bps, bps_capped = (each["throughput_bps"]["210"] for each in (found, capped))  # type: ignore[index]
    assert bps_capped > 1.5 * bps


@pytest.mark.slow
def test_the_other_direction_decides_about_answers() -> None:
    """A link whose answers are lost carries less than one whose answers arrive."""
    bad = ErasureTrace("bad", np.arange(3000) % 4 != 0)
    clean = ErasureTrace("clean", np.zeros(3000, dtype=bool))
    asked = Settings("rlc-am", (60,), resamples=0)
    alone, with_loss = (retrace([clean], asked, {"clean": other})[0].exact_bps[0] or 0 for other in (clean, bad))
    assert with_loss < alone


def test_the_other_direction_is_read_at_the_same_times() -> None:
    """Blocks of another duration, and a trace that ends sooner and begins anew."""
    trace = ErasureTrace("forth", np.zeros(8, dtype=bool), block_ms=10)
    other = ErasureTrace("back", np.array([0, 1, 0], dtype=bool), block_ms=20)
    assert air_of(trace, other, 30, 400).back.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert air_of(trace, other, 60, 400).back.tolist() == [0, 1, 0, 0]


@pytest.mark.slow
def test_a_timer_below_the_round_trip_gives_a_warning() -> None:
    """Frames taken for others are counted, with the reason, and are not part of the throughput."""
    trace = ErasureTrace("t", np.random.default_rng(1).random(3000) < 0.1)
    found = row(trace, "rlp", (30,), rtt_ms=600.0)
    (said,) = found["warnings"]["30"]  # type: ignore[index]
    assert "taken for another" in said
    assert "T1 of 480 ms is not above the round trip" in said
    assert row(trace, "rlp", (30,))["warnings"] == {}


@pytest.mark.slow
def test_a_link_that_gave_up_gives_a_warning() -> None:
    """What it carried before counts; the reason is a warning, not an error."""
    trace = ErasureTrace("t", np.repeat([False, True, False], 1000))
    found = row(trace, "rlp", (30,), parameters={"persistent": "no"})
    assert found["ended"] == {}
    assert found["warnings"] == {"30": ["the link was given up: SABM found no answer"]}
    assert found["throughput_bps"]["30"] > 0  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "block_bytes", "first", "last", "said"),
    [
        ("rlc-am", 10, 20, 500, "frames of 10 octets are left out: pdu_bytes is 10"),
        ("rlc-um", 100, 100, 4000, "frames of 4100 to 5000 octets are left out: pdu_bytes is 4100"),
        ("sr", 2, 8, 100, "frames of 2 to 6 octets are left out: frames of 2 octets have no room"),
        ("rlp", 4, 8, 200, "frames of 4 octets are left out: RLP frame_bytes is 4"),
        ("ideal", 3, 9, 150, "frames of 3 to 6 octets are left out: the overhead of 6 fills them"),
    ],
)
def test_default_sizes_that_a_protocol_cannot_have_are_left_out(
    model: str, block_bytes: int, first: int, last: int, said: str
) -> None:
    """The others are tried, and a note says which are missing and why."""
    trace = ErasureTrace("t", np.zeros(400, dtype=bool), block_bytes=block_bytes)
    one = retrace([trace], Settings(model, resamples=0))[0]
    assert (one.sizes[0], one.sizes[-1]) == (first, last)
    assert one.remarks[0].startswith(said)
    assert document([one])["traces"][0]["notes"] == list(one.left_out)
    refused = 3 if model == "ideal" else last + block_bytes if last < 50 * block_bytes else first - block_bytes
    with pytest.raises(UsageError):
        retrace([trace], Settings(model, (refused,), resamples=0))


def test_where_no_default_size_is_possible_the_reason_is_an_error() -> None:
    """As for a size that was asked for."""
    trace = ErasureTrace("t", np.zeros(99, dtype=bool), block_bytes=1)
    with pytest.raises(UsageError, match="no room behind a header of 60"):
        retrace([trace], Settings("raw", parameters={"header_bytes": "60"}))


OUTAGE = ErasureTrace("t", np.repeat([False, True, False], [1000, 3000, 2000]))


@pytest.mark.slow
def test_rlc_am_goes_on_after_an_outage_beyond_max_rst() -> None:
    """Each re-establishment is counted and said; what the link carries afterwards counts."""
    found = row(OUTAGE, "rlc-am", (30,))
    counts = found["counts"]["30"]["sender"]  # type: ignore[index]
    assert counts["ended"] == 0
    assert counts["reestablished"] > 1
    said = f"the link was re-established {counts['reestablished']} times: MaxRST RESETs found no answer"
    assert found["warnings"] == {"30": [said]}
    assert found["throughput_bps"]["30"] > 0.4 * 30 * 400  # type: ignore[index]


@pytest.mark.slow
def test_rlc_am_ends_at_max_rst_where_that_is_wanted() -> None:
    """Only what came before the outage counts."""
    found = row(OUTAGE, "rlc-am", (30,), parameters={"after_max_rst": "end"})
    assert found["counts"]["30"]["sender"]["ended"] == 1  # type: ignore[index]
    assert found["warnings"] == {"30": ["the link was given up: MaxRST RESETs found no answer"]}
    assert found["throughput_bps"]["30"] < 0.2 * 30 * 400  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rlp", "sr", "asr", "raw", "rlc-am", "rlc-um", "rlc-tm"])
def test_the_counts_of_both_ends_are_in_the_result(model: str) -> None:
    """The receiver's counts include what was delivered."""
    counts = row(CLEAN, model, (30,))["counts"]["30"]  # type: ignore[index]
    assert set(counts) == {"sender", "receiver"}
    assert max(counts["receiver"].get(name, 0) for name in ("delivered", "delivered_octets")) > 0

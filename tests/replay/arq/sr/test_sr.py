"""SR with multireject: what it delivers, and how it recovers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arq_links import Wires, delivered, scene, told
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model.errors import UsageError
from multitracer.replay.arq.sr import entity, link
from multitracer.replay.arq.sr.entity import Sr
from multitracer.replay.arq.sr.frames import (
    ACK,
    DATA,
    FIELDS,
    HAS_NR,
    ID,
    KIND,
    NACK,
    NR,
    NS,
    OCTETS,
    SDU,
    decode,
    encode,
)
from multitracer.replay.arq.sr.parameters import MS, SrParameters
from multitracer.replay.engine.opportunities import EVENT, FRAME, RECEIVED, source

QUICK = SrParameters(timeout_ms=200, ack_delay_ms=40)
WORTH_NOTING = ("RECEIVED", "DELIVERED", "ACK_TIMEOUT")


def test_lost_frame_is_reported_and_repaired() -> None:
    """The next frame shows the gap; a NACK leaves at once, the resend echoes it, and all behind is handed up."""
    assert told(scene(QUICK, offers=([0] * 4, []), lost=({1}, set()))) == [
        "0 A SENT DATA 0 echo 0",
        "10 A ERASED DATA 1 echo 0",
        "15 B DELIVERED 0",
        "20 A SENT DATA 2 echo 0",
        "30 A SENT DATA 3 echo 0",
        "40 B SENT NACK 1 id 1",
        "55 B ACK_TIMEOUT",
        "60 A SENT DATA 1 echo 1",
        "60 B SENT ACK nr 1",
        "75 B DELIVERED 1",
        "75 B DELIVERED 2",
        "75 B DELIVERED 3",
        "115 B ACK_TIMEOUT",
        "120 B SENT ACK nr 4",
    ]


def test_lost_resend_is_reported_again_through_the_echo() -> None:
    """A frame behind the lost resend echoes its NACK: the receiver reports the gap a second time."""
    lines = told(scene(QUICK, offers=([0, 0, 0, 70], []), lost=({1, 6}, set())), WORTH_NOTING)
    assert lines[3:] == [
        "40 B SENT NACK 1 id 1",
        "60 A ERASED DATA 1 echo 1",
        "60 B SENT ACK nr 1",
        "70 A SENT DATA 3 echo 1",
        "90 B SENT NACK 1 id 2",
        "110 A SENT DATA 1 echo 2",
        "170 B SENT ACK nr 4",
    ]


def test_lost_nack_is_repeated_when_a_later_one_is_echoed() -> None:
    """An answer to the second NACK tells that the first was lost, before any timer does."""
    lines = told(scene(QUICK, offers=([0] * 5, []), lost=({1, 3}, {4})), WORTH_NOTING)
    assert lines[5:] == [
        "40 B ERASED NACK 1 id 1",
        "60 B SENT NACK 3 id 2",
        "70 B SENT ACK nr 1",
        "80 A SENT DATA 3 echo 2",
        "100 B SENT NACK 1 id 3",
        "120 A SENT DATA 1 echo 3",
        "180 B SENT ACK nr 5",
    ]


@pytest.mark.parametrize("renack", ["echo", "none"])
def test_lost_nack_is_repaired_by_the_timer(renack: str) -> None:
    """When nothing follows, each frame is sent again a timeout after it was, under either rule."""
    parameters = SrParameters(timeout_ms=200, ack_delay_ms=40, renack=renack)
    lines = told(scene(parameters, offers=([0] * 3, []), lost=({1}, {4})), WORTH_NOTING)
    assert lines[3:] == [
        "40 B ERASED NACK 1 id 1",
        "60 B SENT ACK nr 1",
        "210 A TIMEOUT 1",
        "210 A SENT DATA 1 echo 0",
        "220 A TIMEOUT 2",
        "220 A SENT DATA 2 echo 0",
        "270 B SENT ACK nr 3",
    ]


def test_one_nack_each_without_renack() -> None:
    """Under `none` the lost resend waits for its timer, whatever is echoed."""
    parameters = SrParameters(timeout_ms=200, ack_delay_ms=40, renack="none")
    lines = told(scene(parameters, offers=([0, 0, 0, 70], []), lost=({1, 6}, set())), WORTH_NOTING)
    assert [line for line in lines if "NACK" in line or "DATA 1" in line] == [
        "10 A ERASED DATA 1 echo 0",
        "40 B SENT NACK 1 id 1",
        "60 A ERASED DATA 1 echo 1",
        "260 A SENT DATA 1 echo 1",
    ]


def test_lost_ack_is_sent_again_for_a_duplicate() -> None:
    """The frame comes a second time, is not handed up again, and is acknowledged once more."""
    assert told(scene(QUICK, offers=([0], []), lost=(set(), {6}))) == [
        "0 A SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "55 B ACK_TIMEOUT",
        "60 B ERASED ACK nr 1",
        "200 A TIMEOUT 0",
        "200 A SENT DATA 0 echo 0",
        "255 B ACK_TIMEOUT",
        "260 B SENT ACK nr 1",
    ]


def test_ack_travels_with_data_or_alone_after_half_a_second() -> None:
    """Data within the delay carries the ACK; else it leaves in the first opportunity after 0.5 s."""
    assert told(scene(SrParameters(), offers=([0, 600], [300]), opportunities=125)) == [
        "0 A SENT DATA 0 echo 0",
        "15 B DELIVERED 0",
        "300 B SENT DATA 0 nr 1 echo 0",
        "315 A DELIVERED 0",
        "600 A SENT DATA 1 nr 1 echo 0",
        "615 B DELIVERED 1",
        "1115 B ACK_TIMEOUT",
        "1120 B SENT ACK nr 2",
    ]


def test_each_of_several_missing_frames_has_its_nack() -> None:
    """NACKs leave one an opportunity before the ACK that is due, and the answers follow their order."""
    assert told(scene(QUICK, offers=([0] * 6, []), lost=({1, 2, 4}, set())), WORTH_NOTING)[5:] == [
        "50 A SENT DATA 5 echo 0",
        "50 B SENT NACK 1 id 1",
        "60 B SENT NACK 2 id 2",
        "70 A SENT DATA 1 echo 1",
        "70 B SENT NACK 4 id 3",
        "80 A SENT DATA 2 echo 2",
        "80 B SENT ACK nr 1",
        "90 A SENT DATA 4 echo 3",
        "130 B SENT ACK nr 6",
    ]


ERASURES = st.tuples(*[st.lists(st.booleans(), max_size=60)] * 2)
RULES = st.builds(
    SrParameters,
    window=st.sampled_from([1, 2, 3, 8, 127, 128]),
    timeout_ms=st.sampled_from([20, 60, 150]),
    ack_delay_ms=st.sampled_from([0, 30]),
    renack=st.sampled_from(["echo", "none"]),
)


@settings(max_examples=60, deadline=None)
@given(parameters=RULES, erasures=ERASURES, offers=st.tuples(*[st.lists(st.integers(0, 300), max_size=20)] * 2))
def test_everything_arrives_once_and_in_order(
    parameters: SrParameters, erasures: tuple[list[bool], list[bool]], offers: tuple[list[int], list[int]]
) -> None:
    """Whatever is erased in both directions, if not for ever: each SDU is handed up once, in order, whole."""
    lost = [{i for i, erased in enumerate(each) if erased} for each in erasures]
    times = sorted(offers[0]), sorted(offers[1])
    driven = scene(parameters, offers=times, lost=(lost[0], lost[1]), opportunities=300)
    at_a, at_b = delivered(driven)
    assert at_b == [(k, 100) for k in range(len(offers[0]))]
    assert at_a == [(k, 100) for k in range(len(offers[1]))]
    assert [(side["waiting"], side["unacknowledged"]) for side in link.counters(driven)] == [(0, 0), (0, 0)]


def within_window(wires: Wires, window: int) -> bool:
    """Whether neither side has more frames outstanding than the window, as the sender and the receiver see it."""
    (vs_a, va_a, vr_a), (vs_b, va_b, vr_b) = (each.entity.state[: entity.VH].tolist() for each in wires.sides)
    return va_a <= vr_b <= vs_a <= va_a + window and va_b <= vr_a <= vs_b <= va_b + window


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 5, 128]), ERASURES, st.lists(st.binary(min_size=1, max_size=9), max_size=40))
def test_octets_survive_and_the_window_holds(
    window: int, erasures: tuple[list[bool], list[bool]], sdus: list[bytes]
) -> None:
    """The same in real octets in both directions, V(S) never more than the window ahead of V(A)."""
    parameters = SrParameters(window=window, timeout_ms=60, ack_delay_ms=20)
    wires = Wires(Sr(parameters), Sr(parameters))
    for sdu in sdus:
        wires.sides[0].offer(sdu)
        wires.sides[1].offer(sdu[::-1])
    for i in range(300):
        wires.step(i * 10)
        for side in (0, 1):
            wires.send(side, erasures[side][i : i + 1] == [True])
            assert within_window(wires, window)
    assert wires.sides[1].delivered() == sdus
    assert wires.sides[0].delivered() == [sdu[::-1] for sdu in sdus]
    assert wires.sides[0].next_timer() is None


def test_entity_fills_a_queue_below_at_once() -> None:
    """Asked until it has nothing, a side hands down its whole window; every timer then runs from that moment."""
    parameters = SrParameters(ack_delay_ms=0)
    wires = Wires(Sr(parameters), Sr(parameters))
    sdus = [bytes([k % 251, 1]) for k in range(400)]
    for sdu in sdus:
        wires.sides[0].offer(sdu)
    counted = 0
    while wires.send(0, erased=counted == 3):
        counted += 1
    assert (counted, wires.sides[0].next_timer()) == (127, 1100 * MS)
    for now in range(0, 1000, 5):
        wires.step(now)
        while wires.send(0, erased=False) or wires.send(1, erased=False):
            pass
    assert wires.sides[1].delivered() == sdus
    assert wires.sides[0].entity.counts[[entity.RETRANSMISSIONS, entity.TIMEOUTS]].tolist() == [1, 0]


def told_to_send(side: entity.Entity, kind: int, **fields: int) -> list[int]:
    """The next frame after a control frame with these fields, at 0."""
    columns = {"ns": NS, "nr": NR, "has_nr": HAS_NR, "identifier": ID}
    frame = np.zeros(FIELDS, dtype=np.int64)
    frame[KIND] = kind
    for name, value in fields.items():
        frame[columns[name]] = value
    entity.receive(side, frame, 0)
    frame[:] = -1
    return frame[: ID + 1].tolist() if entity.next_frame(side, 0, frame) else []


def test_echo_goes_round_with_the_numbers_of_nacks() -> None:
    """After NACK 255 comes NACK 0, and is echoed; new frames go on echoing the last that was answered."""
    side = entity.entity(SrParameters(window=3))
    entity.offer(side, 0, 100)
    assert told_to_send(side, ACK) == [DATA, 0, 0, 0, 0]
    assert told_to_send(side, NACK, ns=0, identifier=255) == [DATA, 0, 0, 0, 255]
    assert told_to_send(side, NACK, ns=0, identifier=0) == [DATA, 0, 0, 0, 0]


def test_nack_of_what_is_not_outstanding_is_ignored() -> None:
    """Neither a frame not sent yet nor one acknowledged, even while its resend waits, is sent or echoed."""
    side = entity.entity(SrParameters(window=1))
    for n in range(130):
        entity.offer(side, n, 100)
        assert told_to_send(side, ACK, has_nr=1, nr=n) == [DATA, n, 0, 0, 0]
        assert told_to_send(side, NACK, ns=n + 1, identifier=9) == []
        answering = np.array([NACK, n, 0, 0, 7, 0, 0])
        entity.receive(side, answering, 0)
    assert told_to_send(side, ACK, has_nr=1, nr=130) == []
    assert told_to_send(side, NACK, ns=129, identifier=8) == []
    assert side.counts[entity.RETRANSMISSIONS] == 0


def saturated(parameters: SrParameters, opportunities: int, both: bool, erased: bool = False) -> link.Link:
    """A link that always has 250 octets to send, after so many opportunities of 10 ms."""
    gone = np.full(opportunities, erased)
    sources = (source(saturated_octets=250), source(saturated_octets=250 if both else 0))
    driven = link.link(parameters, 10 * MS, 15 * MS, (gone, gone), sources)
    link.run(driven, 0, opportunities)
    return driven


@pytest.mark.parametrize("window", [1, 2, 3, 4, 127])
def test_saturated_throughput_is_the_window_over_the_round_trip(window: int) -> None:
    """Without errors: min(1, window / 4) frames an opportunity, as an ACK takes 4 opportunities to come back."""
    driven = saturated(SrParameters(window=window, ack_delay_ms=0), 402, both=False)
    assert link.counters(driven)[1]["delivered_sdus"] == 100 * min(window, 4)


def test_saturated_directions_do_not_disturb_each_other() -> None:
    """With data both ways every opportunity carries data, and every ACK travels with it."""
    for side in link.counters(saturated(SrParameters(), 402, both=True)):
        assert (side["delivered_octets"], side["acks"], side["timeouts"]) == (400 * 250, 0, 0)


def test_all_erased_ends_with_nothing() -> None:
    """No frame ever arrives: 0 octets, and the frames sent within a timeout again and again, until the end."""
    a, b = link.counters(saturated(SrParameters(), 400, both=False, erased=True))
    assert (b["delivered_octets"], a["unacknowledged"], a["first_sendings"]) == (0, 110, 110)
    assert a["first_sendings"] + a["retransmissions"] == 400


def test_run_goes_on_where_it_ended() -> None:
    """One call or many make the same log, and the log begins anew when it was read."""
    whole = told(scene(QUICK, offers=([0] * 8, [30] * 5), lost=({1, 4, 9}, {5})))
    driven = scene(QUICK, offers=([0] * 8, [30] * 5), lost=({1, 4, 9}, {5}), opportunities=0)
    erased = [np.isin(np.arange(40), sorted(each)).astype(np.uint8) for each in ({1, 4, 9}, {5})]
    driven = driven._replace(
        a_to_b=driven.a_to_b._replace(erased=erased[0]), b_to_a=driven.b_to_a._replace(erased=erased[1])
    )
    pieces: list[str] = []
    for first in range(0, 40, 7):
        link.run(driven, first, min(first + 7, 40))
        pieces += told(driven)
    assert pieces == whole


def test_log_rebuilds_the_octets_of_each_frame() -> None:
    """A frame encoded from its row of the log decodes to that row; only the SDU's number is not on the air."""
    rows = link.logged(scene(QUICK, offers=([0] * 6, [20] * 3), lost=({1, 2}, {4})))
    frames = rows[rows[:, EVENT] == RECEIVED, FRAME:]
    assert {DATA, ACK, NACK} == set(frames[:, KIND].tolist())
    for frame in frames:
        fields, sdu = decode(encode(frame, bytes(int(frame[OCTETS]))))
        assert (fields[:SDU], len(sdu)) == (frame[:SDU].tolist(), frame[OCTETS])


@given(st.binary(max_size=12))
def test_octets_are_a_frame_or_refused(octets: bytes) -> None:
    """What decodes encodes to the same octets; all else is a ValueError."""
    try:
        fields, sdu = decode(octets)
    except ValueError:
        return
    assert encode(fields, sdu) == octets


@given(
    st.sampled_from([DATA, ACK, NACK]), st.integers(0, 255), st.booleans(), st.integers(0, 255), st.integers(0, 255),
    st.integers(4, 64), st.binary(min_size=1),
)  # fmt: skip
def test_frames_survive_their_octets(
    kind: int, ns: int, nr: bool, vr: int, identifier: int, size: int, sdu: bytes
) -> None:
    """Every frame that can be sent decodes to itself, for every size of header."""
    carried = sdu if kind == DATA else b""
    has_nr = int(kind == ACK or (kind == DATA and nr))
    row = [kind, 0 if kind == ACK else ns, has_nr, vr * has_nr, 0 if kind == ACK else identifier, 0, len(carried)]
    octets = encode(row, carried, size)
    assert len(octets) == size + len(carried)
    assert decode(octets, size, size) == (row, carried)


@pytest.mark.parametrize("octets", ["", "000000", "030000000000", "080000000000ff", "000000000000", "000001000000ff",
                                    "010000000000", "020000000000ff", "050100000000", "000000000100ff"])  # fmt: skip
def test_malformed_octets_are_refused(octets: str) -> None:
    """Too short, unknown kind or bits, no SDU, N(R) without its bit or the bit without need, octets left over."""
    with pytest.raises(ValueError, match=r"frame|header|kind|ACK"):
        Sr(SrParameters()).receive(bytes.fromhex(octets), 0)


@pytest.mark.parametrize(
    ("row", "sdu"), [([DATA, 256, 0, 0, 0], b"x"), ([3, 0, 0, 0, 0], b""), ([ACK, 0, 1, 0, 0], b"x"), ([DATA] * 5, b"")]
)
def test_impossible_frames_are_not_encoded(row: list[int], sdu: bytes) -> None:
    """A number above 8 bits, an unknown kind, an ACK with data, data without."""
    with pytest.raises(ValueError, match=r"must be|cannot carry"):
        encode([*row, 0, len(sdu)], sdu)
    with pytest.raises(ValueError, match="at least 4"):
        encode([0] * FIELDS, b"x", 3)


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [("window", 0, "1 to 128"), ("window", 129, "1 to 128"), ("timeout_ms", 0, "1 to"), ("ack_delay_ms", -1, "0 to"),
     ("renack", "often", "none, echo"), ("header_bytes", 3, "4 to 64"), ("control_bytes", 65, "4 to 64"),
     ("timeout_ms", 1.5, "whole number")],
)  # fmt: skip
def test_nonsense_is_refused_with_its_range(name: str, value: object, bounds: str) -> None:
    """A parameter out of range is named with its value and what it may be."""
    with pytest.raises(UsageError, match=rf"{name} '?{value}'? must be .*{bounds}"):
        SrParameters(**{name: value})  # type: ignore[arg-type]


def test_links_that_cannot_be_are_refused() -> None:
    """No delay, opportunities beyond the erasures, SDUs out of order of time, and SDUs without octets."""
    sources = (source(), source())
    with pytest.raises(UsageError, match="delay_ns 0"):
        link.link(QUICK, 10, 0, ([0], [0]), sources)
    with pytest.raises(UsageError, match="opportunities 0 to 2 must lie within 0 to 1"):
        link.run(link.link(QUICK, 10, 1, ([0], [0, 0]), sources), 0, 2)
    with pytest.raises(UsageError, match="in order of time"):
        source([2, 1], [5, 5])
    with pytest.raises(UsageError, match="1 octet or more"):
        source([1], [0])
    with pytest.raises(UsageError, match="1 or more"):
        Sr(QUICK).offer(b"")


LIVES = {"compiled": {}, "plain": {"NUMBA_DISABLE_JIT": "1"}, "bounds-checked": {"NUMBA_BOUNDSCHECK": "1"}}
ALL_LINKS = """
import hashlib
import numpy as np
from multitracer.replay.arq.sr import link as driver
from multitracer.replay.arq.sr.asr import AsrParameters
from multitracer.replay.engine.opportunities import source
from multitracer.replay.arq.sr.parameters import SrParameters
for parameters in (None, SrParameters(), SrParameters(window=9, renack="none"), AsrParameters(alpha=1, beta=4)):
    erased = np.random.default_rng(3).random((2, 3000)) < 0.15
    offers = source(saturated_octets=250), source(np.arange(900) * 70_000_000, np.arange(900) + 1)
    link = driver.link(parameters, 32_000_000, 82_000_001, tuple(erased), offers, 30_000)
    driver.run(link, 0, 3000)
    print(driver.counters(link), hashlib.sha256(driver.logged(link).tobytes()).hexdigest())
"""


@pytest.mark.compiled
def test_each_life_makes_the_same_log(tmp_path: Path) -> None:
    """Compiled, plain and bounds-checked runs of all three links log the same to the nanosecond."""
    running = []
    for life, switches in LIVES.items():
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "XDG_CACHE_HOME": str(tmp_path / life), **switches}
        command = [sys.executable, "-W", "error", "-c", ALL_LINKS]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
    logs = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(logs) == 1
    assert min(logs).count("\n") == 4

"""How long a frame has the air, the link's rate, and its round trip, from send times alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from shared_data import shared

from multitracer.link.frames import number_frames
from multitracer.link.pace import stated
from multitracer.link.timing import Timing, timing
from multitracer.model.schema import build
from multitracer.parsers.shared.experiment import read

MS = 1_000_000
START = 1_700_000_000 * 10**9


def log(
    sent: list[tuple[float, int]], answers: Sequence[tuple[float, int]] = (), sizes: list[int] | None = None
) -> pd.DataFrame:
    """A sender's log: (ms, sn) of data PDUs, (ms, nr) of the answers that came, sizes of the PDUs."""
    count, back = len(sent), len(answers)
    times = [START + round(ms * MS) for ms, _ in (*sent, *answers)]
    size = [*(sizes or [40] * count), *[40] * back]
    table = build(
        "frames",
        {
            "input": [0] * (count + back), "record": range(1, count + back + 1), "time_ns": times, "recorded_ns": times,
            "link": [0] * count + [1] * back, "side": ["network"] * (count + back),
            "sent": [True] * count + [False] * back, "type": ["AMD"] * count + ["STATUS"] * back,
            "sn": [sn for _, sn in sent] + [-1] * back, "nr": [-1] * count + [nr for _, nr in answers],
            "length_bytes": size, "payload_bytes": [octets - 2 for octets in size],
        },
    )  # fmt: skip
    table["transmission"] = [0] * count + [-1] * back
    return table


def test_the_grid_of_send_times_is_the_transmission_interval() -> None:
    """Through jitter, and pauses that are longer."""
    times = [10 * n + 0.2 * (n % 3) + 500 * (n // 10) for n in range(50)]
    assert timing(log([(at, n) for n, at in enumerate(times)]), 0, 1, "rlc-umts").interval_ns == 10 * MS


def test_frames_that_share_an_opportunity_share_its_air() -> None:
    """Four PDUs of 38 octets each 10 ms: 2.5 ms each, 121.6 kbit/s."""
    measured = timing(log([(10 * (n // 4), n) for n in range(80)]), 0, 1, "rlc-umts")
    assert (measured.frames, measured.frame_ns, measured.rate_bps) == (4, 2_500_000, 121_600)


@pytest.mark.parametrize(("protocol", "sizes", "octets"),
    [("rlc-umts", [40] * 20, 40), ("rlc-umts", [40, 60] * 10, 0), ("rlc-lte", [40] * 20, 0)])  # fmt: skip
def test_only_blocks_of_umts_are_of_one_size(protocol: str, sizes: list[int], octets: int) -> None:
    """As far as its data PDUs are: with flexible PDU sizes, and in LTE, a TTI's frames need not be alike."""
    assert timing(log([(10 * n, n) for n in range(20)], sizes=sizes), 0, 1, protocol).block_bytes == octets


@pytest.mark.parametrize(("after_ms", "octets"), [(0, 40), (0.6, 0)])
def test_frames_that_follow_one_another_as_they_end_fill_no_blocks(after_ms: float, octets: int) -> None:
    """A short one takes less time then, also where all data PDUs are of one size."""
    sent = [(10 * (n // 2) + after_ms * (n % 2), n) for n in range(40)]
    assert timing(log(sent), 0, 1, "rlc-umts").block_bytes == octets


@pytest.mark.parametrize(("each_ms", "octet_ns", "frames"), [(1.5, 250_000, 1), (2.5, 0, 4), (0.7, 0, 4)])
def test_octets_take_their_time_where_short_frames_are_followed_at_once(
    each_ms: float, octet_ns: float, frames: int
) -> None:
    """Six octets take 1.5 ms where 40 take 10: frames that come sooner or later after them share opportunities."""
    status = np.isin(np.arange(120) % 40, (10, 11, 12))
    at = np.cumsum(np.concatenate([[0.0], np.where(status, each_ms, 10.0)[:-1]]))
    frames_sent = log(list(zip(at, range(120), strict=True)), sizes=np.where(status, 6, 40).tolist())
    frames_sent["type"] = np.where(status, "STATUS", "AMD")
    measured = timing(frames_sent, 0, 1, "rlc-umts")
    assert (measured.interval_ns, measured.octet_ns, measured.frames) == (10 * MS, octet_ns, frames)


def test_frames_of_many_sizes_give_no_rate() -> None:
    """The largest that was ever seen is not what the link carries."""
    measured = timing(log([(n, n) for n in range(50)], sizes=[50 + 7 * n for n in range(50)]), 0, 1, "rlc-lte")
    assert measured.interval_ns == MS
    assert measured.rate_bps is None


def test_the_round_trip_is_to_the_answer_that_acknowledges_the_frame() -> None:
    """The shortest one; an answer that names the same number again is later."""
    measured = timing(
        log([(10 * n, n) for n in range(20)], [(137, 1), (150, 2), (155, 2), (400, 20)]), 0, 1, "rlc-umts"
    )
    assert measured.rtt_ns == 137 * MS


@pytest.mark.parametrize(("protocol", "found_ms"), [("rlp", 137), ("rlc-umts", 45)])
def test_of_rlp_one_answer_in_a_hundred_may_name_another_frame(protocol: str, found_ms: int) -> None:
    """Its numbers come round within a window: an old answer may have the number of a frame sent later."""
    sent = [(10 * n, n % 62) for n in range(200)]
    answers = [(10 * n + 137, (n + 1) % 62) for n in range(200)]
    answers = sorted([*answers, (1125, (108 + 1) % 62)])
    assert timing(log(sent, answers), 0, 1, protocol).rtt_ns == found_ms * MS


def test_frames_that_wait_for_answers_are_not_back_to_back() -> None:
    """Their spacing is the round trip, which says nothing of how long a frame lasts; a header does."""
    waiting = log([(60 * n, n) for n in range(20)], [(60 * n + 50, n + 1) for n in range(20)])
    assert timing(waiting, 0, 1, "rlc-umts").interval_ns is None
    told = timing(waiting, 0, 1, "rlc-umts", stated({"tti_ms": "20", "frames_per_tti": "2"}))
    assert (told.interval_ns, told.frames, told.frame_ns) == (20 * MS, 2, 10 * MS)


def test_many_closer_frames_contradict_the_most_common_spacing() -> None:
    """Then there is none to be told from the spacing."""
    times = [at for n in range(30) for at in (50 * n, 50 * n + 3 + n % 7, 50 * n + 20)]
    assert timing(log([(at, n) for n, at in enumerate(times)]), 0, 1, "rlc-umts") == Timing()


@pytest.mark.parametrize(("every_ms", "jitter_ms", "found_ms"), [(4.615, 0, 4.615), (20, 0.3, 20), (20.4, 0, 20.4)])
def test_exact_spacings_are_kept_and_scattered_ones_rounded(every_ms: float, jitter_ms: float, found_ms: float) -> None:
    """To whole ms."""
    jitter = np.random.default_rng(3).normal(0, jitter_ms, 400)
    frames = log([(every_ms * n + jitter[n], n) for n in range(400)])
    assert timing(frames, 0, 1, "rlc-umts").interval_ns == round(found_ms * MS)


def test_too_few_frames_give_no_timing() -> None:
    """Nor does a log of the far end."""
    assert timing(log([(0, 0), (10, 1)]), 0, 1, "rlc-umts") == Timing()
    assert timing(log([(10 * n, n) for n in range(20)]), 1, 0, "rlc-umts") == Timing()


def test_a_damaged_number_is_left_out() -> None:
    """No array is allocated by the size of a damaged number."""
    measured = timing(log([(10 * n, n) for n in range(20)], [(137, 1), (150, 10**15)]), 0, 1, "rlc-umts")
    assert measured.rtt_ns == 137 * MS


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "dump", "frame_us", "rate_bps", "rtt_ms"),
    [
        ("rlp-good", "rlpdump.mobile.txt", 20_000, 9_600, (360, 420)),
        ("rlp-xonxoff", "rlpdump.mobile.txt", 20_000, 9_600, (360, 420)),
        ("rlc-inseq", "rlcdump.network.txt.gz", 2_500, 121_600, (125, 150)),
    ],
)
def test_real_links_have_the_timing_they_were_made_with(
    folder: str, dump: str, frame_us: int, rate_bps: float, rtt_ms: tuple[int, int]
) -> None:
    """20 ms and 180 ms each way; four 40-octet PDUs in 10 ms and 57.5 ms each way."""
    tables = read(str(shared("linux", folder, dump))).tables
    links = tables["links"]
    tables["frames"] = number_frames(tables["frames"], links, tables["link_events"])
    measured = timing(tables["frames"], 0, 1, str(links["protocol"].iloc[0]))
    assert measured.frame_ns == frame_us * 1000
    assert measured.rate_bps == rate_bps
    assert measured.rtt_ns is not None
    assert rtt_ms[0] <= measured.rtt_ns / MS <= rtt_ms[1]

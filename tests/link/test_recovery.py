"""How long repeats took to get a frame through: by what arrived, and by what came back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_data import shared

from multitracer.link.frames import modulus_of, number_frames
from multitracer.link.recovery import recoveries
from multitracer.link.timing import timing
from multitracer.model.schema import build
from multitracer.parsers.shared.experiment import read

MS = 1_000_000
START = 1_700_000_000 * 10**9
LINKS = build(
    "links",
    {"link": [0, 1], "protocol": ["rlp"] * 2, "bearer": ["", ""], "sender": ["mobile", "network"], "reverse": [1, 0]},
)
NO_EVENTS = build("link_events", dict.fromkeys(("record", "time_ns", "recorded_ns", "link", "side", "event"), ()))


def frames(*rows: tuple[int, int, int, bool, str, int, int]) -> pd.DataFrame:
    """Frames, numbered: (ms, log, link, sent, type, sn, nr)."""
    ms, log, link, sent, kind, sn, nr = zip(*rows, strict=True)
    times = [START + at * MS for at in ms]
    table = build(
        "frames",
        {
            "input": log, "record": range(1, len(rows) + 1), "time_ns": times, "recorded_ns": times, "link": link,
            "side": ["mobile" if n == 0 else "network" for n in log], "sent": sent, "type": kind, "sn": sn, "nr": nr,
            "nacks": [()] * len(rows),
        },
    )  # fmt: skip
    return number_frames(table, LINKS, NO_EVENTS)


def found(table: pd.DataFrame, rtt_ms: int | None = 400) -> list[float] | None:
    """Recovery times of link 0 in ms."""
    times = recoveries(table, 0, 1, 62, None if rtt_ms is None else rtt_ms * MS)
    return None if times is None else (times / MS).tolist()


def sent(ms: int, sn: int) -> tuple[int, int, int, bool, str, int, int]:
    """A frame in its sender's log."""
    return (ms, 0, 0, True, "I RR", sn, 0)


def came(ms: int, sn: int) -> tuple[int, int, int, bool, str, int, int]:
    """A frame in the far end's log."""
    return (ms, 1, 0, False, "I RR", sn, 0)


def answer(ms: int, kind: str, nr: int) -> tuple[int, int, int, bool, str, int, int]:
    """An answer in the sender's log."""
    return (ms, 0, 1, False, kind, -1, nr)


def test_the_transmission_that_arrived_ends_the_recovery() -> None:
    """Not the needless repeat after it, nor its own way through the air."""
    log = frames(
        sent(0, 0), sent(20, 1), sent(40, 2), sent(420, 1), sent(820, 1), sent(1220, 1),
        came(200, 0), came(240, 2), came(1020, 1), came(1420, 1),
    )  # fmt: skip
    assert found(log) == [800]


def test_what_never_arrived_is_no_sample() -> None:
    """It was repeated, and not recovered."""
    assert found(frames(sent(0, 0), sent(20, 1), sent(420, 1), came(200, 0))) == []


def test_without_the_far_log_answers_end_the_recovery() -> None:
    """SREJ names the missing frame: the repeat sent since counts, not the needless one before the acknowledgement."""
    log = frames(
        sent(0, 0), sent(20, 1), sent(40, 2), answer(400, "RR", 1), answer(440, "SREJ", 1), sent(460, 1), sent(700, 1),
        answer(860, "RR", 3),
    )  # fmt: skip
    assert found(log) == [440]


def test_an_unacknowledged_frame_is_no_sample() -> None:
    """Nothing says that it got through."""
    assert found(frames(sent(0, 0), sent(20, 1), sent(460, 1), answer(500, "RR", 1))) == []


def test_one_log_without_answers_gives_no_samples() -> None:
    """Nor does a log whose round trip is unknown."""
    assert found(frames(sent(0, 0), sent(20, 0))) is None
    assert found(frames(sent(0, 0), sent(20, 0), answer(400, "RR", 1)), rtt_ms=None) is None


def of_folder(files: list[Path], sender: str, shift_ns: int = 0) -> list[int] | None:
    """Recovery times from these logs, the far one's clock put off by so much."""
    tables = read(*map(str, files)).tables
    table, links = tables["frames"], tables["links"]
    table = number_frames(table, links, tables["link_events"])
    table["time_ns"] += np.where(table["side"] == sender, 0, shift_ns)
    link = int(links.loc[links["sender"] == sender, "link"].iloc[0])
    reverse = int(links["reverse"].iloc[link])
    rtt = timing(table, link, reverse, str(links["protocol"].iloc[link])).rtt_ns
    times = recoveries(table, link, reverse, modulus_of(table, links, link), rtt)
    return None if times is None else sorted(np.rint(times / MS).astype(int).tolist())


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "sender", "samples"),
    [
        ("rlp-bad", "mobile", 133),
        ("rlp-bad", "network", 29),
        ("rlc-inseq", "network", 552),
        ("rlc-reset", "network", 115),
    ],
)
def test_answers_and_arrivals_agree_on_real_logs(folder: str, sender: str, samples: int) -> None:
    """What the sender's log alone concludes is what the far end's log shows."""
    logs = sorted(shared("linux", folder).glob("rl?dump.*"))
    both = of_folder(logs, sender)
    assert both is not None
    assert len(both) == samples
    assert of_folder([log for log in logs if sender in log.name], sender) == both


@pytest.mark.data
@pytest.mark.parametrize("shift_s", [-1.5, -0.3, 0.5, 1.5, 60])
def test_a_far_clock_that_is_off_makes_no_wrong_times(shift_s: float) -> None:
    """Only one transit that fits nearly all arrivals is believed; else the answers are."""
    logs = sorted(shared("linux", "rlp-bad").glob("rlpdump.*"))
    assert of_folder(logs, "mobile", round(shift_s * 1e9)) == of_folder(logs, "mobile")


@pytest.mark.data
def test_logs_need_not_begin_together(tmp_path: Path) -> None:
    """Numbers of the two logs are then rounds apart; times are still those of frames that both saw."""
    folder = shared("linux", "rlp-bad")
    lines = (folder / "rlpdump.network.txt").read_text().splitlines(keepends=True)
    late = tmp_path / "rlpdump.network.txt"
    late.write_text("".join([*lines[:2], *lines[700:]]))
    whole = of_folder(sorted(folder.glob("rlpdump.*")), "mobile")
    part = of_folder([folder / "rlpdump.mobile.txt", late], "mobile")
    assert whole is not None
    assert part is not None
    assert 90 < len(part) < len(whole)
    assert max(part) <= max(whole)
    assert not set(part) - set(whole)

"""What an RLP entity delivered, by its own log: the frames that our own entities delivered, old ones among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import rlp_story
from recorded import frames_in, losses
from rlp_story import POSITION, SIDE, SLOT_NS, B, Run

from multitracer.link.rlp_receiver import as_taken, frames_taken
from multitracer.replay.arq.notes import ERASED, RECEIVED, SENT
from multitracer.replay.record.recording import record_run

SLOTS = 1500


def run(seed: int, t1_slots: int, first_lost: int = 0) -> Run:
    """RLP with losses both ways, the first frames among them; with a T1 below the round trip of 5 slots, frames come
    again that were delivered.
    """
    lost = [tuple({*np.flatnonzero(losses(seed + way)[:SLOTS]).tolist(), *range(first_lost)}) for way in (0, 1)]
    offers = {"a": None, "b": tuple((10 * k, 30) for k in range(60))}
    return rlp_story.link(
        SLOTS, lost_a=lost[0], lost_b=lost[1], t1_ns=t1_slots * SLOT_NS, n2=3, persistent=True, **offers
    ).carry()


def logged(link: Run, folder: Path) -> tuple[pd.DataFrame, npt.NDArray[np.int64], int]:
    """The receiver's log as frames, those that it received, and the link on which it sends."""
    record_run("rlp", link.engine, folder)
    table = frames_in(folder / "rlpdump.network.txt")
    sent = table["sent"].to_numpy()
    return table, np.flatnonzero(~sent), int(table["link"][sent].iloc[0])


@pytest.mark.parametrize("first_lost", [0, 1, 3, 12])
@pytest.mark.parametrize("seed", [1, 5])
@pytest.mark.parametrize("t1_slots", [3, 6])
def test_the_frames_taken_are_those_that_the_entity_delivered(
    seed: int, t1_slots: int, first_lost: int, tmp_path: Path
) -> None:
    """Octet by octet, also where the entity took old frames for new ones, or the first to come was out of order."""
    link = run(seed, t1_slots, first_lost)
    table, received, reverse = logged(link, tmp_path)
    heard = frames_taken(table, received, reverse)
    assert heard is not None
    log = link.log[(link.log[:, SIDE] == B) & np.isin(link.log[:, 2], [SENT, ERASED, RECEIVED])]
    assert len(log) == len(table)
    stretches, expected, old = [], 0, 0
    for row in heard.rows.tolist():
        start, octets = int(log[row, POSITION]), int(table["payload_bytes"].iat[row])
        if octets and start >= expected:
            stretches.append((start, start + octets))
            expected = start + octets
        old += octets > 0 and start + octets < expected
    handed = link.engine.handed
    assert stretches == handed[handed["side"] == B][["start", "end"]].tolist()
    assert (old > 0) == (t1_slots == 3)


def test_a_log_that_acknowledges_what_it_lacks_tells_nothing(tmp_path: Path) -> None:
    """A frame that was delivered is not in the log: its N(R) goes beyond what is followed."""
    table, received, reverse = logged(run(1, 6), tmp_path)
    kind = table["type"].astype(str).to_numpy()[received]
    information = received[np.char.startswith(kind.astype("U"), "I ")]
    assert frames_taken(table, received[received != information[20]], reverse) is None


@pytest.mark.parametrize("left", ["few", "none"])
def test_a_log_with_few_acknowledgements_tells_nothing(left: str, tmp_path: Path) -> None:
    """Between them a wrong step would go unseen."""
    table, _, reverse = logged(run(1, 6), tmp_path)
    sent = np.flatnonzero(table["sent"].to_numpy())
    gone = sent if left == "none" else np.setdiff1d(sent, sent[::2])
    kept = table.drop(index=gone).reset_index(drop=True)
    assert frames_taken(kept, np.flatnonzero(~kept["sent"].to_numpy()), reverse) is None


def test_of_a_link_that_negotiated_nothing_is_told(tmp_path: Path) -> None:
    """Its window may be smaller (XID, 24.022 5.2.2.7): old frames are then known as such."""
    table, received, reverse = logged(run(1, 3), tmp_path)
    table["type"] = table["type"].astype(str)
    table.loc[int(received[0]), "type"] = "XID"
    assert frames_taken(table, received, reverse) is None


def test_the_receivers_numbers_and_times_replace_those_of_the_frames_taken(tmp_path: Path) -> None:
    """A frame was delivered when all before it had come. The others stay as they are."""
    table, received, reverse = logged(run(1, 3), tmp_path)
    heard = frames_taken(table, received, reverse)
    assert heard is not None
    numbers, times = (as_taken(table, heard)[name].to_numpy() for name in ("sn_unwrapped", "time_ns"))
    came = table["time_ns"].to_numpy()
    assert (np.diff(times[heard.rows]) >= 0).all()
    assert (times >= came).all()
    assert (times > came).any()
    assert numbers[heard.rows].tolist() == heard.numbers.tolist()
    others = np.setdiff1d(np.arange(len(table)), heard.rows)
    assert numbers[others].tolist() == table["sn_unwrapped"].to_numpy()[others].tolist()
    assert times[others].tolist() == came[others].tolist()

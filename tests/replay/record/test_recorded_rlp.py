"""Recorded runs of RLP: what was run is what this project's readers read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlp_story
from recorded import COLUMNS, SLOTS, frames_in, losses, rows, traces_in

from multitracer.parsers.shared.experiment import read
from multitracer.replay.arq.notes import ERASED, RECEIVED, SENT
from multitracer.replay.arq.rlp.entity import frame_of
from multitracer.replay.arq.rlp.state import COUNT_AT
from multitracer.replay.erasures import loading
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.recording import record_run
from multitracer.replay.record.rlp import characters
from multitracer.wire import rlp


def rlp_run(**parameters: Any) -> rlp_story.Run:
    """A run of RLP with data both ways, flow control, and an outage that resets it."""
    lost = [tuple(np.flatnonzero(losses(seed)).tolist()) for seed in (1, 2)]
    return rlp_story.link(
        SLOTS, lost_a=lost[0], lost_b=lost[1], a=None, b=tuple((10 * k, 30) for k in range(60)),
        parameters_b={"drain_bytes_per_s": 900}, n2=3, persistent=True, **parameters,
    ).carry()  # fmt: skip


@pytest.fixture(scope="module")
def rlp_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[rlp_story.Run, Path]:
    """An RLP run and where it is recorded."""
    link, folder = rlp_run(), tmp_path_factory.mktemp("rlp")
    record_run("rlp", link.engine, folder)
    return link, folder


@pytest.mark.parametrize(("side", "name"), [(0, "mobile"), (1, "network")])
def test_an_rlpdump_has_each_frame_of_the_log(rlp_folder: tuple[rlp_story.Run, Path], side: int, name: str) -> None:
    """Times, directions, types, numbers, poll bits and characters, erased frames as BAD."""
    link, folder = rlp_folder
    table = frames_in(folder / f"rlpdump.{name}.txt")
    log = [row for row in link.log.tolist() if row[1] == side and row[2] in (SENT, ERASED, RECEIVED)]
    assert len(table) == len(log) == 2 * SLOTS - 2
    for (time_ns, _, event, header, position), got in zip(log, table.itertuples(), strict=True):
        assert (got.time_ns, got.sent) == (START_NS + time_ns, event == SENT)
        if event == ERASED:
            assert got.type == "BAD"
            continue
        frame = frame_of(header)
        assert (got.type, got.sn, got.nr, got.poll, got.command) == (
            frame.type, frame.ns, frame.nr, frame.poll, frame.command
        )  # fmt: skip
        if frame.ns >= 0:
            text = b"".join(got.data[start:end] for start, end in rlp.user_octets(got.data))
            assert text == characters(position, header >> COUNT_AT)
            assert got.payload_bytes == len(text)


@pytest.mark.parametrize(("side", "name"), [(0, "mobile"), (1, "network")])
def test_events_are_those_of_the_machine(rlp_folder: tuple[rlp_story.Run, Path], side: int, name: str) -> None:
    """Resets by the peer, while an end's own are in its SABM; flow control where it is told."""
    link, folder = rlp_folder
    events = read(str(folder / f"rlpdump.{name}.txt")).tables["link_events"]
    counted = link.summary(side)
    own = events[events["link"] == 0]["event"].tolist()
    told = events[events["link"] == 1]["event"].tolist()
    assert own == []
    assert {kind: told.count(kind) for kind in ("reset", "xoff", "xon")} == {
        "reset": counted["resets_seen"], "xoff": counted["xoffs"], "xon": counted["xons"]
    }  # fmt: skip
    assert counted["resets"] + counted["resets_seen"]
    assert name == "network" or counted["xoffs"]


def test_rlp_dumps_and_capture_agree(rlp_folder: tuple[rlp_story.Run, Path]) -> None:
    """What an end's dump says it sent is what the capture has of it, lost frames too."""
    _, folder = rlp_folder
    trace = read(str(folder / "frames.pcap"))
    senders = dict(zip(trace.tables["links"]["link"], trace.tables["links"]["sender"], strict=True))
    captured = trace.tables["frames"]
    for link, sender in senders.items():
        dump = frames_in(folder / f"rlpdump.{sender}.txt")
        assert rows(dump[dump["sent"]], COLUMNS) == rows(captured[captured["link"] == link], COLUMNS)
    assert sorted(senders.values()) == ["mobile", "network"]


def test_the_run_shows_what_it_is_for(rlp_folder: tuple[rlp_story.Run, Path]) -> None:
    """Losses, a reset, and RLP's own frame types."""
    seen = frames_in(rlp_folder[1] / "rlpdump.mobile.txt")["type"]
    assert {"I RR", "I SREJ", "RR", "SREJ", "NULL", "SABM", "UA", "BAD"} <= set(seen)


def test_rlp_logs_tell_the_erasures_that_were_put_in(rlp_folder: tuple[rlp_story.Run, Path], tmp_path: Path) -> None:
    """All of those whose frames could arrive before the end."""
    link, folder = rlp_folder
    found = traces_in(folder, tmp_path)
    for name, erased in (("mobile", link.erased_a), ("network", link.erased_b)):
        assert found[name].erased.tolist() == erased[: SLOTS - 2].astype(bool).tolist()
        assert (found[name].block_bytes, found[name].block_ms) == (30, 20)


def test_traces_written_are_those_put_in(rlp_folder: tuple[rlp_story.Run, Path]) -> None:
    """One block an opportunity, with the frame's size and duration."""
    link, folder = rlp_folder
    for name, erased in (("mobile", link.erased_a), ("network", link.erased_b)):
        (trace,) = loading.load(str(folder / f"erasures.{name}.txt"))
        assert trace.erased.tolist() == erased.astype(bool).tolist()
        assert (trace.name, trace.block_bytes, trace.block_ms) == (f"sent by {name}", 30, 20)


def test_characters_tell_their_own_position() -> None:
    """Any stretch of the stream is the same wherever it is cut."""
    whole = characters(0, 4000)
    assert whole[16:48] == b"000000000000010\n000000000000020\n"
    assert all(characters(first, 61) == whole[first : first + 61] for first in range(100))
    assert characters(2**40 + 3, 13) == b"010000000000\n"
    assert characters(5, 0) == b""

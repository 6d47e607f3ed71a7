"""Recorded runs: what was run is what is read back, by this project's readers and by tshark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rlc_run as rlc_support
import rlp_story

from multitracer import cli
from multitracer.model.errors import UsageError
from multitracer.parsers.shared.experiment import read
from multitracer.replay.arq.notes import ERASED, RECEIVED, SENT
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.arq.rlp.entity import frame_of
from multitracer.replay.arq.rlp.state import COUNT_AT
from multitracer.replay.engine.direction import Direction
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.rlc import RLC_AM_OCTETS
from multitracer.replay.engine.rlp import RLP
from multitracer.replay.erasures import loading
from multitracer.replay.erasures.trace import ErasureTrace
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.recording import characters, record, record_rlc, record_rlp
from multitracer.replay.retrace.models import MS, Air, named
from multitracer.replay.retrace.rlc import Acknowledged
from multitracer.replay.retrace.rlp import Rlp
from multitracer.wire import rlc_umts, rlp

SLOTS, OUTAGE = 700, range(300, 480)
COLUMNS = ["time_ns", "type", "sn", "nr", "poll", "command", "length_bytes", "payload_bytes", "l2r", "data"]
RLC_COLUMNS = [
    "time_ns", "type", "sn", "nr", "poll", "length_bytes", "payload_bytes", "framing", "lis", "nacks", "data",
]  # fmt: skip
RLC_VARIANTS: dict[str, dict[str, Any]] = {
    "lists": {},
    "bitmaps": {"status_format": "bitmap"},
    "piggyback": {"piggyback": True, "poll_pdu": 5},
    "moved windows": {"discard": "max_dat", "special_he": True},
    "large PDUs": {"pdu_bytes": 300, "status_format": "rlist"},
}


def losses(seed: int, slots: int = SLOTS) -> np.ndarray:
    """One in twenty, but none of the first, and all of an outage."""
    lost = np.random.default_rng(seed).random(slots) < 0.05
    lost[:5] = False
    lost[OUTAGE.start : OUTAGE.stop] = True
    return lost.astype(np.uint8)


def rlp_run(**parameters: Any) -> rlp_story.Run:
    """A run of RLP with data both ways, flow control, and an outage that resets it."""
    lost = [tuple(np.flatnonzero(losses(seed)).tolist()) for seed in (1, 2)]
    return rlp_story.link(
        SLOTS, lost_a=lost[0], lost_b=lost[1], a=None, b=tuple((10 * k, 30) for k in range(60)),
        parameters_b={"drain_bytes_per_s": 900}, n2=3, persistent=True, **parameters,
    ).carry()  # fmt: skip


def pdu_of(run: rlc_support.Run, at: int) -> rlc_umts.Pdu:
    """What row `at` of the log is about."""
    return rlc_umts.decode(run.octets(at), 8 * run.engine.parameters[0].li_octets - 1)


def rlc_run(**settings: Any) -> rlc_support.Run:
    """A run of RLC with data both ways and an outage that resets it."""
    offers = ([20 * MS * k for k in range(150)], [30 + k % 50 for k in range(150)])
    parameters = Parameters(**{"poll_ns": 200 * MS, "max_dat": 4, "max_rst": 64, **settings})
    return rlc_support.with_octets(
        parameters, offers=(offers, offers), erased=(losses(1), losses(2)), log_rows=10 * SLOTS,
    ).carry(SLOTS)  # fmt: skip


@pytest.fixture(scope="module")
def rlp_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[rlp_story.Run, Path]:
    """An RLP run and where it is recorded."""
    link, folder = rlp_run(), tmp_path_factory.mktemp("rlp")
    record_rlp(link.engine, folder)
    return link, folder


RlcFolders = Callable[[str], tuple[rlc_support.Run, Path]]


@pytest.fixture(scope="module")
def rlc_folders(tmp_path_factory: pytest.TempPathFactory) -> RlcFolders:
    """Runs by variant, each made once, whatever order the tests come in."""

    @cache
    def recorded(variant: str) -> tuple[rlc_support.Run, Path]:
        run, folder = rlc_run(**RLC_VARIANTS[variant]), tmp_path_factory.mktemp("rlc")
        record_rlc(run.engine, folder)
        return run, folder

    return recorded


@pytest.fixture(params=list(RLC_VARIANTS))
def rlc_folder(request: pytest.FixtureRequest, rlc_folders: RlcFolders) -> tuple[rlc_support.Run, Path]:
    """An RLC run and where it is recorded."""
    return rlc_folders(request.param)


def frames_in(path: Path) -> pd.DataFrame:
    """The frames that a file holds, all of it read."""
    trace = read(str(path))
    assert not trace.inputs[0].recording.skips
    return trace.tables["frames"]


def rows(table: pd.DataFrame, columns: list[str]) -> list[list[Any]]:
    """Some columns as plain rows; reports carry no user data, whether a reader says 0 octets or nothing."""
    table = table.assign(payload_bytes=table["payload_bytes"].where(table["length_bytes"] >= 0, 0))
    return table[columns].astype({"type": str}).to_numpy().tolist()


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
    """Resets as each end's own or its peer's; flow control where it is told."""
    link, folder = rlp_folder
    events = read(str(folder / f"rlpdump.{name}.txt")).tables["link_events"]
    counted = link.summary(side)
    own = events[events["link"] == 0]["event"].tolist()
    told = events[events["link"] == 1]["event"].tolist()
    assert own == ["reset"] * counted["resets"]
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


def expected_rlc(run: rlc_support.Run, side: int) -> list[tuple[int, bool, rlc_umts.Pdu | None]]:
    """What an end has logged: time, whether it sent it, and the PDU; None for one that was erased."""
    found = []
    for at, row in enumerate(run.engine.log.rows):
        if row.side == side and row.event in (SENT, RECEIVED, ERASED):
            pdu = None if row.event == ERASED else pdu_of(run, at)
            found.append((START_NS + int(row.time_ns), row.event == SENT, pdu))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("side", "name"), [(0, "mobile"), (1, "network")])
def test_an_rlcdump_has_each_pdu_of_the_log(rlc_folder: tuple[rlc_support.Run, Path], side: int, name: str) -> None:
    """Times, directions, types, numbers, poll bits, length indicators, reports and octets, erased PDUs as BAD."""
    run, folder = rlc_folder
    reports = {"STATUS", "MRW", "MRW_ACK"}
    table = iter(frames_in(folder / f"rlcdump.{name}.txt").itertuples())
    got = next(table)
    for time_ns, sent, pdu in expected_rlc(run, side):
        moment, status = (time_ns, sent), None
        assert (got.time_ns, got.sent) == moment
        if pdu is None:
            assert got.type == "BAD"
        elif isinstance(pdu, rlc_umts.Amd):
            assert (got.type, got.sn, got.poll, got.lis) == ("AMD", pdu.sn, pdu.poll, pdu.lis)
            assert got.data.endswith(pdu.data)
            status = rlc_umts.piggybacked(pdu)
        elif isinstance(pdu, rlc_umts.Reset):
            assert (got.type, got.sn) == ("RESET_ACK" if pdu.ack else "RESET", pdu.rsn)
        else:
            status = pdu
        if not isinstance(pdu, rlc_umts.Status):
            got = next(table, None)
        told = []
        while status is not None and got is not None and got.type in reports and (got.time_ns, got.sent) == moment:
            told.append(got)
            got = next(table, None)
        if status is not None:
            assert said_by(told) == said_in(status)
    assert got is None


@pytest.mark.slow
def test_the_runs_show_what_they_are_for(
    rlp_folder: tuple[rlp_story.Run, Path], rlc_folder: tuple[rlc_support.Run, Path]
) -> None:
    """Losses, reports with gaps, resets or moved windows, and RLP's own frame types."""
    seen = frames_in(rlp_folder[1] / "rlpdump.mobile.txt")["type"]
    assert {"I RR", "I SREJ", "RR", "SREJ", "NULL", "SABM", "UA", "BAD"} <= set(seen)
    table = frames_in(rlc_folder[1] / "rlcdump.mobile.txt")
    seen = set(table["type"])
    assert {"AMD", "STATUS", "BAD"} <= seen
    assert {"RESET", "RESET_ACK"} <= seen or {"MRW", "MRW_ACK"} <= seen
    assert any(table["nacks"].dropna())


def said_by(told: list[Any]) -> tuple[Any, ...]:
    """Acknowledgement, missing PDUs and window moves in rows of a table."""
    reports = [row for row in told if row.type == "STATUS"]
    moves = [(str(row.type), row.sn) for row in told if row.type != "STATUS"]
    ack = reports[0].nr if reports else -1
    return ack, [nack[0] for row in reports for nack in row.nacks or ()], moves


def said_in(status: rlc_umts.Status) -> tuple[Any, ...]:
    """The same in a report."""
    moves = [
        ("MRW", sufi.sns[-1]) if isinstance(sufi, rlc_umts.Mrw) else ("MRW_ACK", sufi.sn)
        for sufi in status.sufis
        if isinstance(sufi, rlc_umts.Mrw | rlc_umts.MrwAck)
    ]
    lsn = rlc_umts.acknowledged(status)
    return -1 if lsn is None else lsn, list(rlc_umts.missing(status)), moves


@pytest.mark.slow
def test_rlc_dumps_and_capture_agree(rlc_folder: tuple[rlc_support.Run, Path]) -> None:
    """What an end's dump says it sent is what the capture has of it, lost PDUs too."""
    _, folder = rlc_folder
    trace = read(str(folder / "frames.pcap"))
    captured, links = trace.tables["frames"], trace.tables["links"]
    assert sorted(links["sender"]) == ["mobile", "network"]
    for link, sender in zip(links["link"], links["sender"], strict=True):
        dump = frames_in(folder / f"rlcdump.{sender}.txt")
        assert rows(dump[dump["sent"]], RLC_COLUMNS) == rows(captured[captured["link"] == link], RLC_COLUMNS)


def traces_in(folder: Path, to: Path) -> dict[str, ErasureTrace]:
    """The erasure traces that the logs alone tell, by who sent the blocks."""
    shutil.copytree(folder, to / "logs", ignore=shutil.ignore_patterns("erasures.*"))
    return {trace.name.split(" by ")[1]: trace for trace in loading.load(str(to / "logs"))}


def test_rlp_logs_tell_the_erasures_that_were_put_in(rlp_folder: tuple[rlp_story.Run, Path], tmp_path: Path) -> None:
    """All of those whose frames could arrive before the end."""
    link, folder = rlp_folder
    found = traces_in(folder, tmp_path)
    for name, erased in (("mobile", link.erased_a), ("network", link.erased_b)):
        assert found[name].erased.tolist() == erased[: SLOTS - 2].astype(bool).tolist()
        assert (found[name].block_bytes, found[name].block_ms) == (30, 20)


@pytest.mark.slow
def test_rlc_logs_tell_the_erasures_that_were_put_in(tmp_path: Path) -> None:
    """Of the opportunities that were used, but for frames in flight at the end."""
    run = rlc_run()
    record_rlc(run.engine, tmp_path / "all")
    found = traces_in(tmp_path / "all", tmp_path)
    for side, name in ((0, "mobile"), (1, "network")):
        erased, log = losses(1 + side), run.engine.log.rows
        sent = log["time_ns"][(log["side"] == side) & (log["event"] == SENT)] // (10 * MS)
        put_in, told = erased[sent].astype(bool), found[name].erased
        assert len(put_in) - 10 <= len(told) <= len(put_in)
        assert told.tolist() == put_in[: len(told)].tolist()


def test_traces_written_are_those_put_in(rlp_folder: tuple[rlp_story.Run, Path]) -> None:
    """One block an opportunity, with the frame's size and duration."""
    link, folder = rlp_folder
    for name, erased in (("mobile", link.erased_a), ("network", link.erased_b)):
        (trace,) = loading.load(str(folder / f"erasures.{name}.txt"))
        assert trace.erased.tolist() == erased.astype(bool).tolist()
        assert (trace.name, trace.block_bytes, trace.block_ms) == (f"sent by {name}", 30, 20)


@pytest.mark.slow
def test_tshark_reads_every_pdu_alike(rlc_folder: tuple[rlc_support.Run, Path]) -> None:
    """Types, numbers, poll bits, length indicators and reports; no checksum wrong, nothing malformed."""
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("no tshark on this machine")
    run, folder = rlc_folder
    fields = ["rlc.dc", "rlc.seq", "rlc.p", "rlc.li.value", "rlc.ctrl_pdu_type", "rlc.rsn", "rlc.sufi.lsn",
              "rlc.sufi.sn", "rlc.sufi.l", "rlc.sufi.fsn", "rlc.sufi.bitmap", "rlc.sufi.sn_mrw", "rlc.sufi.sn_ack",
              "ip.checksum.status", "udp.checksum.status", "_ws.malformed", "_ws.expert.message"]  # fmt: skip
    command = [tshark, "-r", str(folder / "frames.pcap"), "--enable-heuristic", "rlc_udp", "-T", "fields"]
    for option in ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE"):
        command += ["-o", option]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = [line.split("\t") for line in done.stdout.removesuffix("\n").split("\n")]
    sent = np.flatnonzero(run.engine.log.rows["event"] == SENT).tolist()
    assert len(theirs) == len(sent)
    for at, values in zip(sent, theirs, strict=True):
        assert by_tshark(dict(zip(fields, values, strict=True))) == as_tshark(pdu_of(run, at)), at


def by_tshark(told: dict[str, str]) -> tuple[Any, ...]:
    """What tshark tells of a PDU."""
    assert (told["ip.checksum.status"], told["udp.checksum.status"]) == ("1", "1")
    assert (told["_ws.malformed"], told["_ws.expert.message"]) == ("", "")
    numbers = {
        field: [int(text, 0) for text in told[field].split(",") if text]
        for field in told if field.startswith("rlc.") and field != "rlc.sufi.bitmap"
    }  # fmt: skip
    data = numbers["rlc.dc"] == [1]
    head = tuple(numbers["rlc.seq"] + numbers["rlc.p"] if data else numbers["rlc.ctrl_pdu_type"] + numbers["rlc.rsn"])
    pairs = zip(numbers["rlc.sufi.sn"], numbers["rlc.sufi.l"], strict=True)
    listed = [(sn + i) % 4096 for sn, more in pairs for i in range(more + 1)]
    moves = numbers["rlc.sufi.sn_mrw"] + numbers["rlc.sufi.sn_ack"]
    maps = told["rlc.sufi.bitmap"].replace(":", "")
    return data, head, numbers["rlc.li.value"], numbers["rlc.sufi.lsn"], listed, numbers["rlc.sufi.fsn"], maps, moves


def as_tshark(pdu: rlc_umts.Pdu) -> tuple[Any, ...]:
    """The same from our own decoder."""
    if isinstance(pdu, rlc_umts.Reset):
        return False, (2 if pdu.ack else 1, pdu.rsn), [], [], [], [], "", []
    data = isinstance(pdu, rlc_umts.Amd)
    status = rlc_umts.piggybacked(pdu) if isinstance(pdu, rlc_umts.Amd) else pdu
    sufis = status.sufis if status else ()
    head, lis = ((pdu.sn, int(pdu.poll)), list(pdu.lis)) if isinstance(pdu, rlc_umts.Amd) else ((0,), [])
    lists = rlc_umts.Status(tuple(sufi for sufi in sufis if isinstance(sufi, rlc_umts.List)))
    maps = [sufi for sufi in sufis if isinstance(sufi, rlc_umts.Bitmap)]
    first = [sufi.fsn for sufi in sufis if isinstance(sufi, rlc_umts.Bitmap | rlc_umts.Rlist)]
    moves = [sn for sufi in sufis if isinstance(sufi, rlc_umts.Mrw) for sn in sufi.sns]
    moves += [sufi.sn for sufi in sufis if isinstance(sufi, rlc_umts.MrwAck)]
    lsn = [sufi.lsn for sufi in sufis if isinstance(sufi, rlc_umts.Ack)]
    bits = ",".join(sufi.bits.hex() for sufi in maps)
    return data, head, lis, lsn, list(rlc_umts.missing(lists)), first, bits, moves


def air(frame_bytes: int = 30, slots: int = 1300) -> Air:
    """What retrace runs a protocol over, with an outage."""
    return Air(losses(1, slots), losses(2, slots), frame_bytes, 20 * MS, 1, 200 * MS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("rlp", {"n2": "3"}),
        (
            "rlc-am",
            {"max_dat": "4", "sdu_bytes": "100", "max_rst": "64", "tx_window": "64", "poll_window_percent": "50"},
        ),
    ],
)
def test_analyze_finds_the_reset_of_a_recorded_run(model: str, given: dict[str, str], tmp_path: Path) -> None:
    """Status 0, nothing skipped, the capture known as the same frames again, and a reset in the outage."""
    record(model, given, air(), tmp_path / "run")
    assert cli.run(["analyze", str(tmp_path / "run"), "-o", str(tmp_path / "out"), "-q", "--no-report"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sorted(told["format"] for told in summary["inputs"])[-3] == "pcap"
    assert not any(told["skipped"] for told in summary["inputs"])
    resets = [found for found in summary["findings"] if found["kind"] == "link-reset"]
    assert any(OUTAGE.start <= found["start_s"] / 0.02 <= OUTAGE.stop for found in resets)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "given"), [("rlp", {"n2": "3"}), ("rlc-am", {"max_dat": "4", "max_rst": "64"})])
def test_a_run_recorded_in_parts_is_as_one_recorded_whole(model: str, given: dict[str, str], tmp_path: Path) -> None:
    """Every file, octet by octet."""
    over = air()
    files = record(model, given, over, tmp_path / "parts")
    known = named(model, given)
    if isinstance(known, Rlp):
        whole = record_rlp(known.engine(over, 30_000).run((len(over.forth) - 1) * over.frame_ns), tmp_path / "whole")
    else:
        assert isinstance(known, Acknowledged)
        run = known.engine(over, 30_000, RLC_AM_OCTETS).run((len(over.forth) - 1) * over.frame_ns)
        whole = record_rlc(run, tmp_path / "whole")
    assert [path.name for path in files] == [path.name for path in whole]
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in whole]


@pytest.mark.slow
def test_the_ends_may_be_the_other_way_round(tmp_path: Path) -> None:
    """If A is the network, its frames go downlink, and its log is the network's."""
    record("rlp", {}, air(slots=500), tmp_path / "one")
    record("rlp", {}, air(slots=500), tmp_path / "other", side_a="network", start_ns=0)
    tables = [read(str(tmp_path / name / "frames.pcap")).tables for name in ("one", "other")]
    for (first, second), start in zip((("mobile", "network"), ("network", "mobile")), (START_NS, 0), strict=True):
        one = tables[0]["frames"][tables[0]["frames"]["side"] == first]
        other = tables[1]["frames"][tables[1]["frames"]["side"] == second]
        assert rows(one, COLUMNS[1:]) == rows(other, COLUMNS[1:])
        assert (one["time_ns"].to_numpy() - START_NS).tolist() == other["time_ns"].tolist(), start


def test_characters_tell_their_own_position() -> None:
    """Any stretch of the stream is the same wherever it is cut."""
    whole = characters(0, 4000)
    assert whole[16:48] == b"000000000000010\n000000000000020\n"
    assert all(characters(first, 61) == whole[first : first + 61] for first in range(100))
    assert characters(2**40 + 3, 13) == b"010000000000\n"
    assert characters(5, 0) == b""


@pytest.mark.parametrize("size", [7, 60, 72, 260])
def test_frames_of_other_sizes_are_read_back(size: int, tmp_path: Path) -> None:
    """RLP frames that no bearer of the specification has are logged like any."""
    record("rlp", {}, air(size, 400), tmp_path)
    table = frames_in(tmp_path / "rlpdump.network.txt")
    came = table[~table["sent"] & (table["sn"] >= 0)]
    assert (came["length_bytes"] == size - 5).all()
    assert came["payload_bytes"].max() == size - 6


def test_what_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    """With the value and its range."""
    with pytest.raises(UsageError, match=r"261 octets.* 7 to 260"):
        record("rlp", {}, air(261), tmp_path)
    with pytest.raises(UsageError, match=r"'sr' cannot be recorded\nThose that can are: rlp, rlc-am"):
        record("sr", {}, air(), tmp_path)
    with pytest.raises(UsageError, match="'handset'; it must be mobile or network"):
        record("rlp", {}, air(), tmp_path, side_a="handset")
    with pytest.raises(UsageError, match="start_ns is -1; it must be from 0"):
        record("rlp", {}, air(), tmp_path, start_ns=-1)
    with pytest.raises(UsageError, match="0 frames forth"):
        record("rlp", {}, Air(np.zeros(0), np.zeros(0), 30, 20 * MS, 1, 200 * MS), tmp_path)
    air_of = Direction(MS, MS)
    full = Engine(RLP, (rlp_story.Parameters(), rlp_story.Parameters()), air_of, air_of, keep=Keep(log=9)).run(9 * MS)
    with pytest.raises(UsageError, match="log of 9 rows is full"):
        record_rlp(full, tmp_path)

"""Recorded runs of RLC AM: what was run is what is read back, by this project's readers and by tshark."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rlc_run as rlc_support
from recorded import SLOTS, frames_in, losses, rows, traces_in

from multitracer.parsers.shared.experiment import read
from multitracer.replay.arq.notes import ERASED, RECEIVED, SENT
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.replay.record.instruments import START_NS
from multitracer.replay.record.recording import record_run
from multitracer.replay.retrace.models import MS
from multitracer.wire import rlc_umts

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


RlcFolders = Callable[[str], tuple[rlc_support.Run, Path]]


@pytest.fixture(scope="module")
def rlc_folders(tmp_path_factory: pytest.TempPathFactory) -> RlcFolders:
    """Runs by variant, each made once, whatever order the tests come in."""

    @cache
    def recorded(variant: str) -> tuple[rlc_support.Run, Path]:
        run, folder = rlc_run(**RLC_VARIANTS[variant]), tmp_path_factory.mktemp("rlc")
        record_run("rlc-am", run.engine, folder)
        return run, folder

    return recorded


@pytest.fixture(params=list(RLC_VARIANTS))
def rlc_folder(request: pytest.FixtureRequest, rlc_folders: RlcFolders) -> tuple[rlc_support.Run, Path]:
    """An RLC run and where it is recorded."""
    return rlc_folders(request.param)


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
def test_the_runs_show_what_they_are_for(rlc_folder: tuple[rlc_support.Run, Path]) -> None:
    """Losses, reports with gaps, resets or moved windows."""
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


@pytest.mark.slow
def test_rlc_logs_tell_the_erasures_that_were_put_in(tmp_path: Path) -> None:
    """Of the opportunities that were used, but for frames in flight at the end."""
    run = rlc_run()
    record_run("rlc-am", run.engine, tmp_path / "all")
    found = traces_in(tmp_path / "all", tmp_path)
    for side, name in ((0, "mobile"), (1, "network")):
        erased, log = losses(1 + side), run.engine.log.rows
        sent = log["time_ns"][(log["side"] == side) & (log["event"] == SENT)] // (10 * MS)
        put_in, told = erased[sent].astype(bool), found[name].erased
        assert len(put_in) - 10 <= len(told) <= len(put_in)
        assert told.tolist() == put_in[: len(told)].tolist()


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

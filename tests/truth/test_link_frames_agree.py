"""Link frames, PDU by PDU, against other decoders: tshark, and the outputs stored beside real logs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from shared_data import shared

from multitracer.parsers.shared.experiment import read

pytestmark = pytest.mark.data

TSHARK = shutil.which("tshark")


def dissected(path: Path, *fields: str, heuristic: str = "rlc_udp") -> list[list[str]]:
    """tshark's fields of every record."""
    if TSHARK is None:
        pytest.skip("no tshark on this machine")
    command = [TSHARK, "-r", str(path), "--enable-heuristic", heuristic, "-T", "fields", "-E", "occurrence=a"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def whole(text: str) -> int:
    """A number as tshark prints it, in any base; booleans too."""
    first = text.split(",")[0]
    if first in ("True", "False"):
        return int(first == "True")
    return int(first, 0)


@pytest.mark.parametrize("folder", ["rlc-inseq", "rlc-outseq", "rlc-reset"])
def test_rlc_captures_decode_as_tshark_decodes_them(folder: str) -> None:
    """Every PDU's type, sequence number and poll bit; every status report's acknowledgement."""
    path = shared("linux", folder, "rlc.network.pcap.gz")
    frames = read(str(path)).tables["frames"]
    theirs = dissected(path, "frame.number", "rlc.dc", "rlc.seq", "rlc.p", "rlc.ctrl_pdu_type", "rlc.sufi.lsn")
    assert frames["record"].nunique() == len(theirs)
    by_record = frames.drop_duplicates("record").set_index("record")
    for number, dc, seq, poll, control, lsn in theirs:
        ours = by_record.loc[int(number)]
        if whole(dc):
            assert (ours["type"], ours["sn"], ours["poll"]) == ("AMD", whole(seq), whole(poll)), number
        else:
            kind = {0: "STATUS", 1: "RESET", 2: "RESET_ACK"}[whole(control)]
            assert str(ours["type"]) == kind, number
            if kind == "STATUS" and lsn:
                assert ours["nr"] == whole(lsn), number


@pytest.mark.parametrize("folder", ["rlc-inseq", "rlc-outseq", "rlc-reset"])
def test_the_dump_and_the_capture_of_a_link_hold_the_same_pdus(folder: str) -> None:
    """What the network's dump says it sent is what the capture has in that direction, octet by octet."""
    dump = read(str(shared("linux", folder, "rlcdump.network.txt.gz")))
    capture = read(str(shared("linux", folder, "rlc.network.pcap.gz")))
    sent = dump.tables["frames"][dump.tables["frames"]["sent"]]
    links = capture.tables["links"]
    downlink = int(links.loc[links["sender"] == "network", "link"].iloc[0])
    frames = capture.tables["frames"]
    seen = frames[frames["link"] == downlink]
    columns = ["type", "sn", "nr", "poll", "length_bytes", "payload_bytes"]
    ours = seen[seen["type"] == "AMD"][columns].astype({"type": str}).reset_index(drop=True)
    theirs = sent[sent["type"] == "AMD"][columns].astype({"type": str}).reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, theirs)


def oracle(path: Path) -> list[dict[str, str]]:
    """The rows of a stored decoder output."""
    octets = path.read_bytes()
    text = (gzip.decompress(octets) if path.suffix == ".gz" else octets).decode()
    return list(csv.DictReader(io.StringIO(text)))


def agrees(row: dict[str, str], frame: Any) -> bool:
    """Whether a frame is what the stored decoder output says, field by field."""
    if row["kind"] == "STATUS":
        nacks = [int(nack["NACK_SN"]) for nack in json.loads(row["nack"])] if row["nack"] else []
        return bool(
            frame.type == "STATUS" and frame.nr == int(row["sn"]) and [nack[0] for nack in frame.nacks or ()] == nacks
        )
    return bool(
        frame.type == "AMD"
        and frame.sn == int(row["sn"])
        and frame.poll == int(row["p"])
        and frame.framing == int(row["fi"], 2)
        and frame.so == (int(row["so"]) if row["so"] else -1)
        and frame.last_segment == (int(row["lsf"]) if row["lsf"] else -1)
        and frame.length_bytes == int(row["pdu_bytes"])
        and frame.sent == (row["dir"] == "UL")
    )


@pytest.mark.parametrize("log", ["att-iphone", "test_log_dl_retx"])
def test_handset_logs_decode_as_their_own_decoder_did(log: str) -> None:
    """Every PDU: type, sequence number, poll bit, segment offset, framing, length, every NACK."""
    folder = shared("public", "rlc_mi2log")
    rows = oracle(next(folder.glob(f"{log}.rlc_pdus.csv*")))
    frames = read(str(folder / f"{log}.mi2log")).tables["frames"]
    assert len(frames) == len(rows)
    assert all(agrees(row, frame) for row, frame in zip(rows, frames.itertuples(), strict=True))

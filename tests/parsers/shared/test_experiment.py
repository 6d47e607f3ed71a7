"""One bad input is lost by itself, and said; the others are analysed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repository import EXAMPLES

from multitracer import cli, parsers
from multitracer.model.errors import InputError, ReadingDefectError, UsageError
from multitracer.parsers import tcpstats
from multitracer.parsers.shared.experiment import read

SND = EXAMPLES / "rlp-reset" / "snd.pcap"


@pytest.fixture
def fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input whose parser has a defect."""

    def broken(_: Any) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(tcpstats, "read", broken)
    path = tmp_path / "state.txt"
    path.write_text("# tcpstats 1\n1.0 cwnd=1\n")
    return path


def test_a_defect_in_reading_one_file_is_that_files_loss(fails: Path) -> None:
    """It is kept with the reason and the exception; the other input is read."""
    trace = read(SND, fails)
    assert trace.inputs[0].recording.records == 219
    assert "defect in reading this file: ZeroDivisionError" in trace.inputs[1].recording.skips[0].reason
    assert isinstance(trace.inputs[1].recording.defect, ZeroDivisionError)
    with pytest.raises(ReadingDefectError, match="defect in reading this file"):
        read(fails)


def test_the_command_says_it_and_goes_on(fails: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0; 4 with --strict; 3 where nothing else is usable; the traceback with -v."""
    options = ["--summary-only", "-o", str(tmp_path / "out")]
    for more, status in (([str(SND)], 0), ([str(SND), "--strict"], 4), ([], 3)):
        assert cli.run(["analyze", str(fails), *more, *options]) == status
        said = capsys.readouterr().err
        assert f"{fails}: " in said
        assert "defect in reading this file: ZeroDivisionError: of all things" in said
        assert "Traceback" not in said
        cli.run(["analyze", str(fails), *more, *options, "-v"])
        assert "ZeroDivisionError: of all things" in capsys.readouterr().err.partition("Traceback")[2]


IMPOSSIBLE = {
    "tcpstats": (b"# tcpstats 1\n%b", b"1238556193.1 cwnd=%b\n", b"3000"),
    "ss": (
        b"# 1700000000.1\nState Recv-Q Send-Q Local Peer\n%b",
        b"ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic rto:204 cwnd:%b mss:1448\n", b"10",
    ),
    "tcp_probe": (
        b"%b",
        b" x-1 [000] ..s. 12.5: tcp_cong_state_set: family=AF_INET sport=1 dport=2 saddr=10.0.0.1 daddr=10.0.0.2 "
        b"saddrv6=:: daddrv6=:: cong_state=%b\n", b"1",
    ),
    "rlcdump": (b"# rlcdump 1\n# rat: umts\n%b", b"1.5 > AMD sn=1 p=0 li=%b len=40\n", b"7"),
    "rlpdump": (b"# rlpdump 1\n%b", b"1.5 > I RR ns=%b nr=1 len=30\n", b"1"),
    "ns3-rlc": (b"time(s)\tcellId\trnti\tlcid\tpacketSize\n%b", b"0.5\t1\t1\t3\t%b\n", b"40"),
    "mahimahi": (b"%b", b"%b\n", b"5"),
}  # fmt: skip
"""A log, a record in it, and a value that its field can have."""
NUMBERS = [
    b"1" + b"0" * 400, b"9" * 5000, b"-5", b"+5", b"0x1f", b"NaN", b"inf", b"1e999", b"18446744073709551616", b"\xff",
    "\u0665".encode(),
]  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: repr(number[:12]))
def test_a_field_out_of_range_is_a_loss_of_its_record(name: str, number: bytes) -> None:
    """With its line and octet, in every text format; the records around it are read."""
    whole, record, good = IMPOSSIBLE[name]
    if name == "mahimahi":
        good_lines, bad = b"5\n6\n", number + b"\n"
    else:
        good_lines, bad = record % good, record % number
    data = whole % (good_lines + bad + good_lines.replace(b"5\n6", b"7\n8"))
    entry = next(entry for entry in parsers.FORMATS if entry.name == name)
    recording = entry.parser.read(parsers_source(data))
    expected = entry.parser.read(parsers_source(whole % (good_lines + good_lines.replace(b"5\n6", b"7\n8"))))
    assert recording.records == expected.records
    assert recording.skips, "not counted"
    start = data.index(bad)
    assert start <= (recording.skips[0].offset or 0) < start + len(bad)
    assert data[: recording.skips[0].offset].count(b"\n") + 1 == recording.skips[0].record


def parsers_source(data: bytes) -> Any:
    from multitracer.parsers.shared.source import Source

    return Source("sample", data)


def test_more_inputs_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any is read."""
    monkeypatch.setattr("multitracer.parsers.shared.experiment._MOST_INPUTS", 1)
    with pytest.raises(Exception, match="at most 1"):
        read(SND, EXAMPLES / "rlp-reset" / "rcv.pcap")
    assert issubclass(ReadingDefectError, InputError)


@pytest.mark.parametrize("paths", [(), ([],)])
def test_without_a_path_nothing_is_read(paths: tuple[Any, ...]) -> None:
    """The error says what to give."""
    with pytest.raises(UsageError, match="no path of an input is given"):
        read(*paths)

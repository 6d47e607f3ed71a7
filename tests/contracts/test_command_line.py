"""The command line: data on stdout, messages on stderr, and the exit statuses."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from envelopes import framed, outer, udp
from packets import ethernet, ipv4, tcp
from repository import EXAMPLES

from multitracer import cli
from multitracer.parsers import pcap

SND, RLP = EXAMPLES / "loss2" / "snd.pcap", EXAMPLES / "rlp-reset"


def run(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own."""
    command = [sys.executable, "-m", "multitracer", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False)


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A capture that is cut off within a record."""
    path = tmp_path / "cut.pcap"
    path.write_bytes((RLP / "snd.pcap").read_bytes()[:5000])
    return path


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run in this process: status, stdout, stderr."""
    status = cli.run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.slow
def test_a_run_that_works_ends_with_0_and_says_nothing_on_stderr(tmp_path: Path) -> None:
    """The human summary goes to stdout and the results to DIR, and stderr stays empty."""
    done = run("analyze", RLP / "snd.pcap", "--no-report", "-o", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"connection" in done.stdout
    assert (tmp_path / "out" / "summary.json").is_file()


def test_json_prints_exactly_one_document_that_is_the_one_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json stdout is summary.json and nothing else."""
    status, out, err = called(capsys, "analyze", RLP / "snd.pcap", "--json", "--no-report", "-o", tmp_path)
    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "summary.json").read_text())


@pytest.mark.slow
def test_standard_input_is_an_input_and_gzip_is_read_through(tmp_path: Path) -> None:
    """`-` reads what is piped in, compressed or not."""
    data = gzip.compress((RLP / "snd.pcap").read_bytes())
    done = run("analyze", "-", "--json", "--summary-only", cwd=tmp_path, stdin=data)
    assert done.returncode == 0, done.stderr
    entry = json.loads(done.stdout)["inputs"][0]
    assert (entry["path"], entry["records"]) == ("-", 219)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage"),
        (["analyse"], "Did you mean 'analyze'?"),
        (["analyze"], "INPUT"),
        (["analyze", SND, "--no-such"], "--no-such"),
        (["analyze", SND, "--from", "5", "--to", "3"], "--to 3"),
        (["analyze", SND, "--role", "snd.pcap=both"], "sender or"),
        (["analyze", SND, "--role", "other.pcap=sender"], "other.pcap"),
        (["analyze", SND, "--clock", "snd.pcap=soon"], "OFFSET_S"),
        (["analyze", SND, "--link-rate", "0"], "--link-rate"),
        (["analyze", SND, "-o", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_wrong_usage_is_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A usage error ends with 2, names what is wrong, and prints no data."""
    monkeypatch.chdir(tmp_path)
    status, out, err = called(capsys, *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [b"", b"\x00\x01 neither this nor that \xff" * 40], ids=["empty", "unknown"])
def test_no_usable_input_is_3(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An input that cannot be used ends with 3, in one or two lines that name it."""
    path = tmp_path / "odd.pcap"
    path.write_bytes(content)
    status, out, err = called(capsys, "analyze", path, "-o", tmp_path / "out")
    assert (status, out) == (3, "")
    assert str(path) in err
    assert 1 <= len(err.splitlines()) <= 2


def test_missing_files_and_directories_without_files_are_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that does not exist, or a directory without files, ends with 3 and is named."""
    for path in (tmp_path / "nowhere.pcap", tmp_path):
        status, out, err = called(capsys, "analyze", path, "-o", tmp_path / "out")
        assert (status, out) == (3, "")
        assert str(path) in err
        assert not (tmp_path / "out").exists()


def test_a_lossy_input_is_named_and_strict_makes_it_4(
    cut: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Losses are named with record and byte; --strict turns them into status 4 after the work is done."""
    options = ("-o", tmp_path / "out", "--summary-only")
    status, out, err = called(capsys, "analyze", cut, *options)
    assert status == 0
    assert f"{cut}, record 30, byte 4864: skipped: file ends within a record" in err
    status, again, err = called(capsys, "analyze", cut, *options, "--strict")
    assert (status, again) == (4, out)
    assert "--strict" in err


BESIDE_TCP = {
    "encrypted ESP": (framed(outer(50, bytes(range(7, 107)))), 4),
    "CAPWAP over DTLS": (framed(udp(5247, b"\x01\0\0\0" + bytes(60))), 4),
    "arp": (ethernet(bytes(28), kind=0x0806), 0),
    "lldp in a pseudowire": (ethernet(b"\0\1\x51\x40" + ethernet(bytes(40), kind=0x88CC), kind=0x8847), 0),
    "a datagram": (framed(udp(9, bytes(20))), 0),
}


@pytest.mark.parametrize("name", BESIDE_TCP)
def test_strict_is_about_what_may_have_been_tcp(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An envelope that is not opened is said, and makes status 4 with --strict; packets that are no TCP do not."""
    record, expected = BESIDE_TCP[name]
    segments = [framed(ipv4(tcp(bytes(100), seq=1 + 100 * number))) for number in range(5)]
    pcap.write(tmp_path / "made.pcap", list(enumerate([*segments, record, record])), 1)
    options = ("--summary-only", "-o", tmp_path / "out", "--strict")
    status, _, err = called(capsys, "analyze", tmp_path / "made.pcap", *options)
    assert status == expected
    said = f"skipped: packet in an envelope that is not opened ({name}) (2 times)"
    assert (said in err, "--strict: 2 records were skipped" in err) == (bool(expected), bool(expected))


def test_quiet_suppresses_messages_only(cut: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-q leaves stderr empty, also with skipped records and errors."""
    for arguments, expected in (([cut], 0), ([cut, "--strict"], 4), ([tmp_path / "nowhere"], 3)):
        status, _, err = called(capsys, "analyze", *arguments, "-q", "--summary-only", "-o", tmp_path / "out")
        assert (status, err) == (expected, "")


def test_an_unexpected_exception_is_1_and_called_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unexpected exception ends with 1 and says that it is ours; a traceback is shown only with -v."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr("multitracer.parsers.shared.experiment.read", broken)
    status, out, err = called(capsys, "analyze", SND, "-o", tmp_path)
    assert (status, out) == (1, "")
    assert "defect in MultiTracer" in err
    assert "ZeroDivisionError: of all things" in err
    assert "Traceback" not in err
    assert "Traceback" in called(capsys, "analyze", SND, "-o", tmp_path, "-v")[2]


def test_a_full_disk_is_5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what to do."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out/summary.json")

    monkeypatch.setattr("multitracer.export.files.write_summary", full)
    status, _, err = called(capsys, "analyze", SND, "-o", tmp_path, "--summary-only")
    assert status == 5
    assert "could not be written: No space left on device; what was there is as it was" in err
    assert "-o" in err


@pytest.mark.parametrize("place", ["parsers.pcap.read", "parsers.shared.experiment.read", "analysis.pipeline.analyze"])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("_lib.so: failed to map segment from shared object"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lack_of_memory_is_5(
    error: Exception, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For an array, a thread or a module's code, while an input is read or later: neither a defect nor the input."""

    def refused(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(f"multitracer.{place}", refused)
    status, _, err = called(capsys, "analyze", EXAMPLES / "loss2" / "snd.pcap", "-o", tmp_path / "out")
    assert status == 5
    assert "not memory enough" in err


def test_interrupting_is_no_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control-C ends as shells expect, without a traceback."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("multitracer.parsers.shared.experiment.read", interrupted)
    status, _, err = called(capsys, "analyze", SND, "-o", tmp_path)
    assert (status, err) == (130, "multitracer: interrupted\n")


def test_a_closed_pipe_is_no_defect(tmp_path: Path) -> None:
    """A closed stdout pipe ends the program without a traceback or messages."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "multitracer", "formats"]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(command, cwd=tmp_path, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_control_characters_of_file_names_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in a file name are escaped on stderr."""
    path = tmp_path / "a\x1b[31mred.pcap"
    path.write_bytes((RLP / "snd.pcap").read_bytes()[:5000])
    _, out, err = called(capsys, "analyze", path, "--summary-only", "-o", tmp_path / "out")
    assert "\x1b" not in out + err
    assert "a\\x1b[31mred.pcap" in err

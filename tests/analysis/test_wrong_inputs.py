"""Inputs that do not belong together, or are not what was said of them, are said with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dpkt
import pytest
from packets import ipv4
from repository import EXAMPLES
from vj_failure import RAW_IP, START, Failure

from multitracer import AnalyzeOptions, analyze, cli, read
from multitracer.errors import NoUsableInputError
from multitracer.parsers import pcap

HOUR = 3600 * 10**9


def datagrams(path: Path, count: int = 812) -> Path:
    """A capture of UDP alone."""
    packet = ipv4(dpkt.udp.UDP(sport=5000, dport=53, ulen=20, data=b"x" * 12), p=17)
    pcap.write(path, [(START + number * 10**7, packet) for number in range(count)], RAW_IP)
    return path


def transfer(folder: Path, **other: Any) -> list[Path]:
    """The captures at both ends of a transfer without loss."""
    folder.mkdir()
    return Failure(0, segments=40, **other).write(folder)


def notes(*paths: Path, **options: Any) -> list[list[str]]:
    """The notes on each input."""
    asked = AnalyzeOptions(**options)
    return [entry["notes"] for entry in analyze(read(*paths), asked).summary()["inputs"]]


def run(out: Path, *arguments: str | Path) -> int:
    """The exit status of `analyze`."""
    return cli.run(["analyze", *map(str, arguments), "-o", str(out), "--summary-only"])


def test_a_capture_of_udp_alone_is_no_usable_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 3, with what was seen and what to give; no summary is written."""
    assert run(tmp_path / "out", datagrams(tmp_path / "udp.pcap")) == 3
    said = capsys.readouterr().err
    assert "udp.pcap: holds no TCP packet, sender state or link log, only 812 UDP packets" in said
    assert "give a capture or a log of a TCP transfer" in said
    assert not (tmp_path / "out" / "summary.json").exists()


def test_several_inputs_without_tcp_are_all_named(tmp_path: Path) -> None:
    """In Python it is the error of that name, of all inputs."""
    paths = [datagrams(tmp_path / "a.pcap", 3), datagrams(tmp_path / "b.pcap", 4)]
    with pytest.raises(NoUsableInputError, match=r"a\.pcap.*b\.pcap.*3 UDP packets; 4 UDP packets"):
        analyze(paths)


def test_what_was_skipped_is_said_where_nothing_else_is_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There may have been a transfer behind the limit."""
    assert run(tmp_path / "out", datagrams(tmp_path / "udp.pcap"), "--max-unpacked", "10K") == 3
    assert "inputs of more than 10,240 octets (--max-unpacked)" in capsys.readouterr().err


def test_an_erasure_trace_is_no_transfer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What another command reads is named by its format."""
    (tmp_path / "trace.txt").write_text("# block_bytes: 30\n# block_ms: 20\n" + "0001" * 50 + "\n")
    assert run(tmp_path / "out", tmp_path / "trace.txt") == 3
    assert "records of the format erasures" in capsys.readouterr().err


def test_a_capture_of_udp_among_others_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It gets a note; with --strict the exit status is 4, and the file is named."""
    paths = [datagrams(tmp_path / "udp.pcap"), *transfer(tmp_path / "one")]
    assert any("Holds no TCP packet" in note for note in notes(*paths)[0])
    assert run(tmp_path / "out", *paths) == 0
    assert run(tmp_path / "out", *paths, "--strict") == 4
    assert "812 records were skipped in" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["connections"]


def test_roles_exchanged_against_the_content_are_said(tmp_path: Path) -> None:
    """Each file says what its content shows; roles stated as they are say nothing."""
    near, far = transfer(tmp_path / "one")
    exchanged = notes(near, far, roles={str(near): "receiver", str(far): "sender"})
    assert all(len(one) == 1 and one[0].startswith("--role says ") for one in exchanged)
    assert "recorded at the data sender" in exchanged[0][0]
    assert "recorded at the data receiver" in exchanged[1][0]
    assert notes(near, far, roles={str(near): "sender", str(far): "receiver"}) == [[], []]


def test_captures_that_share_no_connection_are_said(tmp_path: Path) -> None:
    """Nothing was seen by both; captures of one transfer have no such note."""
    one, other = transfer(tmp_path / "one"), transfer(tmp_path / "other", port=2000, seed=2, size=90, isn=77_000_000)
    assert notes(*one) == [[], []]
    ours, strange = notes(one[0], other[1])
    assert not ours
    assert strange == [
        f"Shares no connection with {one[0]}: nothing was seen by both. If they are two experiments, compare them: "
        f"multitracer analyze --compare {one[0]} {other[1]}"
    ]


@pytest.mark.parametrize("isn", [1000, 3 * 2**30])
@pytest.mark.parametrize("later", [2**20, 2**31 + 5])
def test_the_same_ports_an_hour_later_are_another_experiment(tmp_path: Path, isn: int, later: int) -> None:
    """Two runs with the same addresses and ports are told apart, both captures of the second are named."""
    one = transfer(tmp_path / "one", isn=isn)
    other = transfer(tmp_path / "other", isn=(isn + later) % 2**32, start_ns=START + HOUR, seed=2)
    *ours, near, far = notes(*one, *other)
    assert ours == [[], []]
    for note in (near, far):
        assert len(note) == 1
        assert "the same addresses and ports, but other sequence numbers" in note[0]
        assert "it begins 3,59" in note[0]
        assert "--compare" in note[0]


def test_a_link_log_and_a_state_log_of_another_transfer_are_said(tmp_path: Path) -> None:
    """A log of which nothing was captured says so, and how far its times are away."""
    near, _ = transfer(tmp_path / "one")
    folder = EXAMPLES / "rlp-reset"
    _, link, state = notes(near, folder / "rlpdump.mobile.txt", _state_log(tmp_path))
    assert any(note.startswith("No packet in its frames was captured, and it begins ") for note in link)
    assert any(note.startswith("None of its sockets is in a capture") and "--compare" in note for note in state)


def _state_log(folder: Path) -> Path:
    path = folder / "state.txt"
    path.write_text(
        "# tcpstats 1\n# connection: 10.1.0.1:5 > 10.1.0.2:6\n"
        "1700000000.5 cwnd=1000 srtt=0.1\n1700000001.5 cwnd=2000 srtt=0.1\n"
    )
    return path

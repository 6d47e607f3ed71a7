"""Simulated runs, recorded: what the files hold, and what the truth beside them says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest
from simulations import scenario, simulated

from multitracer import Analysis, analyze, cli, read
from multitracer.compute import kernels
from multitracer.model.errors import UsageError
from multitracer.replay.record import link_logs
from multitracer.replay.record.link_logs import Stream
from multitracer.replay.record.simulation import CAPTURES, STATE, TRUTH, record_simulation
from multitracer.replay.simulate.run import metrics
from multitracer.wire import ppp
from multitracer.wire.vj import Compressor

SMALL: dict[str, Any] = {
    "link__protocol": "raw", "link__frame_bytes": 1500, "tcp__variant": "newreno", "workload__file_bytes": 30_000,
    "channel__model": "listed", "channel__forward__frames": (9, 30, 31),
}  # fmt: skip
MODELS = ({"tcp__model": "ns-2"}, {"tcp__model": "rfc"}, {"tcp__variant": "linux-2.4"}, {"tcp__variant": "bsd"})


def recorded(folder: Path, **keys: Any) -> dict[str, Any]:
    """The truth of a recording, made as plain Python."""
    kernels.choose(0)
    record_simulation(scenario(**SMALL | keys), 1, folder)
    truth: dict[str, Any] = json.loads((folder / TRUTH).read_text())
    return truth


def packets_in(path: Path) -> list[dpkt.ip.IP]:
    """The packets of a capture."""
    with path.open("rb") as file:
        return [dpkt.ip.IP(octets) for _, octets in dpkt.pcap.Reader(file)]


@pytest.mark.parametrize("model", MODELS, ids=["ns-2", "rfc", "linux-2.4", "bsd"])
def test_captures_hold_whole_packets_with_right_checksums(model: dict[str, str], tmp_path: Path) -> None:
    """Both ends' captures; every octet of the file is in them, and what was lost is in the sender's alone."""
    recorded(tmp_path, **model)
    sent, came = (packets_in(tmp_path / name) for name in CAPTURES)
    data = {(one.tcp.seq, len(one.tcp.data)): one for one in sent if one.tcp.data}
    assert sum(size for _, size in data) == 30_000 // 250 * 210
    for one in (*sent, *came):
        again = dpkt.ip.IP(bytes(one))
        again.sum = again.tcp.sum = 0
        assert bytes(again) == bytes(one)
    missing = Counter(map(bytes, sent)) - Counter(map(bytes, came))
    assert sum(missing.values()) == 3


def test_a_handshake_is_seen_where_it_is_simulated(tmp_path: Path) -> None:
    """SYN, SYN with ACK; none where the scenario has none."""
    recorded(tmp_path / "with", tcp__model="rfc")
    recorded(tmp_path / "without", tcp__syn=False)
    flags = [one.tcp.flags for one in packets_in(tmp_path / "with" / CAPTURES[0])]
    assert flags[:3] == [dpkt.tcp.TH_SYN, dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK, dpkt.tcp.TH_ACK]
    assert not any(one.tcp.flags & dpkt.tcp.TH_SYN for one in packets_in(tmp_path / "without" / CAPTURES[0]))


def test_recording_changes_nothing_of_a_run(tmp_path: Path) -> None:
    """The metrics are those of the run without a recording."""
    kernels.choose(0)
    one = scenario(**SMALL | {"link__protocol": "sr"})
    assert record_simulation(one, 1, tmp_path) == metrics(one, simulated(one))


def test_the_senders_state_is_logged(tmp_path: Path) -> None:
    """The congestion window in octets of data, from the initial window on."""
    recorded(tmp_path)
    state = read(str(tmp_path / STATE)).tables["tcp_state"]
    assert state["cwnd_bytes"].iloc[0] == 210
    assert state["cwnd_bytes"].max() > 10 * 210
    assert (state["rto_s"] >= 1).all()


@pytest.mark.parametrize(
    ("keys", "words"),
    [({"tcp__segment_bytes": 40}, "41"), ({"tcp__syn": False, "tcp__window_segments": 400}, "65535")],
    ids=["room", "window"],
)
def test_what_packets_cannot_say_is_refused(keys: dict[str, Any], words: str, tmp_path: Path) -> None:
    """Data need room behind 40 octets of headers; a large window needs a SYN that says the scale."""
    with pytest.raises(UsageError, match=words):
        recorded(tmp_path, **keys)


def test_the_command_writes_a_folder_that_analyze_takes(tmp_path: Path) -> None:
    """Beside the results of the run; the truth names every retransmission that the analysis finds."""
    said = {"channel.model": '"uniform"', "channel.frame_loss_rate": 0.02, "workload.file_bytes": 30_000}
    (tmp_path / "mine.toml").write_text("".join(f"{key} = {value}\n" for key, value in said.items()) + "seeds = 9\n")
    folder, given = tmp_path / "recorded", [str(tmp_path / "mine.toml"), "--no-report", "-q"]
    assert cli.run(["simulate", *given, "--record", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "simulate.json").read_text())["metrics"]["packets_sent"]["mean"] > 120
    truth = json.loads((folder / TRUTH).read_text())
    found = analyze(folder).tables["retransmissions"]
    assert [one["seq"] for one in truth["retransmissions"]] == found["seq"].tolist()
    assert len(found) >= 1


def test_an_rlpdump_has_the_frames_of_rlp_and_not_what_goes_past_it(tmp_path: Path) -> None:
    """Media share the radio: what each end logged is what its entity sent, and what came of the other's."""
    truth = recorded(
        tmp_path, link__protocol="rlp", link__frame_bytes=60, contention__enabled=True, contention__direction="both",
        contention__start="stationary", channel__model="none", workload__file_bytes=5_000,
    )  # fmt: skip
    for link, other in zip(truth["links"], reversed(truth["links"]), strict=True):
        frames = read(tmp_path / f"rlpdump.{link['sender']}.txt").tables["frames"]
        assert frames["sent"].sum() == link["frames_sent"]
        assert (~frames["sent"]).sum() == other["frames_received"]
    blocks = (tmp_path / "erasures.network.txt").read_text().splitlines()
    on_air = sum(len(line) for line in blocks if not line.startswith("#"))
    assert on_air > truth["links"][0]["frames_sent"]  # as media are on the air, too


def vj_recording(folder: Path) -> Analysis:
    """What is found of a transfer over RLP with compressed headers, of packets with headers as TCP has them."""
    recorded(
        folder, link__protocol="rlp", link__frame_bytes=60, link__vj=True, tcp__variant="linux-2.4",
        tcp__header_bytes=40, tcp__timestamps=False, tcp__fin=True, channel__model="none", workload__file_bytes=10_000,
    )  # fmt: skip
    return analyze(folder)


def test_compressed_headers_are_on_the_link_as_a_compressor_makes_them(tmp_path: Path) -> None:
    """Every segment of the capture is found by its octets, data and acknowledgements."""
    found = vj_recording(tmp_path)
    segments, carried = found.tables["segments"], found.tables["segment_frames"]
    sent = segments[segments["point"] == 0]
    for sender, count in carried["sender"].value_counts().items():
        client = found.tables["connections"]["client"].iat[0]
        assert count == (sent["sender"] == int(sender != client)).sum()
    assert set(carried["matched_by"]) == {"payload"}


class Forgetful(Compressor):
    """Cuts the headers that others are compressed against."""

    def compress(self, packet: bytes) -> tuple[str, bytes]:
        """As RFC 1144 has it, but for that."""
        kind, octets = super().compress(packet)
        return kind, octets[:30] if kind == "uncompressed" else octets


def test_packets_whose_headers_cannot_be_rebuilt_are_on_the_link_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a SYN and a FIN, which have their own headers, nothing can be read: no queue dropped it therefore."""
    monkeypatch.setattr(link_logs, "Compressor", Forgetful)
    found = vj_recording(tmp_path)
    assert set(found.tables["segment_frames"]["payload_bytes"]) == {0}
    assert "local-drop" not in set(found.tables["findings"]["kind"])


def test_the_first_packet_of_a_stream_of_ppp_begins_with_a_flag() -> None:
    """A packet that fills its room has no flag before it: that which ended the packet before is its own, too."""
    stream = Stream()
    for _ in range(2):
        stream.append_framed(47, bytes(48))
    octets = stream.octets(0, 94)
    assert [at for at, octet in enumerate(octets) if octet == ppp.FLAG] == [0, 46, 93]

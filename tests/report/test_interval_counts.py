"""What the sender's host counted in intervals, in the panels of its connection."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from iperf3_output import SECOND, document, transfer
from packets import SYN, ethernet, ipv4, tcp

from multitracer import Analysis, analyze
from multitracer.parsers import pcap
from multitracer.report import connection_data

ENDS = [{"source": "10.0.0.1", "destination": "10.0.0.2"}, {"source": "10.0.0.2", "destination": "10.0.0.1"}]
ACK, ETHERNET = 16, 1


def seen(ms: int, sender: int, payload: bytes = b"", **fields: int) -> tuple[int, bytes]:
    """A packet of the connection that the log's first stream has."""
    ports = [(5000, 5201), (5201, 5000)][sender]
    packet = ethernet(ipv4(tcp(payload, ports=ports, **fields), **ENDS[sender]))
    return (SECOND * 1000 + ms) * 1_000_000, packet


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A transfer of four seconds, captured at its sender beside iperf3's log of it."""
    folder = tmp_path_factory.mktemp("iperf3")
    packets = [seen(0, 0, seq=0, flags=SYN), seen(20, 1, seq=0, ack=1, flags=SYN | ACK)]
    for number in range(200):
        packets.append(seen(40 + 20 * number, 0, b"x" * 1000, seq=1 + 1000 * number))
        packets.append(seen(55 + 20 * number, 1, seq=1, ack=1001 + 1000 * number))
    pcap.write(folder / "snd.pcap", packets, ETHERNET)
    (folder / "iperf3.json").write_bytes(document(transfer(1, 4)))
    return analyze(folder)


def test_each_interval_is_a_step_from_its_beginning_to_its_end(analysis: Analysis) -> None:
    """kbit/s handed to TCP, and segments sent again; the last step ends with the last interval."""
    sources = connection_data.connection(analysis, 0).sources
    handed, resends = sources["handed"], sources["resends"]
    begun = SECOND * 10**9 - analysis.origin_ns
    assert handed["x"].tolist() == resends["x"].tolist() == [begun + at * 10**9 for at in range(5)]
    assert handed["y"].tolist() == [1000.0] * 5
    assert resends["y"].tolist() == [0, 1, 2, 3, 3]
    assert "handed" not in connection_data.connection(analysis, 0, 1).sources


def test_what_was_not_counted_in_an_interval_is_not_drawn(analysis: Analysis) -> None:
    """Nothing is known of the third of four: no step goes on through it."""
    test = transfer(1, 4)
    del test["intervals"][2]["streams"][0]["retransmits"]
    [capture] = [entry.path for entry in analysis.trace.inputs if entry.recording.format == "pcap"]
    log = Path(capture).with_name("third.json")
    log.write_bytes(document(test))
    resends = connection_data.connection(analyze([capture, log]), 0).sources["resends"]
    assert np.nan_to_num(resends["y"], nan=-1).tolist() == [0, 1, 1, -1, 3, 3]
    assert np.diff(resends["x"]).tolist() == [10**9, 10**9, 0, 10**9, 10**9]


def test_resends_that_a_host_counts_have_a_panel(analysis: Analysis, tmp_path: Path) -> None:
    """Only where one counts them; the throughput is beside the goodput."""
    analysis.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert 'data-mt-panel="resends"' in text
    assert "handed to TCP, as the host counts" in text
    [entry] = [entry for entry in analysis.trace.inputs if entry.recording.format == "pcap"]
    analyze(entry.path).report(tmp_path / "without.html")
    without = (tmp_path / "without.html").read_text()
    assert 'data-mt-panel="goodput"' in without
    assert 'data-mt-panel="resends"' not in without

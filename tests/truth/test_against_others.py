"""The counts of every direction against other tools: equal, or different by a rule that a recount confirms."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import against_others
import other_tools
import pytest
from repository import EXAMPLES
from seen_packets import in_time, later, transfer, write
from shared_data import shared

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not other_tools.are_here(), reason="tshark and tcptrace are not both installed"),
]

LEAST = 0.995
CAPTURES = (
    "ndpi_KakaoTalk_talk.pcap", "ndpi_heuristic_tcp_ack_payload.pcap", "pcapplusplus_tcp-reassembly.pcap",
    "suricata_tcp-fastopen-10-syn-data-ignore_input.pcap", "tcpdump_tcp_header_heapoverflow.pcap", "tcptrace_http.dmp",
    "tempo_TCPTRAFFIC_sll.pcap", "zeek_ftp_ipv6.pcap", "zeek_nflog-http.pcap", "zeek_tcp_fin_retransmission.pcap",
    "zeek_tcp_reassembly.pcap", "zeek_tcp_ssh-dups.pcap", "zeek_tunnels_gre-aruba.pcap",
)  # fmt: skip
"""Small ones, and some for each rule; `python tests/support/against_others.py FILE...` takes any."""


def share(found: list[against_others.Compared]) -> float:
    """The share of figures that are equal or explained."""
    return 1 - sum(one.why == against_others.UNEXPLAINED for one in found) / len(found)


@pytest.mark.data
def test_figures_are_those_of_the_other_tools_but_for_named_rules() -> None:
    """Captures of other people: at least 99.5 % of the figures, most of them equal."""
    found = against_others.compared(shared("public", "tcp_pcap", name) for name in CAPTURES)
    assert len(found) > 3000
    assert share(found) >= LEAST, against_others.table(found)
    assert sum(one.why == against_others.EQUAL for one in found) > 0.9 * len(found)


def test_figures_of_an_example_are_those_of_the_other_tools() -> None:
    """A sender's capture with timeouts, which tshark calls something else."""
    found = against_others.compared([EXAMPLES / "rlp-reset" / "snd.pcap"])
    assert share(found) == 1, against_others.table(found)


def test_each_difference_has_the_rule_that_makes_it(tmp_path: Path) -> None:
    """Copies of a mirror port, which both other tools count as retransmissions."""
    packets = transfer()
    found = against_others.compared([write(tmp_path / "twice.pcapng", in_time(packets, later(packets, 5)))])
    assert share(found) == 1, against_others.table(found)
    assert {one.figure for one in found if one.why == "captured twice"} >= {"packets", "data_segments", "data_bytes"}


def test_a_wrong_figure_is_not_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One segment more than there is, one retransmission less."""
    path = write(tmp_path / "wrong.pcapng", transfer())
    right = against_others.own(path)
    for name, change in (("data_segments", 1), ("retransmitted_segments", -1), ("unique_bytes", 100)):
        wrong = {ends: Counter(figures) for ends, figures in right.figures.items()}
        first = next(ends for ends, figures in wrong.items() if figures[name])
        wrong[first][name] += change
        monkeypatch.setattr(against_others, "own", lambda _, wrong=wrong: right._replace(figures=wrong))
        found = against_others.compared([path])
        assert {one.figure for one in found if one.why == against_others.UNEXPLAINED} == {name}

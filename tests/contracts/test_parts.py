"""Processing a large capture in parts gives the same results as processing it whole."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from packets import ipv4, ipv6, tcp
from repository import EXAMPLES
from shared_data import shared

from multitracer import analyze
from multitracer.compute import threads
from multitracer.export.json_text import json_text
from multitracer.model.options import AnalyzeOptions
from multitracer.parsers import pcap
from multitracer.parsers.shared.experiment import read
from multitracer.parsers.shared.source import open_source
from multitracer.parsers.shared.view import View
from multitracer.wire import flows

CAPTURES = (
    "linux/loss2/snd.pcap", "linux/overflow/snd.pcap", "linux/stall/rcv.pcap", "linux/rlp-vj-reset/snd.pcap",
    "public/tcp_both_ends/mptcp_client_1_tcp_only_clean.pcapng", "public/tcp_pcap/zeek_tcp_ssh-dups.pcap",
)  # fmt: skip


def in_parts(monkeypatch: pytest.MonkeyPatch, parts: int = 3, view_bytes: int = 3000) -> None:
    """Divide the work after reading among so many threads, and read every capture in many views."""
    monkeypatch.setattr(threads, "WORTH_SHARING", 1)
    monkeypatch.setattr(threads, "processors", lambda: parts)
    monkeypatch.setattr(pcap, "View", partial(View, octets=view_bytes))
    assert len(threads.shares(100)) == parts


@pytest.mark.data
@pytest.mark.parametrize("capture", CAPTURES)
def test_processing_in_parts_gives_the_same_summary(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of summary.json is the same."""
    path = shared(*capture.split("/"))
    whole = json.loads(json_text(analyze([path]).summary()))
    in_parts(monkeypatch)
    assert json.loads(json_text(analyze([path]).summary())) == whole


@pytest.mark.parametrize("role", [None, "sender", "receiver"])
def test_a_capture_in_parts_is_the_same_beside_either_end(role: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is beside the receiver, what it holds has arrived."""
    path = EXAMPLES / "loss2" / "snd.pcap"
    options = AnalyzeOptions(roles={str(path): role} if role else {})
    whole = json.loads(json_text(analyze([path], options).summary()))
    in_parts(monkeypatch)
    assert json.loads(json_text(analyze([path], options).summary())) == whole


def many_flows(path: Path, count: int) -> None:
    """A capture of `count` flows, each with a packet in the first half and an answer in the second."""
    pairs = []
    for number in range(count):
        here, there, wrap = f"2001:db8::{number + 1:x}", "2001:db8:1::1", ipv6
        if number % 2:
            here, there, wrap = f"10.{number >> 8}.{number & 255}.1", "10.255.0.1", ipv4
        pairs.append(
            (
                wrap(tcp(b"a", ports=(1000 + number % 7, 80)), source=here, destination=there),
                wrap(tcp(b"bc", ports=(80, 1000 + number % 7)), source=there, destination=here),
            )
        )
    opened, answered = zip(*pairs, strict=True)
    pcap.write(path, [(at * 1000, packet) for at, packet in enumerate([*opened, *answered[::-1]])], 101)


@pytest.mark.parametrize("view_bytes", [3000, 1 << 20])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_any_number_of_flows_is_distinguished(
    parts: int, view_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More flows than the initial table has room for are found, IPv4 and IPv6, with both directions in one flow."""
    monkeypatch.setattr(flows, "_START", 64)
    in_parts(monkeypatch, parts, view_bytes)
    many_flows(tmp_path / "many.pcap", 300)
    tables = read(str(tmp_path / "many.pcap")).tables
    packets, ends = tables["packets"], tables["flows"]
    assert len(ends) == 300
    assert len(set(zip(ends["address_a"], ends["port_a"], strict=True))) == 300
    assert np.bincount(packets["flow"]).tolist() == [2] * 300
    assert packets["direction"].tolist() == [0] * 300 + [1] * 300
    assert packets["flow"].tolist() == [*range(300), *reversed(range(300))]


def test_any_number_of_threads_reads_a_capture_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column of every table is equal."""
    source = EXAMPLES / "loss2" / "snd.pcap"
    whole = pcap.read(open_source(str(source))).tables
    in_parts(monkeypatch, 5)
    for name, table in pcap.read(open_source(str(source))).tables.items():
        assert table.equals(whole[name]), name

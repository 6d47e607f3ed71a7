"""flent's data files."""

from __future__ import annotations

import pytest
from samples import FLENT
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import flent
from multitracer.parsers.shared import source as sources
from multitracer.parsers.shared.source import Source, open_source


def test_tcp_samples_are_read_flow_after_flow() -> None:
    """Times keep their digits, RTTs come in seconds, other samples are counted, flows are named."""
    recording = flent.read(Source("x", FLENT.encode()))
    table = recording.tables["tcp_state"]
    assert (recording.records, recording.skips, recording.complete) == (40, [], True)
    assert table["time_ns"].tolist()[:2] == [1_588_855_606_000_001_000, 1_588_855_606_000_002_000]
    assert table["cwnd_segments"].tolist()[:3] == [1, 2, 3]
    assert (table["srtt_s"][0], table["rttvar_s"][0]) == pytest.approx((0.0205, 0.01025))
    assert recording.counts == {"other samples": 1}
    assert recording.metadata == {
        "title": "two flows",
        "flows": [("TCP upload BE", 0, 20), ("TCP upload BE2", 20, 20)],
    }


def test_a_cut_document_gives_the_samples_that_are_whole() -> None:
    """Of a file cut within the second flow, all before the cut is kept and the damage reported."""
    cut = FLENT[: FLENT.index("BE2") + 300]
    recording = flent.read(Source("x", cut.encode()))
    assert 20 < recording.records < 30
    assert recording.metadata["flows"][0] == ("TCP upload BE", 0, 20)
    assert recording.skips[0].reason == flent.DAMAGED
    assert not recording.complete


def test_of_a_document_that_is_too_large_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its whole samples are kept, and both losses are named."""
    monkeypatch.setattr(sources, "DOCUMENT_BYTES", FLENT.index("BE2") + 300)
    source = Source("x", FLENT.encode())
    recording = flent.read(source)
    assert 20 < recording.records < 30
    said = [skip.reason for skip in [*source.skips, *recording.skips]]
    assert said == [f"a document of more than {sources.DOCUMENT_BYTES:,} octets", flent.DAMAGED]
    assert recording.bytes_read == len(FLENT.encode())


@pytest.mark.parametrize(
    "text", ['{"metadata": {}, "results": {}, "x_values": []}', "[" * 100_000, '{"raw_values": 3}']
)
def test_a_file_without_samples_is_an_input_error(text: str) -> None:
    """No samples, JSON that is nested too deep, and samples without values."""
    with pytest.raises(InputError):
        flent.read(Source("x", text.encode()))


@pytest.mark.data
def test_a_real_file_is_read() -> None:
    """Four uploads over a minute, with the cwnd the file begins with."""
    recording = flent.read(open_source(str(shared("public", "tcp_state", "flent_rrul_be-socket_stats.flent.gz"))))
    table = recording.tables["tcp_state"]
    assert [name for name, _, _ in recording.metadata["flows"]] == [f"TCP upload BE{n}" for n in ("", 2, 3, 4)]
    assert table["time_ns"][0] == 1_588_855_606_618_219_000
    assert (table["cwnd_segments"][0], table["srtt_s"][0]) == (10, pytest.approx(0.020698))

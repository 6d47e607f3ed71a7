"""Observation points: rotated captures, two captures of one interface, packets captured twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitracer.model import schema
from multitracer.model.trace import Input, Recording
from multitracer.vantage.copies import find_copies
from multitracer.vantage.fingerprints import occurrence
from multitracer.vantage.points import find_points

MS = 1_000_000


def transfer(packets: int, *, ip_id: int | None = None, tsval: bool = True) -> dict[str, np.ndarray]:
    """A bulk transfer of `packets` packets, data one way and acknowledgements the other, as columns."""
    index = np.arange(packets)
    data = index % 2 == 0
    seq = np.where(data, 1000 + index // 2 * 1460, 5000)
    stamp = index if tsval else np.zeros(packets, np.int64)
    return {
        "record": index + 1,
        "time_ns": 10**18 + index * 5 * MS,
        "flow": np.zeros(packets, np.int64),
        "direction": np.where(data, 0, 1),
        "raw_seq": seq,
        "raw_ack": np.where(data, 5000, 1000 + (index // 2 + 1) * 1460),
        "payload_bytes": np.where(data, 1460, 0),
        "flags": np.full(packets, schema.ACK),
        "raw_window": np.full(packets, 500),
        "tsval": stamp,
        "tsecr": stamp,
        "options": np.zeros(packets, np.int64),
        "ip_id": index % 65535 + 1 if ip_id is None else np.full(packets, ip_id),
        "checksum": index % 65536,
        "wire_bytes": np.where(data, 1500, 40),
        "ttl": np.full(packets, 64),
    }


def taken(columns: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Some rows of the columns, in that order."""
    return {name: values[rows] for name, values in columns.items()}


def find(*captures: dict[str, np.ndarray]) -> object:
    """The points of captures given as columns, one input each."""
    frames = []
    for number, columns in enumerate(captures):
        columns = dict(columns)
        columns.setdefault("interface", np.zeros(len(columns["time_ns"]), np.int64))
        frames.append(schema.build("packets", {**columns, "input": np.full(len(columns["time_ns"]), number)}))
    inputs = [Input(n, f"{n}.pcap", Recording("pcap")) for n in range(len(captures))]
    packets = pd.concat(frames, ignore_index=True)
    return find_points({"packets": packets}, inputs).with_copies(find_copies(packets, int(packets["flow"].max()) + 1))


def test_one_capture_is_one_point_without_copies():
    """A plain capture is point 0 and nothing in it is a copy."""
    found = find(transfer(400))
    assert found.point.dtype == np.int16
    assert set(found.point) == {0}
    assert not found.captured_twice.any()
    assert found.points[0].description == "0.pcap"


def test_interfaces_of_one_capture_are_points():
    """The same packets at two interfaces of one file belong to two points, even when interleaved."""
    columns = taken(transfer(100), np.repeat(np.arange(100), 2))
    found = find({**columns, "interface": np.arange(200) % 2})
    assert found.point.tolist() == [0, 1] * 100
    assert found.points[1].description == "0.pcap (interface 1)"


def test_interfaces_with_different_packets_of_one_connection_are_one_point():
    """A full-duplex tap's ports, one per direction, see one place."""
    columns = transfer(100)
    found = find({**columns, "interface": np.arange(100) % 2})
    assert set(found.point.tolist()) == {0}
    assert found.points[0].description == "0.pcap (interface 0, interface 1)"
    assert "bonded link" in found.notes[0][0]


def test_only_interfaces_that_share_a_connection_are_compared(monkeypatch):
    """A file may have a thousand interfaces, each with connections of its own: no pair of them is looked at."""
    packets = transfer(200)
    packets["interface"] = (np.arange(200) // 2).astype(np.int16)
    packets["flow"] = (np.arange(200) // 2).astype(np.int32)
    compared = []
    monkeypatch.setattr("multitracer.vantage.points.may_be_ports", lambda *given: compared.append(given))
    assert len(find(packets).points) == 100
    assert not compared


def test_rotated_captures_are_one_point():
    """A file that continues where another ended belongs to the same point, in either order of inputs."""
    columns = transfer(600)
    first, second = taken(columns, np.arange(300)), taken(columns, np.arange(300, 600))
    found = find(second, first)
    assert set(found.point) == {0}
    assert found.points[0].inputs == (1, 0)
    assert not found.captured_twice.any()


def test_the_other_end_with_a_late_clock_is_not_a_rotated_capture():
    """The same packets recorded an hour later by another clock are another point."""
    columns = transfer(300)
    later = {**columns, "time_ns": columns["time_ns"] + 3600 * 10**9}
    assert set(find(columns, later).point) == {0, 1}


def test_the_other_end_is_another_point():
    """The same packets with some microseconds of delay in both directions are two points."""
    columns = transfer(300)
    way = np.where(columns["direction"] == 0, 1, -1) * 20_000
    found = find(columns, {**columns, "time_ns": columns["time_ns"] + way})
    assert set(found.point) == {0, 1}
    assert not found.captured_twice.any()


def test_two_files_of_one_interface_are_one_point():
    """Packets that are also in a second file of the interface are copies; those only in it are not."""
    columns = transfer(600)
    missing = np.setdiff1d(np.arange(600), [50, 51, 400])
    found = find(taken(columns, missing), taken(columns, np.arange(100, 600)))
    assert set(found.point) == {0}
    copies = found.captured_twice[len(missing) :]
    assert np.flatnonzero(~copies).tolist() == [300]
    assert not found.captured_twice[: len(missing)].any()


@pytest.mark.parametrize("copies", [2, 3])
def test_all_but_the_first_copy_are_flagged(copies):
    """When a capture holds every packet several times, all but the first copy are flagged."""
    columns = taken(transfer(500), np.repeat(np.arange(500), copies))
    columns["time_ns"] = columns["time_ns"] + np.tile(np.arange(copies), 500) * 3_000
    found = find(columns)
    assert found.captured_twice.tolist() == ([False] + [True] * (copies - 1)) * 500


def test_copies_without_ip_ids_are_recognised():
    """With IP ID 0 and no timestamps copies are recognised when every packet is copied at once."""
    columns = taken(transfer(500, ip_id=0, tsval=False), np.repeat(np.arange(500), 2))
    assert find(columns).captured_twice.tolist() == [False, True] * 500


def in_batches(columns: dict[str, np.ndarray], batch: int) -> dict[str, np.ndarray]:
    """Every packet twice, 0.2 ms apart, the copies of so many at a time behind them: later by up to their time."""
    index = np.arange(len(columns["time_ns"]))
    columns = {**columns, "time_ns": 10**18 + index * MS // 5}
    behind = columns["time_ns"][np.minimum(index // batch * batch + batch - 1, index[-1])] + 100 + index % batch
    order = np.argsort(np.r_[columns["time_ns"], behind], kind="stable")
    twice = taken(columns, np.r_[index, index])
    return taken({**twice, "time_ns": np.r_[columns["time_ns"], behind]}, order)


@pytest.mark.parametrize("batch", [10, 100, 400])
def test_copies_that_come_in_batches_are_recognised_where_everything_is_copied(batch):
    """However their delays vary: TCP does not send nearly all packets again within a tenth of a second."""
    found = find(in_batches(transfer(1000, ip_id=0, tsval=False), batch))
    assert found.captured_twice.sum() == 1000


def test_data_that_is_sent_again_among_runs_of_equal_acknowledgements_is_not_copied():
    """More acknowledgements are repeated than there are packets else, and a quarter of the data is sent again."""
    columns = transfer(800, ip_id=0, tsval=False)
    index = np.arange(800)
    rows = np.sort(np.r_[index, np.repeat(index[1::2], 2), index[::8]])
    columns = taken(columns, rows)
    columns["time_ns"] = 10**18 + np.arange(len(rows)) * 2 * MS
    assert not find(columns).captured_twice.any()


@pytest.mark.parametrize("ip_id", [0, -1])
def test_retransmissions_without_ip_ids_are_not_copies(ip_id):
    """Retransmitted data and runs of identical acknowledgements are not copies, even without IP ID or TSval."""
    columns = transfer(900, ip_id=ip_id, tsval=False)
    rows = np.sort(np.r_[np.arange(900), np.repeat(np.arange(1, 900, 6), 4), np.arange(0, 900, 20)])
    columns = taken(columns, rows)
    columns["time_ns"] = 10**18 + np.arange(len(rows)) * 2 * MS
    assert not find(columns).captured_twice.any()


def test_retransmissions_among_copies_are_kept():
    """In a capture with duplicates a retransmission, which has its own IP ID, is not a copy."""
    columns = transfer(300)
    again = taken(columns, np.array([100]))
    again["ip_id"], again["tsval"] = np.array([60001]), np.array([777])
    columns = {name: np.insert(values, 140, again[name]) for name, values in columns.items()}
    columns["time_ns"] = 10**18 + np.arange(301) * 5 * MS
    found = find(taken(columns, np.repeat(np.arange(301), 2)))
    assert found.captured_twice.tolist() == [False, True] * 301


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5)))
def test_occurrence_counts_equal_elements(values):
    """Every element gets the number of equal ones before it."""
    expected = [values[:n].count(value) for n, value in enumerate(values)]
    assert occurrence(np.array(values, dtype=np.int64)).tolist() == expected


def test_a_point_begins_with_the_earliest_time_of_its_captures():
    """For rotated captures in either order, first_ns is that of the first."""
    whole = transfer(400)
    late, early = taken(whole, np.arange(200, 400)), taken(whole, np.arange(200))
    for captures in ((late, early), (early, late)):
        (point,) = find(*captures).points
        assert point.first_ns == whole["time_ns"][0]
        assert len(point.sources) == 2

"""Pairing the same packet at two points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_ends import MS, START, Path, segments, transfer

from multitracer.compute import kernels
from multitracer.vantage.pairing import match, pair


@pytest.fixture(autouse=True)
def plain_kernels(monkeypatch):
    """Small cases run the kernels as plain Python."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.plain()


def at(times_ms, **columns):
    """Segments at these times (ms after the start)."""
    return segments({"time_ns": [START + int(t * MS) for t in times_ms], **columns})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.3), st.sampled_from([0, 3600 * 10**9, -5 * 10**8]))
def test_every_packet_is_paired_with_itself(seed, loss, offset):
    """With IP IDs, exactly the packets that arrived are paired, each with itself, for any clock offset."""
    here, far, truth = transfer(Path(loss=loss, offset_ns=offset), 2.0, seed=seed)
    assert pair(here, far).tolist() == truth.tolist()
    backwards = pair(far, here)
    assert (truth[backwards[backwards >= 0]] == np.flatnonzero(backwards >= 0)).all()


def test_ip_id_distinguishes_a_retransmission_from_its_lost_original():
    """Of two copies of the same bytes, the one whose IP ID arrived is paired."""
    here = at([0, 300], payload_bytes=[100, 100], ip_id=[7, 8])
    assert pair(here, at([350], payload_bytes=[100], ip_id=[8])).tolist() == [-1, 0]


def test_neighbours_distinguish_a_retransmission_from_its_lost_original():
    """Without IP ID or timestamps, the arrival order of packets between original and retransmission decides."""
    here = at([0, 10, 20, 300], payload_bytes=[100, 100, 100, 100], seq=[1, 101, 201, 101])
    far = at([50, 70, 350], payload_bytes=[100, 100, 100], seq=[1, 201, 101])
    found = match(here, far)
    assert found.rows.tolist() == [0, -1, 1, 2]
    assert not found.ambiguous.any()


def test_copies_that_cannot_be_distinguished_stay_unpaired():
    """Of two equal acknowledgements in a row, when one arrived, both are ambiguous, not lost."""
    here = at([0, 10, 10.1, 20], ack=[1, 2, 2, 3])
    found = match(here, at([50, 60.05, 70], ack=[1, 2, 3]))
    assert found.rows.tolist() == [0, -1, -1, 2]
    assert found.ambiguous.tolist() == [False, True, True, False]


def test_neighbours_delay_decides_between_copies():
    """Of two equal acknowledgements far apart, the one with its neighbours' delay is paired."""
    here = at([0, 10, 200, 210], ack=[1, 2, 2, 3])
    assert pair(here, at([50, 250.2, 260], ack=[1, 2, 3])).tolist() == [0, -1, 1, 2]


def test_equal_copies_that_all_arrived_are_paired_in_order():
    """Equally many copies at both points are paired first with first."""
    here = at([0, 1, 2], ack=[5, 5, 5])
    assert pair(here, at([50, 51, 52], ack=[5, 5, 5])).tolist() == [0, 1, 2]


def test_checksums_changed_by_offload_are_ignored():
    """In a stream whose checksums change on the path, packets are paired without them."""
    here = at(range(10), seq=range(10), checksum=[0] * 10)
    assert pair(here, at(range(50, 60), seq=range(10), checksum=range(1, 11))).tolist() == [*range(10)]


def test_segments_cut_by_offload_are_seen_in_pieces():
    """A large segment that arrives split is not paired; the piece with its last byte is in in_pieces."""
    here = at([0, 5], payload_bytes=[2920, 2920], seq=[1, 2921])
    far = at([50, 51, 55], payload_bytes=[1460, 1460, 1460], seq=[1, 1461, 2921])
    found = match(here, far)
    assert found.rows.tolist() == [-1, -1]
    assert found.in_pieces.tolist() == [1, -1]
    assert found.seen.tolist() == [True, False]
    assert match(far, here).in_pieces.tolist() == [0, 0, 1]


def test_copies_captured_twice_are_left_out():
    """A packet marked as captured twice is not paired."""
    here = at([0, 0.001], payload_bytes=[10, 10], ip_id=[3, 3], marks=[0, 8])
    assert pair(here, at([50], payload_bytes=[10], ip_id=[3])).tolist() == [0, -1]


def test_empty_tables_have_no_pairs():
    """Empty tables have no pairs."""
    assert pair(at([]), at([1])).tolist() == []
    assert pair(at([1]), at([])).tolist() == [-1]


@pytest.mark.compiled
def test_compiled_and_plain_agree(monkeypatch):
    """Compiled and plain kernels give the same pairs."""
    here, far, _ = transfer(Path(loss=0.2), 3.0)
    for side in (here, far):
        side["ip_id"] = 0
        side["ack"] = side["ack"] // 4000
    plain = match(here, far)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    monkeypatch.setitem(kernels._state, "small", False)
    compiled = match(here, far)
    assert plain.rows.tolist() == compiled.rows.tolist()
    assert plain.ambiguous.tolist() == compiled.ambiguous.tolist()


def test_a_damaged_packet_is_not_the_one_whose_numbers_it_has():
    """A packet with a wrong checksum is not paired with the lost one whose number and IP ID it has."""
    here = at(range(6), payload_bytes=[100] * 6, seq=range(1, 601, 100), ip_id=range(1, 7), checksum=range(10, 16))
    far = at(
        [50, 51, 55], payload_bytes=[100, 100, 100], seq=[1, 101, 201], ip_id=[1, 2, 3], checksum=[10, 11, 15],
        checksum_ok=[1, 1, 0],
    )  # fmt: skip
    found = match(here, far)
    assert found.rows.tolist() == [0, 1, -1, -1, -1, -1]
    assert not found.ambiguous.any()
    assert match(far, here).rows.tolist() == [0, 1, -1]


def test_a_packet_of_another_checksum_that_cannot_be_verified_is_undecided():
    """Where checksums come unchanged, one that differs in a packet cut short makes its namesake ambiguous, not lost."""
    here = at(range(30), payload_bytes=[100] * 30, seq=range(1, 3001, 100), ip_id=range(1, 31), checksum=range(10, 40))
    far = here.assign(checksum_ok=-1, checksum=[*range(10, 39), 99])
    found = match(here, far)
    assert found.rows.tolist() == [*range(29), -1]
    assert found.ambiguous.tolist() == [False] * 29 + [True]


def test_checksums_that_are_all_wrong_at_a_point_are_filled_in_below_it():
    """A host whose checksums are all wrong in its own capture sends whole packets: they are paired."""
    here = at(range(10), seq=range(10), checksum=[7] * 10, checksum_ok=[0] * 10)
    assert pair(here, at(range(50, 60), seq=range(10), checksum=range(1, 11))).tolist() == [*range(10)]

"""Packets of equal content in two flows, and SYNs that say the same, against a comparison of each with each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from multitracer.model.schema import ACK, FIN, SYN
from multitracer.vantage import fingerprints, renumbering, translated_copies
from multitracer.vantage.fingerprints import find_repeated, repeated

WIDTHS = {
    "input": "int16", "interface": "int16", "flow": "int32", "raw_seq": "uint32", "raw_ack": "uint32",
    "payload_bytes": "int32", "flags": "uint16", "raw_window": "uint16", "tsval": "uint32", "tsecr": "uint32",
    "ip_id": "int32",
}  # fmt: skip
FLOWS = 6
NUMBER = st.sampled_from([0, 0, 0, 1])
WIDE = st.sampled_from([0, 0, 0, 0, 1, 1 << 31, (1 << 32) - 1])
SMALL = st.sampled_from([0, 0, 0, 0, 0, 65_535])
FLAGS = st.sampled_from([ACK, ACK, ACK | 0x100, ACK | FIN])
PACKET = st.tuples(NUMBER, NUMBER, st.integers(0, FLOWS - 1), WIDE, WIDE, SMALL, FLAGS, SMALL, WIDE, WIDE, NUMBER)
PACKETS = st.lists(PACKET, max_size=60)
SAME = [(0, 0, flow, 7, 7, 0, ACK, 0, 0, 0, 0) for flow in (0, 1)]


def table(drawn: list[tuple[int, ...]]) -> pd.DataFrame:
    """The packets as a table."""
    values = np.array(drawn, dtype=np.int64).reshape(-1, len(WIDTHS))
    return pd.DataFrame(values, columns=list(WIDTHS)).astype(WIDTHS)


@pytest.fixture(params=[0, 1 << 20], ids=["table", "sorted"], autouse=True)
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the hash table for many, and with the sort for few."""
    monkeypatch.setattr(fingerprints, "_FEW", request.param)


@pytest.fixture
def _few_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than three flows, or twelve packets, are too many to tell any apart."""
    monkeypatch.setattr(translated_copies, "_MOST_ALIKE", 3)
    monkeypatch.setattr(translated_copies, "_HEAD", 4)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 9)), st.integers(1, 9))
def test_what_is_repeated_is_found_at_all_its_positions(keys: list[int], most: int) -> None:
    """Ascending; what occurs once, or more often than is asked for, is not."""
    found = repeated(np.array(keys, dtype=np.int64), most)
    assert found.tolist() == [at for at, key in enumerate(keys) if 1 < keys.count(key) <= most]


def test_keys_that_all_have_one_slot_are_sorted() -> None:
    """Packets can be made so that their keys do: the table, in which each would be looked for past all, is given up."""
    keys = np.r_[np.arange(2000), [3, 5, 5]] << 40
    slots, counts, found = (np.zeros(size, dtype=np.int32) for size in (4096, len(keys), len(keys)))
    assert find_repeated(keys, 9, slots, counts, found) == -1
    assert repeated(keys, 9).tolist() == [3, 5, 2000, 2001, 2002]


def common(drawn: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """The rows of each content in two flows: the first of either."""
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, (number, place, _, seq, ack, payload, flags, *others, _) in enumerate(drawn):
        rows.setdefault((number, place, seq, ack, payload, flags & 0xFF, *others), []).append(row)
    for alike in rows.values():
        first = {drawn[row][2]: row for row in reversed(alike)}
        if len(alike) <= 12 and len(first) <= 3:
            yield from ((first[one], first[other]) for one, other in combinations(sorted(first), 2))


@pytest.mark.usefixtures("_few_alike")
@given(PACKETS)
@example(SAME)
@example(SAME * 6)
@example(SAME * 7)
def test_packets_of_equal_content_in_two_flows_are_paired(drawn: list[tuple[int, ...]]) -> None:
    """All pairs of flows that share a content, unless too many do, and no others."""
    packets = table(drawn)
    sources = translated_copies._Sources(packets["input"].to_numpy(), packets["interface"].to_numpy())
    pairs = translated_copies._equal_packets(packets, sources, np.arange(len(drawn)))
    assert sorted(zip(*map(np.ndarray.tolist, pairs), strict=True)) == sorted(common(drawn))


@pytest.mark.usefixtures("_few_alike")
@given(PACKETS)
@example([*SAME, *((*one[:3], 8, *one[4:]) for one in SAME)])
def test_flows_with_two_packets_in_common_are_candidates(drawn: list[tuple[int, ...]]) -> None:
    """All of their packets, and those of no other flow."""
    packets = table(drawn)
    sources = translated_copies._Sources(packets["input"].to_numpy(), packets["interface"].to_numpy())
    found = translated_copies._rows_of_candidates(packets, sources, np.arange(len(drawn)), FLOWS)
    pairs = [(drawn[one][2], drawn[other][2]) for one, other in common(drawn)]
    named = {flow for pair in pairs if pairs.count(pair) > 1 for flow in pair}
    assert found.tolist() == [row for row, packet in enumerate(drawn) if packet[2] in named]


@given(PACKETS)
@example([(0, 0, flow, flow, 0, 0, SYN, 65_535, 1, 0, 1) for flow in (0, 1)])
def test_syns_are_kept_of_which_another_says_the_same(drawn: list[tuple[int, ...]]) -> None:
    """By IP ID, window, payload and timestamp; those with neither IP ID nor timestamp say nothing."""
    said = [(ip_id, window, payload, tsval) for *_, payload, _, window, tsval, _, ip_id in drawn]
    wanted = [row for row, one in enumerate(said) if said.count(one) > 1 and (one[0] or one[3])]
    assert renumbering._saying_the_same(table(drawn), np.arange(len(drawn))).tolist() == wanted

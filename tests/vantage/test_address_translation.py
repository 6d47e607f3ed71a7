"""Flows under translated addresses, and connections that a proxy split."""

from __future__ import annotations

import numpy as np
import pandas as pd

from multitracer.model import schema
from multitracer.vantage.address_translation import match_translated


def packets(flow: int, isn: int, other_isn: int, *, swapped: bool = False, segments: int = 20) -> pd.DataFrame:
    """A handshake and a one-way transfer, as packets of one flow."""
    rows = [(0, isn, 0, 0, schema.SYN), (1, other_isn, isn + 1, 0, schema.SYN | schema.ACK)]
    for n in range(segments):
        rows.append((0, isn + 1 + 1000 * n, other_isn + 1, 1000, schema.ACK))
        rows.append((1, other_isn + 1, isn + 1 + 1000 * (n + 1), 0, schema.ACK))
    way, seq, ack, size, flags = (np.array(column) for column in zip(*rows, strict=True))
    count = len(rows)
    columns = {
        **{c.name: np.zeros(count) for c in schema.SCHEMA["packets"].columns},
        "flow": np.full(count, flow),
        "direction": way ^ int(swapped),
        "raw_seq": seq % 2**32,
        "raw_ack": ack % 2**32,
        "payload_bytes": size,
        "flags": flags,
        "record": np.arange(1, count + 1),
    }
    return schema.build("packets", columns)


def matched(one: pd.DataFrame, other: pd.DataFrame, flows: int = 2):
    """The translation found when the first is seen at point 0 and the second at point 1."""
    point = np.repeat(np.array([0, 1], dtype=np.int16), [len(one), len(other)])
    return match_translated(pd.concat([one, other], ignore_index=True), flows, point)


def test_flows_with_the_same_numbers_are_one():
    """Flows with other addresses but the same sequence numbers at two points are one flow."""
    found = matched(packets(0, 2**32 - 5, 77), packets(1, 2**32 - 5, 77))
    assert found.flow.tolist() == [0, 0]
    assert not found.swapped.any()


def test_a_translated_flow_may_have_its_ends_swapped():
    """End a at one point is recognised as end b at the other."""
    found = matched(packets(0, 100, 77), packets(1, 100, 77, swapped=True))
    assert found.flow.tolist() == [0, 0]
    assert found.swapped.tolist() == [False, True]


def test_a_proxy_gives_a_split_connection():
    """Flows with other ISNs and the same bytes are reported as split, and not joined."""
    found = matched(packets(0, 100, 77), packets(1, 5_000_000, 9_000, segments=20))
    assert found.flow.tolist() == [0, 1]
    assert found.split == ((0, 1),)


def test_unrelated_flows_stay_apart():
    """Flows with other sequence numbers and other bytes are neither joined nor split."""
    found = matched(packets(0, 100, 77), packets(1, 5_000_000, 9_000, segments=7))
    assert found.flow.tolist() == [0, 1]
    assert found.split == ()


def test_a_flow_without_translation_is_left_alone():
    """A flow with the same addresses at both points stays itself."""
    found = matched(packets(0, 100, 77), packets(0, 100, 77), flows=1)
    assert found.flow.tolist() == [0]

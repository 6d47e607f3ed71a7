"""Captures in pcapng: sections, interfaces with clocks of their own, and damage."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packets import ipv4, tcp
from pcapng_blocks import block, interface, packet, section
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import pcapng
from multitracer.parsers.shared.source import Source, open_source
from multitracer.parsers.shared.view import View

SEGMENT = ipv4(tcp(b"x" * 10))


def times(data: bytes) -> list[int]:
    """The times of all packets."""
    found: list[int] = pcapng.read(Source("x", data)).tables["packets"]["time_ns"].tolist()
    return found


@pytest.mark.parametrize("order", ["<", ">"])
def test_either_byte_order_is_read(order: str) -> None:
    """A section tells its own byte order; microseconds are the default."""
    data = section(order) + interface(order) + packet(1_700_000_000_000_001, SEGMENT, order=order)
    assert pcapng.sniff(data)
    assert times(data) == [1_700_000_000_000_001_000]


@pytest.mark.parametrize(
    ("resolution", "ticks", "expected"),
    [
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (12, 1_700_000_000_123, 1_700_000_000),
        (0x80 | 32, (5 << 32) + (1 << 31), 5_500_000_000),
        (0x80 | 40, (7 << 40) + (1 << 38), 7_250_000_000),
    ],
)
def test_each_interfaces_resolution_counts(resolution: int, ticks: int, expected: int) -> None:
    """Powers of ten and of two, exact to the nanosecond."""
    assert times(section() + interface(resolution=resolution) + packet(ticks, SEGMENT)) == [expected]


def test_each_interfaces_offset_counts() -> None:
    """if_tsoffset is added, in seconds."""
    assert times(section() + interface(offset=1_700_000_000) + packet(5, SEGMENT)) == [1_700_000_000_000_005_000]


def test_interfaces_are_numbered_over_sections() -> None:
    """A new section's interface 0 is not the old one's."""
    one = section() + interface() + packet(1, SEGMENT)
    two = section(">") + interface(">", resolution=9) + packet(2, SEGMENT, order=">")
    packets = pcapng.read(Source("x", one + two)).tables["packets"]
    assert packets["interface"].tolist() == [0, 1]
    assert packets["time_ns"].tolist() == [1000, 2]


def test_simple_packets_are_cut_at_the_snap_length_and_take_the_time_before_them() -> None:
    """A simple packet block has neither time nor captured length."""
    simple = block(3, struct.pack("<I", len(SEGMENT)) + SEGMENT[:44], "<")
    data = section() + interface(snap=44) + packet(9, SEGMENT[:44]) + simple
    packets = pcapng.read(Source("x", data)).tables["packets"]
    assert packets["time_ns"].tolist() == [9000, 9000]
    assert packets["payload_bytes"].tolist() == [10, 10]


def test_other_blocks_are_passed_over() -> None:
    """Statistics and unknown blocks take nothing from the packets."""
    data = section() + interface() + block(5, b"\0" * 12, "<") + block(0xBAD, b"abcd", "<") + packet(1, SEGMENT)
    assert times(data) == [1000]


def test_a_damaged_block_loses_its_section_only() -> None:
    """The next section is found, and the loss named."""
    broken = bytearray(section() + interface() + packet(1, SEGMENT))
    struct.pack_into("<I", broken, len(section()) + len(interface()) + 4, 0xFFFFFFF0)
    found = pcapng.read(Source("x", bytes(broken) + section() + interface() + packet(2, SEGMENT)))
    assert found.tables["packets"]["time_ns"].tolist() == [2000]
    assert [skip.reason for skip in found.skips] == ["damaged block, and all up to the next section"]


def test_a_file_without_interfaces_is_refused() -> None:
    """Nothing tells how its packets are framed."""
    with pytest.raises(InputError, match="no interface"):
        pcapng.read(Source("x", section()))


def test_packets_of_unknown_interfaces_are_counted() -> None:
    """An interface number beyond those described is a named loss."""
    found = pcapng.read(Source("x", section() + interface() + packet(1, SEGMENT, 3) + packet(2, SEGMENT)))
    assert len(found.tables["packets"]) == 1
    assert [skip.count for skip in found.skips] == [1]


@pytest.mark.data
def test_several_interfaces_of_a_real_file() -> None:
    """159 records of two link types, as capinfos counts them."""
    found = pcapng.read(open_source(str(shared("public/tcp_pcap/pcapplusplus_pcapng-example.pcapng"))))
    assert found.records == 159
    assert found.tables["packets"]["interface"].nunique() == 2


@given(st.integers(0, 2**63 - 1), st.integers(0, 12))
def test_decimal_resolutions_round_down(ticks: int, power: int) -> None:
    """As Python's integers have it, up to the last whole second within 64 bits."""
    exact = ticks * 10**9 // 10**power
    if exact < 2**63 // 10**9 * 10**9:
        time_ns, held = pcapng.to_ns(np.array([ticks], dtype=np.int64), False, power)
        assert time_ns.tolist() == [exact]
        assert held.all()


@given(
    st.integers(-(2**63) + 1, 2**63 - 1), st.booleans(), st.integers(0, 127),
    st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**6), 10**6),
)  # fmt: skip
def test_times_are_exact_or_said_to_be_out_of_range(ticks: int, binary: bool, power: int, offset_s: int) -> None:
    """Of either sign and with any offset, and never wrapped, as Python's integers have it."""
    exact = ticks * 10**9 // (2**power if binary else 10**power) + offset_s * 10**9
    time_ns, held = pcapng.to_ns(np.array([ticks], dtype=np.int64), binary, power, offset_s)
    if held[0]:
        assert exact - 1 <= int(time_ns[0]) <= exact
    else:
        assert abs(exact) >= 2**63 - 2 * 10**9


def test_times_before_1970_are_kept() -> None:
    """Ticks are signed, and an offset may be negative."""
    before = section() + interface(resolution=9) + packet(2**64 - 3600 * 10**9, SEGMENT)
    assert times(before) == [-3600 * 10**9]
    assert times(section() + interface(resolution=9, offset=-7) + packet(5, SEGMENT)) == [5 - 7 * 10**9]


def test_a_time_beyond_2262_is_a_counted_loss() -> None:
    """The record is left out, with its number and place; the others stay."""
    far = section() + interface() + packet(1, SEGMENT) + packet(2**62, SEGMENT) + packet(2, SEGMENT)
    found = pcapng.read(Source("x", far))
    assert found.tables["packets"]["record"].tolist() == [1, 3]
    assert [(skip.reason, skip.record, skip.count) for skip in found.skips] == [
        ("time before 1677 or beyond 2262", 2, 1)
    ]


@pytest.mark.parametrize("bit", [62, 63])
def test_a_time_that_damage_put_centuries_away_is_a_counted_loss(bit: int) -> None:
    """By the times of most of the first packets; one such record costs no other."""
    of_2023 = 1_700_000_000 * 10**9
    good = [packet(of_2023 + n, SEGMENT) for n in range(5)]
    found = pcapng.read(
        Source(
            "x",
            section() + interface(resolution=9) + good[0] + packet(of_2023 ^ 1 << bit, SEGMENT) + b"".join(good[1:]),
        )
    )
    assert found.tables["packets"]["record"].tolist() == [1, 3, 4, 5, 6]
    assert [(skip.reason, skip.record, skip.count) for skip in found.skips] == [
        ("time a century from that of the first packets", 2, 1)
    ]


@pytest.mark.parametrize("captured", [0xFFFF, 2**31, 61])
def test_a_packet_that_does_not_fit_into_its_block_costs_itself_alone(captured: int) -> None:
    """The length of the block, which stands at both its ends, leads to the next one (draft-ietf-opsawg-pcapng 3.1)."""
    damaged = bytearray(packet(2, SEGMENT))
    damaged[20:24] = struct.pack("<I", captured)
    found = pcapng.read(Source("x", section() + interface() + packet(1, SEGMENT) + bytes(damaged) + packet(3, SEGMENT)))
    assert len(found.tables["packets"]) == 2
    assert [(skip.reason, skip.count) for skip in found.skips] == [("packet that does not fit into its block", 1)]
    assert found.complete


def test_a_time_out_of_range_never_raises() -> None:
    """All ones but one in the time field, compiled or not."""
    assert len(times(section() + interface() + packet(2**64 - 2, SEGMENT))) == 1


def test_of_a_section_its_place_and_length_are_kept() -> None:
    """And not its header's options, which may be long; without being asked for, nothing."""
    comment = struct.pack("<HH", 1, 40_000) + bytes(40_000)
    header = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, 1000) + comment, "<")
    found: list[pcapng.Section] = []
    view = View(Source("x", header + interface() + section()))
    assert list(pcapng.capture(view, found).pieces)
    assert found == [(0, True, 1000), (len(header) + len(interface()), True, (1 << 64) - 1)]

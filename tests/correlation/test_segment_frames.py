"""Carried packets recognised among captured segments: one to one, in order, never a guess."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitracer.correlation.headers import header
from multitracer.correlation.log_clocks import tie_clock
from multitracer.correlation.segment_frames import Correlation, correlate
from multitracer.link.frames import number_frames
from multitracer.model.paths import NOWHERE, Paths
from multitracer.model.schema import ACK, build, empty

START = 1_700_000_000_000_000_000
MS = 1_000_000
CLIENT, SERVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
CLIENT_ISN = 5000
PDU_BYTES = 38


class Sent(NamedTuple):
    """A segment of the client, seen at `ms`; `key` changes what its header says."""

    ms: float
    seq: int = 1
    size: int = 100
    ip_id: int = 0
    flags: int = ACK
    checksum: int = 77


def packet(sent: Sent) -> bytes:
    """The IP packet of a segment."""
    source, target = (bytes(map(int, end[0].split("."))) for end in (CLIENT, SERVER))
    total = 40 + sent.size
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, total, sent.ip_id, 0, 64, 6, 0, source, target))
    check = sum(struct.unpack("!10H", ip))
    check = (check & 0xFFFF) + (check >> 16)
    ip[10:12] = struct.pack("!H", ~check & 0xFFFF)
    tcp = struct.pack(
        "!HHIIBBHHH", CLIENT[1], SERVER[1], CLIENT_ISN + sent.seq, 9000, 0x50, sent.flags, 500, sent.checksum, 0
    )
    return bytes(ip) + tcp + bytes(sent.size)


def captured(segments: Sequence[Sent]) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """The tables of one capture at the client, and its segments."""
    rows = len(segments)
    columns = {
        "input": np.zeros(rows), "record": np.arange(rows) + 1, "time_ns": [START + round(s.ms * MS) for s in segments],
        "payload_bytes": [s.size for s in segments], "flags": [s.flags for s in segments],
        "tsval": np.zeros(rows), "tsecr": np.zeros(rows), "options": np.zeros(rows),
        "ip_id": [s.ip_id for s in segments], "checksum": [s.checksum for s in segments],
        "wire_bytes": [40 + s.size for s in segments],
    }  # fmt: skip
    packets = build("packets", {
        **columns, "interface": np.zeros(rows), "flow": np.zeros(rows), "direction": np.zeros(rows),
        "raw_seq": np.array([CLIENT_ISN + s.seq for s in segments], dtype=np.uint32),
        "raw_ack": np.full(rows, 9000, dtype=np.uint32), "raw_window": np.full(rows, 500),
    })  # fmt: skip
    table = build("segments", {
        **columns, "recorded_ns": columns["time_ns"], "point": np.zeros(rows), "connection": np.zeros(rows),
        "sender": np.zeros(rows), "seq": [s.seq for s in segments], "ack": np.ones(rows), "marks": np.zeros(rows),
    })  # fmt: skip
    flows = build("flows", {
        "flow": [0], "address_a": [CLIENT[0]], "port_a": [CLIENT[1]], "address_b": [SERVER[0]], "port_b": [SERVER[1]],
    })  # fmt: skip
    return {"packets": packets, "flows": flows}, table


class Pdu(NamedTuple):
    """An AMD PDU: when it was sent, its number, its octets and the ends of packets in them; a RESET has no number."""

    ms: float
    sn: int
    data: bytes
    ends: tuple[int, ...] = ()


def pdus(carried: Sequence[tuple[float, bytes]], every_ms: float = 1.0) -> list[Pdu]:
    """Packets cut into PDUs, one packet's end to a PDU: (when its first PDU goes, octets)."""
    found: list[Pdu] = []
    for begin, octets in carried:
        for at in range(0, len(octets), PDU_BYTES):
            piece = octets[at : at + PDU_BYTES]
            ends = (len(piece),) if at + PDU_BYTES >= len(octets) else ()
            found.append(Pdu(begin + at // PDU_BYTES * every_ms, len(found), piece, ends))
    return found


def frames_of(sent: Sequence[Pdu], *, payload: bool = True, by_sender: bool = True) -> dict[str, pd.DataFrame]:
    """The log of a UMTS RLC link, at the sending or at the receiving end."""
    rows = len(sent)
    time = [START + round(p.ms * MS) for p in sent]
    data = [bytes(2 * end for end in p.ends) + p.data if payload else None for p in sent]
    frames = build("frames", {
        "input": np.ones(rows), "record": np.arange(rows) + 1, "time_ns": time, "recorded_ns": time,
        "link": np.zeros(rows), "side": ["mobile" if by_sender else "network"] * rows, "sent": np.full(rows, by_sender),
        "type": ["AMD" if p.sn >= 0 else "RESET" for p in sent], "sn": [p.sn for p in sent],
        "payload_bytes": [len(p.data) for p in sent],
        "length_bytes": [2 + len(p.ends) + len(p.data) for p in sent], "lis": [p.ends for p in sent], "data": data,
        "framing": np.zeros(rows),
    })  # fmt: skip
    links = build("links", {"link": [0], "protocol": ["rlc-umts"], "bearer": ["1"], "sender": ["mobile"]})
    frames = number_frames(frames, links, empty("link_events"))
    return {"frames": frames, "links": links}


CONNECTIONS = build("connections", {
    "connection": [0], "flow": [0], "client": ["10.0.0.1:1000"], "server": ["10.0.0.2:80"], "start_ns": [START],
    "end_ns": [START], "handshake_seen": [False], "closed": ["open"], "isn_known_client": [True],
    "isn_known_server": [False], "window_scaled": [False],
})  # fmt: skip


def paths(rows: int, *, before_link: bool = True) -> Paths:
    """One capture, before the link or behind it."""
    near, far = (0, NOWHERE) if before_link else (NOWHERE, 0)
    nothing = np.full(rows, -1, dtype=np.int64)
    return Paths(np.array([[near, far]]), np.array([[far, near]]), nothing, nothing.astype(np.int8))


def join(segments: Sequence[Sent], sent: Sequence[Pdu], *, before_link: bool = True, **log: Any) -> Correlation:
    """A capture of the client and a link log, joined."""
    tables, table = captured(segments)
    return correlate(
        {**tables, **frames_of(sent, **log)}, table, CONNECTIONS, paths(len(table), before_link=before_link)
    )


def since_start(column: pd.Series) -> list[float]:
    """Times in ms, None where null."""
    return [None if value < 0 else (value - START) / MS for value in column]


def test_a_segment_knows_its_first_and_last_frame_and_their_repeats() -> None:
    """Repeats count as frames, and the last of them is the last frame, but not the last new one."""
    one = Sent(0)
    sent = pdus([(5, packet(one))])
    repeated = [*sent, sent[1]._replace(ms=50)]
    row = join([one], repeated).segment_frames.iloc[0]
    assert since_start(pd.Series([row["last_new_frame_ns"]])) == [sent[-1].ms]
    assert since_start(pd.Series([row["sent_ns"], row["first_frame_ns"], row["last_frame_ns"]])) == [0, 5, 50]
    assert (row["frames"], row["frame_retransmissions"], row["carried_bytes"]) == (len(sent) + 1, 1, 140)
    assert (row["matched_by"], row["queue_ns"], row["transmission"]) == ("payload", 5 * MS, 0)


def test_the_ip_id_distinguishes_a_retransmission_from_its_original() -> None:
    """The original was dropped before the link; only the later copy has frames."""
    numbers = [(-20, 901), (0, 1), (1, 101), (300, 1), (310, 201)]
    segments = [Sent(ms, seq=seq, ip_id=at) for at, (ms, seq) in enumerate(numbers)]
    carried = [(segment.ms + 5, packet(segment)) for segment in segments if segment.ip_id != 1]
    table = join(segments, pdus(carried)).segment_frames.sort_values("sent_ns")
    assert since_start(table["first_frame_ns"]) == [-15, None, 6, 305, 315]
    assert table["transmission"].tolist() == [0, 0, 0, 1, 0]


def test_an_idle_link_distinguishes_identical_copies() -> None:
    """An idle link transmits a packet at once, so the frames are those of the later copy."""
    first, second = Sent(0, seq=101), Sent(400, seq=101)
    segments = [Sent(-20, seq=1), first, second, Sent(500, seq=201)]
    carried = [(-15, packet(segments[0])), (405, packet(second)), (505, packet(segments[3]))]
    table = join(segments, pdus(carried)).segment_frames.sort_values("sent_ns")
    assert since_start(table["first_frame_ns"]) == [-15, None, 405, 505]
    assert table["frames"].tolist()[1] == 0


def test_identical_copies_that_were_both_carried_are_matched_in_order() -> None:
    """Each takes its own frames."""
    segments = [Sent(0), Sent(100)]
    table = join(segments, pdus([(5, packet(segments[0])), (105, packet(segments[1]))])).segment_frames
    assert since_start(table.sort_values("sent_ns")["first_frame_ns"]) == [5, 105]
    assert table.sort_values("sent_ns")["transmission"].tolist() == [0, 1]


def test_no_frame_is_given_to_a_segment_that_was_sent_after_it() -> None:
    """Time must not run backwards: a copy that follows the frames is not what they carried."""
    late = Sent(100)
    found = join([late], pdus([(5, packet(late))]))
    assert found.links[0].segments.tolist() == [-1]
    assert "match no captured segment" in found.notes[0]


@pytest.mark.parametrize("octets", [1, 2, 3, 19])
def test_an_sdu_too_short_for_a_header_may_be_the_segment_that_is_missing(octets: int) -> None:
    """The link carried something between its neighbours: that it never carried the segment is not certain."""
    segments = [Sent(0), Sent(10, seq=101), Sent(20, seq=201)]
    short = packet(segments[1])[:octets]
    found = join(segments, pdus([(5, packet(segments[0])), (15, short), (25, packet(segments[2]))]))
    assert [len(one.octets) for one in found.links[0].packets] == [140, octets, 140]
    assert sorted(found.segment_frames["seq"]) == [1, 201]


def test_a_segment_between_carried_ones_was_never_carried() -> None:
    """It is a row without frames; the last segment has no row, since the log may have ended before."""
    segments = [Sent(i, seq=1 + 100 * i, ip_id=i + 1) for i in range(4)]
    carried = [(5, packet(segments[0])), (10, packet(segments[2]))]
    table = join(segments, pdus(carried)).segment_frames.sort_values("seq")
    assert table["frames"].tolist() == [4, 0, 4]
    assert table["carried_bytes"].tolist() == [140, 0, 140]
    assert since_start(table["first_frame_ns"]) == [5, None, 10]


def test_what_a_reset_cut_off_before_its_header_leaves_no_doubt_of_the_others() -> None:
    """None of those between was carried whole; it was the first of them, of which it is not known how much."""
    segments = [Sent(i, seq=1 + 100 * i, ip_id=i + 1) for i in range(4)]
    first = pdus([(5, packet(segments[0]))])
    cut, reset = Pdu(20, len(first), packet(segments[1])[:6]), Pdu(30, -1, b"")
    found = join(segments, [*first, cut, reset, *pdus([(60, packet(segments[3]))])])
    table = found.segment_frames.sort_values("seq")
    assert table[["seq", "frames"]].to_numpy().tolist() == [[1, 4], [201, 0], [301, 4]]


def test_a_hole_in_the_log_leaves_open_whether_a_segment_was_carried() -> None:
    """A missing PDU may have held it."""
    segments = [Sent(i, seq=1 + 100 * i, ip_id=i + 1) for i in range(3)]
    sent = pdus([(5 + 5 * i, packet(segment)) for i, segment in enumerate(segments)])
    table = join(segments, [p for p in sent if not 2 <= p.sn <= 9]).segment_frames
    assert 0 not in table["frames"].tolist()


def test_checksums_left_to_the_network_card_do_not_hinder() -> None:
    """Where no packet of a stream has the captured checksum, checksums do not count."""
    segments = [Sent(i, seq=1 + 100 * i, ip_id=i + 1) for i in range(3)]
    carried = [(5 + 5 * i, packet(s._replace(checksum=1000 + i))) for i, s in enumerate(segments)]
    assert join(segments, pdus(carried)).links[0].segments.tolist() == [0, 1, 2]


def test_a_packet_cut_off_within_its_header_is_recognised_by_what_there_is() -> None:
    """Length, IP ID and sequence number are enough where the order leaves one place."""
    segments = [Sent(0, seq=1, ip_id=1), Sent(1, seq=101, ip_id=2)]
    whole, cut = packet(segments[0]), packet(segments[1])[:32]
    sent = pdus([(5, whole)])
    sent.append(Pdu(20, len(sent), cut))
    found = join(segments, sent)
    assert found.links[0].segments.tolist() == [0, 1]
    assert found.segment_frames["carried_bytes"].tolist() == [140, 32]


def test_a_capture_behind_the_link_gives_frames_but_no_send_times() -> None:
    """Values that only the sender's capture has are null."""
    one = Sent(40)
    row = join([one], pdus([(5, packet(one))]), before_link=False).segment_frames.iloc[0]
    assert row["first_frame_ns"] == START + 5 * MS
    assert (row["sent_ns"], row["queue_ns"], row["transmission"]) == (-1, -1, -1)


def test_a_packet_that_the_capture_behind_the_link_never_saw_is_a_row_by_its_own_header() -> None:
    """Its sequence number counts from where that of its connection does."""
    came, lost = Sent(40, seq=1, ip_id=1), Sent(41, seq=101, ip_id=2)
    table = join([came], pdus([(5, packet(came)), (10, packet(lost))]), before_link=False).segment_frames
    assert table["seq"].tolist() == [1, 101]
    assert table["segment"].tolist() == [0, -1]


def test_the_receivers_log_gives_delivery_times_only() -> None:
    """It does not show when the first frame was sent, nor how many frames were sent."""
    one = Sent(0)
    row = join([one], pdus([(60, packet(one))]), by_sender=False).segment_frames.iloc[0]
    assert row["delivered_ns"] == START + 63 * MS
    assert (row["first_frame_ns"], row["frames"], row["carried_bytes"]) == (-1, -1, -1)


@pytest.mark.parametrize(("before_link", "given_on"), [(False, [True, False, True]), (True, [True, True, True])])
def test_what_came_before_the_reset_of_its_receiver_and_no_capture_behind_has_was_not_delivered(
    before_link: bool, given_on: list[bool]
) -> None:
    """The receiver had decided on the reset already (25.322 11.4.2); a capture before the link does not show that."""
    came, lost = Sent(0 if before_link else 40, seq=1, ip_id=1), Sent(1, seq=101, ip_id=2)
    later = Sent(2 if before_link else 60, seq=201, ip_id=3)
    tables, table = captured([came, later])
    log = frames_of(pdus([(5, packet(came)), (10, packet(lost)), (30, packet(later))]), by_sender=False)
    like = log["frames"].iloc[-1:].assign(link=1, sent=True, sn=-1, data=None)
    kinds = ((6, "STATUS"), (12, "STATUS"), (18, "STATUS"), (20, "RESET"))
    sent = [like.assign(time_ns=START + ms * MS, type=kind).astype(log["frames"].dtypes) for ms, kind in kinds]
    log["frames"] = pd.concat([log["frames"], *sent], ignore_index=True)
    log["links"] = pd.concat([log["links"], log["links"]], ignore_index=True).assign(link=[0, 1], reverse=[1, 0])
    rows = correlate({**tables, **log}, table, CONNECTIONS, paths(2, before_link=before_link)).segment_frames
    assert (rows["delivered_ns"] >= 0).tolist() == given_on
    assert (rows["logged_ns"] >= 0).all()


def test_a_second_log_of_the_same_frames_makes_no_repeats() -> None:
    """Two instruments at one end recorded the same; one of them is enough."""
    one = Sent(0)
    tables, table = captured([one])
    log = frames_of(pdus([(5, packet(one))]))
    other = log["frames"].assign(input=np.int16(2))
    log["frames"] = pd.concat([log["frames"], other], ignore_index=True)
    row = correlate({**tables, **log}, table, CONNECTIONS, paths(1)).segment_frames.iloc[0]
    assert (row["frames"], row["frame_retransmissions"]) == (4, 0)


def test_packets_are_matched_by_size_if_the_log_has_no_payload() -> None:
    """The bytes offered between two idle instants are the bytes carried between them."""
    segments = [Sent(0, size=20), Sent(50, seq=21, size=300), Sent(51, seq=321, size=300), Sent(52, seq=621, size=80)]
    carried = [
        (1, packet(segments[0])),
        (51, packet(segments[1])),
        (60, packet(segments[2])),
        (70, packet(segments[3])),
    ]
    found = join(segments, pdus(carried), payload=False)
    assert found.links[0].segments.tolist() == [0, 1, 2, 3]
    assert set(found.segment_frames["matched_by"]) == {"bytes"}


def test_packets_with_ambiguous_sizes_are_not_matched() -> None:
    """One of two equal packets was dropped, and sizes do not show which; the other packets are matched."""
    segments = [
        Sent(0, size=20),
        Sent(50, seq=21, size=200),
        Sent(51, seq=221),
        Sent(52, seq=321),
        Sent(53, seq=421, size=80),
    ]
    carried = [
        (1, packet(segments[0])),
        (51, packet(segments[1])),
        (60, packet(segments[2])),
        (70, packet(segments[4])),
    ]
    found = join(segments, pdus(carried), payload=False)
    assert found.links[0].segments.tolist() == [0, 1, -1, 4]


@pytest.mark.parametrize(("offset_ms", "ppm"), [(0, 0), (-7000, 0), (2500, 80), (10**7, -300)])
def test_the_clock_of_a_log_is_found_within_its_bound(offset_ms: int, ppm: int) -> None:
    """Captures on both sides of the link bound it from above and from below."""
    tables, table = captured([Sent(1000 * i, seq=1 + 100 * i, ip_id=i + 1) for i in range(60)])
    sent = [Sent(1000 * i, seq=1 + 100 * i, ip_id=i + 1) for i in range(60)]
    log = pdus([(s.ms + 2 + i % 5, packet(s)) for i, s in enumerate(sent)])
    set_apart = [p._replace(ms=p.ms + offset_ms + p.ms * ppm * 1e-6) for p in log]
    both = pd.concat([table, table.assign(point=np.int16(1), time_ns=table["time_ns"] + 15 * MS)], ignore_index=True)
    twice = {**tables, "packets": pd.concat([tables["packets"]] * 2, ignore_index=True), **frames_of(set_apart)}
    arrival = np.r_[np.arange(60, 120), np.full(60, -1)]
    ends = Paths(np.array([[0, 1]]), np.array([[1, 0]]), arrival, np.ones(120, dtype=np.int8))
    clock = tie_clock(twice, both, CONNECTIONS, ends, 1, "reference")
    assert clock.offset_s is not None
    assert clock.error_s is not None
    true_s = (set_apart[0].ms - log[0].ms) / 1e3
    assert abs(clock.offset_s - true_s) <= clock.error_s <= 0.02


def test_a_clock_that_drifts_is_not_taken_for_the_captures_own_though_few_packets_exclude_that() -> None:
    """The log's clock loses 0.1 ms a second; all but two packets wait so long that they exclude nothing."""
    sent = [Sent(1000 * i, seq=1 + 100 * i, ip_id=i + 1) for i in range(400)]
    tables, table = captured(sent)
    prompt = {0, 200, 399}
    log = pdus([(one.ms + (2 if n in prompt else 300) - one.ms * 1e-4, packet(one)) for n, one in enumerate(sent)])
    both = pd.concat([table, table.assign(point=np.int16(1), time_ns=table["time_ns"] + 400 * MS)], ignore_index=True)
    twice = {**tables, "packets": pd.concat([tables["packets"]] * 2, ignore_index=True), **frames_of(log)}
    arrival = np.r_[np.arange(400, 800), np.full(400, -1)]
    ends = Paths(np.array([[0, 1]]), np.array([[1, 0]]), arrival, np.ones(800, dtype=np.int8))
    clock = tie_clock(twice, both, CONNECTIONS, ends, 1, "reference")
    assert "held to be the captures' own" not in clock.how
    assert clock.pieces


@pytest.mark.parametrize(("wrong", "known"), [(2, True), (3, False)])
def test_a_few_packets_dated_wrongly_do_not_hide_that_a_clock_is_the_captures_own(wrong: int, known: bool) -> None:
    """One in a hundred: of 200 packets captured behind the link two seem to have come before their last frame."""
    sent = [Sent(1000 * i, seq=1 + 100 * i, ip_id=i + 1) for i in range(200)]
    tables, table = captured(sent)
    log = pdus([(one.ms + 2, packet(one)) for one in sent])
    later = np.where(np.arange(len(sent)) < wrong, 1, 40) * MS
    both = pd.concat([table, table.assign(point=np.int16(1), time_ns=table["time_ns"] + later)], ignore_index=True)
    twice = {**tables, "packets": pd.concat([tables["packets"]] * 2, ignore_index=True), **frames_of(log)}
    arrival = np.r_[np.arange(200, 400), np.full(200, -1)]
    ends = Paths(np.array([[0, 1]]), np.array([[1, 0]]), arrival, np.ones(400, dtype=np.int8))
    clock = tie_clock(twice, both, CONNECTIONS, ends, 1, "reference")
    assert ("held to be the captures' own" in clock.how) == known


def test_without_a_common_packet_no_clock_is_estimated() -> None:
    """No offset is assumed."""
    tables, table = captured([Sent(0, seq=999)])
    clock = tie_clock(
        {**tables, **frames_of(pdus([(5, packet(Sent(0)))]))}, table, CONNECTIONS, paths(1), 1, "reference"
    )
    assert clock.pieces == ()
    assert clock.error_s is None


def test_a_log_without_payload_and_sizes_is_noted() -> None:
    """RLP frames without their octets show no packet: no segment is matched to them, and a note says so."""
    tables, table = captured([Sent(0)])
    log = frames_of(pdus([(5, packet(Sent(0)))]), payload=False)
    log["links"] = log["links"].assign(protocol="rlp")
    found = correlate({**tables, **log}, table, CONNECTIONS, paths(1))
    assert not len(found.segment_frames)
    assert "neither payload nor packet sizes" in found.notes[0]


def test_a_trace_without_frames_or_without_packets_gives_an_empty_map() -> None:
    """Missing inputs are no error."""
    tables, table = captured([])
    assert not len(join([Sent(0)], []).segment_frames)
    log = frames_of(pdus([(5, packet(Sent(0)))]))
    assert not len(correlate({**tables, **log}, table, CONNECTIONS, paths(0)).segment_frames)


@given(st.binary(max_size=120))
def test_any_octets_are_a_header_or_none(octets: bytes) -> None:
    """Whatever a log holds, reading it does not fail."""
    head = header(octets)
    assert head is None or len(head.source) > 1


@given(st.integers(24, 140))
def test_a_header_cut_anywhere_says_what_is_left_of_it(size: int) -> None:
    """Fields are those of the whole header, or unknown."""
    whole = header(packet(Sent(0, ip_id=9)))
    cut = header(packet(Sent(0, ip_id=9))[:size])
    assert whole is not None
    assert cut is not None
    assert all(have in (-1, want) for have, want in zip(cut, whole, strict=True))

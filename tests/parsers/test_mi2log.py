"""mi2log: envelopes of several radios, logs that begin within a frame, and what a log holds instead of RLC."""

from __future__ import annotations

import numpy as np
import pytest
from handset import enveloped, hdlc, log_packet, rlc
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers import mi2log, recognise
from multitracer.parsers.shared import diag
from multitracer.parsers.shared.source import Source, open_source

FOREIGN = "mobileinsight-core____logs__offline_log_examples__20201116_123435_Xiaomi-Mi10_46000.mi2log"
MESSAGE = 0xB0C0


def read(*frames: bytes) -> Recording:
    source = Source("log", b"".join(frames))
    assert recognise(source).name == "mi2log"
    return mi2log.read(source)


def test_an_envelope_is_opened_and_its_radios_are_links_of_their_own() -> None:
    """PDUs in envelopes are read; equal bearers of two radios are two links, each with times of its own cell."""
    first, second = list(range(10)), list(range(500, 510))
    recording = read(*(hdlc(enveloped(rlc(numbers, 1 + numbers[-1] / 1000 * (radio == 1)), radio))
                       for radio, numbers in ((1, first), (2, second), (1, [20]), (2, [520]))))  # fmt: skip
    frames, links = recording.tables["frames"], recording.tables["links"]
    assert links["bearer"].tolist() == ["RB 3 of radio 1", "RB 3 of radio 2"]
    assert frames["sn"].tolist() == [*first, *second, 20, 520]
    assert np.ptp(frames["time_ns"]) < 1e9
    assert (np.diff(frames["time_ns"][:10]) == 1_000_000).all()


@pytest.mark.data
def test_a_real_log_reads_the_same_in_envelopes() -> None:
    """Every PDU of a handset's log has the same time and fields when its frames are put into envelopes."""
    data = bytes(open_source(str(shared("public", "rlc_mi2log") / "att-iphone.mi2log")).data)
    frames = [content for _, frame in diag.frames(data) if (content := diag.content(frame)) is not None]
    plain = mi2log.read(Source("plain", data)).tables["frames"]
    wrapped = read(*(hdlc(enveloped(frame)) for frame in frames)).tables["frames"]
    assert len(plain) > 10
    columns = ["link", "time_ns", "type", "sn", "nr", "poll", "length_bytes"]
    assert wrapped[columns].equals(plain[columns])


def test_a_log_that_begins_within_a_frame_is_read() -> None:
    """Half a frame at the start is one counted loss; the whole frames behind it are read."""
    whole = hdlc(rlc([1])) + hdlc(rlc([2]))
    recording = read(hdlc(rlc([0, 5, 6]))[30:], whole)
    assert [(skip.reason, skip.record, skip.offset, skip.count) for skip in recording.skips] == [
        (mi2log.BEGUN_LATE, 1, 0, 1)
    ]
    assert recording.tables["frames"]["sn"].tolist() == [1, 2]


@pytest.mark.parametrize("report", diag.REPORTS)
def test_a_log_that_begins_with_reports_is_read(report: int) -> None:
    """Between two log packets there may be hundreds, which a log cut out of another begins with."""
    reports = [hdlc(bytes([report, number, 0, 1])) for number in range(100)]
    recording = read(reports[0][3:], *reports, hdlc(rlc([1, 2])))
    assert recording.tables["frames"]["sn"].tolist() == [1, 2]


def test_damage_costs_the_frames_that_it_touches() -> None:
    """After a wrong octet, or a lost flag between two frames, reading goes on with the next flag."""
    frames = [hdlc(rlc([number])) for number in range(8)]
    frames[2] = frames[2][:20] + b"\x00\x01" + frames[2][22:]
    frames[5] = frames[5][:-1]
    recording = read(*frames)
    assert recording.tables["frames"]["sn"].tolist() == [0, 1, 3, 4, 7]
    assert [(skip.reason, skip.record, skip.count) for skip in recording.skips] == [(mi2log.DAMAGED, 3, 2)]


@pytest.mark.parametrize("versions", [{"version": 5}, {"packet_version": 48}])
def test_pdus_in_an_unknown_layout_are_counted_not_guessed(versions: dict[str, int]) -> None:
    """A log packet or subpacket of another version is a loss that is named."""
    recording = read(hdlc(rlc([1])), hdlc(rlc([2], **versions)))
    assert recording.tables["frames"]["sn"].tolist() == [1]
    assert "version" in recording.skips[0].reason


def test_packets_of_rlc_that_are_not_read_are_counted_by_name() -> None:
    """Statistics of NR RLC are counted by what they are, beside the PDUs that are read."""
    recording = read(hdlc(rlc([1])), hdlc(log_packet(0xB84D, b"\0" * 20)), hdlc(log_packet(MESSAGE, b"\0")))
    assert recording.counts == {"other log packets": 2, "NR RLC downlink statistics 0xB84D": 1}


def test_a_log_without_rlc_says_what_it_holds() -> None:
    """A log of sound frames of other kinds is refused with their kinds and numbers."""
    frames = [hdlc(enveloped(log_packet(MESSAGE, b"\1\2"))) for _ in range(3)] + [hdlc(b"\x60\1\2\3")]
    with pytest.raises(InputError, match=r"holds 4 frames, none .*3 LTE RRC message 0xB0C0, 1 command 0x60"):
        read(*frames)


@pytest.mark.data
def test_a_newer_handset_s_log_without_rlc_is_refused_with_what_it_holds() -> None:
    """927 enveloped frames of other kinds and 3 damaged ones are said."""
    with pytest.raises(InputError, match=r"holds 927 frames, none of a kind that is read here .*; 3 bad") as refused:
        mi2log.read(open_source(str(shared("public", "foreign") / FOREIGN)))
    assert refused.value.exit_code == 3

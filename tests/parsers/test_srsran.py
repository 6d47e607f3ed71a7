"""srsRAN Project's text log of RLC."""

from __future__ import annotations

import pytest
from gnb_log import data, line, rlc, transfer

from multitracer.link.frames import number_frames
from multitracer.model.errors import InputError
from multitracer.model.schema import empty
from multitracer.model.trace import Recording
from multitracer.parsers import recognise, srsran
from multitracer.parsers.shared.source import Source


def read(text: str) -> Recording:
    source = Source("gnb.log", text.encode())
    assert recognise(source).name == "srsran"
    return srsran.read(source)


def test_every_pdu_is_a_frame_of_its_bearer_and_direction() -> None:
    """Sent PDUs are the network's, received ones the mobile's as they arrived; other lines are counted."""
    recording = read(transfer())
    links, frames = recording.tables["links"], recording.tables["frames"]
    assert links[["bearer", "sender"]].to_numpy().tolist() == [["UE 0 DRB1", "network"], ["UE 0 DRB1", "mobile"]]
    assert links["reverse"].tolist() == [1, 0]
    sent = frames[frames["link"] == 0]
    assert sent["type"].astype(str).value_counts().to_dict() == {"AMD": 62, "STATUS": 7}
    assert sent["sent"].all()
    assert set(frames["side"]) == {"network"}
    assert not frames[frames["link"] == 1]["sent"].any()
    assert frames["time_ns"][0] == 1_714_564_800_100_000_000
    assert recording.counts == {"lines of GNB": 1, "lines of MAC": 60}
    assert (recording.skips, recording.complete, recording.clock) == ([], True, "epoch")


def test_a_segment_shows_the_header_s_size() -> None:
    """The second segment's offset is the first one's payload; without evidence the payload is null."""
    frames = read(transfer()).tables["frames"]
    segments = frames[(frames["sn"] == 2) & (frames["link"] == 0)]
    assert segments["payload_bytes"].tolist() == [800, 600]
    assert segments["so"].tolist() == [-1, 800]
    assert segments["framing"].tolist() == [1, 2]
    assert frames["payload_bytes"][0] == 1400
    whole = read(data(0, 5) + "\n" + data(1, 6) + "\n").tables["frames"]
    assert whole["payload_bytes"].tolist() == [-1, -1]
    long = read(data(0, 5000) + "\n" + data(1, 6) + "\n").tables["frames"]
    assert long["payload_bytes"].tolist() == [1399, 1399]
    signalling = read(
        "".join(rlc(n, f"TX PDU. dc=data p=1 si=full sn={n} pdu_len=53 grant_len=55", "SRB1") + "\n" for n in (0, 1))
    )
    assert signalling.tables["frames"]["payload_bytes"].tolist() == [51, 51]


def test_a_segment_is_no_repeat_and_a_retransmission_is_one() -> None:
    """Of a link's frames only those are repeats whose octets had been sent before."""
    tables = read(transfer()).tables
    made = number_frames(tables["frames"], tables["links"], empty("link_events"))
    assert made.loc[made["transmission"] > 0, "sn"].tolist() == [4]


def test_a_status_report_names_what_is_missing() -> None:
    """Whole SDUs, octets of one, and ranges, as the log writes them."""
    text = rlc(0, "RX status PDU. ack_sn=40 n_nack=4 nack=[3][7 10:65535][9 r3][20 5:6 r2]") + "\n" + data(1, 1) + "\n"
    row = read(text).tables["frames"].iloc[0]
    assert (row["type"], row["nr"]) == ("STATUS", 40)
    assert list(row["nacks"]) == [
        (3, -1, -1), (7, 10, 65535), (9, -1, -1), (10, -1, -1), (11, -1, -1), (20, 5, 65535), (21, 0, 6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("TX PDU. dc=data p=1 si=full sn=262144 pdu_len=53 grant_len=55", srsran.OUT_OF_RANGE),
        ("TX PDU. dc=data p=1 si=full sn=1 pdu_len=99999 grant_len=55", srsran.OUT_OF_RANGE),
        ("RX status PDU. ack_sn=1 n_nack=2 nack=[0]", srsran.OUT_OF_RANGE),
        ("TX PDU. dc=data p=1 si=whole sn=1 pdu_len=53 grant_len=55", srsran.OTHER_PDU),
        ("TX PDU. si=full pdu_len=53 grant_len=55", srsran.OTHER_PDU),
        (f"TX PDU. dc=data p=1 si=full sn={'9' * 400} pdu_len=53 grant_len=55", srsran.OTHER_PDU),
    ],
)
def test_a_pdu_that_is_not_understood_is_a_loss(message: str, reason: str) -> None:
    """It is counted with its line and octet; nothing is guessed."""
    good = data(0, 1) + "\n"
    recording = read(good + rlc(1, message) + "\n" + data(2, 2) + "\n")
    assert recording.tables["frames"]["sn"].tolist() == [1, 2]
    assert [(skip.reason, skip.record, skip.offset, skip.count) for skip in recording.skips] == [
        (reason, 2, len(good), 1)
    ]


def test_older_and_slot_stamped_lines_are_read() -> None:
    """The slot before the message, and lines without the number of the DU, change nothing."""
    message = "TX PDU. dc=data p=0 si=full sn=3 so=0 pdu_len=11 grant_len=11"
    text = (
        line(0, f"ue=5 SRB1 DL: {message}", slot="[   838.4] ") + "\n" + line(1, f"du=2 ue=5 SRB1 DL: {message}") + "\n"
    )
    recording = read(text)
    assert recording.tables["links"]["bearer"].tolist() == ["UE 5 SRB1", "UE 5 SRB1 of DU 2"]
    assert recording.tables["frames"]["so"].tolist() == [-1, -1]


def test_a_log_without_rlc_says_what_it_holds() -> None:
    """At the default level a log has no PDUs; one of srsRAN_4G has them in words without a UE."""
    text = "".join(line(n, "Cell was activated", layer="MAC") + "\n" for n in range(3))
    text += line(9, "DRB1 Tx PDU SN=7 (1402 B)") + "\n"
    with pytest.raises(InputError, match="3 lines of MAC, 1 lines of RLC without a PDU"):
        read(text)

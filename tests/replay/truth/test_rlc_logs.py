"""RLC AM against recordings of another implementation: given its losses, packets and clock, it sends the same PDUs.

The folders rlc-* of the shared data are downloads over a real-time RLC AM link. What its logs show of choices that
25.322 leaves open is set in PARAMETERS: the report is one LIST SUFI and is never continued, polls go out in the
last PDU of either buffer, when 80 % of the window is used and by Timer_Poll, a reset discards all SDUs, and
any STATUS stops Timer_Poll (or x is not renewed while it runs: the logs fit both).

That program looked at its timers once a TTI, at times known to a microsecond where it sent something. 100 ms of
Timer_Status_Prohibit therefore end in the tenth TTI or the eleventh by chance. `Played` follows those ticks: where the
microsecond does not tell whether a timer had expired, what was sent does. Then every PDU is the same,
27071 of the network side and 1449 of the mobile. At ticks exactly 10 ms apart (the engine) the eleventh never
occurs; reports then come at other times and name other PDUs: 1185 are sent again instead of 1171, 1866 instead
of 2464 and 226 instead of 230, and one packet more gets through before the radio is dead.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from rlc_run import Run, with_octets
from shared_data import shared

from multitracer.replay.arq.rlc.octets import RlcAm
from multitracer.replay.arq.rlc.parameters import Parameters
from multitracer.wire import rlc_umts as codec

MS = 1_000_000
TTI = 10 * MS
DELAY = 67_500_000
LATE = 95_000
"""How late the program usually woke."""
ROUNDING = 1_500
"""Times in the logs are that exact: microseconds, of a clock whose zero is a float of epoch seconds."""
FOLDERS = ("rlc-inseq", "rlc-outseq", "rlc-reset")
PARAMETERS = Parameters(
    pdu_bytes=40, control_pdu_bytes=40, poll_ns=300 * MS, poll_window_percent=80, status_prohibit_ns=100 * MS,
    max_dat=40, whole_reports=False, any_status_stops_poll=True, reset_discards_all=True, queue_sdus=4096,
    queue_bytes=1 << 20,
)  # fmt: skip


class Sent(NamedTuple):
    """A PDU in a log: the TTI, its place in it, when, what, and whether the other side got it."""

    tti: int
    place: int
    ns: int
    said: str
    lost: bool


class Recorded:
    """What a folder says."""

    def __init__(self, name: str) -> None:
        folder = shared("linux", name)
        truth = json.loads((folder / "truth.json").read_text())
        self.outages = truth["spec"].get("outages", [])
        self.zero, self.counts, spec = truth["wall_clock_at_zero"], truth["rlc"], truth["spec"]
        self.per_frame = (spec.get("dl_pdus", 4), spec.get("ul_pdus", 1))
        self.parameters = replace(
            PARAMETERS, max_dat=spec.get("maxdat", PARAMETERS.max_dat), in_sequence=spec.get("in_sequence", True)
        )
        network, mobile = self._lines(folder, "network"), self._lines(folder, "mobile")
        self.sent = {"A": _pairs(network, mobile), "B": _pairs(mobile, network)}
        self.ticks = {each.tti: each.ns for side in "BA" for each in self.sent[side]}
        with (folder / "packets.csv").open() as file:
            rows = sorted(csv.DictReader(file), key=lambda row: float(row["offered_s"]))
        self.packets = [
            (_ns(row["offered_s"]), "A" if row["from"] == "network" else "B", int(row["bytes"])) for row in rows
        ]
        self.delivered = {i: _ns(row["delivered_s"]) for i, row in enumerate(rows) if row["delivered_s"]}

    def _lines(self, folder: Path, side: str) -> list[tuple[int, str, str]]:
        with gzip.open(folder / f"rlcdump.{side}.txt.gz", "rt") as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        return [(_ns(float(row[0]) - self.zero), row[1], _said(row[2], row[3:])) for row in rows]


def _ns(seconds: Any) -> int:
    return round(float(seconds) * 1e9)


def _said(kind: str, fields: list[str]) -> str:
    keys = {"AMD": ("sn", "p", "li"), "STATUS": ("ack", "nack")}.get(kind, ())
    return " ".join([kind, *(field for field in fields if field.split("=")[0] in keys)])


def _pairs(sender: list[tuple[int, str, str]], receiver: list[tuple[int, str, str]]) -> list[Sent]:
    """Every PDU sent, with its fate: the link keeps order, so the n-th sent is the n-th received or garbled."""
    sent = [row for row in sender if row[1] == ">"]
    received = [row for row in receiver if row[1] == "<"]
    places: dict[int, int] = {}
    found = []
    for (ns, _, said), (_, _, heard) in zip(sent, received, strict=True):
        assert heard in ("BAD", said)
        tti = (ns + 10_000) // TTI
        places[tti] = place = places.get(tti, -1) + 1
        found.append(Sent(tti, place, ns, said, heard == "BAD"))
    return found


def _words(pdu: codec.Pdu) -> str:
    """A PDU as `_said` has it."""
    if isinstance(pdu, codec.Reset):
        return "RESET_ACK" if pdu.ack else "RESET"
    if isinstance(pdu, codec.Status):
        return f"STATUS ack={codec.acknowledged(pdu)} nack={','.join(map(str, codec.missing(pdu)))}"
    return f"AMD sn={pdu.sn} p={int(pdu.poll)} li={','.join(map(str, pdu.lis))}"


class Played:
    """Two `RlcAm` under the recorded packets, losses and ticks."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.ends = {side: RlcAm(recorded.parameters) for side in "AB"}
        self.lost = {side: {(p.tti, p.place) for p in recorded.sent[side] if p.lost} for side in "AB"}
        self.timed = {
            side: {p.tti for p in recorded.sent[side] if p.said.startswith(("STATUS", "RESET")) or " p=1" in p.said}
            for side in "AB"
        }
        self.sent: dict[str, list[tuple[int, str]]] = {"A": [], "B": []}
        self.delivered: dict[int, int] = {}
        self.order: dict[str, list[int]] = {"A": [], "B": []}
        self._offers = list(enumerate(recorded.packets))[::-1]
        self._air: list[tuple[int, str, bytes]] = []

    def play(self) -> Played:
        """All of it."""
        for tti in range(max(self.recorded.ticks) + 30):
            # Nothing was sent at a tick without a time: it was no earlier than this.
            now = self.recorded.ticks.get(tti, tti * TTI)
            for side, per_frame in zip("AB", self.recorded.per_frame, strict=True):
                self._before(now)
                self._timers(side, now + (ROUNDING if tti in self.timed[side] else -ROUNDING))
                self._send(side, per_frame, tti, now)
        return self

    def _before(self, now: int) -> None:
        while self._offers and self._offers[-1][1][0] <= now + ROUNDING:
            number, (ns, side, size) = self._offers.pop()
            assert self.ends[side].offer(number.to_bytes(8, "big") + bytes(size - 8), ns)
        while self._air and self._air[0][0] <= now:
            ns, to, frame = self._air.pop(0)
            self._timers(to, ns)
            self.ends[to].receive(frame, ns)
            for sdu in [each.octets for each in self.ends[to].delivered()]:
                self.delivered[int.from_bytes(sdu[:8], "big")] = ns
                self.order[to].append(int.from_bytes(sdu[:8], "big"))

    def _timers(self, side: str, until: int) -> None:
        end = self.ends[side]
        while (due := end.next_timer()) is not None and due <= until:
            end.expire(due)

    def _send(self, side: str, per_frame: int, tti: int, now: int) -> None:
        for place in range(per_frame):
            frame = self.ends[side].next_frame(now)
            if frame is None:
                return
            self.sent[side].append((tti, _words(codec.decode(frame))))
            if (tti, place) not in self.lost[side]:
                self._air.append((tti * TTI + DELAY + LATE, "B" if side == "A" else "A", frame))
                self._air.sort(key=lambda each: each[0])


@pytest.fixture(scope="module", params=FOLDERS)
def recorded(request: pytest.FixtureRequest) -> Recorded:
    return Recorded(request.param)


def test_every_pdu_is_the_one_recorded(recorded: Recorded) -> None:
    """Both sides: same TTI, same kind, same numbers, poll bit, length indicators, acknowledged and missing."""
    played = Played(recorded).play()
    for side in "AB":
        assert played.sent[side] == [(p.tti, p.said) for p in recorded.sent[side]]
    counts = played.ends["A"].counts
    assert counts["sent"] == recorded.counts["network"]["amd_sent"]
    assert counts["resent"] == recorded.counts["network"]["retransmissions"]
    assert counts["resets_done"] == recorded.counts["network"]["resets_initiated"]
    _delivered_alike(recorded, played)


def _delivered_alike(recorded: Recorded, played: Played) -> None:
    assert played.delivered.keys() == recorded.delivered.keys()
    for side in "AB":
        assert len(set(played.order[side])) == len(played.order[side])
        if recorded.parameters.in_sequence:
            assert played.order[side] == sorted(played.order[side])
    late = [abs(ns - recorded.delivered[number]) for number, ns in played.delivered.items()]
    assert max(late) < TTI


def test_exact_ticks_deliver_the_same_packets(recorded: Recorded) -> None:
    """The driver, at ticks 10 ms apart: the same packets delivered, one reset where there was one."""
    link = _driven(recorded).carry(max(recorded.ticks) + 100)
    got = set()
    for side, letter in enumerate("AB"):
        numbers = [i for i, packet in enumerate(recorded.packets) if packet[1] == letter]
        came = [int(row["sdu"]) for row in link.engine.sdus if row["side"] == 1 - side]
        assert len(came) == len(set(came)) == link.counts(1 - side)["delivered"]
        got |= {numbers[k] for k in came}
    assert len(got ^ recorded.delivered.keys()) <= (1 if recorded.outages else 0)
    counts, other = link.counts(0), link.counts(1)
    assert counts["garbled"] == other["garbled"] == 0
    assert counts["resets_done"] == recorded.counts["network"]["resets_initiated"]
    assert counts["resent"] == pytest.approx(recorded.counts["network"]["retransmissions"], rel=0.25)


def _driven(recorded: Recorded) -> Run:
    erased = []
    for side, per_frame in zip("AB", recorded.per_frame, strict=True):
        flags = np.zeros((max(recorded.ticks) + 100) * per_frame, np.uint8)
        for each in recorded.sent[side]:
            flags[each.tti * per_frame + each.place] = each.lost
        for start, seconds in recorded.outages:  # also where nothing was sent then, and so nothing was recorded
            flags[_ns(start) // TTI * per_frame : _ns(start + seconds) // TTI * per_frame] = 1
        erased.append(flags)
    a, b = ([(ns, size) for ns, whose, size in recorded.packets if whose == side] for side in "AB")
    offers = (tuple(zip(*a, strict=True)), tuple(zip(*b, strict=True)))
    return with_octets(
        recorded.parameters, delay_ns=DELAY, per_frame=recorded.per_frame, offers=offers,
        erased=(erased[0], erased[1]), sdus=len(recorded.packets),
    )  # fmt: skip

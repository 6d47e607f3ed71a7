"""What became of the packets of an emulated run by the captures of both its hosts, beside what the link says."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import dpkt

from multitracer.replay.emulate.lateness import packet_hash
from multitracer.replay.emulate.session import ADDRESSES
from multitracer.replay.record.link_logs import SIDES


def differences(directory: Path) -> list[str]:
    """Packets that one host sent and the other did not get, though the link lost none, or the other way round."""
    return [said for side in SIDES for said in _one_way(directory, side)]


def _one_way(directory: Path, side: str) -> Iterator[str]:
    given = [
        row for row in csv.DictReader((directory / "link_packets.csv").read_text().splitlines()) if row["side"] == side
    ]
    sender, receiver = ("snd", "rcv") if _sends_data(directory, side) else ("rcv", "snd")
    (sent, answers), (came, _) = (_packets(directory / folder, side) for folder in (sender, receiver))
    read = [row["hash"] for row in given]
    if sent[: len(read)] != read or len(sent) - len(read) > answers:
        yield f"{side}: the host sent {len(sent)} packets, the link was given {len(given)}, or others"
    handed = sorted((row for row in given if row["handed_over_s"]), key=_handed_s)
    if came != [row["hash"] for row in handed]:
        yield f"{side}: the peer got {len(came)} packets, the link handed over {len(handed)}, or others"
    times = [float(row["delivered_s"]) for row in handed]
    if times != sorted(times):
        yield f"{side}: packets were handed over in another order than the model's"
    untold = [row for row in given if not row["handed_over_s"] and not row["lost_s"]]
    if untold and given.index(untold[0]) < len(given) - len(untold):
        yield f"{side}: {len(untold)} packets neither came nor were lost, the first given at {untold[0]['offered_s']} s"


def _handed_s(row: dict[str, str]) -> float:
    return float(row["handed_over_s"])


def _sends_data(directory: Path, side: str) -> bool:
    """Whether the transfer's data goes from this side to the other."""
    down = json.loads((directory / "truth.json").read_text())["parameters"]["workload.direction"] == "down"
    return down == (side == SIDES[0])


def _packets(folder: Path, side: str) -> tuple[list[str], int]:
    """Of the packets from a side, in the order of the capture; and how many came after the last one from the other.

    These may answer what the link handed over last: it may have ended before it read them.
    """
    (capture,) = folder.glob("*.pcap*")
    source = bytes(map(int, ADDRESSES[SIDES.index(side)].split(".")))
    with capture.open("rb") as file:
        packets = [octets for _, octets in dpkt.pcap.UniversalReader(file)]
    own = [octets[12:16] == source for octets in packets]
    after = len(own) - max((place for place, one in enumerate(own, 1) if not one), default=0)
    return [packet_hash(octets) for octets, one in zip(packets, own, strict=True) if one], after

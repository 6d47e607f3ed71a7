"""Who is to blame for the gaps in a labelled transfer, from its truth files alone; shares no code with the product.

A gap is a time in which no new packet was on the air. What was next on the air tells who is to blame. A packet sent
again is charged to what lost its earlier copy: a drop by the queue, else the outage or reset before. Any other packet
is charged to the outage, reset or stop by flow control that was holding it. A reset in an outage, or soon after it, is
the outage's. While the link repeats frames of a packet sent again, the link holds what comes behind it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

_SOON_S = 1.0
"""What a link needs to notice the end of an outage: a reset that begins within it belongs to the outage."""
_FRAME_OCTETS = {"rlp": 25, "rlc": 40}
"""Octets in a frame of the labelled links: 240 bits less header and check sequence; 40-octet PDUs."""
_HOLDING = ("link-reset", "flow-control-gap")


class Event(NamedTuple):
    """What happened to the link, in s since its zero, and the kind of finding at its root."""

    begun: float
    until: float
    root: str


NOBODY = Event(-np.inf, np.inf, "")


def blamed_seconds(folder: Path) -> dict[str, float]:
    """Seconds of gaps by root kind; those that no event explains under ''."""
    truth = json.loads((folder / "truth.json").read_text())
    packets, events = _packets(folder, truth["wall_clock_at_zero"]), _events(folder, truth)
    frame_octets = _FRAME_OCTETS[folder.name.split("-")[0]]
    charged: dict[str, float] = {}
    for start, end in _gaps(packets[packets["new"]]):
        after = packets[packets["first_frame_s"] >= start - 0.001]
        if not len(after):
            continue
        lost, held = _lost_by(after.iloc[0], events), _held_by(start, events)
        within = packets[(packets["first_frame_s"] >= start - 0.001) & (packets["last_frame_s"] <= end)]
        repeating = _repeating_s(packets, start, end) if lost > held else 0.0
        charged["link"] = charged.get("link", 0.0) + repeating
        root = max(lost, held).root
        framing = _framing_s(within, frame_octets, _frame_s(packets))
        charged[root] = charged.get(root, 0.0) + end - start - repeating - framing
    return charged


def _repeating_s(packets: pd.DataFrame, start: float, end: float) -> float:
    """How much of a gap the link had nothing on the air but repeats, which held up what came behind them."""
    own = (packets["frames_sent"] - packets["frame_retransmissions"]) * _frame_s(packets)
    again = (packets["frame_retransmissions"] > 0) & (packets["fate"] == "delivered")
    edges = np.arange(start, end, 0.001)
    held, sent = np.zeros(len(edges), dtype=bool), np.zeros(len(edges), dtype=bool)
    for first, lasted, last, repeated in zip(
        packets["first_frame_s"], own, packets["last_frame_s"], again, strict=True
    ):
        sent |= (edges >= first) & (edges < first + lasted)
        held |= repeated & (edges >= first + lasted) & (edges < last)
    return float((held & ~sent).sum() * 0.001)


def _frame_s(packets: pd.DataFrame) -> float:
    """The time from frame to frame, by the packets of which nothing was repeated."""
    whole = packets[(packets["frame_retransmissions"] == 0) & (packets["frames_sent"] > 5)]
    return float(((whole["last_frame_s"] - whole["first_frame_s"]) / (whole["frames_sent"] - 1)).median())


def _framing_s(packets: pd.DataFrame, frame_octets: int, frame_s: float) -> float:
    """The part of these packets' own air time that framing and headers take: it is nobody's fault."""
    frames = packets["frames_sent"] - packets["frame_retransmissions"]
    return float((frames * frame_s * (1 - packets["payload"] / (frames * frame_octets))).sum())


def _lost_by(packet: Any, events: list[Event]) -> Event:
    """The event that lost a packet's earlier copy."""
    if packet.lost == "overflow":
        return Event(packet.copy_s, packet.copy_s, "local-drop")
    before = [event for event in events if event.begun <= packet.first_frame_s and event.root != "flow-control-gap"]
    return max(before) if packet.lost in ("flushed", "garbled") and before else NOBODY


def _held_by(time_s: float, events: list[Event]) -> Event:
    """The event under way that began last."""
    return max((event for event in events if event.begun - 0.1 <= time_s <= event.until), default=NOBODY)


def _gaps(new: pd.DataFrame) -> list[tuple[float, float]]:
    """(Start, end) of the times, in s since the link's zero, without one of these packets on the air."""
    first, last, size = (new[name].to_numpy() for name in ("first_frame_s", "last_frame_s", "bytes"))
    # The last frame may be a repeat: a packet's own octets take as long as those of packets that follow directly.
    large = size[:-1] > size.max() / 2
    octet_s = float(np.median(np.diff(first)[large] / size[:-1][large]))
    on_air = np.minimum(last + 30 * octet_s, first + octet_s * size)
    gaps, reached = [], float(first[0])
    for begin, end in zip(first.tolist(), on_air.tolist(), strict=True):
        if begin > reached:
            gaps.append((reached, begin))
        reached = max(reached, end)
    return gaps


def _packets(folder: Path, zero_s: float) -> pd.DataFrame:
    """The data's direction on the air, in order, with `new`: no earlier copy of its octets was on the air.

    `lost` and `copy_s` are what became of the earlier copy of a packet sent again, and when that was offered.
    """
    packets = pd.read_csv(folder / "packets.csv")
    side = packets.groupby("from")["bytes"].sum().idxmax()
    packets = packets[packets["from"] == side].reset_index(drop=True)
    resent = pd.read_csv(folder / "retransmissions.csv")
    headers = int(packets["bytes"].mode()[0] - resent["payload_bytes"].max()) if len(resent) else 52
    at_s = resent["time_ns"].to_numpy() / 1e9 - zero_s
    carried, fates, offered = set(), {}, {}
    new, lost, copies, following = [], [], [], 1
    for packet in packets.itertuples():
        row = _resend(packet, resent, at_s, headers)
        if row is None:
            size = packet.bytes - headers if packet.Index else 0  # the first is the SYN
            seq, following = following, following + max(size, 0)
        else:
            seq, at_s[row] = int(resent["seq"].iloc[row]), np.inf
        on_air = not np.isnan(packet.first_frame_s)
        new.append(on_air and seq not in carried and packet.bytes > headers)
        lost.append(fates.get(seq, "") if row is not None else "")
        copies.append(offered.get(seq, np.nan))
        carried |= {seq} if on_air else set()
        fates[seq], offered[seq] = packet.fate, packet.offered_s
    packets["new"], packets["lost"], packets["copy_s"] = new, lost, copies
    packets["payload"] = (packets["bytes"] - headers).clip(lower=0)
    return packets[packets["first_frame_s"].notna()].sort_values("first_frame_s")


def _resend(packet: Any, resent: pd.DataFrame, at_s: Any, headers: int) -> int | None:
    """The row of retransmissions.csv that is this packet."""
    near = np.flatnonzero(np.abs(at_s - packet.offered_s) < 0.002)
    same = [row for row in near.tolist() if resent["payload_bytes"].iloc[row] == packet.bytes - headers]
    return same[0] if same else None


def _events(folder: Path, truth: dict[str, Any]) -> list[Event]:
    """Outages, and the resets and stops by flow control that findings.csv has."""
    zero_s, outages = truth["wall_clock_at_zero"], _outages(truth["spec"])
    found = [Event(start, start + lasted + _SOON_S, "link-outage") for start, lasted in outages]
    for row in pd.read_csv(folder / "findings.csv").itertuples():
        if row.kind not in _HOLDING:
            continue
        begun, until = (at / 1e9 - zero_s for at in (row.start_ns, row.end_ns))
        in_outage = any(start <= begun <= start + lasted + _SOON_S for start, lasted in outages)
        found.append(Event(begun, until, "link-outage" if row.kind == "link-reset" and in_outage else row.kind))
    return found


def _outages(spec: dict[str, Any]) -> list[tuple[float, float]]:
    """(Start, seconds) of the outages that were set up, in either direction."""
    every = [*spec.get("outages", ()), *spec.get("uplink", {}).get("outages", ())]
    return sorted({(float(start), float(lasted)) for start, lasted in every})

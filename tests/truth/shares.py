"""The accounting's shares of the labelled links, computed another way: instant by instant.

Shares nothing with the product: the dumps are read as text, the captures with dpkt, what each packet
was and when it was offered comes from the truth. Every millisecond of the session is put to the one
cause that applies first.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from pathlib import Path

import dpkt

STEP_S, JITTER_S = 0.001, 0.002
RLP_FRAME_S, RLP_OCTETS, RLP_WINDOW = 0.020, 30, 61
RLC_TTI_S, RLC_OCTETS = 0.010, 40


@dataclass
class Sent:
    """A frame as its sender logged it."""

    start: float
    end: float
    data: bool
    repeat: bool = False


@dataclass
class Link:
    """What the data sender's dump says; times in epoch seconds."""

    frames: list[Sent] = field(default_factory=list)
    stops: list[tuple[float, float]] = field(default_factory=list)
    resets: list[tuple[float, float]] = field(default_factory=list)
    full: list[tuple[float, float]] = field(default_factory=list)
    characters: bytearray = field(default_factory=bytearray)


def lines(path: Path) -> list[list[str]]:
    """The words of every line of a dump."""
    octets = path.read_bytes()
    text = (gzip.decompress(octets) if path.suffix == ".gz" else octets).decode()
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def keys(words: list[str]) -> dict[str, str]:
    """key=value pairs."""
    return dict(word.split("=", 1) for word in words if "=" in word)


def rlp(own: list[list[str]], other: list[list[str]]) -> Link:
    """The uplink of an RLP call, by the mobile's dump; resets by both."""
    link = Link()
    top = acked = 0
    stop = full = None
    for words in own:
        time, way, kind = float(words[0]), words[1], words[2]
        if kind == "EVENT":
            if words[3] == "xoff":
                stop = time
            elif words[3] == "xon" and stop is not None:
                link.stops.append((stop, time))
                stop = None
            elif words[3] == "reset":
                top = acked = 0
                if full is not None:
                    link.full.append((full, time))
                full = None
            continue
        pairs = keys(words)
        if way == ">":
            data = kind == "I"
            repeat = data and int(pairs["ns"]) != top % 62
            link.frames.append(Sent(time, time + RLP_FRAME_S, data, repeat))
            if data and not repeat:
                top += 1
                link.characters += user(bytes.fromhex(pairs["data"]))
                if top - acked >= RLP_WINDOW:
                    full = time
        elif kind != "BAD" and "nr" in pairs and "SREJ" not in words[2:4]:
            behind = (top - int(pairs["nr"])) % 62
            if behind <= top - acked:
                acked = top - behind
            if full is not None and top - acked < RLP_WINDOW:
                link.full.append((full, time))
                full = None
    begun = min((float(w[0]) for w in own + other if w[2] == "SABM"), default=None)
    if begun is not None:
        link.resets.append((begun, min(float(w[0]) for w in own + other if w[2] == "UA")))
    return link


def user(information: bytes) -> bytes:
    """The characters of an information field: full, empty, or some before a status change."""
    address = information[0] & 31
    if address == 30:
        return information[1:]
    return information[1 : 1 + address] if address <= 23 else b""


def rlc(own: list[list[str]], other: list[list[str]], together: int) -> Link:
    """The downlink of an RLC bearer, by the network's dump; resets by both."""
    link = Link()
    seen: set[int] = set()
    top = acked = most = 0
    history: list[tuple[float, int]] = []
    slot, place = 0.0, 0
    for words in own:
        time, way, kind = float(words[0]), words[1], words[2]
        pairs = keys(words)
        if way == ">":
            slot, place = (slot, place + 1) if time - slot < RLC_TTI_S / 2 else (time, 0)
            start = slot + RLC_TTI_S * place / together
            repeat = kind == "AMD" and int(pairs["sn"]) in seen
            link.frames.append(Sent(start, start + RLC_TTI_S / together, kind == "AMD", repeat))
            if kind == "AMD":
                seen.add(int(pairs["sn"]))
                seen.discard((int(pairs["sn"]) + 2048) % 4096)
                if not repeat:
                    top += 1
        elif kind == "STATUS" and pairs.get("ack"):
            missing = [int(part) for part in pairs.get("nack", "").split(",") if part]
            lowest = missing[0] if missing else int(pairs["ack"])
            behind = (top - lowest) % 4096
            if behind <= top - acked:
                acked = max(acked, top - behind)
        elif kind == "RESET_ACK":
            seen, top, acked = set(), 0, 0
        history.append((time, top - acked))
        most = max(most, top - acked)
    for (time, open_), (following, _) in itertools.pairwise(history):
        if open_ >= most:
            link.full.append((time, following))
    begun = min((float(w[0]) for w in own + other if w[2] == "RESET"), default=None)
    if begun is not None:
        link.resets.append((begun, min(float(w[0]) for w in own + other if w[2] == "RESET_ACK")))
    return link


@dataclass
class Segment:
    """A TCP packet at the data sender."""

    time: float
    out: bool
    seq: int
    size: int
    ack: int
    window: int
    ip_id: int


def segments(path: Path, client: bytes) -> list[Segment]:
    """The packets of the capture, numbers from the first seen; `client` is the data sender's address."""
    found: list[Segment] = []
    base: dict[bool, int] = {}
    scale: dict[bool, int] = {}
    with path.open("rb") as file:
        for time, octets in dpkt.pcap.Reader(file):
            ip = dpkt.ip.IP(octets)
            if not isinstance(ip.data, dpkt.tcp.TCP):
                continue
            tcp, out = ip.data, ip.src == client
            if tcp.flags & dpkt.tcp.TH_SYN:
                base[out] = tcp.seq
                for option, value in dpkt.tcp.parse_opts(tcp.opts):
                    if option == dpkt.tcp.TCP_OPT_WSCALE:
                        scale[out] = value[0]
            seq = (tcp.seq - base.get(out, tcp.seq)) & 0xFFFFFFFF
            ack = (tcp.ack - base.get(not out, tcp.ack)) & 0xFFFFFFFF
            shift = 0 if tcp.flags & dpkt.tcp.TH_SYN else scale.get(out, 0)
            size = ip.len - ip.hl * 4 - tcp.off * 4
            found.append(Segment(float(time), out, seq, size, ack, tcp.win << shift, ip.id))
    return found


def shares(folder: Path) -> dict[str, float]:
    """The share of every cause of the accounting in a folder's session."""
    truth = json.loads((folder / "truth.json").read_text())
    zero = truth["wall_clock_at_zero"]
    of_rlp = folder.name.startswith("rlp")
    if of_rlp:
        link = rlp(lines(folder / "rlpdump.mobile.txt"), lines(folder / "rlpdump.network.txt"))
        octet_s = RLP_FRAME_S / RLP_OCTETS
    else:
        together = truth["spec"].get("dl_pdus", 4)
        link = rlc(lines(folder / "rlcdump.network.txt.gz"), lines(folder / "rlcdump.mobile.txt.gz"), together)
        octet_s = RLC_TTI_S / together / RLC_OCTETS
    side = "mobile" if of_rlp else "network"
    packets = [row for row in csv.DictReader((folder / "packets.csv").read_text().splitlines()) if row["from"] == side]
    seen = segments(folder / "snd.pcap", bytes([10, 9, 0, 1]))
    start, end = session(seen)
    again = resent(packets, seen, 24 if of_rlp else 38) * octet_s
    carried = packet_octets(folder.name, packets, link) * octet_s
    cause_of = idle(folder, seen)
    spent = dict.fromkeys(
        ("flow_controlled", "link_reset", "link_control", "idle_recovery", "idle_window_limited", "idle_sender"), 0.0
    )
    frames = [frame for frame in link.frames if start <= frame.start < end]
    first = sum(frame.end - frame.start for frame in frames if frame.data and not frame.repeat)
    repeats = sum(frame.end - frame.start for frame in frames if frame.repeat)
    starts = [frame.start for frame in link.frames]
    waits = waiting(packets, zero, link.resets)
    steps = int((end - start) / STEP_S)
    for step in range(steps):
        time = start + (step + 0.5) * STEP_S
        name = instant(time, link, starts, waits, cause_of)
        if name:
            spent[name] += STEP_S
    total = end - start
    spent |= {
        "link_retransmitted": repeats,
        "link_overhead": first - carried,
        "tcp_retransmitted": again,
        "new_data": carried - again,
    }
    return {name: value / total for name, value in spent.items()}


def session(seen: list[Segment]) -> tuple[float, float]:
    """First packet to the last acknowledgement of new data."""
    top = max(one.seq + one.size for one in seen if one.out and one.size)
    reached, end = 0, seen[-1].time
    for one in seen:
        if not one.out and reached < top and one.ack > reached:
            reached, end = one.ack, one.time
    return seen[0].time, end


def resent(packets: list[dict[str, str]], seen: list[Segment], in_frame: int) -> int:
    """Payload octets that an earlier packet had carried whole, in the order in which packets went on the air."""
    by_id = {one.ip_id: one for one in seen if one.out}
    carried: set[int] = set()
    again = 0
    on_air = sorted((row for row in packets if row["first_frame_s"]), key=lambda row: float(row["first_frame_s"]))
    for row in on_air:
        one = by_id.get(int(row["ip_id"]))
        if one is None or not one.size:
            continue
        octets = range(one.seq, one.seq + one.size)
        again += sum(octet in carried for octet in octets)
        if (int(row["frames_sent"]) - int(row["frame_retransmissions"])) * in_frame >= one.size:
            carried.update(octets)
    return again


def packet_octets(name: str, packets: list[dict[str, str]], link: Link) -> int:
    """Octets of packets in first transmissions."""
    if not name.startswith("rlp"):
        return sum(int(row["bytes"]) for row in packets if row["first_frame_s"])
    total = 0
    for frame in bytes(link.characters).split(b"\x7e"):
        plain, escaped = bytearray(), False
        for octet in frame:
            if octet == 0x7D:
                escaped = True
                continue
            plain.append(octet ^ 0x20 if escaped else octet)
            escaped = False
        if len(plain) > 6:
            total += len(plain) - 4 - 2
    return total


def waiting(packets: list[dict[str, str]], zero: float, resets: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """When each packet waited to be sent: until its last frame, or until a reset flushed it."""
    spans = []
    for row in packets:
        offered = zero + float(row["offered_s"])
        flushed = [begin for begin, _ in resets if begin > offered]
        if row["fate"] == "flushed" and flushed:
            spans.append((offered, flushed[0]))
        elif row["last_frame_s"]:
            spans.append((offered, zero + float(row["last_frame_s"])))
    return spans


def instant(
    time: float, link: Link, starts: list[float], waits: list[tuple[float, float]], cause_of: object
) -> str | None:
    """The cause of one instant; None where a frame with user data is on the air."""
    if any(begin <= time < end for begin, end in link.resets):
        return "link_reset"
    place = bisect_right(starts, time) - 1
    frame = link.frames[place] if place >= 0 else None
    # Timers jitter: a gap of less than two milliseconds before the next frame is none.
    following = starts[place + 1] if place + 1 < len(starts) else float("inf")
    on_air = frame is not None and (time < frame.end or following - frame.end < JITTER_S)
    if on_air and frame is not None and frame.data:
        return None
    if any(begin <= time < end for begin, end in link.stops):
        return "flow_controlled"
    waits_now = any(begin <= time < end for begin, end in waits)
    if waits_now and any(begin <= time < end for begin, end in link.full):
        return "flow_controlled"
    if on_air and waits_now:
        return "link_control"
    return cause_of(time)  # type: ignore[operator,no-any-return]


def idle(folder: Path, seen: list[Segment]) -> object:
    """A function that tells why TCP left the link idle at a time."""
    times = [one.time for one in seen]
    open_, windows = [], []
    top = acked = window = 0
    for one in seen:
        if one.out and one.size:
            top = max(top, one.seq + one.size)
        elif not one.out:
            acked, window = max(acked, one.ack), one.window
        open_.append(max(top - max(acked, 1), 0) if top else 0)
        windows.append(window)
    mss = max(one.size for one in seen if one.out)
    spans = recoveries(folder, seen)
    logged, cwnds = probes(folder)

    def cause(time: float) -> str:
        if any(begin <= time < end for begin, end in spans):
            return "idle_recovery"
        place = bisect_right(times, time) - 1
        if place < 0 or not open_[place]:
            return "idle_sender"
        # The tracepoint shows the window before the segment: the next record has the one in force.
        cwnd = cwnds[min(bisect_left(logged, times[place] + 0.0005), len(cwnds) - 1)] * mss
        return "idle_window_limited" if open_[place] + mss > min(cwnd, windows[place]) else "idle_sender"

    return cause


def probes(folder: Path) -> tuple[list[float], list[int]]:
    """(Time, cwnd) at every record of the sender's socket, on the capture's clock."""
    truth = json.loads((folder / "truth.json").read_text())
    shift = truth["wall_clock_at_zero"] - truth["monotonic_at_zero"]
    found = []
    with gzip.open(folder / "tcp_probe.txt.gz", "rt") as file:
        for line in file:
            if "tcp_probe:" in line and "src=10.9.0.1:" in line:
                stamp = float(line.split(": ")[0].split()[-1])
                found.append((stamp + shift, int(line.split("snd_cwnd=")[1].split()[0])))
    found.sort()
    return [time for time, _ in found], [cwnd for _, cwnd in found]


def recoveries(folder: Path, seen: list[Segment]) -> list[tuple[float, float]]:
    """From the wait for a timer, or the loss found, until all sent before is acknowledged."""
    spans = []
    for row in csv.DictReader((folder / "retransmissions.csv").read_text().splitlines()):
        when = int(row["time_ns"]) / 1e9
        before = [one for one in seen if one.time < when - 0.0005]
        top = max(one.seq + one.size for one in before if one.out)
        end = next((one.time for one in seen if not one.out and one.ack >= top and one.time > when), seen[-1].time)
        spans.append((before[-1].time if row["trigger"] in ("timeout", "probe") else when, end))
    return spans

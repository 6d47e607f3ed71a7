"""When the receiver of the link had each carried packet complete, by the receiver's log, and whether it gave it on."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitracer.link.frames import ACTIVE_TYPES
from multitracer.link.packets import CarriedPacket
from multitracer.link.silence import silent_from
from multitracer.model.schema import MARKS
from multitracer.wire.rlc_umts import SPEC

if TYPE_CHECKING:
    import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]

NEVER, SPOILT, MISSING = -1, -2, -3
"""Instead of a time: never complete in the receiver's log, complete but decompressed wrongly, or given up before one
of its frames had come, and so certainly never complete."""
ALWAYS_IN_SEQUENCE = ("rlp",)
"""Protocols that deliver in the order of sending however they are set up (24.022 4)."""
_BEFORE, _AFTER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Before and after all times."""


def taken(frames: pd.DataFrame, received: Ints, reverse: int) -> Ints:
    """Of the rows that a log received, those that its entity did not ignore; it sends on the link `reverse`.

    From its RESET until the RESET ACK comes an entity ignores all but resets (25.322 11.4.2). When it sends anything
    else again the reset is over, whether or not its log has the answer.
    """
    sends = frames["sent"].to_numpy() & (frames["link"] == reverse).to_numpy()
    asked = sends & (frames["type"] == "RESET").to_numpy()
    if not asked.any():
        return received
    kind, time_ns = frames["type"].astype(str).to_numpy(), frames["time_ns"].to_numpy()
    own = np.isin(frames["input"].to_numpy(), frames["input"].to_numpy()[received])
    answered = received[kind[received] == "RESET_ACK"]
    goes_on = np.flatnonzero(own & sends & np.isin(kind, ACTIVE_TYPES))
    began = np.append(_BEFORE, np.sort(time_ns[own & asked]))
    over = np.append(np.sort(time_ns[np.concatenate([answered, goes_on])]), _AFTER)
    latest = began[np.searchsorted(began, time_ns[received]) - 1]  # the last RESET before it
    return received[(latest == _BEFORE) | (time_ns[received] >= over[np.searchsorted(over, latest)])]


def ignored(
    packets: Sequence[CarriedPacket], whole_ns: Ints, captured: npt.NDArray[np.int8], frames: pd.DataFrame, reverse: int
) -> npt.NDArray[np.bool_]:
    """Which packets came whole to an RLC entity that ignored them, before its RESET was on the air.

    It ignores all but resets from when it hands the RESET down (25.322 11.4.2), which may then wait behind other
    frames. Until then its device is not silent, a capture behind the link has nothing that came, but what came before
    and after, and no STATUS acknowledges it. `captured` says of each packet whether such a capture has it: 1, 0, -1
    unknown; the entity sends on the link `reverse`.
    """
    sent, resets, reports = _sent(frames, reverse)
    if not len(resets) or not len(packets):
        return np.zeros(len(packets), dtype=np.bool_)
    time_ns = frames["time_ns"].to_numpy()
    until_ns = np.append(time_ns[resets], _AFTER)[np.searchsorted(time_ns[resets], whole_ns)]
    given = np.sort(whole_ns[captured == 1])
    before, after = np.searchsorted(given, whole_ns), np.searchsorted(given, until_ns)
    behind = (captured == 0) & (before == after) & (before > 0) & (after < len(given))
    found = np.flatnonzero(behind & (whole_ns >= 0) & _busy(time_ns[sent], whole_ns, until_ns))
    acked = _acknowledged([packets[number] for number in found.tolist()], frames, reports, until_ns[found])
    return np.isin(np.arange(len(packets)), found[~acked])


def _sent(frames: pd.DataFrame, link: int) -> tuple[Ints, Ints, Ints]:
    """Rows of what the sender of a link sent, by time: all, its RESETs, and its reports of what had come."""
    rows = np.flatnonzero((frames["sent"] & (frames["link"] == link)).to_numpy())
    rows = rows[np.argsort(frames["time_ns"].to_numpy()[rows], kind="stable")]
    asked = (frames["type"] == "RESET").to_numpy()[rows]
    return rows, rows[asked], rows[(frames["nr"].to_numpy() >= 0)[rows] & ~asked]


def _busy(sent_ns: Ints, since_ns: Ints, until_ns: Ints) -> npt.NDArray[np.bool_]:
    """Between which times a device was never silent, from the frame before on: what waits in it follows at once."""
    before = np.append(sent_ns, _AFTER)[np.searchsorted(sent_ns, since_ns, side="right") - 1]
    silent = silent_from(sent_ns)
    return (before <= since_ns) & (np.searchsorted(silent, before) == np.searchsorted(silent, until_ns))


def _acknowledged(
    packets: Sequence[CarriedPacket], frames: pd.DataFrame, reports: Ints, before_ns: Ints
) -> npt.NDArray[np.bool_]:
    """Whether the latest report before a time acknowledges the last frame of each packet, in the same epoch."""
    sn, nr, epoch = (frames[name].to_numpy() for name in ("sn", "nr", "epoch"))
    latest = np.append(reports, -1)[np.searchsorted(frames["time_ns"].to_numpy()[reports], before_ns) - 1]
    last = np.array([packet.first_transmissions[-1] for packet in packets], dtype=np.int64)
    passed = (nr[latest].astype(np.int64) - sn[last] - 1) % SPEC.am_modulus < SPEC.am_modulus // 2
    return passed & (latest >= 0) & (epoch[latest] == epoch[last])


def delivered(
    packets: Sequence[CarriedPacket],
    far: Sequence[CarriedPacket],
    frames: pd.DataFrame,
    protocol: str,
    *,
    is_exact: bool = False,
    moves: Ints | None = None,
) -> list[int]:
    """The time in ns at which the last missing frame of each packet arrived, or NEVER, or SPOILT.

    `far` are the packets reassembled from the receiver's log of the same link; with `is_exact` from only those frames
    that its entity delivered, so that each of them was. Else one that arrived behind a gap, and that a reset discarded
    before it could be delivered in sequence, is not; RLP always delivers in sequence, RLC may. What one of the `moves`,
    rows of MRWs that came, gives up is no gap.
    """
    time_ns, sn = frames["time_ns"].to_numpy(), frames["sn"].to_numpy()
    waiting: dict[tuple[frozenset[int], bytes], list[CarriedPacket]] = {}
    for packet in reversed(far):
        if packet.complete and not packet.garbled:
            waiting.setdefault(_identity(packet, sn), []).append(packet)
    spoilt, whole = _spoilt(packets, far, time_ns, sn), []
    payload = any(packet.octets for packet in packets)  # then one without has headers that cannot be rebuilt
    for number, packet in enumerate(packets):
        same = waiting.get(_identity(packet, sn)) if payload and not packet.garbled else None
        if same:
            whole.append(int(time_ns[same.pop().first_transmissions].max()))
        else:
            whole.append(SPOILT if number in spoilt else NEVER)
    gaps = (np.array(whole, dtype=np.int64) == NEVER) & (not is_exact)
    if moves is not None and gaps.any():
        gaps &= ~_given_up(packets, frames, moves)
    return _in_sequence(packets, whole, gaps.tolist(), always=protocol in ALWAYS_IN_SEQUENCE)


def _given_up(packets: Sequence[CarriedPacket], frames: pd.DataFrame, moves: Ints) -> Any:
    """Which packets are given up by one of these MRWs: it names the last one, by the PDU that it ends in (25.322 11.6).

    Of several that end there it is the N_LENGTH-th; with none of them, the last that ends before.
    """
    time_ns, sn, lis = (frames[name].to_numpy() for name in ("time_ns", "sn", "lis"))
    told = sn[moves].astype(np.int64)
    counts = np.array([int(own[0]) if own else 0 for own in lis[moves]], dtype=np.int64)
    over = _epochs_over(packets, time_ns)
    found, ends = np.zeros(len(packets), dtype=np.bool_), dict[int, int]()
    for number, packet in enumerate(packets):
        last = int(packet.first_transmissions[-1])
        ends[last] = ends.get(last, 0) + 1
        ahead = (told - int(sn[last])) % SPEC.am_modulus
        named = np.where(ahead == 0, counts >= ends[last], ahead < SPEC.am_modulus // 2)
        then = (time_ns[moves] >= time_ns[packet.rows[0]]) & (time_ns[moves] < over[packet.epoch])
        found[number] = (named & then & (told >= 0)).any()
    return found


def _epochs_over(packets: Sequence[CarriedPacket], time_ns: Ints) -> dict[int, int]:
    """When the first packet of the next epoch was sent, for each epoch."""
    begins: dict[int, int] = {}
    for packet in packets:
        begins.setdefault(packet.epoch, int(time_ns[packet.rows[0]]))
    return dict(zip(begins, [*list(begins.values())[1:], _AFTER], strict=True))


def perhaps_out_of_sequence(rows: Ints, whole_ns: Ints, given_ns: Ints, segments: pd.DataFrame) -> Any:
    """Which rows are of an end to which a link may have given data out of sequence.

    Each segment was whole in the link at `whole_ns`, and given on at `given_ns` if the link keeps the order. Data that
    comes above a hole is acknowledged at once (RFC 5681 4.2): a duplicate acknowledgement from below data that was
    whole, but not yet to be given, shows that the link keeps no order. One from below a packet that the link lost shows
    nothing, nor does one for each needless resend; where there are such, the order is taken as kept only if some
    segment had to wait and no duplicate was heard from when it was whole until it was acknowledged.
    """
    connection, sender, time, seq, size, ack = (
        segments[name].to_numpy() for name in ("connection", "sender", "time_ns", "seq", "payload_bytes", "ack")
    )
    end = 2 * connection[rows].astype(np.int64) + sender[rows]
    answers = np.flatnonzero(ack >= 0)
    answered = 2 * connection[answers].astype(np.int64) + (1 - sender[answers])
    duplicate = (segments["marks"].to_numpy() & MARKS["duplicate_ack"]) > 0
    perhaps = []
    for number in np.intersect1d(end[whole_ns < given_ns], answered).tolist():
        # What has no data is not acknowledged.
        mine, heard = (end == number) & (size[rows] > 0), answers[answered == number]
        twice = heard[duplicate[heard]]
        waited = mine & (whole_ns < given_ns)
        above = ack[twice] <= _highest(seq[rows[waited]], whole_ns[waited], time[twice])
        if not above.any():
            continue
        order = np.lexsort((rows[mine], given_ns[mine]))
        came, given = rows[mine][order], given_ns[mine][order]
        explained = _explained(seq[came], size[came], given, ack[twice], time[twice])
        highest = np.maximum.accumulate(ack[heard])
        known = np.append(time[heard], _AFTER)[np.searchsorted(highest, seq[rows[waited]], side="right")]
        silent = np.searchsorted(time[twice], whole_ns[waited]) == np.searchsorted(time[twice], known)
        if (above & ~explained).any() or not (silent & (known < _AFTER)).any():
            perhaps.append(number)
    return np.isin(end, perhaps)


def _highest(number: Ints, since_ns: Ints, at_ns: Ints) -> Ints:
    """The highest number there until each time, or -1."""
    order = np.argsort(since_ns, kind="stable")
    highest = np.append(-1, np.maximum.accumulate(number[order]))
    return highest[np.searchsorted(since_ns[order], at_ns)]


def _explained(seq: Ints, size: Ints, given_ns: Ints, ack: Ints, heard_ns: Ints) -> Any:
    """Which duplicate acknowledgements answer data that was given in order; its rows are in the order of giving.

    From below data that is given later or never; or one for each needless copy, with the number that was due then.
    """
    if not len(seq):
        return np.zeros(len(ack), dtype=np.bool_)
    order = np.argsort(seq, kind="stable")
    begin, first = np.unique(seq[order], return_index=True)
    given, end = given_ns[order][first], np.maximum.reduceat((seq + size)[order], first)
    place = np.searchsorted(begin, ack, side="right")
    above = np.append(np.minimum.accumulate(given[::-1])[::-1], _AFTER)[place]
    covered = np.append(-1, np.maximum.accumulate(end))[place] > ack
    filled = np.where(covered, np.where(end[place - 1] > ack, given[place - 1], _BEFORE), _AFTER)
    explained = (above < filled) & (heard_ns >= above)
    copy = np.ones(len(seq), dtype=np.bool_)
    copy[order[first]] = False
    copied_ns = given_ns[copy]
    due = np.append(-1, np.maximum.accumulate(seq + size)[:-1])[copy]
    for number in np.intersect1d(due, ack[~explained]).tolist():
        left = np.flatnonzero(~explained & (ack == number))
        explained[left] = np.searchsorted(copied_ns[due == number], heard_ns[left]) > np.arange(len(left))
    return explained


def acknowledged(packets: Sequence[CarriedPacket], frames: pd.DataFrame) -> list[int]:
    """The time in ns of the frame of each packet whose acknowledgement a Wi-Fi monitor heard, or NEVER.

    A receiver delivers in the order of the numbers (802.11-2020 10.25.6), so not before those that came earlier.
    """
    time_ns, acked = frames["time_ns"].to_numpy(), frames["acked"].to_numpy()
    times, latest = [], NEVER
    for packet in packets:
        came = packet.rows[acked[packet.rows] == 1]
        latest = max(latest, int(time_ns[came].max())) if len(came) else latest
        times.append(latest if len(came) else NEVER)
    return times


def _spoilt(packets: Sequence[CarriedPacket], far: Sequence[CarriedPacket], time_ns: Ints, sn: Ints) -> set[int]:
    """Which of the packets came garbled: of those with the same numbers, which come round, the last sent before."""
    garbled = [packet for packet in far if packet.complete and packet.garbled]
    sent: dict[frozenset[int], list[tuple[int, int]]] = {}
    for number, packet in enumerate(packets if garbled else ()):
        sent.setdefault(_numbers(packet, sn), []).append((int(time_ns[packet.rows[0]]), number))
    found: set[int] = set()
    for packet in garbled:
        same = sent.get(_numbers(packet, sn), [])
        before = bisect.bisect_right(same, int(time_ns[packet.rows].max()), key=lambda one: one[0])
        found.update(number for _, number in same[:before][-1:])
    return found


def _identity(packet: CarriedPacket, sn: Ints) -> tuple[frozenset[int], bytes]:
    """The numbers of its frames, and its octets: a TCP retransmission has the same octets in other frames."""
    return _numbers(packet, sn), packet.octets


def _numbers(packet: CarriedPacket, sn: Ints) -> frozenset[int]:
    return frozenset(sn[packet.rows].tolist())


def _in_sequence(packets: Sequence[CarriedPacket], whole: list[int], gaps: list[bool], *, always: bool) -> list[int]:
    """Delivery times after in-sequence delivery.

    Unless it is certain (`always`), only packets after one of the `gaps` that a reset may have discarded become NEVER.
    """
    last_epoch = max((packet.epoch for packet in packets), default=0)
    epoch, latest, gap = -1, NEVER, False
    times = []
    for packet, time, is_gap in zip(packets, whole, gaps, strict=True):
        if packet.epoch != epoch:
            epoch, latest, gap = packet.epoch, NEVER, False
        gap = gap or is_gap
        latest = max(latest, time)
        if time == NEVER or (gap and (always or epoch != last_epoch)):
            times.append(NEVER)
        elif time == SPOILT:
            times.append(SPOILT)
        else:
            times.append(latest if always else time)
    return times

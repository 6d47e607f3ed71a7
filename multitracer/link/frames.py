"""Unwrapped sequence numbers of frames, which frames were retransmissions, and the resets before each.

Sequence numbers count modulo the size of their field. In the sender's log a number is a retransmission
unless it is the next new one; in the receiver's log it is taken for the one nearest to the expected one,
but for RLP, which has too few numbers for that: see `received_numbers`. For resets see `resets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.compute.arrays import with_columns
from multitracer.compute.kernels import inlined, kernel
from multitracer.link.number_state import (
    ACTIVE,
    AGAIN,
    ASKS,
    DATA,
    DONE,
    EPOCH,
    FIRST,
    GOES_BACK,
    NEXT,
    NOTHING,
    OPEN,
    OTHER,
    RELEASE,
    RESET,
    STARTED,
    STATES,
    TELLS_EXPECTED,
    WAS_ACTIVE,
    FrameColumns,
    LinkNumbers,
    LogState,
    LoneResets,
    Numbered,
)
from multitracer.link.received_numbers import (
    NEVER_ASKED,
    checksums,
    expect_from,
    hear_report,
    note_number,
    opportunities,
    pass_opportunities,
    unwrap_received,
)
from multitracer.link.resets import count_reset, follow_reset, restart_numbers
from multitracer.model.schema import FRAME_TYPES
from multitracer.wire import ieee80211, rlp
from multitracer.wire.rlc_nr import SI_FIRST

if TYPE_CHECKING:
    import pandas as pd

MODULI = {
    "rlp": (rlp.MODULUS,),
    "rlc-umts": (4096,),  # 25.322 9.2.2.3
    "rlc-lte": (1024, 65536),  # 36.322 6.2.3.3
    "rlc-nr": (4096, 262144),  # 38.322 6.2.3.3
    "wifi": (ieee80211.MODULUS,),
}
LARGEST_NUMBER = max(max(sizes) for sizes in MODULI.values()) - 1
DATA_TYPES = ("I RR", "I RNR", "I REJ", "I SREJ", "AMD", "DATA")
RESET_TYPES = ("SABM", "RESET")
RESET_DONE_TYPES = ("UA", "RESET_ACK")
RELEASE_TYPES = ("DISC", "DM")
ACTIVE_TYPES = (*DATA_TYPES, "RR", "RNR", "REJ", "SREJ", "STATUS")
"""Frames that an end sends only while the link is connected and not being reset."""
ASKING_TYPES = ("SREJ", "I SREJ")
"""Frames whose N(R) is a number asked for, not the next expected (24.022 5.2.2)."""
REJECTING_TYPES = ("REJ", "I REJ")

SAME_RESET_NS = 80_000_000
"""An EVENT record this close to a frame of the same reset is not counted again: the longest TTI (25.302 7.1)."""

_WHOLE = np.int64(1) << 40


def number_frames(frames: pd.DataFrame, links: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """`frames` with `sn_unwrapped`, `epoch` and `transmission` filled in, log by log.

    `transmission` is how often the frame's octets had been sent before, by the sender's log; in the
    receiver's log it stays null, because frames lost on the way are not in it. A retransmission of a
    frame sent before the log began stays without one, and without a number where it would be negative.
    """
    if not len(frames):
        return frames
    columns, numbers = _frame_columns(frames, links), _link_numbers(frames, links)
    made = Numbered(*(np.full(len(frames), -1, dtype=dtype) for dtype in (np.int64, np.int32, np.int16)))
    alone = events[lone_resets(frames, events, links)].sort_values("record", kind="stable")
    log_of = frames["input"].to_numpy()
    for log in np.unique(log_of):
        rows = np.flatnonzero(log_of == log)
        rows = rows[np.argsort(columns.record[rows], kind="stable")]
        here = alone[alone["input"] == log]
        resets = LoneResets(here["record"].to_numpy(), here["link"].to_numpy().astype(np.int64))
        number_rows(rows, columns, resets, numbers, _initial_state(numbers), made)
    return with_columns(frames, **made._asdict() | {"transmission": by_retry_bit(made.transmission, frames)})


def by_retry_bit(transmission: Any, frames: pd.DataFrame) -> Any:
    """`transmission` with what the retry bit of a Wi-Fi frame says: earlier transmissions may not have been heard."""
    retry = frames["retry"].to_numpy()
    return np.where(retry == 1, np.maximum(transmission, 1), np.where(retry == 0, 0, transmission)).astype(np.int16)


def _frame_columns(frames: pd.DataFrame, links: pd.DataFrame) -> FrameColumns:
    record, link, sent, sn, so, payload = (
        frames[name].to_numpy() for name in ("record", "link", "sent", "sn", "so", "payload_bytes")
    )
    code, link = frame_classes(frames), link.astype(np.int64)
    received = (links["protocol"] == "rlp").to_numpy()[link] & ~sent
    whole = received & (frames["type"] != "BAD").to_numpy()
    of_nr = (links["protocol"] == "rlc-nr").to_numpy()[link]
    begins = of_nr & (frames["framing"].to_numpy() == SI_FIRST)  # without an SO, which is 0: 38.322 6.2.2.4
    return FrameColumns(
        code, record, link, sent, sn, np.where(begins, 0, so), payload.astype(np.int64), _reports(frames),
        frames["nr"].to_numpy(), checksums(frames, whole), whole, opportunities(frames, received),
    )  # fmt: skip


def _reports(frames: pd.DataFrame) -> Any:
    """What each frame's N(R) is. A response with F=1 answers a poll, after which the sender goes back to N(R)."""
    asks, rejects = (frames["type"].isin(types).to_numpy() for types in (ASKING_TYPES, REJECTING_TYPES))
    final = (frames["poll"] == 1).to_numpy() & (frames["command"] == 0).to_numpy()
    kinds = [frames["nr"].to_numpy() < 0, asks, rejects | final]
    return np.select(kinds, [NOTHING, ASKS, GOES_BACK], TELLS_EXPECTED)


def _link_numbers(frames: pd.DataFrame, links: pd.DataFrame) -> LinkNumbers:
    modulus = np.array([modulus_of(frames, links, int(link)) for link in links["link"]], dtype=np.int64)
    own, other = links["link"].to_numpy().astype(np.int64), links["reverse"].to_numpy().astype(np.int64)
    return LinkNumbers(modulus, (links["protocol"] == "rlp").to_numpy(), np.where(other < 0, own, other))


def _initial_state(numbers: LinkNumbers) -> LogState:
    """The state before a log's first frame."""
    links = np.zeros((len(numbers.modulus), STATES), dtype=np.int64)
    # In RLP a SABM also sets the link up; an RLC entity exists before its first frame.
    links[:, WAS_ACTIVE] = ~numbers.narrow
    shape = 2 * len(links), int(numbers.modulus.max())
    seen, octets = (np.full(shape, -1, dtype=np.int64) for _ in range(2))
    top, times = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    asked = np.full((len(links), rlp.MODULUS), NEVER_ASKED, dtype=np.int64)
    return LogState(links, seen, octets, top, times, asked)


def frame_classes(frames: pd.DataFrame) -> Any:
    """The class of each frame for numbering (DATA, RESET, ...), an int array of shape (frames,)."""
    meaning = dict.fromkeys(ACTIVE_TYPES, ACTIVE) | dict.fromkeys(DATA_TYPES, DATA)
    meaning |= dict.fromkeys(RESET_TYPES, RESET) | dict.fromkeys(RESET_DONE_TYPES, DONE)
    meaning |= dict.fromkeys(RELEASE_TYPES, RELEASE)
    return np.array([meaning.get(kind, OTHER) for kind in FRAME_TYPES])[frames["type"].cat.codes.to_numpy()]


def lone_resets(frames: pd.DataFrame, events: pd.DataFrame, links: pd.DataFrame) -> Any:
    """A mask over `events`: resets without a reset frame of the same bearer near them in the same log."""
    alone = np.array((events["event"] == "reset") & (events["link"] >= 0), dtype=np.bool_)
    resets = frames[frames["type"].isin((*RESET_TYPES, *RESET_DONE_TYPES))]
    bearer = np.maximum(links["link"].to_numpy(), links["reverse"].to_numpy())
    reset_at, reset_log = resets["time_ns"].to_numpy(), resets["input"].to_numpy()
    reset_bearer = bearer[resets["link"].to_numpy()]
    at, log, of = (events[name].to_numpy() for name in ("time_ns", "input", "link"))
    for place in np.flatnonzero(alone):
        same = (reset_log == log[place]) & (reset_bearer == bearer[of[place]])
        alone[place] = not (same & (np.abs(reset_at - at[place]) <= SAME_RESET_NS)).any()
    return alone


def modulus_of(frames: pd.DataFrame, links: pd.DataFrame, link: int) -> int:
    """The modulus of a link's sequence numbers: the protocol's smallest field that holds all numbers seen."""
    own = frames["link"].to_numpy() == link
    largest = int(frames["sn"].to_numpy()[own].max(initial=0))
    moduli = MODULI[str(links["protocol"].iloc[link])]
    return next((modulus for modulus in moduli if largest < modulus), moduli[-1])


@kernel
def nearest(expected: int, sn: int, size: int) -> int:
    """`sn` unwrapped modulo `size` to the value nearest to `expected`."""
    ahead = (sn - expected) % size
    return expected + (ahead - size if ahead >= size // 2 else ahead)


@kernel
def unwrap_sent(sn: int, size: int, state: Any, seen: Any) -> int:
    """`sn` of the sender's log of an RLP link unwrapped: the next new number, or one sent before."""
    following = state[NEXT]
    value = following + (sn - following) % size
    if value != following and seen[sn] >= 0:
        # 24.022 5.2.1: at most 61 of 62 numbers are open, so the next new one cannot be a repeat.
        return value - size
    if value > following + size // 2 and value - size < state[FIRST]:
        # Numbers are not skipped at a log's start: the frame is from before the log's first.
        return value - size
    return value


@kernel
def number_rows(
    rows: Any, frames: FrameColumns, resets: LoneResets, numbers: LinkNumbers, log: LogState, made: Numbered
) -> None:
    """Number the frames `rows` of one log, in order of record."""
    state, seen, reverse = log.links, log.seen, numbers.reverse
    event = 0
    for row in rows:
        while event < len(resets.record) and resets.record[event] < frames.record[row]:
            end = resets.link[event]
            bearer = min(end, reverse[end])
            count_reset(end, reverse[end], state)
            restart_numbers(end, bearer, state, seen)
            restart_numbers(reverse[end], bearer, state, seen)
            event += 1
        own = frames.link[row]
        if own < 0:
            continue
        follow_reset(frames.code[row], own, reverse[own], numbers.narrow[own], state, seen)
        made.epoch[row] = state[own, EPOCH] + state[own, AGAIN]
        if frames.whole[row]:
            pass_opportunities(frames.opportunity[row], state[own])
        if numbers.narrow[own] and frames.sent[row] and frames.report[row] != NOTHING:
            far = reverse[own]
            if far != own and state[own, EPOCH] == state[far, EPOCH]:
                hear_report(frames.report[row], frames.nr[row], numbers.modulus[far], state[far], log.asked[far])
        # A number too large for its field is a damaged record: it would be outside `seen`.
        if frames.code[row] == DATA and 0 <= frames.sn[row] < numbers.modulus[own]:
            number_frame(row, own, frames, numbers, log, made)


@kernel
def start_numbers(sn: int, state: Any) -> None:
    """The first frame of user data: a log may begin in the middle of a session; after a reset numbers begin at 0."""
    state[STARTED] = 1
    if state[EPOCH] + state[AGAIN] == 0:
        state[FIRST] = sn
        expect_from(sn, state)
    else:
        state[FIRST] = 0
    state[NEXT] = state[FIRST]


@inlined
def number_frame(row: int, own: int, frames: FrameColumns, numbers: LinkNumbers, log: LogState, made: Numbered) -> None:
    """Number a frame of user data of link `own`."""
    state, seen, sn, sent = log.links[own], log.seen, frames.sn[row], frames.sent[row]
    size, narrow, place = numbers.modulus[own], numbers.narrow[own], 2 * own + (1 if sent else 0)
    if state[STARTED] == 0:
        start_numbers(sn, state)
        log.asked[own] = NEVER_ASKED
    if not narrow:
        value = nearest(state[NEXT], sn, size)
    elif sent:
        value = unwrap_sent(sn, size, state, seen[place])
    elif log.links[numbers.reverse[own], OPEN] == 1:
        return  # this end asked for a reset and drops all until it is answered: its peer may have counted anew or not
    else:
        value = unwrap_received(sn, size, frames.octets[row], state, seen[place], log.octets[place], log.asked[own])
        note_number(value, state)
    if value < 0:
        return
    made.sn_unwrapped[row] = value
    state[NEXT] = max(state[NEXT], value + 1)
    if seen[place, sn] != value:
        seen[place, sn] = value
        log.octets[place, sn] = frames.octets[row]
        log.top[place, sn] = 0
        log.times[place, sn] = 0
    count_transmission(row, place, value >= state[FIRST], frames, log, made)


@inlined
def count_transmission(row: int, place: int, known: bool, frames: FrameColumns, log: LogState, made: Numbered) -> None:
    """Note how often a frame's octets had been sent before; `known`: its first transmission is in the log."""
    sn, so, payload = frames.sn[row], frames.so[row], frames.payload_bytes[row]
    first = max(so, np.int64(0))
    if frames.sent[row]:
        if first < log.top[place, sn]:
            log.times[place, sn] += 1
            made.transmission[row] = min(log.times[place, sn], np.int64(32767))
        elif known:
            made.transmission[row] = 0
    end = first + payload if so >= 0 and payload >= 0 else _WHOLE
    log.top[place, sn] = max(log.top[place, sn], end)

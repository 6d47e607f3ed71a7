"""What an RLC entity may have given up by itself before a reset flushed the rest (25.322 9.7.3, 11.6).

An MRW names the last SDU that was given up; while it is unanswered, more are given up in silence. What is given up is
always the oldest there is: the MRW moves the window past it. An entity that gives up what it sent MaxDAT times has
given up nothing behind the last PDU that it sent so often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.wire.rlc_umts import SPEC

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.findings.observations import Observations

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

_EPOCH = np.int64(1) << 40
"""Places in a link's stream of PDUs: the number of resets before a PDU, times this, plus its number."""
_NOWHERE = np.int64(1) << 62
"""The place of what was never sent, behind all others."""

NOT, NOT_BY_COUNT, PERHAPS = range(3)
"""Whether a segment was given up: no; no if the entity counts transmissions (MaxDAT), as it seems to; it may have been.
"""
NEVER = np.iinfo(np.int64).max
"""Later than all times."""
LEAST_NAMES = 2
"""So many MRWs that each name a PDU sent as often as any make it seem that MaxDAT gave them up: a timer may, too."""


class Until(NamedTuple):
    """A reset, and the end of the one before; times in ns."""

    since_ns: int
    start_ns: int
    end_ns: int


def given_up_before(observed: Observations, link: int, segments: Ints, until: Until) -> Codes:
    """Whether its sender may have given up these rows of segments, all carried by `link` and lost, before a reset."""
    codes: Codes = np.full(len(segments), NOT, dtype=np.int8)
    table, frames = observed.segment_frames, observed.frames
    if table is None or frames is None:
        return codes
    own = frames[(frames["link"] == link).to_numpy()].sort_values("time_ns", kind="stable")
    told = own[((own["type"] == "MRW") & own["time_ns"].between(until.since_ns, until.end_ns)).to_numpy()]
    if not len(told):
        return codes
    told = told[told["sent"].to_numpy()]
    sent = own[(own["sent"] & (own["transmission"] == 0) & (own["sn_unwrapped"] >= 0)).to_numpy()]
    if not len(told) or not len(sent):
        return np.full_like(codes, PERHAPS)
    mine = table[((table["link"] == link) & (table["segment"] >= 0)).to_numpy()]
    first, last = _places(mine, sent)
    names = _named(own[(own["sent"] & (own["type"] == "MRW")).to_numpy()], sent)
    kept, code = last > _named(told, sent).max(), NOT
    if not _answered(frames, told, int(observed.bearer(link)[1]), until):
        kept, code = kept & (first > _given_up_until(own, names, until.end_ns)), NOT_BY_COUNT
    return np.where(np.isin(segments, mine["segment"].to_numpy()[kept]), code, PERHAPS).astype(np.int8)


def told_of(observed: Observations, link: int, lost: pd.DataFrame) -> Ints:
    """When the last copy was sent, at latest, of the first MRW that gives each of these packets up, NEVER if none does.

    `lost` are rows of `segment_frames`. The receiver answers the copy that it hears; others are then sent no more. An
    MRW without a number may give up whatever was sent before it, or be a copy of one that has a number.
    """
    never: Ints = np.full(len(lost), NEVER, dtype=np.int64)
    if observed.frames is None or not len(lost):
        return never
    own = observed.frames[((observed.frames["link"] == link) & observed.frames["sent"]).to_numpy()]
    own = own.sort_values("time_ns", kind="stable")
    told = own[(own["type"] == "MRW").to_numpy()]
    sent = own[((own["transmission"] == 0) & (own["sn_unwrapped"] >= 0)).to_numpy()]
    if not len(told):
        return never
    has_number = (told["sn"].to_numpy() >= 0) & (len(sent) > 0)  # a number says nothing without those of PDUs
    named = _named_at(told[has_number], sent, lost)
    unnamed_ns = told["time_ns"].to_numpy()[~has_number].max(initial=np.iinfo(np.int64).min)
    latest = np.where(named == NEVER, unnamed_ns, np.maximum(named, unnamed_ns))
    return np.where(unnamed_ns >= lost["first_frame_ns"].to_numpy(), latest, named)


def _named_at(told: pd.DataFrame, sent: pd.DataFrame, lost: pd.DataFrame) -> Ints:
    """When the last copy was sent, at latest, of the first of these MRWs to name each packet; NEVER where none does.

    Which PDUs are a packet's is not known where several were sent at once: an MRW may name only those before it.
    """
    place, which = np.unique(_named(told, sent), return_inverse=True)
    over = np.zeros(len(place), dtype=np.int64)
    np.maximum.at(over, which, told["time_ns"].to_numpy())
    soonest, latest = (np.searchsorted(place, _places(lost, sent, latest=late)[1]) for late in (False, True))
    at = np.where(soonest < len(place), np.minimum(latest, len(place) - 1), len(place))
    when: Ints = np.append(np.maximum.accumulate(over), NEVER)[at]
    return when


def _places(mine: pd.DataFrame, sent: pd.DataFrame, *, latest: bool = False) -> tuple[Ints, Ints]:
    """The place of each packet's first PDU and of its last.

    Of several sent at once it is the earliest that it may be, or the `latest`.
    """
    begin, times = mine["first_frame_ns"].to_numpy(), sent["time_ns"].to_numpy()
    at = np.searchsorted(times, begin)
    if latest:
        at = np.maximum(at, np.searchsorted(times, begin, side="right") - 1)
    place = np.append(_place(sent), _NOWHERE)
    first = np.where(begin >= 0, place[np.minimum(at, len(sent))], _NOWHERE)
    pdus = np.maximum((mine["frames"] - mine["frame_retransmissions"]).to_numpy(), 1)
    return first, first + pdus - 1


def _place(sent: pd.DataFrame) -> Ints:
    places: Ints = sent["epoch"].to_numpy().astype(np.int64) * _EPOCH + sent["sn_unwrapped"].to_numpy()
    return places


def _named(told: pd.DataFrame, sent: pd.DataFrame) -> Ints:
    """The last place at which each MRW gives something up: N_LENGTH 0 names what ends before its PDU."""
    newest = _place(sent)[np.maximum(np.searchsorted(sent["time_ns"].to_numpy(), told["time_ns"].to_numpy()) - 1, 0)]
    number, half = told["sn"].to_numpy().astype(np.int64), SPEC.am_modulus // 2
    ahead = (number - newest % _EPOCH + half) % SPEC.am_modulus - half
    ends = np.array([0 if lis is None or tuple(lis) == (0,) else 1 for lis in told["lis"]], dtype=np.int64)
    return np.where(number >= 0, newest + ahead + ends - 1, _NOWHERE)


def _given_up_until(own: pd.DataFrame, names: Ints, end_ns: int) -> int:
    """The place up to which an entity may have given up by then, by MaxDAT; _NOWHERE if it may have done so by a timer.

    By MaxDAT it does if each MRW of several gives up a PDU that was sent as often as any.
    """
    sends = own["transmission"].to_numpy()
    most = own[(sends == sends.max()) & (own["sn_unwrapped"] >= 0).to_numpy()]
    often, names = np.unique(_place(most)), np.unique(names)
    passed = np.searchsorted(often, names, side="right")
    by_count = len(names) >= LEAST_NAMES and (np.diff(passed, prepend=0) > 0).all()
    if not by_count:
        return int(_NOWHERE)
    return int(_place(most[(most["time_ns"] <= end_ns).to_numpy()]).max(initial=-1))


def _answered(frames: pd.DataFrame, told: pd.DataFrame, reverse: int, until: Until) -> bool:
    """Whether the last MRW to name something new was answered before the reset began."""
    number = int(told["sn"].iat[-1])
    begun = int(told["time_ns"].to_numpy()[told["sn"].to_numpy() == number].min())
    back = frames[((frames["link"] == reverse) & (frames["type"] == "MRW_ACK") & ~frames["sent"]).to_numpy()]
    back = back[(back["time_ns"].between(begun, until.start_ns) & back["input"].isin(told["input"])).to_numpy()]
    passed = (back["sn"].to_numpy().astype(np.int64) - number) % SPEC.am_modulus < SPEC.am_modulus // 2
    return bool(passed.any())

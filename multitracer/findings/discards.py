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
    from collections.abc import Sequence

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
"""So many MRWs that each name a PDU sent as often as any make it seem that MaxDAT gave them up: a timer may, too.

Those of both ends count, as ends are set up alike.
"""


class Until(NamedTuple):
    """A reset, and the end of the one before; times in ns."""

    since_ns: int
    start_ns: int
    end_ns: int

    @classmethod
    def reset(cls, observed: Observations, link: int, start_ns: int, end_ns: int) -> Until:
        """That of a reset of this link."""
        since = max((over for _, over in observed.resets(link) if over < start_ns), default=np.iinfo(np.int64).min)
        return cls(since, start_ns, end_ns)


def given_up_before(observed: Observations, link: int, segments: Ints, until: Until) -> Codes:
    """Whether its sender may have given up these rows of segments, all carried by `link` and lost, before a reset."""
    codes: Codes = np.full(len(segments), NOT, dtype=np.int8)
    table = observed.segment_frames
    if table is None:
        return codes
    mine = table[((table["link"] == link) & (table["segment"] >= 0)).to_numpy()]
    given_up = packets_given_up(observed, link, mine, until)
    if given_up is None:
        return codes
    codes[:] = PERHAPS
    for code in (NOT_BY_COUNT, NOT):
        codes[np.isin(segments, mine["segment"].to_numpy()[given_up == code])] = code
    return codes


def packets_given_up(observed: Observations, link: int, mine: pd.DataFrame, until: Until) -> Codes | None:
    """The same of these rows of `segment_frames`; None where nothing was given up."""
    if observed.frames is None:
        return None
    frames = observed.frames
    own = frames[(frames["link"] == link).to_numpy()].sort_values("time_ns", kind="stable")
    # What comes within a round trip of the reset before was sent before it.
    came_since = until.since_ns + (observed.link_rtt_ns or 0) * ~own["sent"]
    told = own[((own["type"] == "MRW") & own["time_ns"].between(came_since, until.end_ns)).to_numpy()]
    if not len(told):
        return None
    told = told[told["sent"].to_numpy()]
    sent = own[(own["sent"] & (own["transmission"] == 0) & (own["sn_unwrapped"] >= 0)).to_numpy()]
    if not len(told) or not len(sent):
        return np.full(len(mine), PERHAPS, dtype=np.int8)
    first, last = _places(mine, sent)
    kept, code = last > _named(told, sent).max(), NOT
    bearer = observed.bearer(link)
    if not _answered(frames, told, int(bearer[1]), until):
        kept, code = kept & (first > _given_up_until(frames, bearer, until.end_ns)), NOT_BY_COUNT
    return np.where(kept, code, PERHAPS).astype(np.int8)


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


def _given_up_until(frames: pd.DataFrame, bearer: Sequence[int], end_ns: int) -> int:
    """The place up to which the first direction's entity may have given up by then, by MaxDAT.

    _NOWHERE if a timer may have done so. By MaxDAT it is if each MRW of several gives up a PDU that was sent as often
    as any.
    """
    ways = [frames[(frames["link"] == link).to_numpy()] for link in bearer]
    most = max(int(way["transmission"].max()) for way in ways if len(way))
    told = [_passed_by_names(way, most) for way in ways]
    if sum(map(len, told)) < LEAST_NAMES or not all((passed > 0).all() for passed in told):
        return int(_NOWHERE)
    until_now = ways[0][(ways[0]["time_ns"] <= end_ns).to_numpy()]
    return int(_place(_sent_so_often(until_now, most)).max(initial=-1))


def _passed_by_names(way: pd.DataFrame, most: int) -> Ints:
    """Of each MRW of a direction that names something new, the PDUs sent so often that only it gives up."""
    sent = way[(way["sent"] & (way["transmission"] == 0) & (way["sn_unwrapped"] >= 0)).to_numpy()]
    told = way[(way["sent"] & (way["type"] == "MRW")).to_numpy()]
    if not len(told) or not len(sent):
        return np.zeros(len(told), dtype=np.int64)
    often = np.unique(_place(_sent_so_often(way, most)))
    passed: Ints = np.diff(np.searchsorted(often, np.unique(_named(told, sent)), side="right"), prepend=0)
    return passed


def _sent_so_often(way: pd.DataFrame, most: int) -> pd.DataFrame:
    """The PDUs with this number of repeats."""
    return way[((way["transmission"] == most) & (way["sn_unwrapped"] >= 0)).to_numpy()]


def _answered(frames: pd.DataFrame, told: pd.DataFrame, reverse: int, until: Until) -> bool:
    """Whether the last MRW to name something new was answered before the reset began."""
    number = int(told["sn"].iat[-1])
    begun = int(told["time_ns"].to_numpy()[told["sn"].to_numpy() == number].min())
    back = frames[((frames["link"] == reverse) & (frames["type"] == "MRW_ACK") & ~frames["sent"]).to_numpy()]
    back = back[(back["time_ns"].between(begun, until.start_ns) & back["input"].isin(told["input"])).to_numpy()]
    passed = (back["sn"].to_numpy().astype(np.int64) - number) % SPEC.am_modulus < SPEC.am_modulus // 2
    return bool(passed.any())

"""The rate of a direction's path, chosen among what its own deliveries, other connections and the user tell of it.

And by that rate the queue: when the bottleneck had octets of the direction, for certain or perhaps.
"""

from __future__ import annotations

from typing import Any

from multitracer.accounting.bottleneck import deepest_queue, find_busy, find_least_busy
from multitracer.accounting.burst_rate import fastest_rate, is_spread, rate_of_bursts, sample_singles
from multitracer.accounting.delayed_acknowledgements import (
    delays_acknowledgements,
    pool_samples,
    rate_of_delayed,
    shown_by_delayed,
    sure_undelayed_rate,
)
from multitracer.accounting.path_rate import (
    AGREE,
    LASTED,
    LEAST_SHARE,
    OCTETS,
    START,
    Rates,
    agreeing,
    agreement,
    find_pieces,
    is_steady,
    least_delay,
    middle_rate,
    one_rate,
    sample_rates,
)
from multitracer.accounting.room import Room
from multitracer.accounting.sending_state import BUSY, CLEAN, EXACT, UNSURE_BUSY, Capture
from multitracer.accounting.shared_rate import note_singles
from multitracer.compute.kernels import kernel
from multitracer.model.limits import RATE_FROM

TOLD, FOUND = RATE_FROM.index("told"), RATE_FROM.index("found")


@kernel
def find_rate(
    end: int, room: Room, told_bps: float, shared_bps: float, arrivals: bool
) -> tuple[float, int, int, bool]:  # fmt: skip
    """The path's rate in bit/s (0 unknown), where it is from, how many it had one after the other, and if it is sure.

    There are 0 where only acknowledgements show it that the receiver may have delayed: the path is faster, or as fast.
    A told rate stands in where too few deliveries behind a queue agree, unless they came faster; else the one that all
    connections of the path show. The rate between bursts is reported only where arrivals are known: acknowledgements
    do not show how long the link repeated frames, even if that rate is known. Where the receiver delays them, it
    is the rate of most intervals between those that it did not delay: the bursts of others are its own.
    """
    events, state, samples = room.events, room.state, room.samples
    least = least_delay(events, state, one_rate(room.rates, 0.0))
    count = sample_rates(events, state, least, samples, 0)
    rate = middle_rate(samples, count, room.histogram)
    if rate > 0 and not arrivals and shown_by_delayed(events, state, least, rate, samples, count):
        return rate_of_delayed(events, state, least, rate, told_bps, samples, room.histogram)
    begin, stop = pool_samples(end, room, count, least, arrivals)
    pieces = find_pieces(samples, count, room.pieces) if rate > 0 else 0
    if pieces > 1 and room.pieces[:pieces, OCTETS].sum() >= LEAST_SHARE * samples[:count, 1].sum():
        return rate, FOUND, pieces, True
    if rate > 0 and agreeing(samples, count, rate):
        return rate, FOUND, 1, True
    if told_bps > 0 and rate <= told_bps * (1 + AGREE):
        return told_bps, TOLD, 1, True
    if shared_bps > 0 and fits(shared_bps, room, samples[begin:stop]):
        return shared_bps, 0, 1, True
    if rate > 0 and is_steady(events, state, samples, count, rate):
        return rate, 0, 1, True
    if not arrivals and delays_acknowledgements(events, state):
        often = sure_undelayed_rate(events, state, least, samples, room.histogram)
    else:
        often = rate_of_bursts(events, state, least, samples, count, 0, room.histogram)
    return (often, FOUND if arrivals else 0, 1, True) if often > 0 else (rate, 0, 1, False)


@kernel
def fits(shared_bps: float, room: Room, samples: Any) -> bool:
    """Whether an end's deliveries allow a rate that others show: none came sooner than an octet takes at that rate.

    If any of its own came behind a queue, as large a share of them agrees as of all on a rate that is reported: else
    it may be behind another link, which an address does not tell, or the rate may have changed.
    """
    agree, total = agreement(samples, len(samples), shared_bps)
    least = least_delay(room.events, room.state, one_rate(room.rates, shared_bps))
    return bool(agree >= LEAST_SHARE * total and least >= 0)


@kernel
def several_rates(end: int, count: int, room: Room) -> Rates:
    """The rates of the pieces of an end, which are noted as changes."""
    for piece in range(count):
        at = room.changed[0]
        start, octets, lasted = room.pieces[piece, START], room.pieces[piece, OCTETS], room.pieces[piece, LASTED]
        room.changes[at, 0], room.changes[at, 1] = end, start
        room.changes[at, 2], room.changes[at, 3] = octets, lasted
        room.changed[0] = at + 1
        room.rates.start_ns[piece], room.rates.byte_ns[piece] = start, lasted / octets
    return Rates(room.rates.start_ns[:count], room.rates.byte_ns[:count])


@kernel
def find_queue_at_least(end: int, room: Room, shared_bps: float, loses_singles: bool, arrivals: bool) -> None:
    """Find when the bottleneck was busy even at the fastest rate that it may have, where it keeps to none.

    It is `shared_bps` where too few deliveries of the end itself show one, but what it has allows it. Of a receiver
    that delays acknowledgements those count that it did not.
    """
    events, state, samples = room.events, room.state, room.samples
    least = least_delay(events, state, one_rate(room.rates, 0.0))
    flags = EXACT if not arrivals and delays_acknowledgements(events, state) else CLEAN
    count = sample_rates(events, state, least, samples, flags)
    shared_bps = shared_bps if shared_bps > 0 and fits(shared_bps, room, samples[:count]) else 0.0
    rate = rate_of_bursts(events, state, least, samples, count, flags, room.histogram)
    count = sample_singles(events, state, least, flags, samples)
    note_singles(end, samples, count, room.singles, room.singles_noted)
    if rate == 0 or not is_spread(samples, count, rate):
        rate = max(fastest_rate(samples, count), shared_bps)
    if rate > 0:
        least = least_delay(events, state, one_rate(room.rates, rate))
        find_least_busy(events, state, least, 8e9 / rate, loses_singles)


@kernel
def find_queue(
    capture: Capture, room: Room, surely: Rates, rates: Rates, longer_ns: int, shortest_ns: int, loses_singles: bool,
    by_acks: bool, dated: bool,
) -> None:  # fmt: skip
    """Find when the bottleneck was busy, for certain if by the rates `surely` it had a packet for over `longer_ns`.

    Without a rate to which deliveries keep, what waits for less than a round trip may be delayed by jitter, and how
    long a packet itself is there is not known: but for what one without data took, `shortest_ns`, it may be all the
    time. Where acknowledgements stand for arrivals, data is on its way until it is acknowledged: of what waited
    above a hole it is not known when it came, unless all acknowledgements that were held are `dated`. Whether what was
    lost behind a queue with room was lost on the bottleneck or before it is not known either.
    """
    events, state = room.events, room.state
    least = least_delay(events, state, surely)
    find_busy(capture, events, state, least, surely, BUSY, longer_ns, loses_singles, by_acks, by_acks, 0)
    least = least_delay(events, state, rates)
    if longer_ns > 0 and shortest_ns > 0:
        least = min(least, shortest_ns)
    if longer_ns > 0 or (by_acks and not dated):
        find_busy(capture, events, state, least, rates, UNSURE_BUSY, 0, loses_singles, by_acks, False, 0)
    elif loses_singles:
        deepest = deepest_queue(events, state, least, rates)
        find_busy(capture, events, state, least, rates, UNSURE_BUSY, 0, True, False, False, deepest)

"""The rate of a path: that at which arrivals or acknowledgements come while a queue stands at its bottleneck.

A queue stood between two deliveries if what the later one delivered had been sent before it could have followed the
earlier one without waiting: earlier than that, less the least time that any delivery took.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitracer.accounting.sending_state import AGAIN, CLEAN, DATED, HEARD, Capture, Events
from multitracer.compute.kernels import inlined, kernel
from multitracer.tcp.packed_rows import LENGTH

RUN = 16
"""Deliveries that make one sample of the rate, where so many follow one another behind a queue."""
BINS_PER_OCTAVE = 16
BINS = 48 * BINS_PER_OCTAVE
"""Bins of the histogram of samples: bit/s in steps of 4.4 %, up to 2**48."""
AGREE = 0.05
"""Samples agree on a rate that they are this near to, relatively."""
LEAST_SAMPLES, LEAST_SHARE = 30, 1 / 3
"""A rate is reported when at least so many deliveries agree on it, and this share of all behind a queue."""
LEAST_QUEUED = 3
"""So many deliveries behind a queue keep to a rate within AGREE hardly by chance, if all of them do."""
FAR_NS = np.int64(2**62)
BLOCK = 4 * RUN
"""Deliveries in a row of which LEAST_SAMPLES, in LEAST_QUEUED samples, must agree for a rate of their own."""
DIFFER = 2 * AGREE
"""Rates that differ by more, relatively, are two: each may be wrong by AGREE."""
MOST_PIECES = 64
"""A rate that changes more often has no pieces."""
# Columns of pieces: when a rate began to hold (ns), the octets that show it, in how many ns, and their last sample.
START, OCTETS, LASTED, LAST, PIECE_FIELDS = range(5)


class Rates(NamedTuple):
    """The rates of a path, one after the other; the first holds from the beginning."""

    start_ns: Any
    byte_ns: Any
    """The time that an octet takes; 0 unknown."""


@kernel
def one_rate(rates: Rates, rate_bps: float) -> Rates:
    """The first of `rates` set to a rate in bit/s that holds all the time; 0 unknown."""
    rates.start_ns[0], rates.byte_ns[0] = 0, 8e9 / rate_bps if rate_bps > 0 else 0.0
    return Rates(rates.start_ns[:1], rates.byte_ns[:1])


@inlined
def piece_at(rates: Rates, piece: int, now: int) -> int:
    """The index of the rate that holds at a time, not before `piece`."""
    while piece + 1 < len(rates.start_ns) and rates.start_ns[piece + 1] <= now:
        piece += 1
    return piece


@kernel
def least_delay(events: Events, state: Any, rates: Rates) -> int:
    """The least time (ns) from sending to delivery without the time on the bottleneck itself; FAR_NS if unknown."""
    least, piece = FAR_NS, 0
    for at in range(state[HEARD]):
        piece = piece_at(rates, piece, events.delivered_ns[at])
        if events.delivered_flag[at] & (CLEAN | DATED) == CLEAN:
            sent = events.delivered_upto[at]
            took = events.delivered_ns[at] - events.sent_ns[sent]
            took -= np.int64(events.wire_bytes[sent] * rates.byte_ns[piece])
            least = min(least, took)
    return int(least)


@kernel
def least_without_data(rows: Any, words: Any, direction: int, capture: Capture) -> int:
    """The least time (ns) that a packet without data took to the capture beside the receiver; FAR_NS if unknown.

    It is short: of the time that data takes on the bottleneck itself there is little in it.
    """
    least = FAR_NS
    for at in range(len(rows) if len(capture.came_ns) else 0):
        if words[at] & 1 == direction and words[at] >> LENGTH == 0:
            row = rows[at]
            if capture.came_ns[row] >= 0 and capture.arrived[row] == 1:
                least = min(least, capture.came_ns[row] - capture.time_ns[row])
    return int(least)


@inlined
def carried(events: Events, first: int, last: int) -> int:
    """Octets of the sent rows first..last on the wire; -1 if any was a resend."""
    octets = np.int64(0)
    for at in range(first, last + 1):
        if events.kind[at] == AGAIN:
            return -1
        octets += events.wire_bytes[at]
    return int(octets)


@inlined
def queued_octets(events: Events, at: int, least_ns: int) -> int:
    """Octets on the wire of delivery `at`, if a queue stood between the one before and it; else, or of resends, -1."""
    first, last = events.delivered_upto[at - 1] + 1, events.delivered_upto[at]
    before = events.delivered_ns[at - 1]
    queued = last >= first and events.sent_ns[last] <= before - least_ns and events.delivered_ns[at] >= before
    return carried(events, first, last) if queued else -1


@kernel
def sample_rates(events: Events, state: Any, least_ns: int, samples: Any, flags: int) -> int:
    """Fill `samples` with (time, octets, ns, deliveries) of deliveries behind a queue; returns their number.

    Only deliveries that have all `flags` count, if those before them have.
    """
    count, octets, lasted, merged = 0, np.int64(0), np.int64(0), 0
    for at in range(1, state[HEARD]):
        before, now = events.delivered_ns[at - 1], events.delivered_ns[at]
        both = events.delivered_flag[at - 1] & events.delivered_flag[at] & flags == flags
        size = queued_octets(events, at, least_ns) if both else np.int64(-1)
        if size > 0:
            octets, lasted, merged = octets + size, lasted + now - before, merged + 1
        if merged and (size <= 0 or merged == RUN or at == state[HEARD] - 1):
            samples[count, 0], samples[count, 1], samples[count, 2], samples[count, 3] = now, octets, lasted, merged
            count, octets, lasted, merged = count + 1, np.int64(0), np.int64(0), 0
    return count


@inlined
def bin_of(rate_bps: float) -> int:
    """The bin of the histogram that holds a rate."""
    return min(max(int(np.log2(max(rate_bps, 1.0)) * BINS_PER_OCTAVE), 0), BINS - 1)


@kernel
def middle_rate(samples: Any, count: int, histogram: Any) -> float:
    """The rate in bit/s that half of the octets came faster than, averaged over the samples near to it; 0 for none."""
    histogram[:] = 0
    total = np.int64(0)
    for at in range(count):
        if samples[at, 2] > 0:
            histogram[bin_of(8e9 * samples[at, 1] / samples[at, 2])] += samples[at, 1]
            total += samples[at, 1]
    below, middle = np.int64(0), 0
    while middle < BINS and 2 * (below + histogram[middle]) < total:
        below += histogram[middle]
        middle += 1
    octets, lasted = np.int64(0), np.int64(0)
    for at in range(count):
        if samples[at, 2] > 0 and abs(bin_of(8e9 * samples[at, 1] / samples[at, 2]) - middle) <= 1:
            octets, lasted = octets + samples[at, 1], lasted + samples[at, 2]
    return 8e9 * octets / lasted if lasted > 0 else 0.0


@inlined
def agreement(samples: Any, count: int, rate_bps: float) -> tuple[int, int]:
    """How many deliveries behind a queue agree on this rate, and how many there are."""
    agree, total = np.int64(0), np.int64(0)
    for at in range(count):
        total += samples[at, 3]
        if samples[at, 2] > 0 and abs(8e9 * samples[at, 1] / samples[at, 2] - rate_bps) <= AGREE * rate_bps:
            agree += samples[at, 3]
    return int(agree), int(total)


@kernel
def agreeing(samples: Any, count: int, rate_bps: float) -> bool:
    """Whether enough deliveries behind a queue agree on this rate for it to be reported."""
    agree, total = agreement(samples, count, rate_bps)
    return bool(agree >= LEAST_SAMPLES and agree >= LEAST_SHARE * total)


@kernel
def is_steady(events: Events, state: Any, samples: Any, count: int, rate_bps: float) -> bool:
    """Whether all deliveries behind a queue come at a rate, and LEAST_SAMPLES of all do.

    Where acknowledgements set off what is sent, packets follow each other at the path's rate though none waits.
    """
    total = np.int64(0)
    for at in range(count):
        total += samples[at, 3]
        if abs(8e9 * samples[at, 1] - rate_bps * samples[at, 2]) > AGREE * rate_bps * samples[at, 2]:
            return False
    near = 0
    for at in range(1, state[HEARD]):
        lasted = events.delivered_ns[at] - events.delivered_ns[at - 1]
        size = carried(events, events.delivered_upto[at - 1] + 1, events.delivered_upto[at])
        if size > 0 and abs(8e9 * size - rate_bps * lasted) <= AGREE * rate_bps * lasted:
            near += 1
    return bool(total >= LEAST_QUEUED and near >= LEAST_SAMPLES)


@kernel
def find_pieces(samples: Any, count: int, pieces: Any) -> int:
    """Fill `pieces` with the rates that held one after the other; returns how many, 0 if they are too many.

    A rate is another one when LEAST_SAMPLES deliveries of BLOCK in a row agree on it, in LEAST_QUEUED samples.
    """
    found, first, total = 0, 0, np.int64(0)
    for at in range(count):
        total += samples[at, 3]
        if total < BLOCK:
            continue
        octets, lasted = agreed(samples, first, at + 1)
        if lasted > 0 and not continues(pieces, found, octets / lasted):
            if found == MOST_PIECES:
                return 0
            begin = begins(samples, first, octets / lasted, pieces, found)
            pieces[found, START] = samples[begin, 0] - samples[begin, 2]
            pieces[found, OCTETS] = pieces[found, LASTED] = 0
            found += 1
        if lasted > 0:
            pieces[found - 1, OCTETS] += octets
            pieces[found - 1, LASTED] += lasted
            pieces[found - 1, LAST] = at
        first, total = at + 1, np.int64(0)
    return found


@inlined
def continues(pieces: Any, found: int, rate: float) -> bool:
    """Whether a rate (octets per ns) is that of the latest piece."""
    if found == 0:
        return False
    latest = pieces[found - 1, OCTETS] / pieces[found - 1, LASTED]
    return abs(rate - latest) <= DIFFER * min(rate, latest)


@inlined
def agreed(samples: Any, first: int, stop: int) -> tuple[int, int]:
    """The octets and ns of the samples first..stop-1 that agree on a rate, if LEAST_SAMPLES of their deliveries do.

    They do in LEAST_QUEUED samples at least: two that each average over a pause may agree by chance.
    """
    best, best_octets, best_ns = np.int64(0), np.int64(0), np.int64(0)
    for centre in range(first, stop):
        deliveries, octets, lasted, alike = np.int64(0), np.int64(0), np.int64(0), 0
        for at in range(first, stop):
            # octets / ns of both, multiplied by both times
            ours, theirs = samples[at, 1] * samples[centre, 2], samples[centre, 1] * samples[at, 2]
            if samples[at, 2] > 0 and abs(ours - theirs) <= AGREE * theirs:
                deliveries, octets = deliveries + samples[at, 3], octets + samples[at, 1]
                lasted, alike = lasted + samples[at, 2], alike + 1
        if deliveries > best and alike >= LEAST_QUEUED:
            best, best_octets, best_ns = deliveries, octets, lasted
    if best < LEAST_SAMPLES:
        return 0, 0
    return int(best_octets), int(best_ns)


@inlined
def begins(samples: Any, first: int, rate: float, pieces: Any, found: int) -> int:
    """The sample with which a new rate (octets per ns) begins: back from `first` while samples are nearer to it."""
    if found == 0:
        return first
    middle = (rate + pieces[found - 1, OCTETS] / pieces[found - 1, LASTED]) / 2
    while first - 1 > pieces[found - 1, LAST] and (samples[first - 1, 1] > middle * samples[first - 1, 2]) == (
        rate > middle
    ):
        first -= 1
    return first

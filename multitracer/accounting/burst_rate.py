"""The rate of a path whose link delivers in order: a frame that is sent again holds up those behind it.

What was held comes at once, so that averages over some deliveries (`path_rate`) agree on no rate. Between such bursts
packets still follow each other at the path's rate: it is the one that is most frequent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.path_rate import (
    AGREE,
    BINS,
    BINS_PER_OCTAVE,
    DIFFER,
    LEAST_QUEUED,
    LEAST_SAMPLES,
    LEAST_SHARE,
    bin_of,
    queued_octets,
)
from multitracer.accounting.sending_state import HEARD, Events
from multitracer.compute.kernels import inlined, kernel

AT_ONCE = 4
"""A delivery is of the same burst as the one before if it comes so many times faster than deliveries do on average.

The packets of a burst leave the link together. They follow each other at the rate of what is behind the link, as those
of a Wi-Fi aggregate do on an Ethernet; that rate must not be taken for the link's.
"""
LEAST_SPREAD = 7
"""Of so many deliveries that the path spread one comes as soon as the bottleneck lets it, or sooner.

What delays a delivery lets the next one come the sooner after it: each of them is slowed down as often as not, and all
of seven hardly ever (less than 1 %).
"""
SECOND_SHARE = 1 / 2
"""A rate that so large a share of the most frequent one's number shows makes that one doubtful."""


@kernel
def rate_of_bursts(
    events: Events, state: Any, least_ns: int, samples: Any, count: int, flags: int, histogram: Any
) -> float:  # fmt: skip
    """The rate in bit/s at which most bursts behind a queue come; 0 if none stands out.

    Only deliveries that have all `flags` count. `samples` are the `count` ones of `sample_rates`, of which
    `sample_bursts` overwrites what it needs.
    """
    bursts = sample_bursts(events, state, least_ns, samples, count, flags)
    return frequent_rate(samples, bursts, histogram)


@kernel
def frequent_rate(samples: Any, count: int, histogram: Any) -> float:
    """The rate in bit/s that most of `count` samples (time, octets, ns) show; 0 if none stands out."""
    if count < LEAST_SAMPLES:  # as in most of many short connections, each of which would go through all bins
        return 0.0
    histogram[:] = 0
    for at in range(count):
        histogram[bin_of(8e9 * samples[at, 1] / samples[at, 2])] += 1
    best, _ = most_frequent(histogram, -1)
    rate = 2 ** ((best + 0.5) / BINS_PER_OCTAVE)
    for within in (2 * AGREE, AGREE, AGREE / 2):  # a few bursts that happen to be near shall not shift it
        rate = mean_rate(samples, count, rate, within)
    agree = np.int64(0)
    for at in range(count):
        agree += abs(8e9 * samples[at, 1] - rate * samples[at, 2]) <= AGREE * rate * samples[at, 2]
    _, second = most_frequent(histogram, best)
    enough = agree >= LEAST_SAMPLES and agree >= LEAST_SHARE * count
    return rate if enough and second < SECOND_SHARE * agree else 0.0


@kernel
def fastest_rate(singles: Any, count: int) -> float:
    """The rate in bit/s than which no more than two deliveries came faster; 0 unknown.

    `singles` are `count` ones of `sample_singles`, with 0 ns where one does not count. The path must have spread
    LEAST_SPREAD of them, and LEAST_QUEUED to about that rate.
    """
    first, second, third, spread = 0.0, 0.0, 0.0, 0
    for at in range(count):
        if singles[at, 2] > 0:
            rate, spread = 8e9 * singles[at, 1] / singles[at, 2], spread + singles[at, 3]
            first, second, third = max(first, rate), max(second, min(first, rate)), max(third, min(second, rate))
    return third if spread >= LEAST_SPREAD and is_spread(singles, count, third) else 0.0


@inlined
def is_spread(singles: Any, count: int, rate_bps: float) -> bool:
    """Whether the path spread LEAST_QUEUED deliveries to a rate: they were sent in half the time, or less.

    Of what is sent at a rate, and only takes longer than before, each also seems to wait for the one before.
    """
    spread = 0
    for at in range(count):
        octets, lasted = singles[at, 1], singles[at, 2]
        if lasted > 0 and abs(8e9 * octets - rate_bps * lasted) <= DIFFER * rate_bps * lasted:
            spread += singles[at, 3]
    return bool(spread >= LEAST_QUEUED)


@kernel
def sample_singles(events: Events, state: Any, least_ns: int, flags: int, singles: Any) -> int:
    """Fill `singles` with (time, octets, ns, if spread) of each delivery behind a queue; returns their number.

    Only deliveries that have all `flags` count, if those before them have. What comes at once came in 1 ns.
    """
    count = 0
    for at in range(1, state[HEARD]):
        both = events.delivered_flag[at - 1] & events.delivered_flag[at] & flags == flags
        size = queued_octets(events, at, least_ns) if both else np.int64(-1)
        if size > 0:
            lasted = max(events.delivered_ns[at] - events.delivered_ns[at - 1], 1)
            sent_in = events.sent_ns[events.delivered_upto[at]] - events.sent_ns[events.delivered_upto[at - 1]]
            singles[count, 0], singles[count, 1], singles[count, 2] = events.delivered_ns[at], size, lasted
            singles[count, 3] = 1 if 2 * sent_in <= lasted else 0
            count += 1
    return count


@kernel
def sample_bursts(events: Events, state: Any, least_ns: int, bursts: Any, samples: int, flags: int) -> int:
    """Fill `bursts` with (time, octets, ns since the delivery before) of bursts behind a queue; returns their number.

    A burst is a delivery with those that come at once after it: AT_ONCE times faster than the `samples` that are in
    `bursts` before. Only deliveries that have all `flags` count, if those before them have.
    """
    at_once_byte_ns = mean_byte_ns(bursts, samples) / AT_ONCE
    if at_once_byte_ns == 0:
        return 0
    count, is_open = 0, False
    for at in range(1, state[HEARD]):
        before, now = events.delivered_ns[at - 1], events.delivered_ns[at]
        both = events.delivered_flag[at - 1] & events.delivered_flag[at] & flags == flags
        size = queued_octets(events, at, least_ns) if both else np.int64(-1)
        if size > 0 and now - before <= size * at_once_byte_ns:
            if is_open:
                bursts[count - 1, 1] += size
        elif size > 0:
            bursts[count, 0], bursts[count, 1], bursts[count, 2] = now, size, now - before
            count, is_open = count + 1, True
        else:
            is_open = False
    return count


@inlined
def mean_byte_ns(samples: Any, count: int) -> float:
    """The ns that an octet took on average of all samples (time, octets, ns); 0 without any."""
    octets, lasted = np.int64(0), np.int64(0)
    for at in range(count):
        octets, lasted = octets + samples[at, 1], lasted + samples[at, 2]
    return float(lasted / octets) if octets > 0 else 0.0


@kernel
def most_frequent(histogram: Any, beside: int) -> tuple[int, int]:
    """The bin that has most bursts with its two neighbours, and how many; none within 3 bins of `beside` (-1 none).

    Three bins are 13 % wide: a rate that AGREE allows to be off by 5 % to each side is in them.
    """
    best, most = 0, np.int64(0)
    for centre in range(1, BINS - 1):
        if beside < 0 or abs(centre - beside) > 3:
            count = histogram[centre - 1] + histogram[centre] + histogram[centre + 1]
            if count > most:
                best, most = centre, count
    return best, int(most)


@kernel
def mean_rate(bursts: Any, count: int, rate_bps: float, within: float) -> float:
    """The mean rate in bit/s of the bursts that are so near to one, relatively; 0 if none is."""
    octets, lasted = np.int64(0), np.int64(0)
    for at in range(count):
        if abs(8e9 * bursts[at, 1] - rate_bps * bursts[at, 2]) <= within * rate_bps * bursts[at, 2]:
            octets, lasted = octets + bursts[at, 1], lasted + bursts[at, 2]
    return 8e9 * octets / lasted if lasted > 0 else 0.0

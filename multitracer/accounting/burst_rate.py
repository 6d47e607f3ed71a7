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
    LEAST_SAMPLES,
    LEAST_SHARE,
    bin_of,
    queued_octets,
)
from multitracer.accounting.sending_events import HEARD, Events
from multitracer.compute.kernels import kernel

AT_ONCE = 4
"""A delivery is of the same burst as the one before if it comes so many times faster than deliveries do on average.

The packets of a burst leave the link together. They follow each other at the rate of what is behind the link, as those
of a Wi-Fi aggregate do on an Ethernet; that rate must not be taken for the link's.
"""
SECOND_SHARE = 1 / 2
"""A rate that so large a share of the most frequent one's number shows makes that one doubtful."""


@kernel
def rate_of_bursts(events: Events, state: Any, least_ns: int, samples: Any, count: int, histogram: Any) -> float:
    """The rate in bit/s at which most bursts behind a queue come; 0 if none stands out.

    `samples` are the `count` ones of `sample_rates`; they are overwritten.
    """
    octets, lasted = np.int64(0), np.int64(0)
    for at in range(count):
        octets, lasted = octets + samples[at, 1], lasted + samples[at, 2]
    if octets == 0:
        return 0.0
    bursts = sample_bursts(events, state, least_ns, lasted / (AT_ONCE * octets), samples)
    if bursts < LEAST_SAMPLES:  # as in most of many short connections, each of which would go through all bins
        return 0.0
    histogram[:] = 0
    for at in range(bursts):
        histogram[bin_of(8e9 * samples[at, 1] / samples[at, 2])] += 1
    best, _ = most_frequent(histogram, -1)
    rate = 2 ** ((best + 0.5) / BINS_PER_OCTAVE)
    for within in (2 * AGREE, AGREE, AGREE / 2):  # a few bursts that happen to be near shall not shift it
        rate = mean_rate(samples, bursts, rate, within)
    agree = np.int64(0)
    for at in range(bursts):
        agree += abs(8e9 * samples[at, 1] - rate * samples[at, 2]) <= AGREE * rate * samples[at, 2]
    _, second = most_frequent(histogram, best)
    enough = agree >= LEAST_SAMPLES and agree >= LEAST_SHARE * bursts
    return rate if enough and second < SECOND_SHARE * agree else 0.0


@kernel
def sample_bursts(events: Events, state: Any, least_ns: int, at_once_byte_ns: float, bursts: Any) -> int:
    """Fill `bursts` with (time, octets, ns since the delivery before) of bursts behind a queue; returns their number.

    A burst is a delivery with those that come at once after it: in less than `at_once_byte_ns` for each octet.
    """
    count, is_open = 0, False
    for at in range(1, state[HEARD]):
        before, now = events.delivered_ns[at - 1], events.delivered_ns[at]
        size = queued_octets(events, at, least_ns)
        if size > 0 and now - before <= size * at_once_byte_ns:
            if is_open:
                bursts[count - 1, 1] += size
        elif size > 0:
            bursts[count, 0], bursts[count, 1], bursts[count, 2] = now, size, now - before
            count, is_open = count + 1, True
        else:
            is_open = False
    return count


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

"""The rate of a path: that at which arrivals or acknowledgements come while a queue stands at its bottleneck.

A queue stood between two deliveries if what the later one delivered had been sent before it could have followed the
earlier one without waiting: earlier than that, less the least time that any delivery took.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.sending_events import AGAIN, CLEAN, HEARD, Capture, Events
from multitracer.compute.kernels import inlined, kernel

RUN = 16
"""Deliveries that make one sample of the rate, where so many follow one another behind a queue."""
BINS_PER_OCTAVE = 16
BINS = 48 * BINS_PER_OCTAVE
"""Bins of the histogram of samples: bit/s in steps of 4.4 %, up to 2**48."""
AGREE = 0.05
"""Samples agree on a rate that they are this near to, relatively."""
LEAST_SAMPLES, LEAST_SHARE = 30, 1 / 3
"""A rate is reported when at least so many deliveries agree on it, and this share of all behind a queue."""
FAR_NS = np.int64(2**62)


@kernel
def least_delay(capture: Capture, events: Events, state: Any, rate_bps: float) -> int:
    """The least time (ns) from sending to delivery without the time on the bottleneck itself; FAR_NS if unknown."""
    least = FAR_NS
    byte_ns = 8e9 / rate_bps if rate_bps > 0 else 0.0
    for at in range(state[HEARD]):
        if events.delivered_flag[at] & CLEAN:
            row = events.row[events.delivered_upto[at]]
            took = events.delivered_ns[at] - capture.time_ns[row] - np.int64(capture.wire_bytes[row] * byte_ns)
            least = min(least, took)
    return int(least)


@inlined
def carried(capture: Capture, events: Events, first: int, last: int) -> int:
    """Octets of the sent rows first..last on the wire; -1 if any was a resend."""
    octets = np.int64(0)
    for at in range(first, last + 1):
        if events.kind[at] == AGAIN:
            return -1
        octets += capture.wire_bytes[events.row[at]]
    return int(octets)


@kernel
def sample_rates(capture: Capture, events: Events, state: Any, least_ns: int, samples: Any) -> int:
    """Fill `samples` with (time, octets, ns, deliveries) of deliveries behind a queue; returns their number."""
    count, octets, lasted, merged = 0, np.int64(0), np.int64(0), 0
    for at in range(1, state[HEARD]):
        first, last = events.delivered_upto[at - 1] + 1, events.delivered_upto[at]
        before, now = events.delivered_ns[at - 1], events.delivered_ns[at]
        queued = last >= first and capture.time_ns[events.row[last]] <= before - least_ns and now >= before
        size = carried(capture, events, first, last) if queued else -1
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


@kernel
def agreeing(samples: Any, count: int, rate_bps: float) -> bool:
    """Whether enough deliveries behind a queue agree on this rate for it to be reported."""
    agree, total = np.int64(0), np.int64(0)
    for at in range(count):
        total += samples[at, 3]
        if samples[at, 2] > 0 and abs(8e9 * samples[at, 1] / samples[at, 2] - rate_bps) <= AGREE * rate_bps:
            agree += samples[at, 3]
    return bool(agree >= LEAST_SAMPLES and agree >= LEAST_SHARE * total)

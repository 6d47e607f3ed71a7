"""The rate of a path where the receiver delays acknowledgements, and no capture shows arrivals.

A receiver that delays acknowledgements sends one at once for every second segment (RFC 5681 4.2), and one for a single
segment when a timer runs out. By that one the rate is lower than the path's, and by the next one higher.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multitracer.accounting.bottleneck import DELAYED_ACK_NS
from multitracer.accounting.burst_rate import AT_ONCE, frequent_rate, is_spread, mean_byte_ns, sample_singles
from multitracer.accounting.path_rate import (
    AGREE,
    FAR_NS,
    LEAST_QUEUED,
    LEAST_SAMPLES,
    LEAST_SHARE,
    RUN,
    Rates,
    agreeing,
    agreement,
    carried,
    is_steady,
    least_delay,
    middle_rate,
    one_rate,
    queued_octets,
)
from multitracer.accounting.room import Room
from multitracer.accounting.sending_state import AT_ONCE_NS, CLEAN, EXACT, HEARD, PROMPT, Events
from multitracer.accounting.shared_rate import note_samples
from multitracer.compute.kernels import inlined, kernel
from multitracer.model.limits import RATE_FROM

TOLD = RATE_FROM.index("told")
LEAST_INTERVALS = 10
"""So many intervals behind a queue show a rate if all of them do: each is measured between two exact times."""


@kernel
def shown_by_delayed(events: Events, state: Any, least_ns: int, rate_bps: float, samples: Any, count: int) -> bool:
    """Whether only acknowledgements show a rate that the receiver may have delayed: it may be that of its timer.

    Then it delays some; those that it did not delay do not agree on the rate, or hardly ever follow one another; and
    hardly any of the `count` samples that do agree takes longer than one acknowledgement may be delayed. Behind them
    `samples` is overwritten.
    """
    if not (agreeing(samples, count, rate_bps) or is_steady(events, state, samples, count, rate_bps)):
        return False
    if agreeing_for_longer(samples, count, rate_bps) or not delays_acknowledgements(events, state):
        return False
    prompt = samples[count:]
    agree, total = agreement(prompt, sample_undelayed(events, state, least_ns, prompt, RUN), rate_bps)
    return bool(total < LEAST_QUEUED or agree < LEAST_SHARE * total)


@kernel
def agreeing_for_longer(samples: Any, count: int, rate_bps: float) -> bool:
    """Whether some deliveries agree on a rate over a longer time than a receiver may delay an acknowledgement."""
    agree = np.int64(0)
    for at in range(count):
        octets, lasted = samples[at, 1], samples[at, 2]
        if lasted > DELAYED_ACK_NS and abs(8e9 * octets - rate_bps * lasted) <= AGREE * rate_bps * lasted:
            agree += samples[at, 3]
    return bool(agree >= LEAST_QUEUED)


@kernel
def delays_acknowledgements(events: Events, state: Any) -> bool:
    """Whether a receiver delays acknowledgements of one segment: those of several are many, or clearly all faster.

    Of several there are some, too, where acknowledgements are lost; of segments of one size one alone then is as fast.
    """
    clean, prompt, later = acknowledged(events, state)
    return bool(prompt > 0 and (prompt >= LEAST_SHARE * clean or later))


@kernel
def acknowledged(events: Events, state: Any) -> tuple[int, int, bool]:
    """How many acknowledgements tell which copy came, how many of these were not delayed; if all others took longer.

    That is told by segments of the largest size, each of which takes as long on the bottleneck.
    """
    clean, prompt, longest = 0, 0, np.int32(0)
    least_prompt = least_other = FAR_NS
    for at in range(state[HEARD]):
        flag, upto = events.delivered_flag[at], events.delivered_upto[at]
        if not flag & CLEAN:
            continue
        clean, prompt = clean + 1, prompt + (1 if flag & PROMPT else 0)
        if events.wire_bytes[upto] > longest:
            longest, least_prompt, least_other = events.wire_bytes[upto], FAR_NS, FAR_NS
        if events.wire_bytes[upto] == longest:
            took = events.delivered_ns[at] - events.sent_ns[upto]
            if flag & PROMPT:
                least_prompt = min(least_prompt, took)
            else:
                least_other = min(least_other, took)
    return clean, prompt, bool(least_prompt + AT_ONCE_NS < least_other)


@kernel
def timers_show(events: Events, state: Any, arrivals: bool) -> bool:
    """Whether acknowledgements stand for arrivals, and a timer of the receiver delayed all that are of one segment."""
    return not arrivals and acknowledged(events, state)[2]


@kernel
def sample_undelayed(events: Events, state: Any, least_ns: int, samples: Any, run: int) -> int:
    """Fill `samples` with (time, octets, ns, intervals) of intervals between acknowledgements that were not delayed.

    Returns how many there are, each of up to `run` intervals that follow one another. Within an interval there may be
    acknowledgements that were delayed: behind a queue is what had been sent before it could have followed the former
    end of the interval without waiting.
    """
    count, since, merged = 0, -1, False
    for at in range(state[HEARD]):
        flag = events.delivered_flag[at]
        if not flag & CLEAN:
            since = -1
        if flag & EXACT != EXACT:
            continue
        octets = octets_since(events, since, at, least_ns) if since >= 0 else np.int64(-1)
        merged = bool(merged and octets > 0 and samples[count - 1, 3] < run)
        if octets > 0:
            if not merged:
                samples[count, 1] = samples[count, 2] = samples[count, 3] = 0
                count, merged = count + 1, True
            samples[count - 1, 0] = events.delivered_ns[at]
            samples[count - 1, 1] += octets
            samples[count - 1, 2] += events.delivered_ns[at] - events.delivered_ns[since]
            samples[count - 1, 3] += 1
        since = at
    return count


@inlined
def octets_since(events: Events, since: int, at: int, least_ns: int) -> int:
    """Octets on the wire of the deliveries after `since` up to `at`, if a queue stood; else, or of resends, -1."""
    last, begin = events.delivered_upto[at], events.delivered_ns[since]
    queued = events.sent_ns[last] <= begin - least_ns and events.delivered_ns[at] >= begin
    return carried(events, events.delivered_upto[since] + 1, last) if queued else -1


@kernel
def pool_samples(end: int, room: Room, count: int, least_ns: int, arrivals: bool) -> tuple[int, int]:
    """Let other ends of the path have the `count` samples of this one; returns begin and end of those that they have.

    If the receiver's timer delayed acknowledgements, these are the samples of the others: similar connections all end
    with a wait for that timer, and would agree on a rate that is only the timer's.
    """
    begin, stop = 0, count
    if count > 0 and timers_show(room.events, room.state, arrivals):
        begin, stop = count, count + sample_undelayed(room.events, room.state, least_ns, room.samples[count:], RUN)
    note_samples(end, room.samples[begin:], stop - begin, room.pool, room.pooled)
    return begin, stop


@kernel
def rate_of_delayed(
    events: Events, state: Any, least_ns: int, slowest_bps: float, told_bps: float, samples: Any, histogram: Any
) -> tuple[float, int, int, bool]:  # fmt: skip
    """What `find_rate` returns where acknowledgements that may have been delayed show a rate: `slowest_bps`."""
    if told_bps > 0 and slowest_bps <= told_bps * (1 + AGREE):
        return told_bps, TOLD, 1, True
    prompt = sure_undelayed_rate(events, state, least_ns, samples, histogram)
    return (prompt, 0, 1, True) if prompt > 0 else (slowest_bps, 0, 0, False)


@kernel
def prompt_rate(events: Events, state: Any, least_ns: int, samples: Any, histogram: Any) -> tuple[float, bool]:
    """The rate in bit/s of acknowledgements that the receiver did not delay, 0 for none, and whether they keep to it.

    They keep to it if no acknowledgement behind a queue came sooner, even one that was delayed, and all agree on it: at
    least LEAST_INTERVALS, or fewer, and others that follow them at that rate.
    """
    count = sample_undelayed(events, state, least_ns, samples, RUN)
    rate = middle_rate(samples, count, histogram)
    if rate == 0 or came_sooner(events, state, least_ns, rate):
        return rate, False
    agree, total = agreement(samples, count, rate)
    enough = agree == total >= LEAST_INTERVALS
    return rate, bool(enough or is_steady(events, state, samples, count, rate))


@kernel
def sure_undelayed_rate(events: Events, state: Any, least_ns: int, samples: Any, histogram: Any) -> float:
    """The rate in bit/s that acknowledgements show which the receiver did not delay, all or most; 0 if they do not."""
    rate, keeps = prompt_rate(events, state, least_ns, samples, histogram)
    return rate if keeps else frequent_undelayed_rate(events, state, least_ns, samples, histogram)


@kernel
def frequent_undelayed_rate(events: Events, state: Any, least_ns: int, samples: Any, histogram: Any) -> float:
    """The rate in bit/s of most intervals between acknowledgements that were not delayed; 0 if none stands out.

    What comes at once, AT_ONCE times faster than all on average, is of the burst that comes before it: a link that
    delivers in order held it, or delivers in bursts. The path must have spread some to that rate: else it may be the
    application's.
    """
    if state[HEARD] <= LEAST_SAMPLES:  # as in most of many short connections
        return 0.0
    count = merge_bursts(samples, sample_undelayed(events, state, least_ns, samples, 1))
    rate = frequent_rate(samples, count, histogram)
    if rate == 0:
        return 0.0
    count = sample_singles(events, state, least_ns, EXACT, samples)
    return rate if is_spread(samples, count, rate) else 0.0


@kernel
def merge_bursts(samples: Any, count: int) -> int:
    """Add to each of `count` samples what came at once behind it; returns how many there are then."""
    at_once_byte_ns = mean_byte_ns(samples, count) / AT_ONCE
    merged, is_open, before = 0, False, np.int64(0)
    for at in range(count):
        now, size, took = samples[at, 0], samples[at, 1], samples[at, 2]
        is_open = bool(is_open and now - took == before)
        before = now
        if took > size * at_once_byte_ns:
            samples[merged, 0], samples[merged, 1], samples[merged, 2] = now, size, took
            merged, is_open = merged + 1, True
        elif is_open:
            samples[merged - 1, 1] += size
    return merged


@kernel
def undelayed_rate(room: Room, rate_bps: float, arrivals: bool) -> tuple[Rates, bool]:
    """The rate by which the bottleneck was certainly busy, and if there is one; `rate_bps` is what all deliveries show.

    If the receiver's timer delayed acknowledgements, it is the rate of the others.
    """
    events, state = room.events, room.state
    spare = Rates(room.rates.start_ns[1:], room.rates.byte_ns[1:])  # the first holds the rate of all deliveries
    if not timers_show(events, state, arrivals):
        return one_rate(spare, rate_bps), True
    least = least_delay(events, state, one_rate(spare, 0.0))
    undelayed, _ = prompt_rate(events, state, least, room.samples, room.histogram)
    return one_rate(spare, undelayed), undelayed > 0


@kernel
def came_sooner(events: Events, state: Any, least_ns: int, rate_bps: float) -> bool:
    """Whether octets behind a queue came sooner after an acknowledgement that was not delayed than a rate allows."""
    octets, since = np.int64(-1), np.int64(0)
    for at in range(1, state[HEARD]):
        if events.delivered_flag[at - 1] & PROMPT:
            octets, since = np.int64(0), events.delivered_ns[at - 1]
        size = queued_octets(events, at, least_ns)
        octets = octets + size if octets >= 0 and size > 0 else np.int64(-1)
        if octets > 0 and 8e9 * octets > rate_bps * (1 + AGREE) * (events.delivered_ns[at] - since):
            return True
    return False

"""Two ends of each link protocol, event by event from Python in octets, and by the compiled loop: the same events."""

from random import Random

from multitracer.replay.arq.notes import DELIVERED, ERASED, OFFERED, RECEIVED, SENT
from multitracer.replay.engine.direction import Direction, Erased
from multitracer.replay.engine.driver import Engine, Keep
from multitracer.replay.engine.source import source
from multitracer.replay.retrace.models import kinds

SIDES, PACKET_BYTES, WINDOW, RATES_BPS, DELAY_NS = (0, 1), 60, 20, (64_000, 48_000), 50_000_000
PATIENT = {"rlp": {"window": 31, "n2": 1000}, "rlc-am": {"max_dat": 255}}  # no resets, which lose packets


def compiled(protocol, parameters, offers, total, lost, until):
    """Packets at given times, and windows of packets both ways; a side's frames wait in one queue."""
    ways = [Direction(DELAY_NS, rate_bps=RATES_BPS[k], eager=True, channel=Erased(lost[k])) for k in SIDES]
    windows = [(side, PACKET_BYTES, 1, WINDOW, total) for side in SIDES]
    given = source([(time, side, PACKET_BYTES, 2) for time, side in offers], windows)
    log = Engine(protocol, (parameters, parameters), *ways, given, Keep(log=1 << 20)).run(until).log
    events = log.rows[["time_ns", "side", "event", "octets"]].tolist()
    return [row for row in events if row[2] in (OFFERED, SENT, ERASED, RECEIVED, DELIVERED)]


def by_hand(protocol, parameters, offers, total, lost, until):
    """The same link in octets; also the packets that each side was given, and got."""
    ends, left, under_way = [protocol.octets(parameters) for _ in SIDES], [total, total], [0, 0]
    queue, air, given, got, coming = [[], []], [[], []], [[], []], [[], []], [b"", b""]
    now, events, offers, free, ready, fates = 0, [], list(offers), [0, 0], [False, False], [iter(k) for k in lost]

    def give(side, flow):
        given[side].append(b"%d%059d" % (flow, len(given[side])))
        ends[side].offer(given[side][-1], now)
        events.append((now, side, OFFERED, PACKET_BYTES))
        ready[side] = True

    def timer(side):
        time = ends[side].next_timer()
        return until + 1 if time is None else time

    while now <= until:
        while offers and offers[0][0] <= now:
            give(offers.pop(0)[1], 2)
        for side in SIDES:
            while left[side] and under_way[side] < WINDOW:
                left[side], under_way[side] = left[side] - 1, under_way[side] + 1
                give(side, 1)
        arriving = [side for side in SIDES if air[1 - side] and air[1 - side][0][0] == now]
        for side in arriving:
            _, frame, erased = air[1 - side].pop(0)
            events.append((now, side, ERASED if erased else RECEIVED, len(frame)))
            if not erased:
                ends[side].receive(frame, now)
                ready[side] = True
            coming[side] += b"".join(piece.octets for piece in ends[side].delivered())
            while len(coming[side]) >= PACKET_BYTES:  # what RLP delivers are no whole packets
                got[side].append(coming[side][:PACKET_BYTES])
                coming[side] = coming[side][PACKET_BYTES:]
                events.append((now, side, DELIVERED, PACKET_BYTES))
                under_way[1 - side] -= got[side][-1].startswith(b"1")
        if arriving:
            continue  # a window may be open again
        for side in SIDES:
            if timer(side) <= now:
                ends[side].expire(now)
                ready[side] = True
            made, ready[side] = ready[side], False
            while made or (queue[side] and free[side] <= now):
                if queue[side] and free[side] <= now:
                    frame = queue[side].pop(0)
                    events.append((now, side, SENT, len(frame)))
                    free[side] = now - (-len(frame) * 8 * 10**9 // RATES_BPS[side])
                    air[side].append((free[side] + DELAY_NS, frame, next(fates[side], False)))
                made = ends[side].next_frame(now)
                queue[side] += [made] if made else []
        coming_next = [time for time, *_ in offers[:1] + air[0][:1] + air[1][:1]]
        now = min([*coming_next, timer(0), timer(1), *(free[side] for side in SIDES if queue[side])])
    return events, given, got


if __name__ == "__main__":
    offers = sorted((Random(k).randrange(10**10), k % 2) for k in range(40))
    lost = [[Random(2 * k + side).random() < 0.1 for k in range(50_000)] for side in SIDES]
    for name, kind in kinds().items():
        link = kind.protocol, kind.parameters(**PATIENT.get(name, {})), offers, 300, lost, 100 * 10**9
        events, given, got = by_hand(*link)
        print(f"{name:>6}: {len(events)} events, {'equal' if events == compiled(*link) else 'NOT equal'}, "
              f"{'all' if got[::-1] == given else 'not all'} packets delivered")  # fmt: skip

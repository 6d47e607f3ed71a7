"""Who is to blame in a simulated transfer: each instant without new data, charged to what set it off.

An instant is explained by what holds it and can leave its cause of the accounting (`vocabulary.KINDS`); of several by
what began last, of these by what ended first, and then by the order of names. What TCP sent again is charged to what
lost the earlier copy, or made TCP send again.
"""

from __future__ import annotations

from collections.abc import Iterator

from multitracer.model.vocabulary import KINDS, UNEXPLAINED
from multitracer.replay.record.findings_truth import Event, TrueFindings
from multitracer.replay.record.known_run import Copy
from multitracer.replay.record.spans import Spans, both, joined, without

CARRIED = ("new_data", "link_overhead")
"""What is charged to nobody."""


def blame_of(true: TrueFindings) -> dict[str, Spans]:
    """The instants charged to each kind of root, and those that nothing explains."""
    accounting, found = true.accounting, dict[str, Spans]()
    for name, spans in accounting.causes.items():
        if name in CARRIED or not spans:
            continue
        left = spans
        able = [one for one in true.found if one.kind in KINDS and name in KINDS[one.kind].leaves]
        explaining = list(_resent(true)) if name == "tcp_retransmitted" else []
        explaining = explaining or [(one, (one.start_ns, one.end_ns)) for one in able]
        for one, span in sorted(explaining, key=lambda each: (-each[1][0], each[1][1], each[0].kind)):
            if mine := both(left, joined([span])):
                found.setdefault(one.root.kind, []).extend(mine)
                left = without(left, mine)
        found.setdefault(UNEXPLAINED, []).extend(left)
    return {kind: joined(spans) for kind, spans in found.items() if spans}


def _resent(true: TrueFindings) -> Iterator[tuple[Event, tuple[int, int]]]:
    """When each resend was on the air for the first time, and what it is to be charged to."""
    on_air = true.accounting.side.first_times
    for event in true.found:
        for one in event.resends:
            times = on_air.get(id(one.copy))
            if times is not None:
                yield _charged(true, event, one.copy, spurious=one.spurious), times


def _charged(true: TrueFindings, event: Event, copy: Copy, *, spurious: bool) -> Event:
    """What lost the earlier copy, or what sent it again."""
    if spurious:
        return event
    return true.loser(true.earlier(copy)) or event

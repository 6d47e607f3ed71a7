"""No frame got through the link either way for a while."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.needs import FRAMES, LINK_RTT
from multitracer.findings.observations import Observations
from multitracer.link.outcomes import DAMAGED, UNHEARD, outcomes

KINDS = ("link-outage",)
NEEDS = (FRAMES, LINK_RTT)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each stretch in which frames were sent, erased frames came, and no good one did."""
    frames = observed.frames
    assert frames is not None  # by NEEDS
    links = [link for link in frames["link"].unique() if link >= 0]
    bearers = {observed.bearer_number(link) for link in links}
    monitored = {bearer for bearer in bearers if observed.monitored(bearer)}
    for bearer in sorted(bearers - monitored):
        yield from _heard(observed, bearer)
    for link in sorted(links):
        if observed.monitored(int(link)):
            yield from _repeated_on_air(observed, int(link))


def _repeated_on_air(observed: Observations, link: int) -> Iterator[Finding]:
    """The outages of a Wi-Fi link: stretches of nothing but repeats, in which no frame of the peer was heard.

    A repeat proves that its sender had no acknowledgement of the transmission before. The last transmission may have
    arrived: the stretch ends with it.
    """
    frames, link_rtt = observed.frames, observed.link_rtt_ns
    assert frames is not None
    assert link_rtt is not None
    mine = frames[frames["link"].isin([one for one in observed.bearer(link) if one >= 0])]
    mine = mine.sort_values(["time_ns", "record"], kind="stable")
    time, repeat = mine["time_ns"].to_numpy(), (mine["transmission"] > 0).to_numpy()
    own, number = (mine["link"] == link).to_numpy(), mine["sn_unwrapped"].to_numpy()
    for run in _runs(own & repeat):
        # The transmission before the first repeat, where it was heard, is the outage's begin.
        first = run.start - 1 if run.start and own[run.start - 1] else run.start
        start, end = int(time[first]), int(time[run.stop - 1])
        if end - start <= observed.thresholds.outage_link_rtts * link_rtt:
            continue
        repeats, side = run.stop - run.start, str(mine["side"].iloc[first])
        certain = repeats > 1 and _nothing_unheard(number, own, repeat, slice(first, run.stop))
        yield Finding(
            "link-outage", "link", -1, start, end, "confirmed" if certain else "likely",
            f"for {(end - start) / 1e6:.0f} ms the {side} sent nothing but {repeats} repeats, and no frame or"
            " acknowledgement of its peer was heard between them",
            {"erased": repeats, "sent": run.stop - first, "duration_ms": (end - start) / 1e6},
            bearer=observed.bearer_number(link),
        )  # fmt: skip


def _nothing_unheard(
    number: npt.NDArray[np.int64], own: npt.NDArray[np.bool_], repeat: npt.NDArray[np.bool_], run: slice
) -> bool:
    """Whether the numbers of both directions show that no other frame was sent within a run of repeats of one frame."""
    after = np.flatnonzero(own[run.stop :] & (number[run.stop :] >= 0))
    if len(np.unique(number[run])) != 1 or not len(after) or repeat[run.stop + after[0]]:
        return False
    back = ~own & (number >= 0)
    before, later = np.flatnonzero(back[: run.start]), np.flatnonzero(back[run.stop :])
    peer_silent = len(before) > 0 and len(later) > 0 and number[run.stop + later[0]] - number[before[-1]] <= 1
    return bool(number[run.stop + after[0]] == number[run.start] + 1 and peer_silent)


def _runs(which: npt.NDArray[np.bool_]) -> Iterator[slice]:
    """The stretches in which all are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield slice(start, stop)


class _Bearer(NamedTuple):
    """The frames of a bearer, sent and received, in order of time."""

    time: npt.NDArray[np.int64]
    sent: npt.NDArray[np.bool_]
    bad: npt.NDArray[np.bool_]
    repeat: npt.NDArray[np.bool_]
    missed: npt.NDArray[np.bool_]
    """Sent, and as the log of the end that it was sent to shows, never there."""
    ends: tuple[str, str]
    """Where frames come to, and who sends them, in words."""


def _heard(observed: Observations, bearer: int) -> Iterator[Finding]:
    """The outages of a bearer: from the last good frame that came to an end with a log to the next, or to a reset."""
    link_rtt = observed.link_rtt_ns
    assert link_rtt is not None
    mine = _frames_of(observed, bearer)
    begins = np.array([start for start, _ in observed.resets(bearer)], dtype=np.int64)
    good = mine.time[~mine.sent & ~mine.bad]
    limit = observed.thresholds.outage_link_rtts * link_rtt
    for place in np.flatnonzero(np.diff(good) > limit).tolist():
        start, end = int(good[place]), int(good[place + 1])
        reset = begins[(begins > start) & (begins < end)]
        end = int(reset[0]) if len(reset) else end
        near = slice(*np.searchsorted(mine.time, (start - link_rtt // 2, end)).tolist())
        time, within, repeat = mine.time[near], mine.time[near] >= start, mine.repeat[near]
        # What was sent less than a round trip before the next good frame may have come with it, and what was under way
        # when the last good one came may have come, too, unless the other log shows otherwise. What was to come after
        # the next good frame is no part of it.
        missed = mine.missed[near]
        never_came = (time < end - link_rtt) | (missed & (time < end - link_rtt // 2)) | (len(reset) > 0)
        failed = within & mine.sent[near] & never_came
        under_way = ~within & missed
        erased = within & mine.bad[near]
        last = int(time[failed | under_way | erased].max(initial=start))
        if last > start and end - last > limit:
            end = last  # after that nothing was sent: the link was idle, not dead
        # The far end may have had nothing to send: only frames that arrived damaged prove an outage.
        if end - start > limit and (failed | under_way).any() and erased.any():
            counts = (erased, failed, failed & repeat, under_way, under_way & repeat)
            counted = _Counted(*(int(one.sum()) for one in counts))
            yield _outage(observed, bearer, (start, end), mine.ends, counted, reset=len(reset) > 0)


def _frames_of(observed: Observations, bearer: int) -> _Bearer:
    frames = observed.frames
    assert frames is not None
    rows = np.flatnonzero(frames["link"].isin(observed.bearer(bearer)))
    rows = rows[np.argsort(frames["time_ns"].to_numpy()[rows], kind="stable")]
    mine = frames.iloc[rows]
    sides = mine["side"].astype(str).unique().tolist()
    missed = np.zeros(len(frames), dtype=np.bool_)
    for link in (one for one in observed.bearer(bearer) if one >= 0):
        missed |= np.isin(outcomes(frames, link, observed.coverage(link, by_sender=False)), (UNHEARD, DAMAGED))
    return _Bearer(
        mine["time_ns"].to_numpy(), mine["sent"].to_numpy(), (mine["type"] == "BAD").to_numpy(),
        (mine["transmission"] > 0).to_numpy(), missed[rows],
        (f"the {sides[0]}", "it") if len(sides) == 1 else ("either end", "they"),
    )  # fmt: skip


class _Counted(NamedTuple):
    """Frames of an outage."""

    erased: int
    sent: int
    repeats: int
    under_way: int
    """Sent before it, and never there."""
    repeats_under_way: int


def _outage(
    observed: Observations, bearer: int, span: tuple[int, int], ends: tuple[str, str], counted: _Counted, *, reset: bool
) -> Finding:  # fmt: skip
    """The finding of an outage in which so many frames failed."""
    logged = observed.logged(bearer, *span)
    verdict = "confirmed" if counted.repeats or counted.repeats_under_way or reset else "likely"
    milliseconds = (span[1] - span[0]) / 1e6
    missed = f"; {counted.under_way} under way when it began never came, {counted.repeats_under_way} of them repeats"
    return Finding(
        "link-outage", "link" if logged else "unknown", -1, *span, verdict if logged else "undecided",
        f"for {milliseconds:.0f} ms {counted.erased} erased frames and no good one came to {ends[0]}, while "
        f"{ends[1]} sent {counted.sent}, of which {counted.repeats} were repeats"
        + (missed if counted.under_way else "")
        + ("; then the link was reset" if reset else "")
        + ("" if logged else "; undecided, because a log lacks frames then"),
        {"erased": counted.erased, "sent": counted.sent, "duration_ms": milliseconds}
        | ({"under_way": counted.under_way} if counted.under_way else {}),
        bearer=bearer,
    )  # fmt: skip

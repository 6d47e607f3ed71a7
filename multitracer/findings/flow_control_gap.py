"""The link sent nothing because its peer had stopped it: XOFF, RNR, or a full window."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from multitracer.findings.finding import Finding
from multitracer.findings.needs import LINK_INTERVALS
from multitracer.findings.observations import Observations
from multitracer.link.window import SHORT_FRAMES, window_is_known

KINDS = ("flow-control-gap",)
NEEDS = (LINK_INTERVALS,)

Ints = npt.NDArray[np.int64]


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each interval under flow control, and for each stretch with a full transmit window."""
    for link, start, end, because in observed.intervals("flow-control"):
        yield Finding(
            "flow-control-gap", "link", -1, start, end, "confirmed", because, {"duration_s": (end - start) / 1e9},
            bearer=observed.bearer_number(link),
        )  # fmt: skip
    yield from _full_windows(observed)


def _full_windows(observed: Observations) -> Iterator[Finding]:
    """Stretches in which data waited for the link's window: likely, as logs do not say how large the window is.

    Where it is only known how many frames were unacknowledged at most, data that waits for up to two frames may be no
    more than on its way to the air, with a window that is far from full.
    """
    table = observed.accounting
    if table is None or observed.link_rtt_ns is None:
        return
    table = table[(table["cause"] == "flow_controlled").to_numpy()]
    if not len(table):
        return
    bearer = observed.bearer_number(int(table["link"].iloc[0]))
    start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
    for _, stopped, until, _ in observed.intervals("flow-control"):
        other = (start < stopped) | (start >= until)
        start, end = start[other], end[other]
    if observed.links is None or not window_is_known(observed.links, int(table["link"].iloc[0])):
        long = end - start > SHORT_FRAMES * observed.frame_ns.get(int(table["link"].iloc[0]), 0)
        start, end = start[long], end[long]
    repairing = _repairing(observed, start, end)
    for run in _groups(start, end, repairing, observed.link_rtt_ns * observed.thresholds.group_rtts):
        waited = int((end[run] - start[run]).sum())
        repairs = bool(repairing[run.start])
        why = " while the link repaired one of them" if repairs else ""
        yield Finding(
            "flow-control-gap", "link", -1, int(start[run][0]), int(end[run][-1]), "likely",
            f"data waited {waited / 1e6:.0f} ms because as many frames were unacknowledged as the link ever allowed"
            f"{why}",
            {"duration_s": waited / 1e9, "repairing": repairs}, bearer=bearer,
        )  # fmt: skip


def _repairing(observed: Observations, start: Ints, end: Ints) -> npt.NDArray[np.bool_]:
    """During which of these times a frame that had been repeated was unacknowledged.

    A repeat is not acknowledged before a round trip has gone.
    """
    frames = observed.frames
    assert frames is not None  # the accounting of a link is made from them
    assert observed.accounting is not None
    assert observed.link_rtt_ns is not None
    mine = (frames["link"] == observed.accounting["link"].iloc[0]) & frames["sent"] & (frames["transmission"] > 0)
    again = np.sort(frames["time_ns"].to_numpy()[mine.to_numpy()])
    return np.searchsorted(again, end) > np.searchsorted(again, start - observed.link_rtt_ns, side="right")


def _groups(start: Ints, end: Ints, kind: npt.NDArray[np.bool_], pause_ns: float) -> Iterator[slice]:
    """Slices of times of one kind, each no longer than a pause after the one before."""
    if not len(start):
        return
    cuts = np.flatnonzero((start[1:] - end[:-1] > pause_ns) | (kind[1:] != kind[:-1])) + 1
    edges = [0, *cuts.tolist(), len(start)]
    for first, after in itertools.pairwise(edges):
        yield slice(first, after)

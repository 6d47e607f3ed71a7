"""The link was reset or released, and what that cost TCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.discards import Until, perhaps_given_up
from multitracer.findings.finding import Finding
from multitracer.findings.link_losses import deliveries
from multitracer.findings.needs import LINK_INTERVALS
from multitracer.findings.observations import Direction, Observations
from multitracer.findings.place_of_loss import IN_LINK, IN_RESET, LIKELY_IN_RESET, NOT_PROVEN, places_of_loss
from multitracer.link.window import acknowledged

KINDS = ("link-reset", "link-release")
NEEDS = (LINK_INTERVALS,)


def detect(observed: Observations) -> Iterator[Finding]:
    """One finding for each reset and each release."""
    places = places_of_loss(observed)
    for kind, name in (("reset", "link-reset"), ("release", "link-release")):
        for link, start, end, because in observed.intervals(kind):
            cost = _cost(observed, places, link, start, end)
            yield Finding(
                name, "link", cost.pop("connection", -1), start, end, "confirmed",
                because + (f"; {cost['text']}" if cost.get("text") else ""),
                {name: value for name, value in cost.items() if name not in ("text", "segments")},
                segments=cost.get("segments", ()), bearer=observed.bearer_number(link),
            )  # fmt: skip


def _cost(observed: Observations, places: Any, link: int, start: int, end: int) -> dict[str, Any]:
    """The segments that a reset flushed, and how long TCP made no progress, as far as captures show it."""
    direction = _most_on(observed, link, start, end)
    if direction is None:
        return {}
    cost: dict[str, Any] = {"connection": direction.connection}
    texts = []
    captured = direction.receiver_point >= 0
    lost = _lost(observed, direction, end) if captured else _undelivered(observed, direction, link, end)
    if lost is not None:
        lost = lost[~_acknowledged(observed, link, lost, start)]
        given_up = _given_up(observed, link, lost, start, end)
        flushed, others = _flushed(observed, places, lost[~given_up], end)
        others = np.concatenate([others, lost[given_up]])
        size = int(observed.column("payload_bytes")[flushed].sum())
        known = len(flushed) or not len(others)
        cost |= {"segments_lost": len(flushed) if known else None, "bytes_lost": size if known else None,
                 "segments": flushed, "records": observed.references(flushed)}
        texts += _said(len(flushed), size, len(others), likely=bool((places[flushed] == LIKELY_IN_RESET).any()))
    still = _standstill_ns(observed, direction, end)
    if still is not None:
        cost["standstill_s"] = still / 1e9
        texts.append(f"TCP made no progress for {still / 1e9:.2f} s around it")
    return cost | {"text": ", ".join(texts)}


def _most_on(observed: Observations, link: int, start: int, end: int) -> Direction | None:
    """The sender of most data, of the connections that were open then and on that link as far as that is known."""
    begun, over = observed.connections["start_ns"].to_numpy(), observed.connections["end_ns"].to_numpy()
    connections = None
    if observed.segment_frames is not None and len(observed.segment_frames):
        on_link = observed.segment_frames["link"].isin(observed.bearer(link))
        connections = set(observed.segment_frames.loc[on_link, "connection"].tolist())
    return max(
        (
            d for d in observed.directions
            if d.sender_point >= 0 and begun[d.connection] <= end and over[d.connection] >= start
            and (connections is None or d.connection in connections)
        ),
        key=lambda d: int(observed.column("payload_bytes")[observed.rows_sent(d)].sum()),
        default=None,
    )  # fmt: skip


def _lost(observed: Observations, direction: Direction, end: int) -> Any:
    """Rows of the segments that a reset flushed, by a capture at the receiver: sent before its end, after all there."""
    rows = observed.rows_sent(direction)
    rows = rows[(observed.column("payload_bytes")[rows] > 0) & (observed.column("time_ns")[rows] <= end)]
    came = np.flatnonzero((observed.arrived[rows] == 1) & (observed.arrival[rows] >= 0))
    came = came[observed.column("time_ns")[observed.arrival[rows[came]]] <= end]
    later = rows[came[-1] + 1 :] if len(came) else rows
    return later[observed.arrived[later] == 0]


def _undelivered(observed: Observations, direction: Direction, link: int, end: int) -> Any:
    """The same by the log of the link's far end: what it never had whole, though it had data sent later; None unknown.

    The link sent them for the last time before this reset, and after the one before.
    """
    table = deliveries(observed, direction, observed.bearer(link))
    if table is None:
        return None
    whole, last = table["delivered_ns"].to_numpy(), table["last_frame_ns"].to_numpy()
    if not (whole > end).any():
        return None
    before = max((over for _, over in observed.resets(link) if over < end), default=np.iinfo(np.int64).min)
    known = np.where(last >= 0, last, table["sent_ns"].to_numpy())
    return np.sort(table["segment"].to_numpy()[(whole < 0) & (before < known) & (known <= end)])


def _given_up(observed: Observations, link: int, rows: Any, start: int, end: int) -> Any:
    """Which of these lost rows an RLC entity may have given up by itself since the reset before."""
    since = max((over for _, over in observed.resets(link) if over < start), default=np.iinfo(np.int64).min)
    carrier = _carrier(observed, rows, link)
    return perhaps_given_up(observed, carrier, rows, Until(since, start, end))


def _carrier(observed: Observations, rows: Any, link: int) -> int:
    """The direction of a link that carried these rows."""
    table = observed.segment_frames
    carrier = [] if table is None else table["link"].to_numpy()[np.isin(table["segment"].to_numpy(), rows)]
    return int(carrier[0]) if len(carrier) else link


def _acknowledged(observed: Observations, link: int, lost: Any, start: int) -> Any:
    """Which of these rows the link had sent and its peer had acknowledged: they were lost otherwise, before a reset.

    RLP may take an old frame for a new one (N(S) counts modulo 62, in a window of 61): its peer then acknowledges what
    it delivered wrongly.
    """
    table, frames, links = observed.segment_frames, observed.frames, observed.links
    nothing = np.zeros(len(lost), dtype=np.bool_)
    if table is None or frames is None or links is None or not len(lost):
        return nothing
    one = _carrier(observed, lost, link)
    lowest = acknowledged(frames, links, one, int(links["reverse"].iat[one]), start)
    own = frames[((frames["link"] == one) & frames["sent"] & (frames["transmission"] == 0)).to_numpy()]
    if lowest is None or not len(own):
        return nothing
    mine = table[((table["link"] == one) & (table["first_frame_ns"] >= 0)).to_numpy()].sort_values("first_frame_ns")
    begins = mine["first_frame_ns"].to_numpy()
    time, number, epoch = (own[name].to_numpy() for name in ("time_ns", "sn_unwrapped", "epoch"))
    # The last frame of a packet is at the latest the first of the packet behind it, and the last before the reset.
    latest = max(int(np.searchsorted(time, start)) - 1, 0)
    behind = np.minimum(np.searchsorted(time, np.append(begins[1:], np.iinfo(np.int64).max)), latest)
    done = (number[behind] < lowest) & (epoch[behind] == epoch[latest]) & (begins < start)
    return np.isin(lost, mine["segment"].to_numpy()[done])


def _said(flushed: int, size: int, others: int, *, likely: bool) -> list[str]:
    """What a reset flushed, as far as it is known."""
    word = "likely flushed" if likely else "flushed"
    texts = [f"it {word} {flushed} segments ({size} bytes)"] if flushed or not others else []
    if others:
        texts.append(f"{others} segments sent before it never arrived: flushed, or lost before")
    return texts


def _flushed(observed: Observations, places: Any, lost: Any, end: int) -> tuple[Any, Any]:
    """Of what was lost around a reset, the rows that it flushed, and those that a queue may have dropped before it."""
    table = observed.segment_frames
    if table is not None:
        # What was first on the air after the reset was lost otherwise: its header may have been decompressed wrongly.
        later = table["segment"].to_numpy()[(table["first_frame_ns"] >= end).to_numpy()]
        lost = lost[~np.isin(lost, later)]
    places = places[lost]
    return lost[np.isin(places, (IN_RESET, LIKELY_IN_RESET, IN_LINK))], lost[places == NOT_PROVEN]


def _standstill_ns(observed: Observations, direction: Direction, end: int) -> int | None:
    """From the last acknowledgement of new data before the reset's end to the first after it."""
    rows = observed.rows(direction.connection, direction.sender_point, 1 - direction.sender)
    ack = observed.column("ack")[rows]
    if not len(rows):
        return None
    highest = np.maximum.accumulate(ack)
    advanced = observed.column("time_ns")[rows][np.concatenate([[True], highest[1:] > highest[:-1]])]
    before, after = advanced[advanced <= end], advanced[advanced > end]
    return int(after[0] - before[-1]) if len(before) and len(after) else None

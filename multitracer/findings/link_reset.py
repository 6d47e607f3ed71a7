"""The link was reset or released, and what that cost TCP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multitracer.findings.directions import Direction
from multitracer.findings.discards import NOT_BY_COUNT, PERHAPS, Until, given_up_before
from multitracer.findings.finding import Finding
from multitracer.findings.known_arrivals import carrier, known_to_have_come
from multitracer.findings.link_losses import deliveries, last_known_ns, never_came
from multitracer.findings.needs import LINK_INTERVALS
from multitracer.findings.observations import Observations
from multitracer.findings.place_of_loss import IN_LINK, IN_RESET, LIKELY_IN_RESET, NOT_PROVEN, places_of_loss

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
    until = repeated_until(observed, link, start, end) if (start, end) in observed.resets(link) else end
    lost = (_lost if captured else _undelivered)(observed, direction, link, start, until)
    if lost is not None:
        lost = lost[known_to_have_come(observed, link, lost, start) != 1]
        given_up = _given_up(observed, link, lost, start, end)
        flushed, others = _flushed(observed, places, lost[given_up != PERHAPS], until)
        others = np.concatenate([others, lost[given_up == PERHAPS]])
        likely = (places[flushed] == LIKELY_IN_RESET).any() or np.isin(lost[given_up == NOT_BY_COUNT], flushed).any()
        size = int(observed.column("payload_bytes")[flushed].sum())
        known = len(flushed) or not len(others)
        cost |= {
            "segments_lost": len(flushed) if known else None,
            "bytes_lost": size if known else None,
            "segments": flushed,
            "records": observed.references(flushed),
        }
        texts += _said(len(flushed), size, len(others), likely=bool(likely))
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


def repeated_until(observed: Observations, link: int, start: int, end: int) -> int:
    """When the request of a reset was last repeated, or came repeated: until the answer comes, with each SABM.

    RLP's entity begins anew with each (24.022 5.2.2.1); RLC's only with the first RESET (25.322 11.4.3).
    """
    frames = observed.frames
    if frames is None:
        return end
    bearer = observed.bearer(link)
    spans = (span for kind in ("reset", "release") for span in observed.intervals(kind))
    begins = (begin for one, begin, *_ in spans if one in bearer and begin > end)
    following = min(begins, default=np.iinfo(np.int64).max)
    time = frames["time_ns"].to_numpy()[((frames["type"] == "SABM") & frames["link"].isin(bearer)).to_numpy()]
    return int(time[(time >= start) & (time < following)].max(initial=end))


def _lost(observed: Observations, direction: Direction, link: int, start: int, end: int) -> Any:
    """Rows of the segments that a reset flushed, by a capture at the receiver: sent before its end, after all there.

    Also what was sent before, if the link still had it open.
    """
    rows = observed.rows_sent(direction)
    rows = rows[(observed.column("payload_bytes")[rows] > 0) & (observed.column("time_ns")[rows] <= end)]
    came = np.flatnonzero((observed.arrived[rows] == 1) & (observed.arrival[rows] >= 0))
    came = came[observed.column("time_ns")[observed.arrival[rows[came]]] <= end]
    later = np.arange(len(rows)) > came.max(initial=-1)
    lost, later = rows[observed.arrived[rows] == 0], later[observed.arrived[rows] == 0]
    kept: Any = lost[later | (known_to_have_come(observed, link, lost, start) == 0)]
    return kept


def _undelivered(observed: Observations, direction: Direction, link: int, start: int, end: int) -> Any:
    """The same by the log of the link's far end: what it never had whole, though it had data after it; None unknown.

    The link sent them for the last time before this reset, and after the one before.
    """
    table = deliveries(observed, direction, observed.bearer(link))
    if table is None or not (table["delivered_ns"] > end).any():
        return None
    earlier = max((other for other in observed.resets(link) if other[0] < start), default=None)
    before = np.iinfo(np.int64).min if earlier is None else repeated_until(observed, link, *earlier)
    known = last_known_ns(table)
    missed = never_came(observed, table, np.full(len(table), end)) & (before < known) & (known <= end)
    first, came = table["first_frame_ns"].to_numpy(), table["delivered_ns"].between(0, end).to_numpy()
    later = (first[missed] < 0) | (first[missed] > first[came].max(initial=-1))  # what waits is behind what was sent
    lost = table["segment"].to_numpy()[missed]
    return np.sort(lost[later | (known_to_have_come(observed, link, lost, start) == 0)])


def _given_up(observed: Observations, link: int, rows: Any, start: int, end: int) -> Any:
    """Whether an RLC entity had given these lost rows up by itself since the reset before: codes of `discards`."""
    return given_up_before(observed, carrier(observed, rows, link), rows, Until.reset(observed, link, start, end))


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

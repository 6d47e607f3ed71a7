"""The counts of every connection against tcptrace's, on every capture it was run on."""

from __future__ import annotations

import csv
import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from shared_data import shared

from multitracer import analyze

pytestmark = pytest.mark.data

COUNTS = {
    "total_packets": "packets", "actual_data_pkts": "data_segments", "actual_data_bytes": "data_bytes",
    "unique_bytes_sent": "unique_bytes", "rexmt_data_pkts": "retransmitted_segments",
    "rexmt_data_bytes": "retransmitted_bytes", "outoforder_pkts": "out_of_order_segments",
    "pure_acks_sent": "pure_acks", "sack_pkts_sent": "sack_segments",
}  # fmt: skip
ROUND_TRIPS = {"RTT_samples": "samples", "RTT_min": "min", "RTT_max": "max", "RTT_avg": "mean"}
TENTH_MS = 0.1001
"""tcptrace cuts to tenths of a millisecond, some figures twice."""


def end(text: str) -> str:
    """An end as both spell it."""
    host, _, port = text.rpartition(":")
    try:
        return f"{ipaddress.ip_address(host)}:{port}"
    except ValueError:
        # tcptrace prints IPv6 addresses with their leading groups of zeros left out.
        return f"{_longhand(host)}:{port}"


def _longhand(host: str) -> str:
    groups = [group for group in host.split(":") if group]
    try:
        return str(ipaddress.ip_address(":".join(["0"] * (8 - len(groups)) + groups)))
    except ValueError:
        return host


def figures(row: dict[str, str], found: dict[str, Any] | None, alone: bool) -> Iterator[tuple[str, bool]]:
    """(Name, whether it agrees) of every figure of one direction; `alone`: of one of the two there is no packet.

    Only there null is what tcptrace calls 0: what the other direction would tell.
    """
    for theirs, ours in COUNTS.items():
        yield ours, found is not None and agree(found[ours], float(row[theirs]), alone)
    for theirs, ours in ROUND_TRIPS.items():
        value = None if found is None else found["rtt_ms"][ours]
        expected = float(row[theirs])
        if ours == "samples":
            yield "rtt samples", found is not None and agree(value, expected, alone)
        else:
            shown = 0.0 if value is None or value != value else value
            yield f"rtt {ours}", found is not None and abs(shown - expected) <= TENTH_MS


def agree(ours: float | None, theirs: float, alone: bool) -> bool:
    """Whether a count is the same."""
    return theirs == 0 if alone and ours is None else ours == theirs


def joined(parts: list[dict[str, str]]) -> dict[str, str]:
    """One direction of a connection that tcptrace counted in parts: it begins a new one after four
    minutes of silence, and at a SYN after a FIN.
    """
    if len(parts) == 1:
        return parts[0]
    total: dict[str, Any] = {name: sum(float(part[name]) for part in parts) for name in (*COUNTS, "RTT_samples")}
    timed = [part for part in parts if float(part["RTT_samples"])]
    total["RTT_min"] = min((float(part["RTT_min"]) for part in timed), default=0.0)
    total["RTT_max"] = max((float(part["RTT_max"]) for part in timed), default=0.0)
    weighted = sum(float(part["RTT_avg"]) * float(part["RTT_samples"]) for part in timed)
    total["RTT_avg"] = weighted / total["RTT_samples"] if timed else 0.0
    return total


def compared(file: str, rows: list[dict[str, str]]) -> Iterator[tuple[str, bool]]:
    """Every figure of one capture; where tcptrace has more connections between two ends, its parts joined."""
    found = analyze([shared(file)]).summary()["connections"]
    ours: dict[frozenset[str], list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        ours[frozenset((one["client"], one["server"]))].append(one)
    theirs: dict[frozenset[str], dict[str, dict[str, dict[str, str]]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        theirs[frozenset((end(row["from"]), end(row["to"])))][row["order"]][end(row["from"])] = row
    for ends, uses in theirs.items():
        groups = [[use] for use in uses.values()]
        if len(groups) > len(ours[ends]) > 0:
            last = len(ours[ends]) - 1
            groups = [*groups[:last], [use for group in groups[last:] for use in group]]
        for number, group in enumerate(groups):
            mine = ours[ends][number] if number < len(ours[ends]) else None
            sides = {side: joined([use[side] for use in group]) for side in group[0]}
            alone = not all(float(row["total_packets"]) for row in sides.values())
            for side, row in sides.items():
                found_side = (
                    None if mine is None else mine["directions"]["client" if mine["client"] == side else "server"]
                )
                yield from figures(row, found_side, alone)


def test_at_least_98_percent_of_the_figures_agree() -> None:
    """Over all captures together; docs/tcptrace.md explains why the others differ."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with shared("tcptrace.csv").open() as file:
        for row in csv.DictReader(file):
            rows[row["file"]].append(row)
    differing: Counter[tuple[str, str]] = Counter()
    total = 0
    for name, own in rows.items():
        for figure, agrees in compared(name, own):
            total += 1
            differing[name, figure] += not agrees
    wrong = sum(differing.values())
    print(f"{total - wrong} of {total} figures agree ({100 * (1 - wrong / total):.2f} %)")
    assert total > 9000
    assert wrong <= 0.02 * total, [item for item in differing.most_common() if item[1]]

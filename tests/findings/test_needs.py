"""What detectors need: which kinds are looked for with which tables, and what the others would need."""

from __future__ import annotations

import pkgutil
from dataclasses import replace
from importlib import import_module
from itertools import combinations

import pytest
from repository import EXAMPLES
from scenes import LEAST_RTT_MS, Seen, accounting, frames, intervals, limits, scene, segment_frames
from two_ends import MS

from multitracer import findings
from multitracer.analysis.pipeline import analyze
from multitracer.findings import DETECTORS, KINDS, Observations, find
from multitracer.findings.directions import Direction, Directions
from multitracer.findings.needs import SEGMENTS, either, inputs_asked_for
from multitracer.parsers.shared.experiment import read

CAPTURE = "a packet capture of the transfer"
BESIDE_SENDER = "a packet capture beside the data sender"
BOTH_ENDS = "packet captures of the same transfer at both ends"
OR_LOGS = "(or beside the data sender, and logs of both ends of the link)"
LOG = "a log of the link's frames"

BY_TCP = {"timeout", "spurious-timeout", "fast-retransmit", "spurious-fast-retransmit", "probe"}
BY_PACKETS = {*BY_TCP, "zero-window", "handshake-retry"}
BY_BOTH_ENDS = {"burst-loss", "header-decompression-failure", "ack-loss", "ack-compression", "reordering"}
BY_LIMITS = {"path-stall", "receiver-window-limited", "application-limited"}
BY_LOG = {"link-reset", "link-release", "flow-control-gap"}

SENT = [Seen(sent=0, came=50, size=1000), Seen(sent=60, came=110, sender=1, ack=1001)]
NOWHERE = scene(directions=Directions.of([]))
AT_RECEIVER = scene(
    SENT, directions=Directions.of([Direction(0, 0, -1, 0, 0), Direction(0, 1, 0, -1, 0)]), limits=limits()
)
AT_SENDER = scene(
    SENT,
    directions=Directions.of([Direction(0, 0, 0, -1, LEAST_RTT_MS * MS), Direction(0, 1, -1, 0, 0)]),
    limits=limits(),
)
AT_BOTH = scene(SENT, limits=limits())
LOGGED = {"frames": frames(), "link_intervals": intervals(), "link_rtt_ns": 100 * MS}
JOINED = {**LOGGED, "segment_frames": segment_frames({"sent": 0}), "accounting": accounting((0, 10, "new_data"))}

LOOKED_FOR: dict[str, tuple[Observations, set[str]]] = {
    "nothing": (NOWHERE, set()),
    "receiver's capture": (AT_RECEIVER, BY_PACKETS),
    "sender's capture": (AT_SENDER, {*BY_PACKETS, *BY_LIMITS, "excessive-queueing"}),
    "both captures": (AT_BOTH, {*BY_PACKETS, *BY_LIMITS, *BY_BOTH_ENDS, "excessive-queueing"}),
    "link log": (replace(NOWHERE, **LOGGED), {*BY_LOG, "link-outage", "link-retransmissions"}),
    "link log without acknowledgements": (replace(NOWHERE, **{**LOGGED, "link_rtt_ns": None}), BY_LOG),
    "link rate": (
        replace(AT_SENDER, accounting=JOINED["accounting"]),
        {*BY_PACKETS, *BY_LIMITS, "excessive-queueing", "idle-link"},
    ),
    "link log that fits no packet": (
        replace(AT_SENDER, **LOGGED, segment_frames=segment_frames()),
        {*BY_PACKETS, *BY_LIMITS, *BY_LOG, "excessive-queueing", "link-outage", "link-retransmissions"},
    ),
    "all but the receiver's capture": (replace(AT_SENDER, **JOINED), {*KINDS} - BY_BOTH_ENDS),
    "everything": (replace(AT_BOTH, **JOINED), {*KINDS}),
}  # fmt: skip


@pytest.mark.parametrize("given", LOOKED_FOR)
def test_a_kind_is_listed_exactly_where_its_tables_are_missing(given: str) -> None:
    """With these tables these kinds are looked for, and every other is listed with an input that it needs."""
    observed, looked_for = LOOKED_FOR[given]
    found = find(observed)
    assert set(found.not_looked_for) == {*KINDS} - looked_for
    assert all(found.not_looked_for.values())
    assert set(found.table["kind"]) <= looked_for


@pytest.mark.parametrize(
    ("given", "kind", "needs"),
    [
        ("nothing", "timeout", CAPTURE),
        ("nothing", "competing-recovery", f"{CAPTURE} and {LOG}"),
        ("sender's capture", "competing-recovery", LOG),
        ("sender's capture", "link-recovery-hole", LOG),
        ("sender's capture", "link-reset", LOG),
        ("sender's capture", "reordering", BOTH_ENDS),
        ("receiver's capture", "excessive-queueing", BESIDE_SENDER),
        ("receiver's capture", "burst-loss", f"{BOTH_ENDS} {OR_LOGS} and {BESIDE_SENDER}"),
        ("link log", "competing-recovery", CAPTURE),
        ("link log without acknowledgements", "link-outage", f"{LOG} that shows when the peer acknowledged them"),
        ("link log that fits no packet", "local-drop", f"{LOG} and a packet capture of the same transfer"),
        (
            "both captures", "idle-link",
            f"{LOG} from the end that sends the data, or the link's rate (--link-rate BPS)",
        ),
    ],
)  # fmt: skip
def test_only_missing_inputs_are_asked_for(given: str, kind: str, needs: str) -> None:
    """An input that was given is not asked for again."""
    assert find(LOOKED_FOR[given][0]).not_looked_for[kind] == needs


def test_one_of_several_alternatives_is_enough() -> None:
    """A need that can be met in two ways is met by either, and asks for both while it is not met."""
    rtt = replace(SEGMENTS, input="a round trip", met=lambda observed: observed.usual_rtt_ns > 0)
    both = either(SEGMENTS, rtt)
    assert inputs_asked_for([both], NOWHERE) == f"{CAPTURE} or a round trip"
    assert inputs_asked_for([both], AT_SENDER) == ""
    assert inputs_asked_for([both], replace(NOWHERE, usual_rtt_ns=1)) == ""


def test_idle_links_of_a_window_are_judged_by_the_round_trips_outside_it() -> None:
    """A window in which nothing was acknowledged has no round trip of its own."""
    silent = replace(NOWHERE, accounting=JOINED["accounting"])
    assert "idle-link" in find(silent).not_looked_for
    assert "idle-link" not in find(replace(silent, usual_rtt_ns=MS)).not_looked_for


def test_every_detector_module_is_listed_once() -> None:
    """A module of findings that offers `detect` is called, and no kind has two detectors."""
    modules = {import_module(f"{findings.__name__}.{one.name}") for one in pkgutil.iter_modules(findings.__path__)}
    assert {module for module in modules if hasattr(module, "detect")} == set(DETECTORS)
    assert len(set(KINDS)) == len(KINDS)
    assert all(module.NEEDS for module in DETECTORS)


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_detector_s_file_is_named_for_what_it_finds(detector: object) -> None:
    """The file of a kind is guessed from the kind."""
    name = detector.__name__.rpartition(".")[2].replace("_", "-")  # type: ignore[attr-defined]
    assert name in detector.KINDS  # type: ignore[attr-defined]


RECORDINGS = sorted(path.name for path in (EXAMPLES / "rlp-reset").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [names for count in range(1, len(RECORDINGS) + 1) for names in combinations(RECORDINGS, count)],
    ids=" ".join,
)
def test_a_kind_is_looked_for_or_listed_whatever_was_recorded(names: tuple[str, ...]) -> None:
    """With every subset of a transfer's recordings, no kind that was found is listed as not looked for."""
    analysis = analyze(read(*(EXAMPLES / "rlp-reset" / name for name in names)))
    missing = set(analysis.not_looked_for)
    assert not set(analysis.tables["findings"]["kind"]) & missing
    assert missing <= {*KINDS}
    recorded = " ".join(names)
    both_ends = "snd" in recorded and "rcv" in recorded
    assert ("reordering" in missing) == (not both_ends)
    assert ("link-reset" in missing) == ("rlpdump" not in recorded)
    assert ("timeout" in missing) == ("pcap" not in recorded)
    joined = "rlpdump" in recorded and "pcap" in recorded
    assert ("competing-recovery" in missing) == (not joined)

"""Labelled transfers with parts of the links' logs cut out, and what is then said that contradicts the truth."""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from labelled import analysed, labelled, truth
from labelled_fates import contradicted, labelled_fates, sent_data
from shared_data import instruments

from multitracer import Analysis, analyze
from multitracer.link.frames import DATA_TYPES
from multitracer.model.options import AnalyzeOptions

NEAR_NS = 50_000_000
"""Times in two analyses of one transfer differ by the error of the logs' clocks, and by a frame."""
LOST_IN = {"host": {"overflow"}, "link": {"flushed", "garbled"}}
"""What became of packets that were lost in a layer."""


class Cut(NamedTuple):
    """The lines that a log lacks, from one share of them to another."""

    ends: tuple[str, ...]
    """The ends of the link whose logs lack them."""
    begin: float
    end: float


def analysed_with_cut(
    folder: str, cut: Cut, *left_out: str, options: AnalyzeOptions | None = None
) -> Analysis:  # fmt: skip
    """A labelled transfer without what a log lacks, and without recordings whose names begin with `left_out`.

    Nor with the capture of the air interface, which has all frames a second time.
    """
    source = labelled(folder)
    names = tuple(file.name for file in source.iterdir() if file.name.startswith(("rlc.network", *left_out)))
    with tempfile.TemporaryDirectory() as directory:
        copy = instruments(source, Path(directory), leave_out=names)
        for end in cut.ends:
            _cut_lines(next(copy.glob(f"rl?dump.{end}.txt*")), cut)
        return analyze(sorted(map(str, copy.iterdir())), options)


def _cut_lines(file: Path, cut: Cut) -> None:
    """Take lines out of a log, but not its header."""
    zipped = file.suffix == ".gz"
    lines = (gzip.decompress(file.read_bytes()) if zipped else file.read_bytes()).splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if not line.startswith(b"#"))
    begin, end = (first + round(share * (len(lines) - first)) for share in (cut.begin, cut.end))
    left = b"".join([*lines[:begin], *lines[end:]])
    file.write_bytes(gzip.compress(left) if zipped else left)


def wrong_fates(folder: str, analysis: Analysis, *, alone: bool) -> Counter[tuple[str, str]]:
    """(True, said) of the fates that are wrong; a log that lacks frames need not tell that what came was repeated."""
    data, true = sent_data(analysis), _fate_of(folder)
    data = data[data["ip_id"].isin(true) & (data["sender"] == data["sender"].mode()[0])]
    pairs = contradicted(data, [true[number] for number in data["ip_id"].tolist()], alone=alone)
    return Counter({pair: count for pair, count in pairs.items() if pair != ("repeated", "delivered")})


@cache
def _fate_of(folder: str) -> dict[int, str]:
    """The fate of each packet of data of the whole transfer, by its IP identification."""
    data, true = labelled_fates(folder, sent_data(analysed(folder)))
    return dict(zip(data["ip_id"].tolist(), true, strict=True))


def wrong_findings(folder: str, analysis: Analysis) -> Iterator[str]:
    """The confirmed findings that conclude from what a link's log lacks, and that did not happen."""
    found = analysis.tables["findings"]
    for finding in found[(found["verdict"] == "confirmed").to_numpy()].itertuples():
        check = _CHECKS.get(finding.kind)
        if check is not None and not check(folder, analysis, finding, finding.evidence):
            yield f"{finding.kind}: {finding.because}"


def _were_lost(folder: str, analysis: Analysis, finding: Any, evidence: dict[str, Any]) -> bool:
    """Whether the packets that it names were lost in its layer."""
    segments, packets = analysis.tables["segments"], truth(folder, "packets.csv")
    records = pd.MultiIndex.from_frame(segments[["input", "record"]])
    named = [(one["input"], one["record"]) for one in evidence.get("records", ())]
    numbers = segments["ip_id"].to_numpy()[records.isin(named)]
    came = packets[packets["fate"] == "delivered"]
    lost = packets[packets["ip_id"].isin(numbers) & (packets["fate"] != "delivered")]
    if finding.layer == "receiver":
        return not came["ip_id"].isin(numbers).any()
    fates = LOST_IN.get(finding.layer, set(lost["fate"]))
    return set(numbers) <= set(lost["ip_id"][lost["fate"].isin(fates)])


def _was_reset(folder: str, analysis: Analysis, finding: Any, evidence: dict[str, Any]) -> bool:
    """Whether the link was reset then, and took the packets that it names."""
    if likely_in(finding):
        return True
    events = truth(folder, "findings.csv")
    events = events[events["kind"] == "link-reset"]
    near = (events["start_ns"] <= finding.end_ns + 10 * NEAR_NS) & (events["end_ns"] >= finding.start_ns - 10 * NEAR_NS)
    return bool(near.any()) and _were_lost(folder, analysis, finding, evidence)


def likely_in(finding: Any) -> bool:
    """Whether it calls what a reset cost only likely."""
    return "likely flushed" in finding.because


def _was_dead(folder: str, _: Analysis, finding: Any, __: dict[str, Any]) -> bool:
    """Whether no good frame came to either end then."""
    frames = analysed(folder).tables["frames"]
    came = frames[(~frames["sent"] & (frames["type"] != "BAD")).to_numpy()]["time_ns"]
    return not came.between(finding.start_ns + NEAR_NS, finding.end_ns - NEAR_NS).any()


def _was_idle(folder: str, analysis: Analysis, finding: Any, evidence: dict[str, Any]) -> bool:
    """Whether the link's sender sent no data then."""
    side, frames = analysis.tables["links"]["sender"].iat[evidence["link"]], analysed(folder).tables["frames"]
    sent = frames[(frames["sent"] & frames["type"].isin(DATA_TYPES) & (frames["side"] == side)).to_numpy()]
    return not sent["time_ns"].between(finding.start_ns + NEAR_NS, finding.end_ns - NEAR_NS).any()


def _nothing_came(folder: str, _: Analysis, finding: Any, evidence: dict[str, Any]) -> bool:
    """Whether the receiver's capture of the whole transfer has nothing then of what the sender sent."""
    whole = analysed(folder)
    segments, paths = whole.tables["segments"], whole.paths
    sender = int(evidence["sender"] == whole.tables["connections"]["server"].iat[finding.connection])
    mine = (segments["connection"] == finding.connection) & (segments["sender"] == sender)
    mine &= segments["point"] == paths.receiver_point[finding.connection, sender]
    return not segments["time_ns"][mine].between(finding.start_ns + NEAR_NS, finding.end_ns - NEAR_NS).any()


def _was_stopped(folder: str, _: Analysis, finding: Any, __: dict[str, Any]) -> bool:
    """Whether the whole logs show the sender stopped all that time."""
    whole = analysed(folder).tables["findings"]
    whole = whole[(whole["kind"] == finding.kind) & (whole["verdict"] == "confirmed")]
    within = (whole["start_ns"] <= finding.start_ns + NEAR_NS) & (whole["end_ns"] >= finding.end_ns - NEAR_NS)
    return bool(within.any())


_CHECKS = {
    "local-drop": _were_lost, "burst-loss": _were_lost, "ack-loss": _were_lost, "link-reset": _was_reset,
    "link-outage": _was_dead, "idle-link": _was_idle, "link-recovery-hole": _nothing_came,
    "flow-control-gap": _was_stopped,
}  # fmt: skip

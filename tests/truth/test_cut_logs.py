"""Fates and findings of labelled transfers whose links' logs lack a part, or of which a window is analysed."""

from __future__ import annotations

import pytest
from cut_logs import Cut, analysed_with_cut, wrong_fates, wrong_findings
from labelled import analysed
from labelled_fates import sent_data

from multitracer.model.options import AnalyzeOptions

pytestmark = [pytest.mark.data, pytest.mark.slow]

NETWORK, MOBILE, BOTH = ("network",), ("mobile",), ("network", "mobile")
CASES = (
    ("rlc-reset", Cut(NETWORK, 0.4, 0.6)), ("rlc-reset", Cut(MOBILE, 0.4, 0.6)), ("rlc-reset", Cut(BOTH, 0.4, 0.6)),
    ("rlc-reset", Cut(MOBILE, 0.7, 0.8)), ("rlp-vj-reset", Cut(NETWORK, 0.4, 0.6)),
    ("rlp-vj-reset", Cut(NETWORK, 0.7, 0.8)), ("rlp-vj-reset", Cut(MOBILE, 0.4, 0.6)),
    ("rlp-reset", Cut(NETWORK, 0.4, 0.6)), ("rlp-reset", Cut(MOBILE, 0.2, 0.3)), ("rlp-good", Cut(MOBILE, 0.0, 0.4)),
    ("rlp-bad", Cut(NETWORK, 0.2, 0.3)), ("rlp-bad", Cut(MOBILE, 0.6, 1.0)), ("rlp-xonxoff", Cut(NETWORK, 0.4, 0.6)),
    ("rlp-xonxoff", Cut(MOBILE, 0.7, 0.8)), ("rlc-outseq", Cut(NETWORK, 0.0, 0.4)),
    ("rlc-outseq", Cut(NETWORK, 0.2, 0.3)), ("rlc-inseq", Cut(MOBILE, 0.2, 0.3)),
)  # fmt: skip
"""Gaps, heads and tails; each alone or together leads astray who takes a log for complete."""


@pytest.mark.parametrize(("folder", "cut"), CASES, ids=str)
@pytest.mark.parametrize("left_out", [(), ("rcv",)], ids=str)
def test_what_a_log_lacks_proves_nothing(folder: str, cut: Cut, left_out: tuple[str, ...]) -> None:
    """No fate and no confirmed finding contradicts what became of each packet, nor is all unknown."""
    analysis = analysed_with_cut(folder, cut, *left_out)
    assert wrong_fates(folder, analysis, alone=bool(left_out)) == {}
    assert list(wrong_findings(folder, analysis)) == []
    assert (sent_data(analysis)["fate"] != "unknown").any()


@pytest.mark.parametrize(("begin", "end"), [(0.33, 0.66), (0.5, 1.0), (0.0, 0.4)])
@pytest.mark.parametrize("folder", ["rlc-outseq", "rlp-vj-reset"])
def test_a_window_has_the_fates_of_the_whole(folder: str, begin: float, end: float) -> None:
    """A resend is needless also where the copy that came lies before the window."""
    whole = sent_data(analysed(folder))
    seconds = (whole["time_ns"].max() - whole["time_ns"].min()) / 1e9
    options = AnalyzeOptions(from_s=begin * seconds, to_s=end * seconds)
    part = sent_data(analysed_with_cut(folder, Cut((), 0, 0), options=options))
    told = dict(zip(whole["record"], whole["fate"], strict=True))
    assert len(part)
    assert part["fate"].tolist() == [told[record] for record in part["record"]]

"""Every fate in the table of segments, against what became of each packet."""

from __future__ import annotations

from pathlib import Path

import pytest
from labelled import BOTH_LAYERS, analysed, labelled
from labelled_fates import contradicted, labelled_fates, sent_data, true_fates
from recorded_scenarios import case
from true_fates import analysed_without, checked, recorded_run

from multitracer.parsers.shared.experiment import read

LEFT_OUT = ((), ("rcv",), ("snd.pcap",))
"""Both captures, and one of them."""
ENDS = (("rl*network",), ("rl*mobile",), ("rcv", "rl*network"), ("rcv", "rl*mobile"))
"""The same with the link's log of one end only."""
PLAIN, LOGGED = (1, 6, 8, 11), (4, 7, 12)
"""Cases with a link that has no log, and with RLC AM or RLP that lose frames, two of them with a reset."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [*PLAIN, *LOGGED])
def test_no_fate_contradicts_the_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a simulated transfer, from all that was recorded, from one capture, and from one end's log of the link."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling would take longer
    run = recorded_run(case(number, 15, 15), tmp_path / "run")
    for left_out in [*LEFT_OUT, *(ENDS if number in LOGGED else ())]:
        found = checked(run, analysed_without(tmp_path / "run", *left_out))
        assert (left_out, found.wrong[:5]) == (left_out, [])
        assert found.fates["unknown"] < found.fates.total()


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_a_real_transfers_fates_are_what_its_link_wrote_down(folder: str) -> None:
    """Packet by packet: its fate, and whether any of its frames was sent again; from one capture nothing is wrong."""
    for left_out in ((), ("rcv",)):
        data, true = labelled_fates(folder, sent_data(analysed(folder, *left_out)))
        assert contradicted(data, true, alone=bool(left_out)) == {}
        unknown = [one for one, said in zip(true, data["fate"], strict=True) if said == "unknown"]
        # Nothing shows that the queue before the link has a limit, nor that it has none.
        assert left_out or folder == "rlc-reset" or not unknown


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("folder", ["loss2", "stall", "reset", "overflow", "xonxoff"])
def test_what_the_receivers_capture_lacks_was_lost(folder: str) -> None:
    """By the IP identification, number and timestamp of each packet in both files; one capture errs in nothing."""
    key = ["ip_id", "raw_seq", "payload_bytes", "tsval"]
    came = set(read(str(labelled(folder) / "rcv.pcap")).tables["packets"][key].itertuples(index=False, name=None))
    for left_out in ((), ("rcv",)):
        analysis = analysed(folder, *left_out)
        data = sent_data(analysis)
        left = analysis.trace.tables["packets"][key].iloc[data.index].itertuples(index=False, name=None)
        lost = {place: "lost" for place, packet in enumerate(left) if packet not in came}
        assert contradicted(data, true_fates(data, lost, set()), alone=bool(left_out)) == {}
        assert left_out or "unknown" not in set(data["fate"])

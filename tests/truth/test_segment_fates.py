"""Every fate in the table of segments, against what became of each packet."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from labelled import BOTH_LAYERS, analysed, labelled, truth
from recorded_scenarios import case
from true_fates import analysed_without, checked, recorded_run

from multitracer import Analysis
from multitracer.compute import kernels
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
    monkeypatch.setattr(kernels, "choose", lambda _: None)
    run = recorded_run(case(number, 15, 15), tmp_path / "run")
    for left_out in [*LEFT_OUT, *(ENDS if number in LOGGED else ())]:
        found = checked(run, analysed_without(tmp_path / "run", *left_out))
        assert (left_out, found.wrong[:5]) == (left_out, [])
        assert found.fates["unknown"] < found.fates.total()


def sent_data(analysis: Analysis) -> pd.DataFrame:
    """The segments with data in the sender's capture, in the order sent; their fates as text."""
    table, inputs = analysis.tables["segments"], [Path(str(one.path)).name for one in analysis.trace.inputs]
    mine = table[(table["input"] == inputs.index("snd.pcap")) & table["fate"].notna()]
    left = analysis.paths.sender_point[mine["connection"], mine["sender"]] == mine["point"]
    return mine[left.to_numpy()].astype({"fate": str})


def true_fates(data: pd.DataFrame, lost: dict[int, str], repeated: set[int]) -> list[str]:
    """By what is known of packets by their place in `data`: those that were lost, and those that a link repeated."""
    came: set[tuple[int, int, int]] = set()
    found = []
    columns = (data[name].tolist() for name in ("connection", "seq", "payload_bytes"))
    for place, octets in enumerate(zip(*columns, strict=True)):
        again = octets in came
        found.append(lost.get(place) or ("needless" if again else "repeated" if place in repeated else "delivered"))
        if place not in lost:
            came.add(octets)
    return found


def contradicted(data: pd.DataFrame, true: list[str], *, alone: bool) -> Counter[tuple[str, str]]:
    """(True, said) of the fates that are wrong, with how often.

    From the sender's capture alone a needless resend is called that also if it did not arrive: nothing says so.
    """
    pairs = Counter(zip(true, data["fate"].tolist(), strict=True))
    if alone:
        needless = true_fates(data, {}, set())
        pairs -= Counter((one, "needless") for one, two in zip(true, needless, strict=True) if two == "needless")
    return Counter({pair: count for pair, count in pairs.items() if pair[1] not in (pair[0], "unknown")})


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("folder", BOTH_LAYERS)
def test_a_real_transfers_fates_are_what_its_link_wrote_down(folder: str) -> None:
    """Packet by packet: its fate, and whether any of its frames was sent again; from one capture nothing is wrong."""
    names = {"overflow": "dropped", "flushed": "flushed", "garbled": "lost"}
    side = "network" if folder.startswith("rlc") else "mobile"
    packets = truth(folder, "packets.csv")
    packets = packets[packets["from"] == side].set_index("ip_id")
    for left_out in ((), ("rcv",)):
        data = sent_data(analysed(folder, *left_out))
        data = data[data["ip_id"].isin(packets.index) & (data["sender"] == data["sender"].mode()[0])]
        mine = packets.loc[data["ip_id"]]
        lost = {place: names[fate] for place, fate in enumerate(mine["fate"]) if fate in names}
        repeated = {place for place, count in enumerate(mine["frame_retransmissions"]) if count > 0}
        true = true_fates(data, lost, repeated)
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

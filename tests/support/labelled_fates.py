"""The true fate of every data segment of a labelled transfer, and what is said of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
from labelled import truth

from multitracer import Analysis

LOST = {"overflow": "dropped", "flushed": "flushed", "garbled": "lost"}


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


def labelled_fates(folder: str, data: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of `data` the rows of the transfer's data, and what became of each."""
    packets = truth(folder, "packets.csv")
    packets = packets[packets["from"] == ("network" if folder.startswith("rlc") else "mobile")].set_index("ip_id")
    data = data[data["ip_id"].isin(packets.index) & (data["sender"] == data["sender"].mode()[0])]
    mine = packets.loc[data["ip_id"]]
    lost = {place: LOST[fate] for place, fate in enumerate(mine["fate"]) if fate in LOST}
    repeated = {place for place, count in enumerate(mine["frame_retransmissions"]) if count > 0}
    return data, true_fates(data, lost, repeated)

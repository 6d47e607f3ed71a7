"""The order of observation points along a path, and what arrived at its end."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from two_ends import MS, Path, transfer

from multitracer.model.paths import NOWHERE
from multitracer.model.schema import build
from multitracer.model.trace import Input, Recording
from multitracer.vantage import clocks
from multitracer.vantage.paths import LOST, find_paths
from multitracer.vantage.points import Point, Points

CLIENT, SERVER = 0, 1


def one_connection(segments: pd.DataFrame) -> pd.DataFrame:
    """The connections table of a made-up transfer."""
    start, end = int(segments["time_ns"].min()), int(segments["time_ns"].max())
    return build(
        "connections",
        {
            "connection": [0], "flow": [0], "client": ["10.0.0.1:1"], "server": ["10.0.0.2:2"], "start_ns": [start],
            "end_ns": [end], "handshake_seen": [True], "closed": ["fin"], "isn_known_client": [True],
            "isn_known_server": [True], "window_scaled": [True],
        },
    )  # fmt: skip


def aligned(
    *seen: pd.DataFrame, order: tuple[int, ...] = (0, 1), roles: dict[int, str] | None = None
) -> tuple[pd.DataFrame, clocks.Alignment]:
    """The captures joined as points in the given order, and their clocks."""
    parts = [
        table.assign(point=np.int16(place), input=np.int16(place))
        for place, table in enumerate(seen[number] for number in order[: len(seen)])
    ]
    segments = pd.concat(parts, ignore_index=True)
    points = tuple(Point(n, ((n, 0),), f"capture {n}", int(p["time_ns"].min())) for n, p in enumerate(parts))
    found = Points(segments["point"].to_numpy(np.int16), np.zeros(len(segments), dtype=np.bool_), points)
    inputs = [Input(n, f"{n}.pcap", Recording("pcap"), first_ns=int(p["time_ns"].min())) for n, p in enumerate(parts)]
    alignment = clocks.align(segments, found, inputs, roles=roles)
    segments["time_ns"] = clocks.times_on_reference(alignment, segments)
    return segments, alignment


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("offset_ns", [0, -1500 * MS, 900 * MS])
def test_the_order_of_points_does_not_depend_on_the_clocks(order: tuple[int, ...], offset_ns: int) -> None:
    """The sender's capture is the point that its data leaves from, with either clock ahead."""
    sent, came, _ = transfer(Path(offset_ns=offset_ns), 4)
    segments, alignment = aligned(sent, came, order=order)
    paths = find_paths(segments, one_connection(segments), alignment)
    near = order.index(0)
    assert paths.sender_point[0].tolist() == [near, 1 - near]
    assert paths.receiver_point[0].tolist() == [1 - near, near]


def test_a_connection_seen_one_way_does_not_say_which_way() -> None:
    """Its client, beside the receiver, sends towards the clients of others: nothing but its packets tells that."""
    seen = transfer(Path(offset_ns=900 * MS), 4)[:2]
    for capture in seen:
        capture.attrs.clear()
    theirs = [capture[capture["sender"] == SERVER].assign(connection=1, sender=CLIENT) for capture in seen]
    captures = [pd.concat(both).sort_values("time_ns") for both in zip(seen, theirs, strict=True)]
    clock = aligned(*captures)[1].clocks[1]
    assert clock.error_s is not None
    assert clock.error_s < 0.02
    assert abs(clock.offset_s - 0.9) < clock.error_s


def test_arrived_and_lost_segments_are_distinguished() -> None:
    """Every data segment in the receiver's capture arrived, and every other one was lost."""
    sent, came, row_of = transfer(Path(loss=0.1), 6)
    # Acknowledgements are set to 1: those generated cover lost data, which would look like holes in the capture.
    segments, alignment = aligned(sent.assign(ack=np.int64(1)), came.assign(ack=np.int64(1)))
    paths = find_paths(segments, one_connection(segments), alignment)
    data = np.flatnonzero((sent["payload_bytes"] > 0).to_numpy() & (sent["sender"] == CLIENT).to_numpy())
    inside = data[(sent["time_ns"].to_numpy()[data] <= came["time_ns"].max())]
    assert (row_of[inside] < 0).any()
    for row in inside:
        expected = 1 if row_of[row] >= 0 else LOST
        assert paths.arrived[row] in (expected, -1)
        if row_of[row] >= 0 and paths.arrival[row] != NOWHERE:
            assert paths.arrival[row] == len(sent) + row_of[row]
    assert (paths.arrived[inside] >= 0).mean() > 0.9


def test_bytes_acknowledged_but_not_captured_are_not_lost() -> None:
    """Segments that the receiver's capture missed, but acknowledged, are unknown."""
    sent, came, row_of = transfer(Path(), 4)
    data = np.flatnonzero((came["payload_bytes"] > 0).to_numpy())
    missed = data[len(data) // 2]
    segments, alignment = aligned(sent, came.drop(index=missed).reset_index(drop=True))
    paths = find_paths(segments, one_connection(segments), alignment)
    row = int(np.flatnonzero(row_of == missed)[0])
    assert paths.arrival[row] == NOWHERE
    assert paths.arrived[row] == -1


def test_one_capture_leaves_arrivals_unknown() -> None:
    """With the sender's capture alone the arrival of every segment is unknown."""
    sent, _, _ = transfer(Path(), 4)
    segments, alignment = aligned(sent)
    paths = find_paths(segments, one_connection(segments), alignment)
    mine = (segments["sender"] == CLIENT).to_numpy()
    assert (paths.arrived[mine] == -1).all()
    assert paths.seen_at[0].tolist() == [0, 0]


def test_segments_in_the_receivers_capture_alone_arrived() -> None:
    """With the receiver's capture alone all data in it has arrived."""
    _, came, _ = transfer(Path(), 4)
    segments, alignment = aligned(came, roles={0: "receiver"})
    paths = find_paths(segments, one_connection(segments), alignment)
    mine = ((segments["sender"] == CLIENT) & (segments["payload_bytes"] > 0)).to_numpy()
    assert paths.sender_point[0, CLIENT] == NOWHERE
    assert (paths.arrived[mine] == 1).all()


@pytest.mark.parametrize("offset_ns", [0, -1500 * MS])
@pytest.mark.parametrize("end_s", [2.0, 3.1, 4.7])
def test_packets_on_the_way_when_the_other_capture_ends_are_not_lost(end_s: float, offset_ns: int) -> None:
    """What arrived after the receiver's capture had been stopped is lost for nobody; what it missed before is."""
    sent, came, row_of = transfer(Path(loss=0.05, forward_ns=300 * MS, offset_ns=offset_ns), 6)
    sent, came = (table.assign(ack=np.int64(1)) for table in (sent, came))
    kept = came["recorded_ns"].to_numpy() <= came["recorded_ns"].min() + end_s * 1e9
    segments, alignment = aligned(sent, came[kept])
    paths = find_paths(segments, one_connection(segments), alignment)
    lost = np.flatnonzero(paths.arrived[: len(sent)] == LOST)
    lost = lost[sent["sender"].to_numpy()[lost] == CLIENT]
    assert len(lost) > 3
    assert (row_of[lost] < 0).all()

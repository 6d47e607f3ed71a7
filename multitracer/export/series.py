"""The series of one connection and its link, with the names that the original MultiTracer gave them.

Times are seconds since the trace's start. The values of TCP series are relative sequence numbers or bytes, of
SRTT and its variation seconds, of link series unwrapped sequence numbers; an event without a number has
the value NaN. A series that the inputs do not contain is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.link.frames import MODULI
from multitracer.model.schema import ACK, MARKS, OPTION_TIMESTAMPS

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray[Any, Any]

TCP_SERIES = (
    "TcpSnd-data", "TcpSnd-ack", "TcpSnd-cwnd", "TcpSnd-srtt", "TcpSnd-vrtt", "TcpSnd-sstrsh",
    "TcpRcv-data", "TcpRcv-ack",
)  # fmt: skip
HOST_SERIES = ("TcpSnd-throughput", "TcpSnd-resends")
"""What the sender's host counted in each interval, at its end: bit/s handed to TCP, and segments sent again."""
RLP_SERIES = (
    "RlpSnd-data", "RlpSnd-ack", "RlpSnd-data-rexmt", "RlpSnd-poll-snd", "RlpSnd-rpoll-rcv", "RlpSnd-rst",
    "RlpSnd-srej-rcv", "RlpSnd-xoff", "RlpSnd-xon",
)  # fmt: skip
RLC_SERIES = (
    "RlcSnd-data", "RlcSnd-ack", "RlcSnd-nack-rcv", "RlcSnd-data-rexmt", "RlcSnd-poll-snd",
    "RlcSnd-status-rcv", "RlcSnd-mrw", "RlcSnd-rst",
)  # fmt: skip

_STATE = {
    "TcpSnd-cwnd": ("cwnd_bytes", "cwnd_segments"),
    "TcpSnd-srtt": ("srtt_s", None),
    "TcpSnd-vrtt": ("rttvar_s", None),
    "TcpSnd-sstrsh": ("ssthresh_bytes", "ssthresh_segments"),
}
TIMESTAMPS_BYTES = 12
"""The length of the timestamps option with padding (RFC 7323 appendix A)."""

_SUPERVISORY = ("RR", "RNR", "REJ", "SREJ")


@dataclass(frozen=True)
class View:
    """The data sender of a connection, the observation points beside both ends, and the link.

    `data_sender` is 0 for the client, 1 for the server; a point or link that was not recorded is None.
    """

    data_sender: int
    sender_point: int | None = None
    receiver_point: int | None = None
    link: int | None = None


def series(tables: Mapping[str, pd.DataFrame], connection: int, view: View, origin_ns: int) -> dict[str, pd.DataFrame]:
    """Every series that the tables contain, by name, as a DataFrame of time_s and value; without empty ones."""
    made = _tcp(tables, connection, view) | _link(tables, view.link)
    return {name: _frame(times, values, origin_ns) for name, (times, values) in made.items() if len(times)}


def write(named: Mapping[str, pd.DataFrame], directory: Path, connection: int = 0) -> list[Path]:
    """Write each series to NAME.csv, the TCP series of connection N > 0 to NAME.N.csv; returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, frame in named.items():
        path = directory / f"{file_name(name, connection)}.csv"
        text = frame.assign(time_s=[f"{time:.9f}" for time in frame["time_s"].tolist()])
        text.to_csv(path, index=False, lineterminator="\n")
        written.append(path)
    return written


def file_name(name: str, connection: int) -> str:
    """The name of a series' file without extension: only TCP series have the connection number in it."""
    return f"{name}.{connection}" if connection and name.startswith("Tcp") else name


def _frame(times: Array, values: Array | None, origin_ns: int) -> pd.DataFrame:
    import pandas as pd

    order = np.argsort(times, kind="stable")
    value = np.full(len(times), np.nan) if values is None else values[order]
    return pd.DataFrame({"time_s": (times[order] - origin_ns) / 1e9, "value": value})


def _arrays(frame: pd.DataFrame, *names: str) -> list[Array]:
    return [frame[name].to_numpy() for name in names]


# TCP


def _tcp(tables: Mapping[str, pd.DataFrame], connection: int, view: View) -> dict[str, tuple[Array, Array]]:
    made: dict[str, tuple[Array, Array]] = {}
    segments = tables.get("segments")
    if segments is not None:
        own = segments[segments["connection"].to_numpy() == connection]
        for side, point in (("TcpSnd", view.sender_point), ("TcpRcv", view.receiver_point)):
            if point is not None:
                made |= _segments(own, side, point, view.data_sender)
    state = tables.get("tcp_state")
    if state is not None:
        ours = (state["connection"].to_numpy() == connection) & (state["sender"].to_numpy() == view.data_sender)
        made |= _sender_state(state[ours], segment_bytes(tables, connection, view))
    return made


def _segments(own: pd.DataFrame, side: str, point: int, data_sender: int) -> dict[str, tuple[Array, Array]]:
    """Data and acknowledgements of one connection at one observation point, without packets captured twice."""
    seen = own[(own["point"].to_numpy() == point) & (own["marks"].to_numpy() & MARKS["captured_twice"] == 0)]
    times, sender, seq, ack, payload, flags = _arrays(seen, "time_ns", "sender", "seq", "ack", "payload_bytes", "flags")
    data = (sender == data_sender) & (payload > 0)
    acks = (sender == 1 - data_sender) & (flags & ACK != 0) & (ack >= 0)
    return {f"{side}-data": (times[data], seq[data]), f"{side}-ack": (times[acks], ack[acks])}


def segment_bytes(tables: Mapping[str, pd.DataFrame], connection: int, view: View) -> float | None:
    """Payload of a full segment: from cwnd in bytes and segments in the sender's log, else the largest captured.

    With segmentation offload a capture contains larger segments than were sent: the smaller of the
    largest at the two ends is taken, at most the peer's MSS option less the timestamps. None if unknown.
    """
    state, segments = tables.get("tcp_state"), tables.get("segments")
    if state is not None:
        ours = _of(state, connection, view.data_sender)
        in_bytes, in_segments = _arrays(ours, "cwnd_bytes", "cwnd_segments")
        both = (in_bytes > 0) & (in_segments > 0)
        if both.any():
            return float(np.median(in_bytes[both] / in_segments[both]))
    if segments is None:
        return None
    mine = _of(segments, connection, view.data_sender)
    points, payload, options = _arrays(mine, "point", "payload_bytes", "options")
    ends = [point for point in (view.sender_point, view.receiver_point) if point is not None]
    largest = min((int(payload[points == point].max(initial=0)) for point in ends), default=0)
    allowed = _peer_mss(tables, connection, view.data_sender)
    if allowed is not None and largest > allowed:
        largest = allowed - (TIMESTAMPS_BYTES if (options & OPTION_TIMESTAMPS).any() else 0)
    return float(largest) if largest > 0 else None


def _peer_mss(tables: Mapping[str, pd.DataFrame], connection: int, sender: int) -> int | None:
    connections = tables.get("connections")
    if connections is None:
        return None
    name = "mss_server" if sender == 0 else "mss_client"
    mss = connections.loc[connections["connection"] == connection, name]
    return int(mss.iloc[0]) if len(mss) and mss.iloc[0] > 0 else None


def _of(frame: pd.DataFrame, connection: int, sender: int) -> pd.DataFrame:
    return frame[(frame["connection"].to_numpy() == connection) & (frame["sender"].to_numpy() == sender)]


def _sender_state(state: pd.DataFrame, mss: float | None) -> dict[str, tuple[Array, Array]]:
    """cwnd, ssthresh, SRTT and RTTVAR at each change, each from the log with most values of it."""
    made = {}
    for name, (column, in_segments) in _STATE.items():
        times, inputs, values = _arrays(state, "time_ns", "input", column)
        if in_segments and mss:
            values = np.where(np.isnan(values), state[in_segments].to_numpy() * mss, values)
        known = np.isfinite(values)
        if known.any():
            best = np.bincount(inputs[known].astype(np.int64) + 1).argmax() - 1
            known &= inputs == best
            made[name] = _changes(times[known], values[known])
    return made | _of_intervals(state)


def _of_intervals(state: pd.DataFrame) -> dict[str, tuple[Array, Array]]:
    """Throughput and resends of the intervals of the log that counted most of them."""
    lasted = state["interval_s"].to_numpy()
    inputs = state["input"].to_numpy()
    counted = lasted > 0
    if counted.any():
        counted &= inputs == np.bincount(inputs[counted]).argmax()
    times, octets, resends = _arrays(state[counted], "time_ns", "interval_bytes", "interval_resends")
    made = zip(HOST_SERIES, (octets * 8 / lasted[counted], resends), strict=True)
    return {name: (times[known], values[known]) for name, values in made if (known := np.isfinite(values)).any()}


def _changes(times: Array, values: Array) -> tuple[Array, Array]:
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    new = np.diff(values, prepend=np.nan) != 0
    return times[new], values[new]


# The link


def _link(tables: Mapping[str, pd.DataFrame], link: int | None) -> dict[str, tuple[Array, Array | None]]:
    links, frames = tables.get("links"), tables.get("frames")
    if link is None or links is None or frames is None or link not in links["link"].to_numpy():
        return {}
    row = links[links["link"] == link].iloc[0]
    if row["protocol"] == "wifi":
        return {}
    of, ours = frames["link"].to_numpy(), frames["sent"].to_numpy(dtype=bool)
    sent = frames[(of == link) & ours].sort_values("time_ns", kind="stable")
    heard = frames[(of == row["reverse"]) & ~ours].sort_values("time_ns", kind="stable")
    if not len(sent):
        return {}
    make = _rlp if row["protocol"] == "rlp" else _rlc
    numbers = _Numbers(sent, _modulus(str(row["protocol"]), sent, heard))
    prefix = "RlpSnd" if row["protocol"] == "rlp" else "RlcSnd"
    happened = _events(tables, (link, int(row["reverse"])), str(row["sender"]))
    made = make(sent, heard, numbers) | happened
    return {f"{prefix}-{name}": made[name] for name in made if f"{prefix}-{name}" in (*RLP_SERIES, *RLC_SERIES)}


def _modulus(protocol: str, sent: pd.DataFrame, heard: pd.DataFrame) -> int:
    """The modulus of the sequence numbers: the protocol's smallest field that holds all numbers seen."""
    largest = max(sent["sn"].max(), heard["nr"].max() if len(heard) else 0)
    return next((m for m in MODULI[protocol] if largest < m), MODULI[protocol][-1])


class _Numbers:
    """Unwraps received acknowledgement numbers by the numbers that had been sent until then.

    N(R), ACK_SN and LSN are the next number expected, so at most one above the highest number sent in
    the same epoch.
    """

    def __init__(self, sent: pd.DataFrame, modulus: int) -> None:
        numbered = sent[(sent["sn_unwrapped"] >= 0) & (sent["sn"] >= 0)]
        self.modulus = modulus
        times, unwrapped, sn, epoch = _arrays(numbered, "time_ns", "sn_unwrapped", "sn", "epoch")
        self.epochs = {}
        for number in np.unique(epoch):
            own = epoch == number
            highest = np.maximum.accumulate(unwrapped[own])
            first = np.flatnonzero(np.diff(highest, prepend=-1) > 0)
            place = first[np.searchsorted(first, np.arange(len(highest)), side="right") - 1]
            self.epochs[int(number)] = (times[own], highest, sn[own][place], unwrapped[own][0] - sn[own][0])

    def place(self, times: Array, epochs: Array, numbers: Array) -> Array:
        """`numbers`, received at `times` (ns), unwrapped; -1 if they acknowledge nothing that had been sent."""
        placed = np.full(len(times), -1, dtype=np.int64)
        for epoch, (sent_at, highest, sn, base) in self.epochs.items():
            own = np.flatnonzero(epochs == epoch)
            at = np.searchsorted(sent_at, times[own], side="right") - 1
            behind = (sn[at] + 1 - numbers[own]) % self.modulus
            value = highest[at] + 1 - behind
            # Before the first frame of the epoch is sent, only its number can be the next expected.
            placed[own] = np.where(at >= 0, value, np.where(numbers[own] == sn[0], highest[0], -1))
            placed[own] = np.where(placed[own] < base, -1, placed[own])
        return placed


def _rlp(sent: pd.DataFrame, heard: pd.DataFrame, numbers: _Numbers) -> dict[str, tuple[Array, Array | None]]:
    kind, times, poll, command = _types(sent), *_arrays(sent, "time_ns", "poll", "command")
    came, came_at, came_poll, came_command = _types(heard), *_arrays(heard, "time_ns", "poll", "command")
    supervises = np.array([name.removeprefix("I ") for name in came], dtype=object)
    acked = numbers.place(*_arrays(heard, "time_ns", "epoch", "nr"))
    asks = np.isin(kind, _SUPERVISORY) & (poll == 1) & (command == 1)
    answers = np.isin(supervises, _SUPERVISORY) & (came_poll == 1) & (came_command == 0)
    acks = np.isin(supervises, _SUPERVISORY[:3]) & (acked >= 0)
    selective = (supervises == "SREJ") & (acked >= 0)
    return _data(sent, np.char.startswith(kind.astype(str), "I ")) | {
        "ack": (came_at[acks], acked[acks]),
        "poll-snd": (times[asks], None),
        "rpoll-rcv": (came_at[answers], None),
        "srej-rcv": (came_at[selective], acked[selective]),
    }


def _rlc(sent: pd.DataFrame, heard: pd.DataFrame, numbers: _Numbers) -> dict[str, tuple[Array, Array | None]]:
    kind, times, poll, unwrapped = _types(sent), *_arrays(sent, "time_ns", "poll", "sn_unwrapped")
    status = heard[_types(heard) == "STATUS"]
    status_at, epoch, nr = _arrays(status, "time_ns", "epoch", "nr")
    acked = numbers.place(status_at, epoch, nr)
    lists = [nacks if isinstance(nacks, list | tuple | np.ndarray) else () for nacks in status["nacks"]]
    which = np.repeat(np.arange(len(lists)), [len(nacks) for nacks in lists])
    nacked = np.array([nack[0] for nacks in lists for nack in nacks], dtype=np.int64)
    missing = numbers.place(status_at[which], epoch[which], nacked)
    asks = (kind == "AMD") & (poll == 1)
    moves = kind == "MRW"
    return _data(sent, kind == "AMD") | {
        "ack": (status_at[acked >= 0], acked[acked >= 0]),
        "nack-rcv": (status_at[which][missing >= 0], missing[missing >= 0]),
        "poll-snd": (times[asks], unwrapped[asks]),
        "status-rcv": (status_at, None),
        "mrw": (times[moves], None),
    }


def _types(frames: pd.DataFrame) -> Array:
    return np.asarray(frames["type"].astype(object), dtype=object)


def _data(sent: pd.DataFrame, data: Array) -> dict[str, tuple[Array, Array | None]]:
    times, unwrapped, transmission = _arrays(sent, "time_ns", "sn_unwrapped", "transmission")
    new, again = data & (transmission == 0), data & (transmission > 0)
    return {"data": (times[new], unwrapped[new]), "data-rexmt": (times[again], unwrapped[again])}


def _events(
    tables: Mapping[str, pd.DataFrame], directions: tuple[int, int], side: str
) -> dict[str, tuple[Array, Array | None]]:
    """Resets of both directions, and XOFF and XON that the data sender's side received."""
    events = tables.get("link_events")
    if events is None:
        return {}
    here = events[np.isin(events["link"].to_numpy(), directions) & (events["side"].to_numpy() == side)]
    kind, times = np.asarray(here["event"].astype(object), dtype=object), here["time_ns"].to_numpy()
    return {
        name: (np.unique(times[kind == event]), None)
        for name, event in (("rst", "reset"), ("xoff", "xoff"), ("xon", "xon"))
    }

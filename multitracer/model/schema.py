"""The schema: every table, its columns, their types, units and meaning.

The same objects are used to build, validate, write and document tables and to label plots. Times are
always `int64` nanoseconds. An unknown value is the column's `null` in memory, and a null in every file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from multitracer.model import vocabulary

if TYPE_CHECKING:
    import pandas as pd

# TCP flags (RFC 9293 3.1), and bits for the options in a packet.
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = 1, 2, 4, 8, 16, 32, 64, 128
OPTION_TIMESTAMPS, OPTION_SACK, OPTION_SACK_PERMITTED, OPTION_MSS, OPTION_WSCALE = 1, 2, 4, 8, 16

# Bits of `segments.marks`, set by the analysis.
_MARKS = (
    "retransmission", "out_of_order", "duplicate_ack", "captured_twice", "zero_window", "window_probe", "keep_alive",
    "acks_unseen", "bad_checksum", "stale", "link_repeat",
)  # fmt: skip
MARKS = {name: 1 << bit for bit, name in enumerate(_MARKS)}

FRAME_TYPES = (
    # RLP, 24.022 5.2: information frames with their supervisory part, S frames, U frames.
    "I RR", "I RNR", "I REJ", "I SREJ", "RR", "RNR", "REJ", "SREJ",
    "SABM", "UA", "DISC", "DM", "NULL", "UI", "XID", "TEST", "REMAP",
    # RLC, 25.322 9.2, 36.322 6.2, 38.322 6.2; SUFI-only pieces are logged as their own records.
    "AMD", "UMD", "TMD", "STATUS", "MRW", "MRW_ACK", "RESET", "RESET_ACK",
    # 802.11, 9.3: data frames, and what acknowledges one of them or several.
    "DATA", "ACK", "BA",
    "PDU",  # of RLC, and its type is not in the log
    "BAD",  # its check failed: an erasure
)  # fmt: skip

LINK_EVENTS = ("reset", "reset-done", "release", "xoff", "xon", "drop", "lost-context")
TRIGGERS = ("timeout", "fast", "recovery", "probe", "unknown")
SPURIOUS, VERDICTS = ("yes", "no", "unknown"), ("confirmed", "likely", "undecided")
FATES, CAUSES = tuple(vocabulary.FATES), tuple(vocabulary.CAUSES)


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is a NumPy type string, `object`, or a tuple of categories."""

    name: str
    dtype: str | tuple[str, ...]
    meaning: str
    unit: str = ""
    null: Any = None
    private: bool = False
    """Kept in memory only and never written to a file, as payload must not be."""
    late: bool = False
    """Added when all else is known: until then a table does not have it."""


@dataclass(frozen=True)
class Table:
    """One table; if `written`, it is written to DIR/tables."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    written: bool = True

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name}.{name}")

    @property
    def names(self) -> list[str]:
        """Its columns' names, in order."""
        return [column.name for column in self.columns]


C = Column
_INPUT = C("input", "int16", "number of the input it was read from, from 0", null=-1)
_RECORD = C("record", "int64", "packet or line number in that input, from 1", null=-1)
_TIME = C("time_ns", "int64", "time on the reference clock, since the epoch", "ns")
_RECORDED = C("recorded_ns", "int64", "the time as recorded, on the input's own clock", "ns")
_LOGGED = (_INPUT, _RECORD, _TIME, _RECORDED)
_CONNECTION = C("connection", "int32", "connection number, from 0", null=-1)
_SENDER = C("sender", "int8", "which end sent it: 0 the client, 1 the server", null=-1)
_LINK = C("link", "int16", "link number: one per link and direction", null=-1)
_ENDPOINT = C("sender", "object", "who sent it, ip:port")
_STREAM = (_CONNECTION, _ENDPOINT)

SCHEMA: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "flows",
            "address and port pairs seen; a connection is one use of a flow",
            (
                C("flow", "int32", "flow number; its row"),
                C("address_a", "object", "address of the end that was seen sending first"),
                C("port_a", "int32", "its port"),
                C("address_b", "object", "address of the other end"),
                C("port_b", "int32", "its port"),
                C("tunnel", "object", "tunnels around its packets, outermost first; empty without", null=""),
                C("outer_a", "object", "innermost tunnel's end on the side of end a; empty without", null=""),
                C("outer_b", "object", "innermost tunnel's end on the side of end b; empty without", null=""),
            ),
            written=False,
        ),
        Table(
            "packets",
            "every TCP packet as captured, before any interpretation",
            (
                _INPUT,
                C("record", "uint32", "record number in that input, from 1"),
                C("interface", "int16", "capture interface within the input (pcapng), else 0"),
                _TIME,
                C("flow", "int32", "flow number"),
                C("direction", "int8", "0 sent by end a of the flow, 1 by end b"),
                C("raw_seq", "uint32", "sequence number field"),
                C("raw_ack", "uint32", "acknowledgement number field"),
                C("payload_bytes", "int32", "TCP payload by the IP header's length", "bytes"),
                C("flags", "uint16", "TCP flags field"),
                C("raw_window", "uint16", "window field, unscaled"),
                C("tsval", "uint32", "TSval of the timestamps option, else 0"),
                C("tsecr", "uint32", "TSecr of the timestamps option, else 0"),
                C("options", "uint8", "options present (OPTION_* bits)"),
                C("ip_id", "int32", "IP identification", null=-1),
                C("checksum", "uint16", "TCP checksum field"),
                C("checksum_ok", "int8", "1 right, 0 wrong, -1 cut off", null=-1),
                C("wire_bytes", "int32", "length of the IP datagram", "bytes"),
                C("ttl", "uint8", "IP time to live, or hop limit", null=0),
                C("link_repeat", "int8", "1 in a frame that the link repeated: it counts with another one", null=0),
            ),
            written=False,
        ),
        Table(
            "sack_blocks",
            "SACK blocks, in option order",
            (
                C("packet", "int64", "row in packets (and, after analysis, in segments)"),
                C("raw_left", "uint32", "left edge"),
                C("raw_right", "uint32", "right edge, exclusive"),
            ),
            written=False,
        ),
        Table(
            "syn_options",
            "options that only a SYN carries",
            (
                C("packet", "int64", "row in packets"),
                C("mss_bytes", "int32", "maximum segment size", "bytes", null=-1),
                C("wscale", "int8", "window scale shift", null=-1),
            ),
            written=False,
        ),
        Table(
            "connections",
            "every connection: one use of a flow, the same number at every observation point",
            (
                C("connection", "int32", "connection number; its row"),
                C("flow", "int32", "flow number"),
                C("client", "object", "who opened it (or was seen first), ip:port"),
                C("server", "object", "the other end, ip:port"),
                C("start_ns", "int64", "first packet", "ns"),
                C("end_ns", "int64", "last packet", "ns"),
                C("handshake_seen", "bool", "both SYNs were seen"),
                C("closed", ("fin", "reset", "open"), "how it ended"),
                C("isn_known_client", "bool", "the client's first data byte is number 1 (else 0 is the lowest seen)"),
                C("isn_known_server", "bool", "the server's likewise"),
                C("window_scaled", "bool", "windows are known with their scale"),
                C("mss_client", "int32", "MSS option of the client's SYN", "bytes", null=-1),
                C("mss_server", "int32", "MSS option of the server's SYN", "bytes", null=-1),
            ),
            written=False,
        ),
        Table(
            "segments",
            "every TCP segment seen, at every observation point, with its place in its connection",
            (
                _INPUT,
                C("record", "uint32", "record number in that input, from 1"),
                C("point", "int16", "observation point"),
                _TIME,
                _RECORDED,
                _CONNECTION,
                _SENDER,
                C("seq", "int64", "sequence number relative to the sender's ISN, unwrapped; of a SYN with data that of the data; -1 of a stale segment"),
                C("ack", "int64", "acknowledgement relative to the peer's ISN; none in a stale segment", null=-1),
                C("payload_bytes", "int32", "TCP payload", "bytes"),
                C("flags", "uint16", "TCP flags"),
                C("window_bytes", "int32", "advertised window, scaled", "bytes", null=-1),
                C("tsval", "uint32", "TSval, else 0"),
                C("tsecr", "uint32", "TSecr, else 0"),
                C("options", "uint8", "options present"),
                C("ip_id", "int32", "IP identification", null=-1),
                C("checksum", "uint16", "TCP checksum field"),
                C("checksum_ok", "int8", "1 right, 0 wrong", null=-1),
                C("wire_bytes", "int32", "length of the IP datagram", "bytes"),
                C("marks", "uint16", "what it was found to be (bits: " + ", ".join(MARKS) + ")"),
                C("fate", FATES, "what became of its data; null without data, and of what counts with another packet", late=True),
            ),
        ),
        Table(
            "tcp_state",
            "the sender's TCP state as the host itself logged it",
            (
                *_LOGGED,
                _CONNECTION,
                _SENDER,
                C("local", "object", "the logging socket, ip:port, as the log has it"),
                C("remote", "object", "its peer, ip:port"),
                C("event", ("recv", "send", "timeout", "setup", "done", "purge", "sample", "retransmit", "state"), "what made the host log"),
                C("snd_nxt", "float64", "next sequence number to send, raw", null=np.nan),
                C("snd_una", "float64", "first unacknowledged sequence number, raw", null=np.nan),
                C("cwnd_segments", "float64", "congestion window", "segments", null=np.nan),
                C("cwnd_bytes", "float64", "congestion window", "bytes", null=np.nan),
                C("ssthresh_segments", "float64", "slow start threshold; inf when unset", "segments", null=np.nan),
                C("ssthresh_bytes", "float64", "slow start threshold; inf when unset", "bytes", null=np.nan),
                C("snd_wnd_bytes", "float64", "peer's advertised window", "bytes", null=np.nan),
                C("rcv_wnd_bytes", "float64", "own advertised window", "bytes", null=np.nan),
                C("srtt_s", "float64", "smoothed round trip time", "s", null=np.nan),
                C("rttvar_s", "float64", "round trip time variation", "s", null=np.nan),
                C("rto_s", "float64", "retransmission timeout", "s", null=np.nan),
                C("retransmits", "float64", "retransmissions outstanding", null=np.nan),
                C("data_bytes", "float64", "payload of the packet that made it log", "bytes", null=np.nan),
                C("busy_s", "float64", "the kernel's clock of data unacknowledged or unsent, since the connection began", "s", null=np.nan),
                C("rwnd_limited_s", "float64", "of it, with the receiver's window full", "s", null=np.nan),
                C("sndbuf_limited_s", "float64", "of it, with the send buffer full", "s", null=np.nan),
                C("ca_state", "float64", "0 Open 1 Disorder 2 CWR 3 Recovery 4 Loss", null=np.nan),
                C("resent_by", "float64", "what made it resend: 0 its timer 1 a loss probe 2 acknowledgements", null=np.nan),
                C("interval_s", "float64", "length of the interval that ends with the sample", "s", null=np.nan),
                C("interval_bytes", "float64", "octets that the application handed to TCP in it", "bytes", null=np.nan),
                C("interval_resends", "float64", "segments that TCP sent again in it", null=np.nan),
            ),
        ),
        Table(
            "links",
            "the links logged: one row per link and direction",
            (
                C("link", "int16", "link number; its row"),
                C("protocol", ("rlp", "rlc-umts", "rlc-lte", "rlc-nr", "wifi"), "link protocol"),
                C("bearer", "object", "which bearer (radio bearer, UE and channel)"),
                C("sender", "object", "which end sends on it: mobile or network"),
                C("reverse", "int16", "the link of the other direction", null=-1),
            ),
            written=False,
        ),
        Table(
            "frames",
            "every link frame logged, by either end",
            (
                *_LOGGED,
                _LINK,
                C("side", "object", "which end logged it: mobile or network"),
                C("sent", "bool", "logged by the end that sent it (else by the end it arrived at)"),
                C("type", FRAME_TYPES, "frame type"),
                C("sn", "int64", "N(S) or SN (ACK_SN's frames: null)", null=-1),
                C("nr", "int64", "N(R), ACK_SN or LSN", null=-1),
                C("poll", "int8", "poll (or P/F) bit", null=-1),
                C("command", "int8", "C/R bit of RLP: 1 command, 0 response", null=-1),
                C("length_bytes", "int32", "RLP: information octets; RLC: the whole PDU; Wi-Fi: the whole frame without FCS", "bytes", null=-1),
                C("payload_bytes", "int32", "octets of user data carried", "bytes", null=-1),
                C("so", "int64", "segment offset", "bytes", null=-1),
                C("framing", "int8", "LTE FI, NR SI: two bits; Wi-Fi: 1 A-MSDU, 2 mesh control, 4 more fragments", null=-1),
                C("last_segment", "int8", "LSF of an LTE segment", null=-1),
                C("l2r", "int16", "L2R status octet", null=-1),
                C("lis", "object", "length indicators, numbers", private=True),
                C("nacks", "object", "NACKed (sn, so_start, so_end), -1 -1 when whole", private=True),
                C("data", "object", "octets: RLP information field; RLC data PDU after its fixed header, other PDUs whole; Wi-Fi frame body; None when not logged", private=True),
                C("sn_unwrapped", "int64", "sn counted on through the modulus", null=-1),
                C("epoch", "int32", "how many resets came before", null=-1),
                C("transmission", "int16", "0 first transmission, 1, 2 ... repeats", null=-1),
                C("fragment", "int8", "Wi-Fi: fragment number", null=-1),
                C("retry", "int8", "Wi-Fi: retry bit", null=-1),
                C("acked", "int8", "Wi-Fi: 1 an acknowledgement was heard, 0 none was, which proves no loss", null=-1),
                C("rate_bps", "int64", "Wi-Fi: rate at which it was sent", "bit/s", null=-1),
            ),
        ),
        Table(
            "link_events",
            "what happened on a link that is not one frame",
            (
                *_LOGGED,
                _LINK,
                C("side", "object", "which end logged it: mobile or network"),
                C("event", LINK_EVENTS, "what happened"),
                C("bytes", "int64", "octets concerned", "bytes", null=-1),
            ),
        ),
        Table(
            "retransmissions",
            "every retransmitted segment: what triggered it, whether it was needless, and why",
            (
                _INPUT,
                _RECORD,
                *_STREAM,
                C("time_ns", "int64", "when it was sent, on the sender's clock", "ns"),
                C("seq", "int64", "first byte, relative to the initial sequence number"),
                C("payload_bytes", "int32", "TCP payload", "bytes"),
                C("trigger", TRIGGERS, "what made TCP resend"),
                C("spurious", SPURIOUS, "whether it was needless"),
                C("because", "object", "the rule that decided, with its numbers"),
                C("error_ns", "int64", "clock error the verdict had to bear", "ns", null=-1),
                C("segment", "int64", "row in segments", null=-1, private=True),
                C("late_ack", "int64", "1 if an earlier copy was answered after it, 0 if not", null=-1, private=True),
                C("passed", "bool", "it was lost or overtaken: later data had come", null=False, private=True),
                C("in_doubt", "bool", "the trigger may be another, and no log says which", null=False, private=True),
            ),
        ),
        Table(
            "segment_frames",
            "which link frames carried each transmission of each segment",
            (
                *_STREAM,
                _LINK,
                C("seq", "int64", "first byte, relative to the initial sequence number"),
                C("ack", "int64", "of what was not captured, the acknowledgement number, relative", null=-1, private=True),
                C("payload_bytes", "int32", "TCP payload", "bytes"),
                C("transmission", "int16", "0 the first time these bytes were sent, 1, ...", null=-1),
                C("sent_ns", "int64", "when the sender's capture saw it", "ns", null=-1),
                C("first_frame_ns", "int64", "start of the first frame sent for it", "ns", null=-1),
                C("last_frame_ns", "int64", "start of the last frame sent for it, repeats included", "ns", null=-1),
                C("delivered_ns", "int64", "when the far end had it whole and gave it on", "ns", null=-1),
                C("frames", "int32", "transmissions of frames with any of its octets", null=-1),
                C("frame_retransmissions", "int32", "how many of those were repeats", null=-1),
                C("matched_by", ("payload", "bytes", "time"), "how it was matched"),
                C("queue_ns", "int64", "from offered to first frame", "ns", null=-1),
                C("segment", "int64", "row in segments", null=-1, private=True),
                C("packet_bytes", "int32", "length of the IP datagram", "bytes", null=-1),
                C("carried_bytes", "int32", "octets of it that the link put on the air", "bytes", null=-1),
                C("logged_ns", "int64", "when the far end had it whole, by its log; -2: spoilt; -3: surely never", "ns", null=-1, private=True),
                C("last_new_frame_ns", "int64", "start of the last frame sent for it that is no repeat", "ns", null=-1, private=True),
                C("epoch", "int32", "how many resets came before", null=-1, private=True),
                C("last_sn", "int64", "number, counted on, of the last frame with any of its octets", null=-1, private=True),
                C("end_sn", "int64", "number, counted on, of the frame that tells where it ends", null=-1, private=True),
            ),
        ),
        Table(
            "accounting",
            "every instant of the session and its one cause, at the link's data sender",
            (
                _LINK,
                C("start_ns", "int64", "start", "ns"),
                C("end_ns", "int64", "end, exclusive", "ns"),
                C("cause", CAUSES, "cause"),
            ),
        ),
        Table(
            "findings",
            "what the layers say together",
            (
                C("kind", "object", "kind, as listed in the docs"),
                C("layer", "object", f"the layer held responsible: {', '.join(vocabulary.LAYERS)}"),
                _CONNECTION,
                C("start_ns", "int64", "start", "ns"),
                C("end_ns", "int64", "end", "ns"),
                C("verdict", VERDICTS, "how sure"),
                C("because", "object", "one sentence a person can check"),
                C("evidence", "object", "numbers and record references, JSON"),
                C("caused_by", "int32", "row of the finding that set this one off; null for a root", null=-1),
                C("lost_s", "float64", "time of the session that was lost to a root and what it caused", "s", null=np.nan),
            ),
        ),
        Table(
            "inputs",
            "every input file: what was read from it, and how its clock stands to the reference",
            (
                C("input", "int16", "number of the input, from 0"),
                C("path", "object", "the file, as it was given"),
                C("format", "object", "format that its content showed"),
                C("role", "object", "side it was recorded on: sender or receiver, null when neither"),
                C("records", "int64", "records read"),
                C("skipped", "int64", "records that could not be used"),
                C("bytes_read", "int64", "size, decompressed", "bytes"),
                C("first_ns", "int64", "first time, as recorded", "ns", null=-1),
                C("last_ns", "int64", "last time, as recorded", "ns", null=-1),
                C("complete", "bool", "nothing was cut off or damaged"),
                C("clock_reference", "object", "the input whose clock is the reference"),
                C("clock_offset_s", "float64", "this clock minus the reference at the first record", "s", null=np.nan),
                C("clock_drift_ppm", "float64", "its rate against the reference", "ppm", null=np.nan),
                C("clock_error_s", "float64", "bound of the error, assuming equal propagation both ways", "s", null=np.nan),
                C("clock_worst_s", "float64", "bound of the error, assuming nothing", "s", null=np.nan),
                C("clock_how", "object", "how the clock was placed"),
                C("losses", "object", "what was skipped and where, JSON"),
                C("notes", "object", "what should be known about this input, JSON"),
            ),
        ),
    )
}  # fmt: skip


def build(name: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """A table of the schema from its columns; those not given are null, or left out if late. Arrays are not copied.

    Raises ValueError for a column that is not in the schema, a missing column without a null value, or
    columns of different lengths.
    """
    import pandas as pd

    table = SCHEMA[name]
    if unknown := set(columns) - set(table.names):
        raise ValueError(f"{name} has no column {sorted(unknown)}")
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns of {name} differ in length: {lengths}")
    rows = next(iter(lengths.values()), 0)
    wanted = (column for column in table.columns if column.name in columns or not column.late)
    built = {column.name: _filled(name, column, columns.get(column.name), rows) for column in wanted}
    return pd.DataFrame(built, copy=False)


def empty(name: str) -> pd.DataFrame:
    """A table of the schema without rows."""
    return _empty(name).copy(deep=False)  # there is nothing in it to change


@cache
def _empty(name: str) -> pd.DataFrame:
    """The table that others are copied from: copying takes a tenth of the time of building."""
    return build(name, {column.name: [] for column in SCHEMA[name].columns if not column.late})


def _filled(table: str, column: Column, values: Any, rows: int) -> Any:
    import pandas as pd

    if values is None:
        if rows and column.null is None and column.dtype != "object":
            raise ValueError(f"{table}.{column.name} is required")
        values = [column.null] * rows if column.dtype == "object" else np.full(rows, column.null)
    if isinstance(column.dtype, tuple):
        if isinstance(values, pd.Categorical):
            return values
        return pd.Categorical(getattr(values, "array", values), categories=list(column.dtype))
    if column.dtype == "object":
        made = isinstance(values, np.ndarray) and values.dtype == object
        array = values if made else np.fromiter(values, dtype=object, count=len(values))
        return pd.Series(array, dtype=object, copy=False)
    return np.asarray(values, dtype=column.dtype)

"""srsRAN: the text log of srsRAN Project's gNB, whose RLC layer logs every PDU's header at level info.

    2023-05-22T15:36:33.070813 [RLC     ] [I] du=0 ue=0 SRB1 DL: TX PDU. dc=data p=1 si=full sn=0 pdu_len=53 ...

`TX`, `RETX` and `TX status` PDUs are the network's, `RX` and `RX status` PDUs the mobile's, as they arrived. Only
acknowledged mode is read. The header's size, and so the payload's, follows from the sequence number's: 12 bits on
signalling bearers (38.331 9.2.1), else as numbers and segments show it. What a status report says is only logged of
those received. Times are taken as UTC, as srslog prints them. Sources: lib/rlc/rlc_tx_am_entity.cpp,
rlc_rx_am_entity.cpp, rlc_am_pdu.h and rlc_bearer_logger.h of srsRAN_Project.
srsRAN_4G's lines do not tell whose bearer they are of; they are counted, not read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from multitracer.model.errors import InputError
from multitracer.model.trace import Recording
from multitracer.parsers.shared.lines import SECOND_NS, Losses, head_lines, whole_lines
from multitracer.parsers.shared.rlc_frames import At, FrameRow, Links, PduRows, frames_table
from multitracer.wire import rlc_nr

if TYPE_CHECKING:
    from multitracer.parsers.shared.source import Source

_LINE = re.compile(
    r"(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?P<micros>\d{6}) \[(?P<layer>[\w-]{1,16}) *\] \[[DIWE]\] "
    r"(?:\[ *\d{1,5}(?:\.\d{1,3})?\] )?",
    re.ASCII,
)
_PREFIX = re.compile(r"(?:du=(\d{1,5}) )?ue=(\d{1,5}) ([SD]RB\d{1,3}) [DU]L: ", re.ASCII)
_PDU = re.compile(r"(?:TX|RETX|RX)(?: status)? PDU\. ", re.ASCII)
_LENGTH = r"pdu_len=(?P<length>\d{1,6})(?!\S)"
_HEADER = r"dc=data p=(?P<poll>[01]) si=(?P<si>full|first|last|middle) sn=(?P<sn>\d{1,6})(?: so=(?P<so>\d{1,6}))?(?!\S)"
_TX = re.compile(rf"(?:RE)?TX PDU\. {_HEADER} {_LENGTH}", re.ASCII)
_RX = re.compile(rf"RX PDU\. {_LENGTH} {_HEADER}", re.ASCII)
_TX_STATUS = re.compile(rf"TX status PDU\. {_LENGTH}", re.ASCII)
_RX_STATUS = re.compile(
    r"RX status PDU\. ack_sn=(\d{1,6}) n_nack=(\d{1,6})"
    r"(?: nack=((?:\[\d{1,6}(?: \d{1,5}:\d{1,5})?(?: r\d{1,3})?\])+))?\s*\Z",
    re.ASCII,
)
_NACK = re.compile(r"\[(\d+)(?: (\d+):(\d+))?(?: r(\d+))?\]")
_HEX = re.compile(r"\s+[0-9a-f]{4}: (?:[0-9a-f]{2} ?)+\s*\Z", re.ASCII)
_SI = {"full": 0, "first": 1, "last": 2, "middle": 3}  # 38.322 6.2.3.4
_HEADER_BYTES = {12: 2, 18: 3}
_SO_BYTES = 2
"""Of a segment but the first: 38.322 6.2.2.4."""
OTHER_PDU = "an RLC PDU in other words than those of acknowledged mode"
OUT_OF_RANGE = "an RLC PDU with a number or time out of range"
_OTHER_LINES = "lines of RLC without a PDU"


def sniff(head: bytes) -> bool:
    """Whether at least half of its lines, dumps of octets aside, begin as srslog's do."""
    lines = [line for line in head_lines(head)[:400] if not _HEX.match(line)]
    return sum(bool(_LINE.match(line)) for line in lines) >= max(2, len(lines) / 2)


@dataclass
class _Log:
    links: Links = field(default_factory=Links)
    losses: Losses = field(default_factory=Losses)
    counts: Counter[str] = field(default_factory=Counter)
    headers: dict[int, set[int]] = field(default_factory=dict)
    """By link, the sizes in octets that its PDUs' fixed header was seen to have."""
    first: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By link, the number and size of a PDU that begins an SDU, if it was the last one."""

    def __post_init__(self) -> None:
        self.pdus = PduRows(losses=self.losses)


def read(source: Source) -> Recording:
    """Tables links (per UE, bearer and direction) and frames."""
    log = _Log()
    for number, offset, text in whole_lines(source, log.losses):
        line = _LINE.match(text)
        if line is None:
            log.counts["other lines"] += not _HEX.match(text)
        elif line["layer"] != "RLC":
            log.counts[f"lines of {line['layer']}"] += 1
        else:
            try:
                _rlc(log, number, offset, line)
            except ValueError:
                log.losses.add(OUT_OF_RANGE, number, offset)
    if not log.pdus.rows:
        raise _nothing_read(source, log)
    rows = [_with_payload(row, log.headers.get(row.link, set())) for row in log.pdus.rows]
    return Recording(
        "srsran", {"links": log.links.table(), "frames": frames_table(rows, log.links.senders)}, len(rows),
        log.losses.skips, bytes_read=len(source), complete=log.losses.uncut, counts=dict(+log.counts),
        metadata={"side": "network", "mode": "am", "rat": "nr"},
    )  # fmt: skip


def _nothing_read(source: Source, log: _Log) -> InputError:
    seen = [f"{count} {what}" for what, count in (+log.counts).most_common(8)]
    seen += [f"{skip.count} x {skip.reason}" for skip in log.losses.skips]
    return InputError(
        source.path, f"holds no RLC PDU as srsRAN Project's gNB logs them ({', '.join(seen)})",
        hint="Log with rlc_level: info; the gNB's own capture (pcap: rlc_enable) holds more.",
    )  # fmt: skip


def _rlc(log: _Log, number: int, offset: int, line: re.Match[str]) -> None:
    """Add the PDU of one line of RLC; raises ValueError where a number is out of range."""
    text, prefix = line.string, _PREFIX.match(line.string, line.end())
    if prefix is None or not _PDU.match(text, prefix.end()):
        log.counts[_OTHER_LINES] += 1
        return None
    pdu, add = next(((pdu, add) for pattern, add in _WAYS if (pdu := pattern.match(text, prefix.end()))), (None, _data))
    if pdu is None:
        return log.losses.add(OTHER_PDU, number, offset)
    sent, bearer = not text.startswith("RX", prefix.end()), f"UE {int(prefix[2])} {prefix[3]}"
    bearer += f" of DU {int(prefix[1])}" if int(prefix[1] or 0) else ""
    link = log.links.number("rlc-nr", bearer, "network" if sent else "mobile")
    log.headers.setdefault(link, {_HEADER_BYTES[12]} if prefix[3].startswith("SRB") else set())
    time_ns = _second(line["second"]) * SECOND_NS + int(line["micros"]) * 1000
    return add(log, At(number, time_ns, link, sent), pdu)


def _data(log: _Log, at: At, pdu: re.Match[str]) -> None:
    """Add a data PDU, and note what it tells of the size of its link's headers."""
    sn, size = _below(pdu["sn"], rlc_nr.AM18.modulus), _below(pdu["length"], 1 << 16)
    so = _below(pdu["so"] or "0", 1 << 16) if pdu["si"] in ("last", "middle") else -1
    sizes, first = log.headers[at.link], log.first.pop(at.link, None)
    if sn >= rlc_nr.AM12.modulus:
        sizes.add(_HEADER_BYTES[18])
    if first and first[0] == sn and first[1] - so in _HEADER_BYTES.values():
        sizes.add(first[1] - so)  # the second segment begins where the first one's payload ended
    if pdu["si"] == "first":
        log.first[at.link] = (sn, size)
    row = FrameRow(*at, "AMD", sn, -1, int(pdu["poll"]), size, so=so, framing=_SI[pdu["si"]])
    log.pdus.rows.append(row)


def _status_sent(log: _Log, at: At, pdu: re.Match[str]) -> None:
    row = FrameRow(*at, "STATUS", length_bytes=_below(pdu["length"], 1 << 16), payload_bytes=0)
    log.pdus.rows.append(row)


def _status_received(log: _Log, at: At, line: re.Match[str]) -> None:
    ack, spec = _below(line[1], rlc_nr.AM18.modulus), rlc_nr.AM12
    nacks = []
    for sn, start, end, count in _NACK.findall(line[3] or ""):
        whole = not start
        place = (-1, -1) if whole else (_below(start, 1 << 16), _below(end, 1 << 16))
        nacks.append(rlc_nr.Nack(_below(sn, rlc_nr.AM18.modulus), *place, count=int(count or 0)))
    if len(nacks) != int(line[2]):
        raise ValueError(line.string)
    if max([ack, *(nack.sn for nack in nacks)]) >= spec.modulus:
        spec = rlc_nr.AM18
    log.pdus.nr_status(at, rlc_nr.Status(ack, tuple(nacks)), spec)


_WAYS = ((_TX, _data), (_RX, _data), (_TX_STATUS, _status_sent), (_RX_STATUS, _status_received))


def _with_payload(row: FrameRow, header_bytes: set[int]) -> FrameRow:
    """The row with its payload's size, where the link's PDUs show one size of header."""
    if row.type != "AMD" or len(header_bytes) != 1:
        return row
    payload = row.length_bytes - next(iter(header_bytes)) - (_SO_BYTES if row.so >= 0 else 0)
    return row._replace(payload_bytes=payload) if payload > 0 else row


def _below(digits: str, limit: int) -> int:
    """The number; raises ValueError for one that its field cannot hold."""
    if int(digits) >= limit:
        raise ValueError(digits)
    return int(digits)


@lru_cache(maxsize=4096)
def _second(text: str) -> int:
    """A calendar time in UTC as seconds since 1970; raises ValueError outside 1970 to 2261."""
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    if not 1970 <= moment.year < 2262:
        raise ValueError(text)
    return int(moment.timestamp())

"""tcp_probe_plus: 31 hexadecimal fields (and a user agent) for every event of a sender.

    type sec nsec saddr sport daddr dport length tcp_flags seq ack ca_state snd_nxt snd_una write_seq
    wqueue cwnd ssthresh snd_wnd srtt mdev rttvar rto packets_out lost_out sacked_out retrans_out
    retrans frto rto_num pacing_rate

srtt is in 1/8 us, mdev and rttvar in 1/4 us, rto in ms. Times count from when the module was loaded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from multitracer.parsers.shared.lines import SECOND_NS, FieldError, endpoint, records_match, take_lines
from multitracer.parsers.shared.tcp_state import StateLog, ssthresh

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source

TYPES = ("recv", "send", "timeout", "setup", "done", "purge")
_LINE = re.compile(
    r"[0-5] [0-9a-f]{1,8} [0-9a-f]{1,8} [0-9a-f]{1,8} [0-9a-f]{1,4} [0-9a-f]{1,8} [0-9a-f]{1,4}"
    r"(?: [0-9a-f]{1,16}){24}(?: .*)?\Z",
    re.ASCII,
)
_STARTED = re.compile(r"# *(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z", re.ASCII)


def sniff(head: bytes) -> bool:
    """Whether the first lines have the 31 fields."""
    return records_match(head, _LINE)


def read(source: Source) -> Recording:
    """Each line of 31 fields as a row of `tcp_state`; a comment with a date is kept as metadata."""
    log, metadata = StateLog(), dict[str, str]()

    def take(number: int, _: int, text: str) -> None:
        if text.startswith("#"):
            started = _STARTED.match(text)
            if started:
                metadata.setdefault("started_local_time", started[1])
        elif _LINE.match(text):
            _add(log, number, [int(field, 16) for field in text.split(" ", 31)[:31]])
        else:
            raise ValueError(text)

    take_lines(source, log.losses, take, "not 31 hexadecimal fields")
    return log.recording("tcp_probe_plus", source, clock="relative", metadata=metadata)


def _address(value: int) -> str:
    return ".".join(str(octet) for octet in value.to_bytes(4, "big"))


def _add(log: StateLog, number: int, fields: list[int]) -> None:
    kind, sec, nsec, saddr, sport, daddr, dport, length = fields[:8]
    ca_state, snd_nxt, snd_una = fields[11:14]
    cwnd, threshold, snd_wnd, srtt, _, rttvar, rto = fields[16:23]
    if nsec >= SECOND_NS:
        raise FieldError("nanoseconds of more than a second")
    log.add(
        number, sec * SECOND_NS + nsec, TYPES[kind],
        endpoint(_address(saddr), sport), endpoint(_address(daddr), dport),
        snd_nxt=snd_nxt, snd_una=snd_una, cwnd_segments=cwnd, ssthresh_segments=ssthresh(threshold),
        snd_wnd_bytes=snd_wnd, srtt_s=srtt / 8e6, rttvar_s=rttvar / 4e6, rto_s=rto / 1e3,
        retransmits=fields[26], data_bytes=length, ca_state=ca_state,
    )  # fmt: skip

"""Input formats: one module each, and the one table that lists them.

A format's module offers `sniff(head: bytes) -> bool`, which looks at the first 64 KiB and never
raises, and `read(source: Source) -> Recording`, which keeps every good record and names what it had
to skip; it raises InputError only when nothing at all can be used. Text formats of our own and pcap
also have `write`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from multitracer.model.errors import InputError, UnknownFormatError

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source


@dataclass(frozen=True)
class Format:
    """One input format: what it is called, what is in it, and what it is recognised by."""

    name: str
    module: str
    holds: str
    recognised_by: str


# In the order in which they are tried: formats with a magic number first, then those whose first
# line says what they are, last those recognised by the shape of their lines.
FORMATS = (
    Format("pcap", "pcap", "captured packets", "magic a1b2c3d4, a1b23c4d or a1b2cd34, either byte order"),
    Format("pcapng", "pcapng", "captured packets, several interfaces", "section header block 0a0d0d0a with its byte-order magic"),
    Format("snoop", "snoop", "captured packets (Solaris, RFC 1761)", "the octets snoop\\0\\0\\0"),
    Format("erf", "erf", "captured packets (Endace)", "a chain of plausible ERF record headers"),
    Format("erasures-packed", "erasures_packed", "block-erasure trace, a bit a block", "the octets \\x89erased\\n"),
    Format("mi2log", "mi2log", "Qualcomm diagnostic log: LTE RLC PDUs of a handset", "HDLC frames ended by 7e whose CRC is right"),
    Format("flent", "flent", "flent data file: cwnd, RTT, rates", "a JSON object with x_values and results"),
    Format("mlab-tcpinfo", "mlab_tcpinfo", "M-Lab tcp-info snapshots", "JSON lines with RawIDM and Attributes"),
    Format("rlpdump", "rlpdump", "GSM RLP frames of one end", "first line: # rlpdump 1"),
    Format("rlcdump", "rlcdump", "UMTS, LTE or NR RLC PDUs of one end", "first line: # rlcdump 1"),
    Format("tcpstats", "tcpstats", "sender TCP state", "first line: # tcpstats 1"),
    Format("siftr", "siftr", "sender TCP state (FreeBSD)", "first line with enable_time_secs= and siftrver="),
    Format("ns3-rlc", "ns3_rlc", "RLC, PDCP and PHY traces of ns-3", "its column headings"),
    Format("tcp_probe", "tcp_probe", "kernel tracepoints of TCP (ftrace, perf)", "lines with tcp_probe:, tcp_retransmit_skb: or tcp_cong_state_set:"),
    Format("ss", "ss", "socket statistics, sampled", "lines State Recv-Q Send-Q, then tokens such as rto: and cwnd:"),
    Format("tcp_probe_plus", "tcp_probe_plus", "sender TCP state, 31 hexadecimal fields", "its field count and ranges"),
    Format("tcpprobe", "tcpprobe", "sender TCP state (/proc/net/tcpprobe)", "10 or 11 fields: time, two ip:port, numbers"),
    Format("bcc", "bcc", "output of tcpretrans, tcprtt and tcpcong", "its column headings"),
    Format("xplot", "xplot", "plot commands of tcptrace", "timeval, double or unsigned, then title"),
    Format("erasures", "erasures", "block-erasure trace", "characters 0 and 1 and # key: value lines only"),
    Format("mahimahi", "mahimahi", "link schedule: delivery opportunities", "whole numbers that never fall, one a line"),
)  # fmt: skip


def recognise(source: Source) -> Format:
    """The format that the content shows; raises UnknownFormatError naming those that exist."""
    head = source.head
    for candidate in FORMATS:
        if import_module(f"multitracer.parsers.{candidate.module}").sniff(head):
            return candidate
    raise UnknownFormatError(
        source.path,
        f"is none of the formats read here (it begins {head[:12].hex(' ')})",
        hint="Run `multitracer formats` for the list; leave the file out or convert it.",
    )


def read(source: Source) -> Recording:
    """Recognise and read one input."""
    recording: Recording = import_module(f"multitracer.parsers.{recognise(source).module}").read(source)
    recording.skips[:0] = source.skips
    recording.complete = recording.complete and not source.skips
    recording.bytes_read = recording.bytes_read or len(source)
    return recording


def inputs_in(paths: list[str]) -> list[str]:
    """The files that the paths name, directories taken recursively, in order; no hidden ones."""
    found: list[str] = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            found.append(path)
            continue
        files = sorted(p for p in Path(path).rglob("*") if p.is_file())
        visible = [p for p in files if not any(part.startswith(".") for part in p.relative_to(path).parts)]
        if not visible:
            raise InputError(path, "holds no files", hint="Name the directory that holds the recordings.")
        found.extend(map(str, visible))
    return list(dict.fromkeys(found))

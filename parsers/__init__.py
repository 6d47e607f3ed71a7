"""Input formats: one module each, and the one table that lists them.

A format's module has the format's name, with `_` for `-`. It offers `sniff(head: bytes) -> bool`,
which looks at the first 64 KiB and never raises, and `read(source: Source) -> Recording`, which keeps
every good record and names what it had to skip; it raises InputError only when nothing at all can be
used. Text formats of our own and pcap also have `write`.

Nothing here imports a parser before it is needed: `multitracer formats` lists this table at once.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from multitracer.model.errors import (
    InputError,
    MultiTracerError,
    ReadingDefectError,
    UnknownFormatError,
    is_lack_of_memory,
)
from multitracer.model.short_texts import quoted

if TYPE_CHECKING:
    from multitracer.model.trace import Recording
    from multitracer.parsers.shared.source import Source


class Parser(Protocol):
    """What a format's module offers."""

    def sniff(self, head: bytes) -> bool:
        """Whether an input that begins with these octets is of this format."""

    def read(self, source: Source) -> Recording:
        """The records of an input of this format."""


COMPRESSED_ENDINGS = (".gz", ".zst", ".xz", ".bz2")
TEXT_ENDINGS = (".txt", ".log")


@dataclass(frozen=True)
class Format:
    """One input format, and what the rest of the program asks about it."""

    name: str
    holds: str
    recognised_by: str
    tables: tuple[str, ...] = ()
    """Which of packets, frames and tcp_state an input of this format may give."""
    endings: tuple[str, ...] = TEXT_ENDINGS
    """How names of such files usually end; a format is recognised by content, never by these."""
    erasure_trace: bool = False
    """Whether an input is an erasure trace: which blocks were lost, without the frames in them."""

    @property
    def link_log(self) -> bool:
        """Whether an input may hold frames of a link, and so the losses of a link."""
        return "frames" in self.tables

    @property
    def parser(self) -> Parser:
        """The format's module; it is imported when it is first asked for."""
        return cast("Parser", import_module(f"{__name__}.{self.name.replace('-', '_')}"))


PACKETS, FRAMES, STATE = "packets", "frames", "tcp_state"

# In the order in which they are tried: formats with a magic number first, then those whose first
# line names them, last those recognised by the shape of their lines.
FORMATS = (
    Format("pcap", "captured packets", "magic a1b2c3d4, a1b23c4d or a1b2cd34, either byte order", (PACKETS, FRAMES), endings=(".pcap", ".cap", ".dmp")),
    Format("pcapng", "captured packets, several interfaces", "section header block 0a0d0d0a with its byte-order magic", (PACKETS, FRAMES), endings=(".pcapng",)),
    Format("snoop", "captured packets (Solaris, RFC 1761)", "the octets snoop\\0\\0\\0", (PACKETS, FRAMES), endings=(".snoop", ".cap")),
    Format("erf", "captured packets (Endace)", "a chain of plausible ERF record headers", (PACKETS, FRAMES), endings=(".erf",)),
    Format("erasures-packed", "block-erasure trace, a bit a block", "the octets \\x89erased\\n", endings=(".bin",), erasure_trace=True),
    Format("mi2log", "Qualcomm diagnostic log: LTE RLC PDUs of a handset", "HDLC frames ended by 7e, most with a right CRC, and log packets in them", (FRAMES,), endings=(".mi2log",)),
    Format("flent", "flent data file: cwnd, RTT, rates", "a JSON object with x_values and results", (STATE,), endings=(".flent", ".json")),
    Format("mlab-tcpinfo", "M-Lab tcp-info snapshots", "JSON lines with RawIDM and Attributes", (STATE,), endings=(".jsonl", ".json")),
    Format("iperf3", "iperf3 test (-J, --json-stream): cwnd, RTT, throughput", "a JSON object that begins with start or event and names iperf 3", (STATE,), endings=(".json",)),
    Format("machine", "settings that `multitracer record` recorded under", "a JSON object that begins with kernel and has interface", endings=(".json",)),
    Format("rlpdump", "GSM RLP frames of one end", "first line: # rlpdump 1", (FRAMES,)),
    Format("rlcdump", "UMTS, LTE or NR RLC PDUs of one end", "first line: # rlcdump 1", (FRAMES,)),
    Format("tcpstats", "sender TCP state", "first line: # tcpstats 1", (STATE,)),
    Format("siftr", "sender TCP state (FreeBSD)", "first line with enable_time_secs= and siftrver=", (STATE,), endings=(".log", ".csv")),
    Format("ns3-rlc", "RLC, PDCP and PHY traces of ns-3", "its column headings", (FRAMES,)),
    Format("srsran", "srsRAN gNB's text log: NR RLC AM PDUs", "lines that begin with a time, [LAYER   ] and a level", (FRAMES,)),
    Format("tcp_probe", "kernel tracepoints of TCP (ftrace, perf, trace-cmd)", "lines with tcp_probe:, tcp_retransmit_skb:, tcp_retransmit_synack: or tcp_cong_state_set:", (STATE,)),
    Format("ss", "socket statistics, sampled", "lines State Recv-Q Send-Q, then tokens such as rto: and cwnd:", (STATE,)),
    Format("tcp_probe_plus", "sender TCP state, 31 hexadecimal fields", "its field count and ranges", (STATE,)),
    Format("tcpprobe", "sender TCP state (/proc/net/tcpprobe)", "10 or 11 fields: time, two ip:port, numbers", (STATE,)),
    Format("bcc", "output of tcpretrans (bcc, bpftrace), tcprtt and tcpcong", "its column headings", (STATE,)),
    Format("xplot", "plot commands of tcptrace", "timeval, double or unsigned, then title", endings=(".xpl",)),
    Format("erasures", "block-erasure trace", "characters 0 and 1 and # key: value lines only", erasure_trace=True),
    Format("mahimahi", "link schedule: delivery opportunities", "whole numbers that never fall, one a line"),
)  # fmt: skip


def without_endings(name: str) -> str:
    """A file's name without what names of inputs end in, compressed ones included: `snd.pcap.gz` is `snd`."""
    endings = (*COMPRESSED_ENDINGS, *(ending for entry in FORMATS for ending in entry.endings))
    while name.endswith(endings):
        name = name.rpartition(".")[0]
    return name


def recognise(source: Source) -> Format:
    """The format of an input, by its content; raises UnknownFormatError where it is none of the table's."""
    head = source.head
    for candidate in FORMATS:
        if candidate.parser.sniff(head):
            return candidate
    raise UnknownFormatError(
        source.path,
        f"is none of the formats read here (it begins {quoted(head[:12].hex(' '))})",
        hint="Run `multitracer formats` for the list; leave the file out or convert it.",
    )


def read(source: Source) -> Recording:
    """Recognise and read one input; raises ReadingDefectError when a parser fails where it should not."""
    try:
        recording = recognise(source).parser.read(source)
        recording.bytes_read = recording.bytes_read or len(source)
    except MultiTracerError:
        raise
    except Exception as error:  # an input that shows a defect of ours is lost by itself, not with all others
        if is_lack_of_memory(error):
            raise
        raise ReadingDefectError(source.path, error) from error
    recording.skips[:0] = source.skips
    recording.complete = recording.complete and not source.skips
    return recording


def mode_of(path: str) -> int:
    """The kind of a file that a person named, as `stat` reads it; 0 where there is none, or none may be looked at."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):  # ValueError: a name with a zero octet
        return 0


def is_folder(path: str) -> bool:
    """Whether it is a directory, as far as that can be seen."""
    return stat.S_ISDIR(mode_of(path))


def inputs_in(paths: list[str]) -> list[str]:
    """The files that the paths name, each once; of directories all files below, sorted, without hidden ones.

    Links to directories below are not followed, and what is no file (sockets, pipes, devices) is left out. A directory
    that cannot be listed is given as if it were a file: reading it fails, and says why.
    """
    found: list[str] = []
    for path in paths:
        if path == "-" or not is_folder(path):
            found.append(path)
            continue
        files = sorted(_files_below(path))
        if not files:
            raise InputError(path, "holds no files", hint="Name the directory that holds the recordings.")
        found.extend(map(str, files))
    return list(dict.fromkeys(found))


def _files_below(directory: str) -> list[Path]:
    unlisted: list[OSError] = []
    found = []
    for folder, below, names in os.walk(directory, onerror=unlisted.append):
        below[:] = [name for name in below if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".") and _is_file(Path(folder, name))]
    return found + [Path(error.filename) for error in unlisted]


def _is_file(path: Path) -> bool:
    """Whether it is a file, or may be one: what cannot be looked at is."""
    try:
        return path.is_file()
    except OSError:
        return True

"""Recordings of every format: real ones if there are any, else made here from the format's description."""

from __future__ import annotations

import io
from pathlib import Path

import gnb_log
from handset import enveloped, hdlc, rlc
from iperf3_output import document, transfer
from shared_data import shared, shared_root

from multitracer.parsers import erasures_packed
from multitracer.parsers.shared.source import Source, open_source

# The format of every file under the shared data, by the first pattern that matches; None: not an input format.
FILES: tuple[tuple[str, str | None], ...] = (
    ("linux/*/rlpdump.*", "rlpdump"),
    ("linux/*/rlcdump.*", "rlcdump"),
    ("linux/*/erasures.*", "erasures"),
    ("linux/*/*.pcap*", "pcap"),
    ("linux/*/tcp_probe.txt.gz", "tcp_probe"),
    ("linux/rlc-inseq/retransmit.txt", None),  # without retransmissions the file is a single newline
    ("linux/*/retransmit.txt", "tcp_probe"),
    ("linux/*/ss.txt.gz", "ss"),
    ("linux/*/*.csv*", None),
    ("linux/*/truth.json", None),
    ("public/xplot/*.xpl*", "xplot"),
    ("public/xplot/*.txt", None),
    ("public/tcp_lab/*.ftrace.txt.gz", "tcp_probe"),
    ("public/tcp_lab/*.ss.txt.gz", "ss"),
    ("public/tcp_lab/*.pcap", "pcap"),
    ("public/tcp_lab/*", None),
    ("public/link_traces/mahimahi_*", "mahimahi"),
    ("public/tcp_state/bcc_*", "bcc"),
    ("public/tcp_state/flent_*", "flent"),
    ("public/tcp_state/mlab_*", "mlab-tcpinfo"),
    ("public/tcp_state/tcp_probe_plus_*.log", "tcp_probe_plus"),
    ("public/tcp_state/tcpprobe_*", "tcpprobe"),
    ("public/tcp_state/*", None),
    ("public/rlc_mi2log/*.mi2log", "mi2log"),
    ("public/rlc_mi2log/*", None),
    ("public/rlc_ns3/*", "ns3-rlc"),
    ("public/rlp/*.pcap", "pcap"),
    ("public/rlp/*", None),
    ("public/tcp_both_ends/*.pcapng", "pcapng"),
    ("public/tcp_pcap/*.snoop", "snoop"),
    ("public/tcp_pcap/*.erf", "erf"),
    ("public/rlc_pcap/*.pcap", "pcap"),
)

SIFTR = (
    "enable_time_secs=1700000000\tenable_time_usecs=250000\tsiftrver=1.2.2\thz=1000\ttcp_rtt_scale=32\t"
    "sysname=FreeBSD\tsysver=604000\tipmode=4\n"
    "o,0x0badcafe,1700000000.463551,10.0.0.1,22,10.0.0.2,55931,1073725440,172312,6144,66560,66608,8,1,4,"
    "1448,936,1,996,255,33304,208,66608,0,208\n"
    + "i,0x0badcafe,1700000000.473551,10.0.0.1,22,10.0.0.2,55931,2896,2896,6144,66560,66608,8,1,4,"
    "1448,960,1,996,256,33304,0,66608,0,0\n"
    * 8
    + "disable_time_secs=1700000004\tdisable_time_usecs=500000\tnum_inbound_tcp_pkts=8\n"
)
TCPSTATS = "# tcpstats 1\n# connection: 10.0.0.1:5000 > 10.0.0.2:80\n" + "".join(
    f"1238556193.{number:06d} cwnd={1448 * number} ssthresh=inf srtt=0.25 rttvar=0.125 rto=1\n"
    for number in range(1, 21)
)
_FLENT_SAMPLES = ",\n".join(
    f'{{"t": 1588855606.{number:06d}, "tcp_cwnd": {number}.0, "tcp_rtt": 20.5, "tcp_rtt_var": 10.25}}'
    for number in range(1, 21)
)
FLENT = (
    '{"metadata": {"FLENT_VERSION": "2.0.0", "TITLE": "two flows"},\n"raw_values": {\n'
    '"Ping (ms) ICMP": [{"seq": 0.0, "t": 1588855601.601887, "val": 20.1}],\n'
    f'"TCP upload BE": [{_FLENT_SAMPLES}],\n"TCP upload BE2": [{_FLENT_SAMPLES}]}},\n'
    '"results": {"TCP upload BE": [null]}, "version": 4, "x_values": [0.0]}\n'
)
PACKED = io.BytesIO()
erasures_packed.write(PACKED, [number % 7 == 0 for number in range(4001)], {"name": "every seventh"})
MI2LOG = b"".join(hdlc(enveloped(rlc(list(range(at, at + 10)), at / 1000))) for at in range(0, 300, 10))
MACHINE = """{
  "kernel": "6.18.44", "host": "phone", "interface": "wlan0", "mtu": 1500,
  "offloads": {"tcp-segmentation-offload": true, "generic-receive-offload": false},
  "tracing": {"clock": "mono", "mono_ns": [1, 2], "real_ns": [1700000000000000000, 1700000000000000001],
              "lost_events": 3, "filter": ""},
  "capture": {"tool": "tcpdump", "snaplen": 128, "dropped": 0}, "command": [], "exit": null, "missing": []
}
"""
INVENTED = {
    "mi2log": MI2LOG, "iperf3": document(transfer()),
    "srsran": gnb_log.transfer().encode(),
    "erasures-packed": PACKED.getvalue(),
    "machine": MACHINE.encode(), "siftr": SIFTR.encode(), "tcpstats": TCPSTATS.encode(), "flent": FLENT.encode(),
}  # fmt: skip


def files(name: str | None) -> list[Path]:
    """The shared recordings of one format (None: of no input format); skips the test if there are none."""
    return _files(shared("linux").parent, name)


def shared_files(name: str) -> list[Path]:
    """The same, and those that other tools brought; empty without shared data."""
    root = shared_root()
    if root is None:
        return []
    foreign = sorted((root / "public" / "foreign").glob("*.[pm]*")) if name == "pcap" else []
    return _files(root, name) + foreign


def _files(root: Path, name: str | None) -> list[Path]:
    taken: set[Path] = set()
    found = []
    for pattern, wanted in FILES:
        for path in sorted(root.glob(pattern)):
            if path not in taken:
                taken.add(path)
                found += [path] if wanted == name and path.is_file() else []
    return found


def sources(name: str) -> list[Source]:
    """Every sample of one format, opened."""
    invented = [Source(f"invented.{name}", INVENTED[name])] if name in INVENTED else []
    return invented + [open_source(str(path)) for path in files(name)]


def small(name: str, size: int = 16_384) -> bytes:
    """The beginning of the smallest sample of one format, of a text format up to the end of a line."""
    data = min((bytes(source.data) for source in sources(name)), key=len)
    if len(data) <= size:
        return data
    head = data[:size]
    return head[: head.rfind(b"\n") + 1] if b"\0" not in head else head

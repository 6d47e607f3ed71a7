"""One recording of each format, with a marker in every field of text that a person, a host or a file gives it."""

from __future__ import annotations

import gzip
import json
import struct

import gnb_log
from iperf3_output import document, transfer
from packets import ACK, SYN, ethernet, ipv4, tcp
from pcapng_blocks import block
from samples import FLENT, MACHINE, SIFTR, TCPSTATS

START_S = 1_700_000_000
MARKER = "Zanzibar"


def option(code: int, text: str) -> bytes:
    """An option of a pcapng block."""
    octets = text.encode()
    return struct.pack("<HH", code, len(octets)) + octets + bytes(-len(octets) % 4)


def pcapng() -> bytes:
    """A short transfer, with names and comments in each kind of block, and names of its addresses."""
    end = bytes(4)
    texts = b"".join(option(code, MARKER) for code in (1, 2, 3, 4))
    head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + texts + end, "<")
    about = b"".join(option(code, MARKER) for code in (1, 2, 3, 11, 12, 15))
    made = head + block(1, struct.pack("<HHI", 1, 0, 0) + about + end, "<")
    name = f"{MARKER}.example".encode() + b"\0"
    record = struct.pack("<HH", 1, 4 + len(name)) + bytes([10, 0, 0, 2]) + name + bytes(-len(name) % 4)
    made += block(4, record + end + option(1, MARKER) + option(2, MARKER) + end, "<")
    for at, packet in enumerate(packets()):
        head = struct.pack("<IIIII", 0, (ticks := (START_S * 1000 + 10 * at) * 1000) >> 32, ticks & 0xFFFFFFFF,
                           len(packet), len(packet))  # fmt: skip
        made += block(6, head + packet + bytes(-len(packet) % 4) + option(1, MARKER) + end, "<")
    made += block(5, struct.pack("<III", 0, 0, 0) + option(1, MARKER) + end, "<")
    custom = struct.pack("<I", 32473) + MARKER.encode()
    return made + block(0xBAD, custom, "<")


def packets() -> list[bytes]:
    """A connection's opening and some data, whose octets have the marker too."""
    ends = {"source": "10.0.0.1", "destination": "10.0.0.2"}
    back = {"source": "10.0.0.2", "destination": "10.0.0.1"}
    made = [
        ethernet(ipv4(tcp(b"", seq=0, flags=SYN, ports=(5000, 5201)), **ends)),
        ethernet(ipv4(tcp(b"", seq=0, ack=1, flags=SYN | ACK, ports=(5201, 5000)), **back)),
    ]
    for part in range(8):
        text = f"Host: {MARKER}.example\r\n".encode()
        seq = 1 + part * len(text)
        made.append(ethernet(ipv4(tcp(text, seq=seq, ack=1, flags=ACK, ports=(5000, 5201)), **ends)))
        made.append(ethernet(ipv4(tcp(b"", seq=1, ack=seq + len(text), flags=ACK, ports=(5201, 5000)), **back)))
    return made


def ss() -> bytes:
    """What `ss -r` prints: hosts by name, and what a process is called."""
    sockets = [
        f'{MARKER}.local:5000 {MARKER}-server.example:5201 users:(("{MARKER}",pid=1,fd=3))',
        f"10.0.0.1:5000 {MARKER}-server.example:5201 ino:1 cgroup:/{MARKER}",
        f"[fe80::1]%{MARKER}:5000 [fe80::2]%{MARKER}:5201",
        f"{MARKER}.local:https {MARKER}:http",
        f"{MARKER.upper()}:5000 [{MARKER}::1]:80",
    ]
    text = ""
    for at in range(20):
        text += f"# {START_S + at}.5\n"
        for ends in sockets:
            text += f"ESTAB 0 37 {ends}\n"
            text += f"\t cubic rto:316 rtt:104.8/52.4 mss:1448 cwnd:{13 + at} ssthresh:7 tag:{MARKER}\n"
    return text.encode()


def iperf3() -> bytes:
    """A test whose title, hosts, cookie and error have it."""
    test = transfer(1, 4, system_info=MARKER, cookie=MARKER, connecting_to={"host": MARKER, "port": 5201})
    test["start"]["connected"][0] |= {"local_host": f"{MARKER}.example", "remote_host": MARKER}
    test |= {"title": MARKER, "extra_data": MARKER, "error": f"unable to connect to {MARKER}: it says {MARKER}"}
    return document(test)


def machine() -> bytes:
    """A machine's settings."""
    settings = json.loads(MACHINE)
    settings |= {"host": MARKER, "command": ["curl", MARKER], "interface": MARKER, "qdisc": MARKER, "kernel": MARKER}
    settings["capture"]["tool"] = settings["tracing"]["filter"] = MARKER
    settings["missing"] = [{"what": MARKER, "needs": MARKER}]
    return json.dumps(settings).encode()


def kernel_trace() -> bytes:
    """Tracepoints, of a process with that name."""
    return b"".join(
        f"  {MARKER}-25434   [001] b..1.  {2256 + at}.150205: tcp_probe: family=AF_INET src=10.0.0.1:5000 "
        f"dest=10.0.0.2:5201 mark=0x0 data_len=37 snd_nxt=0x1 snd_una=0x{at:x} snd_cwnd={10 + at} ssthresh=7 "
        f"snd_wnd=65160 srtt=81036 rcv_wnd=64512 sock_cookie=1 skbaddr=0 skaddr=0\n".encode()
        for at in range(20)
    )


def dump(kind: str, *lines: str) -> bytes:
    """An rlpdump or rlcdump with headers that name things."""
    about = [f"# {kind} 1", "# side: mobile", f"# bearer: {MARKER}", f"# operator: {MARKER}", f"# {MARKER}: 3"]
    return "\n".join([*about, f"# a comment about {MARKER}", *lines]).encode() + b"\n"


def inputs() -> dict[str, bytes]:
    """By file name, which has the marker too."""
    rlp = [f"{START_S + at}.000000 > I RR ns={at} nr=0 pf=0 cr=0 len=25" for at in range(20)]
    rlc = [f"{START_S + at}.000000 > AMD sn={at} p=0 si=0 len=40" for at in range(20)]
    xpl = f"timeval double\ntitle\n{MARKER}\nxlabel\n{MARKER}\nylabel\n{MARKER}\ndot 1.5 1\natext 1.5 2\n{MARKER}\ngo\n"
    flent = json.loads(FLENT)
    flent["metadata"] |= dict.fromkeys(("TITLE", "HOST", "HOSTS", "NOTE", "DATA_FILENAME", "LOCAL_HOST"), MARKER)
    flent["raw_values"] = {f"{name} {MARKER}": value for name, value in flent["raw_values"].items()}
    tcpstats = f"# host: {MARKER}\n# {MARKER}: yes\n"
    made = {
        "a.pcapng": pcapng(), "ss.txt": ss(), "iperf3.json": iperf3(), "machine.json": machine(),
        "probe.txt": kernel_trace(), "rlp.txt": dump("rlpdump", *rlp), "rlc.txt": dump("rlcdump", "# rat: nr", *rlc),
        "stats.txt": TCPSTATS.replace("10.0.0.1:", f"{MARKER}.example:").replace("\n", f"\n{tcpstats}", 1).encode(),
        "siftr.log": SIFTR.replace("sysname=FreeBSD", f"sysname={MARKER}").encode(), "a.xpl": xpl.encode(),
        "a.flent": json.dumps(flent).encode(), "gnb.log": gnb_log.transfer().replace("Release", MARKER).encode(),
        "erasures.txt": f"# name: {MARKER}\n# {MARKER}: 1\n00010001000\n".encode(),
        "letter.txt": f"{MARKER} wrote this\n".encode(), "empty": b"",
    }  # fmt: skip
    return {f"{MARKER}-{name}": octets for name, octets in made.items()} | {
        f"{MARKER}-named.gz": gzip.compress(ss(), mtime=0)
    }

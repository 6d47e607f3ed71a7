"""Kernel tracepoints of TCP."""

from __future__ import annotations

import re
from math import inf, isnan

import pytest
from shared_data import LINUX, shared

from multitracer.model.trace import Skip
from multitracer.parsers import tcp_probe
from multitracer.parsers.shared.source import Source, open_source

_HEAD = "          iperf3-25434   [001] b..1.  2256.150205: "
_PROBE = (
    "tcp_probe: family=AF_INET6 src=[::ffff:10.31.0.1]:60708 dest=[::ffff:10.31.0.2]:5301 mark=0x0 "
    "data_len=37 snd_nxt=0x83a50b6d snd_una=0x83a50b48 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65160 "
    "srtt=81036 rcv_wnd=64512 sock_cookie=1044 skbaddr=00000000cf23731d skaddr=00000000304e05a2\n"
)
_SOCKET = "sport=60708 dport=5301 saddr=10.31.0.1 daddr=10.31.0.2 saddrv6=::ffff:10.31.0.1 daddrv6=::ffff:10.31.0.2"


def test_a_probe_has_the_sender_s_state() -> None:
    """Windows, numbers and SRTT are in their columns, in their units."""
    recording = tcp_probe.read(Source("x", ("# tracer: nop\n" + _HEAD + _PROBE).encode()))
    row = recording.tables["tcp_state"].iloc[0]
    assert (row["record"], row["time_ns"], row["event"]) == (2, 2_256_150_205_000, "recv")
    assert (row["local"], row["remote"]) == ("10.31.0.1:60708", "10.31.0.2:5301")
    assert (row["snd_nxt"], row["snd_una"]) == (0x83A50B6D, 0x83A50B48)
    assert (row["cwnd_segments"], row["ssthresh_segments"], row["srtt_s"]) == (10, inf, 0.081036)
    assert (row["snd_wnd_bytes"], row["rcv_wnd_bytes"], row["data_bytes"]) == (65160, 64512, 37)
    assert isnan(row["cwnd_bytes"])
    assert recording.clock == "monotonic"
    assert not recording.skips


def test_perf_and_older_kernels_are_read() -> None:
    """perf names the subsystem; before data_len there was length, which counts the header and is left out."""
    text = (
        "swapper     0 [001]  2256.150205: tcp:tcp_probe: src=10.0.0.1:80 dest=[2001:db8::1]:2049 mark=0 "
        "length=32 snd_nxt=0x1 snd_una=0x1 snd_cwnd=10 ssthresh=7 snd_wnd=100 srtt=20 rcv_wnd=200\n"
    )
    assert tcp_probe.sniff(text.encode())
    row = tcp_probe.read(Source("x", text.encode())).tables["tcp_state"].iloc[0]
    assert (row["local"], row["remote"]) == ("10.0.0.1:80", "[2001:db8::1]:2049")
    assert isnan(row["data_bytes"])
    assert row["ssthresh_segments"] == 7


def test_retransmissions_and_states_are_events_of_their_own() -> None:
    """tcp_retransmit_skb and tcp_cong_state_set name the socket by ports and addresses."""
    text = (
        f"{_HEAD}tcp_retransmit_skb: skbaddr=0000000072 skaddr=000000006c family=AF_INET {_SOCKET} "
        f"state=TCP_ESTABLISHED err=0\n{_HEAD}tcp_cong_state_set: family=AF_INET6 {_SOCKET} cong_state=3\n"
        f"{_HEAD}sched_switch: prev_comm=a\n"
    )
    recording = tcp_probe.read(Source("x", text.encode()))
    table = recording.tables["tcp_state"]
    assert table["event"].tolist() == ["retransmit", "state"]
    assert table["local"].tolist() == ["10.31.0.1:60708"] * 2
    assert table["ca_state"].tolist()[1] == 3
    assert recording.counts == {"sched_switch": 1}


def test_a_stack_says_what_made_tcp_resend() -> None:
    """The stack below an event belongs to it, also when another processor logged between; others are ignored."""
    resend = f"tcp_retransmit_skb: skbaddr=1 skaddr=2 family=AF_INET {_SOCKET} state=TCP_ESTABLISHED err=0\n"
    one, other = (f"   iperf3-1   [00{cpu}] b..1.   10.00000{cpu}: " for cpu in (1, 2))
    text = (
        f"{one}{resend}{other}tcp_cong_state_set: family=AF_INET {_SOCKET} cong_state=3\n"
        f"{one}<stack trace>\n => __tcp_retransmit_skb\n => tcp_xmit_retransmit_queue.part.0\n => tcp_ack\n"
        f"{other}<stack trace>\n => tcp_retransmit_timer\n"
        f"{one}{resend}\tffffffff81a2 tcp_send_loss_probe+0x1f ([kernel.kallsyms])\n{one}{resend}"
        f"{one}{resend}{one}<stack trace>\n => tcp_retransmit_skb\n => tcp_retransmit_timer+0x7/0x9\n"
    )
    recording = tcp_probe.read(Source("x", text.encode()))
    table = recording.tables["tcp_state"]
    assert table["resent_by"].fillna(-1).tolist() == [2, -1, 1, -1, 0]
    assert not recording.skips


SKB = "skbaddr=0xffff888301747000 skaddr=0xffff8881043e3780 "
V6 = "sport=443 dport=9 saddr=0.0.0.0 daddr=0.0.0.0 saddrv6=2001:db8::1 daddrv6=2001:db8::2"


@pytest.mark.parametrize(
    "fields",
    [
        f"{_SOCKET}", f"{_SOCKET} state=TCP_ESTABLISHED", f"skbaddr=00000000fcafe9e4 skaddr=00000000a3 {_SOCKET}",
        f"{SKB}family=AF_INET {_SOCKET} state=0x2 err=0", f"{SKB}family=2 {_SOCKET} state=1",
    ],
)  # fmt: skip
def test_retransmissions_alone_are_a_log_whatever_the_kernel_s_fields(fields: str) -> None:
    """Fields that came with versions of the kernel, and perf's way to print them, change nothing in what is read."""
    text = f"swapper     0 [001]  2256.150205556:   tcp:tcp_retransmit_skb: {fields}\n"
    assert tcp_probe.sniff(text.encode())
    row = tcp_probe.read(Source("x", text.encode())).tables["tcp_state"].iloc[0]
    assert (row["time_ns"], row["event"], row["local"]) == (2_256_150_205_556, "retransmit", "10.31.0.1:60708")


def test_a_repeated_syn_ack_is_a_retransmission_of_its_listener_s_port() -> None:
    """tcp_retransmit_synack has no segment and no state; its timer's handler shows in the stack."""
    text = f"{_HEAD}tcp_retransmit_synack: family=AF_INET6 {V6}\n{_HEAD}<stack trace>\n => reqsk_timer_handler\n"
    row = tcp_probe.read(Source("x", text.encode())).tables["tcp_state"].iloc[0]
    assert (row["event"], row["local"], row["remote"]) == ("retransmit", "[2001:db8::1]:443", "[2001:db8::2]:9")
    assert row["resent_by"] == 0


def test_what_the_kernel_could_not_send_is_counted_and_no_retransmission() -> None:
    """An error below the tracepoint means that nothing left; its stack belongs to no row."""
    event = f"{_HEAD}tcp_retransmit_skb: {SKB}family=AF_INET {_SOCKET} state=TCP_ESTABLISHED err="
    stack = f"{_HEAD}<stack trace>\n => tcp_retransmit_timer\n"
    recording = tcp_probe.read(Source("x", f"{event}0\n{event}-101\n{stack}".encode()))
    assert recording.tables["tcp_state"]["resent_by"].isna().tolist() == [True]
    assert (recording.counts, recording.skips) == ({tcp_probe.NOT_SENT: 1}, [])


def test_perf_s_stacks_with_user_space_are_read_whole() -> None:
    """Functions of programs, unknown ones and short addresses are part of a stack, not foreign lines."""
    text = (
        f"python 21775 [001]  2401.26:    tcp:tcp_retransmit_skb: {SKB}family=AF_INET {_SOCKET} state=0x1 err=0\n"
        "\tffffffff820291d2 tcp_retransmit_skb+0x12 ([kernel.kallsyms])\n"
        "\tffffffff8202ca71 tcp_write_timer+0x91 ([kernel.kallsyms])\n"
        "\t          2bcabd PyObject_GC_UnTrack+0xd (/usr/lib/libpython3.11.so.1.0)\n"
        "\t    7ff341c5e380 [unknown] ([unknown])\n\n"
    )
    recording = tcp_probe.read(Source("x", text.encode()))
    assert recording.tables["tcp_state"]["resent_by"].tolist() == [0]
    assert recording.skips == []


def test_trace_cmd_s_report_is_read() -> None:
    """It begins with the number of processors, and names stacks as events."""
    text = (
        "CPU 1 is empty\ncpus=2\n          <idle>-0     [000] ..s2.  5322.616084: tcp_retransmit_skb:   "
        f"{SKB}family=AF_INET {_SOCKET} state=TCP_ESTABLISHED\n"
        "          <idle>-0     [000] ..s2.  5322.616123: kernel_stack:         <stack trace >\n"
        "=> __tcp_retransmit_skb (ffffffff82028c1a)\n=> tcp_send_loss_probe (ffffffff8202c26b)\n"
    )
    assert tcp_probe.sniff(text.encode())
    recording = tcp_probe.read(Source("x", text.encode()))
    assert recording.tables["tcp_state"]["resent_by"].tolist() == [1]
    assert recording.skips == []


@pytest.mark.parametrize("field", ["sport=70000", "cong_state=" + "9" * 400])
def test_a_number_out_of_range_is_a_loss_of_its_line(field: str) -> None:
    """The line is counted with its number; those around it are read."""
    good = f"{_HEAD}tcp_cong_state_set: family=AF_INET {_SOCKET} cong_state=3\n"
    name = field.partition("=")[0]
    bad = re.sub(rf"\b{name}=\d+", field, good)
    recording = tcp_probe.read(Source("x", (good + bad + good).encode()))
    assert (recording.records, recording.skips[0].record, recording.skips[0].offset) == (2, 2, len(good))


def test_what_the_ring_buffer_lost_is_reported() -> None:
    """Both the header's count of overwritten entries and LOST EVENTS lines are losses."""
    text = (
        "# entries-in-buffer/entries-written: 10/35   #P:2\n"
        f"CPU:1 [LOST 7 EVENTS]\n{_HEAD}{_PROBE}some words\n{_HEAD}tcp_probe: family=AF_INET\n"
    )
    skips = tcp_probe.read(Source("x", text.encode())).skips
    assert skips[0] == Skip(tcp_probe.OVERRUN, 1, 0, 32)
    assert [skip.reason for skip in skips[1:]] == [
        "not a line of a kernel trace", "tcp_probe without the fields it should have",
    ]  # fmt: skip
    assert skips[1].record == 4


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in LINUX if name != "rlc-inseq"])
def test_every_line_of_real_traces_is_read(name: str) -> None:
    """Nothing is skipped in what a current kernel wrote; each line that is no comment is a row, or was not sent."""
    for file in ("tcp_probe.txt.gz", "retransmit.txt"):
        source = open_source(str(shared("linux", name, file)))
        assert source.data
        recording = tcp_probe.read(source)
        expected = sum(1 for _, _, text in source.lines() if text.strip() and not text.startswith("#"))
        assert (recording.records + recording.counts.get(tcp_probe.NOT_SENT, 0), recording.skips) == (expected, [])


@pytest.mark.data
def test_the_lab_s_trace_holds_all_three_events() -> None:
    """9671 probes, 132 retransmissions and 72 changes of state, by grep."""
    recording = tcp_probe.read(open_source(str(shared("public", "tcp_lab", "BBR.ftrace.txt.gz"))))
    counted = recording.tables["tcp_state"]["event"].value_counts()
    assert (counted["recv"], counted["retransmit"], counted["state"]) == (9671, 132, 72)

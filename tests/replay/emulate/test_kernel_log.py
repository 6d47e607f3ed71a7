"""Why a kernel sent again, by its own log."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path

import pytest

from multitracer.replay.emulate.kernel_clocks import kernel_clocks
from multitracer.replay.emulate.kernel_log import (
    BY_ACKNOWLEDGEMENTS,
    BY_PROBE,
    BY_TIMER,
    IN_LOSS,
    IN_RECOVERY,
    UNKNOWN,
    Event,
    kernel_log,
    trigger_of,
    triggers,
)
from multitracer.replay.emulate.truth import discards
from multitracer.replay.record.known_run import FAST, PROBE, RECOVERY, TIMEOUT

MS = 1_000_000
SOCKET = ("10.0.0.1:40000", "10.0.0.2:5001")


@pytest.mark.parametrize(
    ("resent_by", "state", "begun", "expected"),
    [
        (BY_TIMER, IN_LOSS, False, TIMEOUT), (BY_PROBE, 0, False, PROBE),
        (BY_ACKNOWLEDGEMENTS, IN_RECOVERY, True, FAST), (BY_ACKNOWLEDGEMENTS, IN_RECOVERY, False, RECOVERY),
        (BY_ACKNOWLEDGEMENTS, IN_LOSS, False, RECOVERY), (BY_ACKNOWLEDGEMENTS, -1, False, UNKNOWN),
        (nan, IN_LOSS, False, UNKNOWN),
    ],
)  # fmt: skip
def test_a_trigger_is_the_stacks_and_the_states(resent_by: float, state: int, begun: bool, expected: str) -> None:
    """Without a state acknowledgements may have begun a recovery or not; without a stack nothing is known."""
    assert trigger_of(resent_by, state, begun=begun) == expected


def events(*moments: tuple[float, str]) -> list[Event]:
    """Events at times in ms."""
    return [Event(round(at * MS), trigger) for at, trigger in moments]


def test_packets_and_events_of_a_moment_belong_together_in_order() -> None:
    """One by one where they are as many."""
    sent = [10 * MS, 10 * MS + 50_000, 900 * MS]
    assert triggers(sent, events((10.04, FAST), (10.1, RECOVERY), (900.1, TIMEOUT))) == [FAST, RECOVERY, TIMEOUT]


def test_a_buffer_of_several_packets_is_one_event() -> None:
    """The first packet of a recovery is its first; packets of one trigger share it."""
    sent = [10 * MS, 10 * MS + 10_000, 10 * MS + 60_000]
    assert triggers(sent, events((10.04, FAST), (10.1, RECOVERY))) == [FAST, RECOVERY, RECOVERY]
    assert triggers(sent[:2], events((10.04, TIMEOUT))) == [TIMEOUT, TIMEOUT]


def test_what_the_events_do_not_tell_is_not_known() -> None:
    """No event near, or fewer of different triggers."""
    assert triggers([10 * MS], events((30, FAST))) == [UNKNOWN]
    assert triggers([10 * MS] * 3, events((10.1, PROBE), (10.2, TIMEOUT))) == [UNKNOWN] * 3
    assert triggers([10 * MS], []) == [UNKNOWN]


ENDS = (
    "family=AF_INET sport=40000 dport=5001 saddr=10.0.0.1 daddr=10.0.0.2 "
    "saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2"
)


def resend(time: str, *stack: str) -> list[str]:
    """What the kernel logs of a resend, and its stack, if there is one."""
    head = f"  a-1 [000] ..s2.  {time}: "
    frames = [f"{head}<stack trace>", *(f" => {name}" for name in stack)] if stack else []
    return [f"{head}tcp_retransmit_skb: skbaddr=1 skaddr=2 {ENDS} state=TCP_ESTABLISHED err=0", *frames]


def test_a_log_is_read_on_the_links_clock(tmp_path: Path) -> None:
    """States, stacks, windows, and captured packets by the moments at which both clocks were read."""
    lines = [
        f"  a-1 [000] ..s2.  100.100000: tcp_cong_state_set: {ENDS} cong_state=3",
        *resend("100.100010", "tcp_retransmit_skb", "tcp_xmit_retransmit_queue"),
        *resend("100.200000", "tcp_xmit_retransmit_queue"), *resend("100.300000"),
    ]  # fmt: skip
    (tmp_path / "retransmit.txt").write_text("\n".join(lines) + "\n")
    probe = (
        "  a-1 [000] ..s1.  {}: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5001 mark=0x0 data_len=0 "
        "snd_nxt=0x1 snd_una=0x1 snd_cwnd={} ssthresh=9 snd_wnd=9 srtt=9 rcv_wnd=9 sock_cookie=1\n"
    )
    (tmp_path / "tcp_probe.txt").write_text(probe.format("100.000500", 10) + probe.format("100.500000", 11))
    (tmp_path / "machine.json").write_text(json.dumps({"tracing": {"mono_ns": [0, 10], "real_ns": [5, 15]}}))
    log = kernel_log(tmp_path, 100_000 * MS)
    assert log.resends[SOCKET] == events((100.01, FAST), (200, RECOVERY), (300, UNKNOWN))
    assert [log.window(SOCKET, at * MS) for at in (0, 300, 600)] == [10, 11, None]
    assert log.window(SOCKET, 1 * MS) is None  # a timer that may have run out before the next arrival sets another
    assert log.window(("", ""), 0) is None
    assert log.captured == {}


def test_the_resend_after_a_lost_stack_need_not_be_the_first_of_its_recovery(tmp_path: Path) -> None:
    """It is not known which of both was; the one after them is none."""
    lines = [
        f"  a-1 [000] ..s2.  100.100000: tcp_cong_state_set: {ENDS} cong_state=3", *resend("100.100010"),
        *resend("100.200000", "tcp_xmit_retransmit_queue"), *resend("100.300000", "tcp_xmit_retransmit_queue"),
    ]  # fmt: skip
    (tmp_path / "retransmit.txt").write_text("\n".join(lines) + "\n")
    log = kernel_log(tmp_path, 100_000 * MS)
    assert log.resends[SOCKET] == events((100.01, UNKNOWN), (200, UNKNOWN), (300, RECOVERY))


def test_nothing_recorded_is_nothing_known(tmp_path: Path) -> None:
    """Without root there is a capture at most."""
    log = kernel_log(tmp_path, 0)
    assert (log.resends, log.windows, log.captured) == ({}, {}, {})


def test_segments_that_a_kernel_threw_away_are_counted() -> None:
    """Of its counters those of segments that came and were not kept."""
    shown = "TcpExt: SyncookiesSent PruneCalled TCPRcvQDrop TW\nTcpExt: 9 2 3 8\nIpExt: InNoRoutes\nIpExt: 4\n"
    assert discards(shown) == 5
    assert discards("") == 0


def test_the_kernels_clocks_are_those_of_the_last_sample(tmp_path: Path) -> None:
    """A socket that never had its clocks sampled has none; without a sample nothing has."""
    socket = "ESTAB 0 0 10.0.0.1:40000 10.0.0.2:5001\n\t cubic rto:204 cwnd:10 busy:{}ms rwnd_limited:{}ms(3.0%)\n"
    path = tmp_path / "clocks.txt"
    path.write_text(f"# 1700000000.5\n{socket.format(500, 10)}# 1700000001.0\n{socket.format(900, 30)}")
    assert kernel_clocks(path) == {SOCKET: {"busy_s": 0.9, "rwnd_limited_s": 0.03, "sndbuf_limited_s": 0.0}}
    path.write_text(f"# 1700000000.5\n{socket.format(900, 30).replace('ESTAB', 'UNCONN')}")  # it had ended
    assert kernel_clocks(path) == {SOCKET: {"busy_s": 0.9, "rwnd_limited_s": 0.03, "sndbuf_limited_s": 0.0}}
    path.write_text("# 1700000000.5\n")
    assert kernel_clocks(path) == {}

"""Socket statistics, sampled."""

from __future__ import annotations

from math import inf

import pytest
from shared_data import shared

from multitracer.model.errors import InputError
from multitracer.parsers import ss
from multitracer.parsers.shared.source import Source, open_source

_HEADING = "State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess   \n"
_SOCKET = "ESTAB 0      37          10.9.0.1:43710   [::ffff:10.9.0.2]:5201\n"
_TOKENS = (
    "\t cubic wscale:10,10 rto:316 backoff:1 rtt:104.857/52.428 ato:40 mss:1448 pmtu:1500 cwnd:13 ssthresh:7 "
    "bytes_sent:37 bbr:(bw:0bps,mrtt:104.857,pacing_gain:1,cwnd_gain:1) send 1104743bps lastsnd:100 "
    "pacing_rate 3.1Mbps busy:100ms unacked:1 retrans:2/24 rcv_space:14480 minrtt:104.857 snd_wnd:65160\n"
)
STYLES = {
    "flent": f"Time: 1795209449.540314285\n{_HEADING}{_SOCKET}{_TOKENS}---\n",
    "comment": f"# 1795209449.540314285\n{_HEADING}{_SOCKET}{_TOKENS}",
    "line": f"1795209449.540314285\t{_SOCKET}1795209449.540314285\t{_TOKENS}",
    "one line": f"1795209449.540314285 {_SOCKET.rstrip()} {_TOKENS.strip()}\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_every_way_of_timing_gives_the_same_sample(style: str) -> None:
    """A time line above, a comment above, or the time before each line."""
    data = STYLES[style].encode()
    assert ss.sniff(data)
    recording = ss.read(Source("x", data))
    row = recording.tables["tcp_state"].iloc[0]
    assert (recording.records, recording.skips) == (1, [])
    assert (row["time_ns"], row["event"]) == (1_795_209_449_540_314_285, "sample")
    assert (row["local"], row["remote"]) == ("10.9.0.1:43710", "10.9.0.2:5201")
    assert (row["cwnd_segments"], row["cwnd_bytes"], row["ssthresh_segments"]) == (13, 13 * 1448, 7)
    assert (row["srtt_s"], row["rttvar_s"]) == pytest.approx((0.104857, 0.052428))
    assert (row["rto_s"], row["retransmits"], row["snd_wnd_bytes"]) == (0.316, 2, 65160)


def test_what_ss_leaves_out_is_unset_or_zero() -> None:
    """No ssthresh: none is set; no retrans: none outstanding. What it never prints stays null."""
    text = STYLES["comment"].replace(" ssthresh:7", "").replace(" retrans:2/24", "").replace(" snd_wnd:65160", "")
    row = ss.read(Source("x", text.encode())).tables["tcp_state"].iloc[0]
    assert (row["ssthresh_segments"], row["retransmits"]) == (inf, 0)
    assert row[["snd_wnd_bytes", "rcv_wnd_bytes", "snd_nxt"]].isna().all()


def test_the_kernels_clocks_are_read_where_ss_prints_them() -> None:
    """One that is left out stands at zero; where all are, ss may be too old to know them."""
    text = STYLES["comment"].replace("busy:100ms", "busy:1500ms rwnd_limited:468ms(31.2%)")
    row = ss.read(Source("x", text.encode())).tables["tcp_state"].iloc[0]
    assert row[["busy_s", "rwnd_limited_s", "sndbuf_limited_s"]].tolist() == [1.5, 0.468, 0]
    old = ss.read(Source("x", STYLES["comment"].replace(" busy:100ms", "").encode())).tables["tcp_state"].iloc[0]
    assert old[["busy_s", "rwnd_limited_s", "sndbuf_limited_s"]].isna().all()


def test_sockets_without_a_window_are_counted_not_read() -> None:
    """LISTEN and TIME-WAIT send nothing; their statistics are not given to another socket."""
    text = STYLES["comment"] + f"LISTEN 0 5 0.0.0.0:5201 0.0.0.0:*\n{_TOKENS}TIME-WAIT 0 0 10.9.0.1:1 10.9.0.2:2\n"
    recording = ss.read(Source("x", text.encode()))
    assert recording.records == 1
    assert recording.counts == {"sockets in LISTEN": 1, "sockets in TIME-WAIT": 1}


def test_a_socket_that_has_ended_is_read_as_it_was_last() -> None:
    """`ss --events` prints it as UNCONN with its peer; an UNCONN without one listened or was never connected."""
    ended = STYLES["comment"].replace("ESTAB", "UNCONN")
    recording = ss.read(Source("x", f"{ended}UNCONN 0 0 10.9.0.1:5201 0.0.0.0:*\n{_TOKENS}".encode()))
    assert recording.tables["tcp_state"][["cwnd_segments", "busy_s"]].to_numpy().tolist() == [[13, 0.1]]
    assert recording.counts == {"sockets in UNCONN": 1}


def test_a_log_without_times_is_refused_with_what_to_do() -> None:
    """Nothing in it can be placed; the hint says how to record it."""
    data = (_HEADING + _SOCKET + _TOKENS).encode()
    assert ss.sniff(data)
    with pytest.raises(InputError, match="no time"):
        ss.read(Source("x", data))


def test_stray_lines_are_counted() -> None:
    """A line that is neither a socket nor statistics is skipped and counted."""
    recording = ss.read(Source("x", (STYLES["comment"] + "Cannot open netlink socket\n" + STYLES["comment"]).encode()))
    assert (recording.records, recording.skips[0].count, recording.skips[0].record) == (2, 1, 5)


@pytest.mark.data
def test_real_samples_agree_with_the_kernel_s_trace() -> None:
    """All 203 samples of a transfer are read, and the largest cwnd is one that tcp_probe saw too."""
    from multitracer.parsers import tcp_probe

    recording = ss.read(open_source(str(shared("linux", "loss2", "ss.txt.gz"))))
    assert (recording.records, recording.skips) == (203, [])
    probe = tcp_probe.read(open_source(str(shared("linux", "loss2", "tcp_probe.txt.gz")))).tables["tcp_state"]
    sampled = recording.tables["tcp_state"]
    data = sampled["local"] == "10.9.0.1:43714"
    seen = probe.loc[probe["local"] == "10.9.0.1:43714", "cwnd_segments"]
    assert set(sampled.loc[data, "cwnd_segments"]) - {10} <= set(seen) | {seen.iloc[-1] + 1}

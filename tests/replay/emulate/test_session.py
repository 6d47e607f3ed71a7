"""`multitracer emulate`: the machine's own TCP over a modelled link, recorded, analysed, and gone without a trace."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import carried_packets
import numpy as np
import pytest

from multitracer import analyze
from multitracer.model.errors import MissingCapabilityError, UsageError
from multitracer.recorder import needs
from multitracer.replay.emulate import host as host_module
from multitracer.replay.emulate.host import Host
from multitracer.replay.emulate.kernel import KernelKeys, check, check_congestion_control
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed

EMULATE = [sys.executable, "-m", "multitracer", "emulate", "gsm-call", "--no-analyze"]
WAIT_S = 60


@contextmanager
def host() -> Iterator[Host]:
    """A host of its own; skips the test where there can be none."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root of a Linux machine")
    try:
        with Host("10.87.1.1", "10.87.1.2", 1500, ["net.ipv4.tcp_sack=0"]) as made:
            yield made
    except MissingCapabilityError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short file over a GSM call of this machine's TCP."""
    if missing := needs.all_missing("lo"):
        pytest.skip(f"{missing[0].what}: needs {missing[0].needs}")
    with host():
        directory = tmp_path_factory.mktemp("emulated") / "call"
    settings = ["--set", "workload.file_bytes=3000", "--set", "channel.frame_loss_rate=0.05"]
    subprocess.run([*EMULATE, *settings, "-o", str(directory)], check=True, capture_output=True)
    return directory


def test_a_host_has_its_device_and_settings_of_its_own() -> None:
    """What it sets holds in its network namespace, and not for the machine."""
    before = Path("/proc/sys/net/ipv4/tcp_sack").read_text()
    with host() as made:
        shown = subprocess.run(made.inside(["ip", "-o", "address"]), capture_output=True, text=True, check=True).stdout
        inside = subprocess.run(
            made.inside(["cat", "/proc/sys/net/ipv4/tcp_sack"]), capture_output=True, text=True, check=True
        ).stdout
    assert "10.87.1.1 peer 10.87.1.2" in shown
    assert inside == "0\n"
    assert Path("/proc/sys/net/ipv4/tcp_sack").read_text() == before


@pytest.mark.slow
def test_the_kernels_clocks_are_of_the_whole_transfer(emulated: Path) -> None:
    """The sender was busy from its first octet of data until its FIN was acknowledged, as its own capture shows."""
    told = json.loads((emulated / "truth.json").read_text())["kernel_clocks"]
    segments = analyze(emulated / "snd").tables["segments"]
    data = segments[segments["payload_bytes"] > 0]
    back = segments[segments["sender"] != data["sender"].iloc[0]]
    acknowledged = back[back["ack"] > (data["seq"] + data["payload_bytes"]).max()]["time_ns"].min()
    assert told["busy_s"] == pytest.approx((acknowledged - data["time_ns"].min()) / 1e9, abs=0.05)
    assert (told["rwnd_limited_s"], told["sndbuf_limited_s"]) == (0, 0)


@pytest.mark.slow
def test_both_ends_and_both_sides_of_the_link_are_recorded(emulated: Path) -> None:
    """The analysis finds one connection, its octets, and every segment's frames; nothing is skipped."""
    inputs = [emulated / "snd", emulated / "rcv", *sorted(emulated.glob("rlpdump.*.txt"))]
    analysis = analyze(*inputs)
    summary = analysis.summary()
    assert not [skip for one in analysis.trace.inputs for skip in one.recording.skips]
    (connection,) = summary["connections"]
    assert max(connection["directions"][end]["unique_bytes"] for end in ("client", "server")) == 3000
    data = analysis.tables["segment_frames"].query("payload_bytes > 0")
    assert len(data) >= 3
    assert (data["frames"] > 0).all()


@pytest.mark.slow
def test_every_packet_was_delivered_and_lateness_is_told(emulated: Path) -> None:
    """RLP repeats what the radio loses; lateness.csv has every slot, truth.json its 99th percentile."""
    packets = rows(emulated / "link_packets.csv")
    assert packets
    assert all(one["delivered_s"] and not one["lost_s"] for one in packets)
    slots = rows(emulated / "lateness.csv")
    truth = json.loads((emulated / "truth.json").read_text())
    assert [int(one["slot"]) for one in slots] == list(range(1, len(slots) + 1))
    for rows_of, name in ((slots, "lateness"), (packets, "delivery_lateness")):
        late = [float(one["late_us"]) / 20_000 * 100 for one in rows_of]
        assert truth[f"{name}_p99_percent"] == pytest.approx(np.quantile(late, 0.99), rel=0.01)
        assert truth[f"{name}_max_percent"] == pytest.approx(max(late), rel=0.01)
    late = max(truth["lateness_p99_percent"], truth["delivery_lateness_p99_percent"])
    assert truth["trusted"] == (late <= 10)  # a tenth of these slots is more than a millisecond
    assert (truth["exit"], truth["not_handed_over"]) == (0, 0)


@pytest.mark.slow
def test_what_one_host_sends_the_other_gets_unchanged_and_in_order(emulated: Path) -> None:
    """Every packet by a hash of its octets: by the captures of both hosts, beside what the link says."""
    assert carried_packets.differences(emulated) == []
    link = emulated / "link_packets.csv"
    first, *lines = link.read_text().splitlines()
    link.write_text("\n".join([first, *lines[1:]]))
    assert len(carried_packets.differences(emulated)) == 2
    link.write_text("\n".join([first, *lines]) + "\n")


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.slow
def test_nothing_survives_a_kill(tmp_path: Path) -> None:
    """Neither the hosts' processes nor what runs in them go on when the run is killed."""
    with host():
        pass
    arguments = [*EMULATE, "--set", "workload.file_bytes=60000", "-o", str(tmp_path / "call")]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert any("the link runs" in line for line in iter(process.stderr.readline, ""))
        process.kill()
    end = time.monotonic() + WAIT_S
    while left := of_run(tmp_path / "call"):
        assert time.monotonic() < end, left
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_a_command_has_started_ends_with_the_run(tmp_path: Path, number: int) -> None:
    """Also what it left in the background; and the variables that tell it where to send are set."""
    with host():
        pass
    begun, mark = tmp_path / "begun", str(tmp_path / "mark")
    script = (
        f'echo "$MULTITRACER_PEER $MULTITRACER_PORT" > {begun}; tail -f /dev/null {mark} & tail -f /dev/null {mark}'
    )
    Path(mark).touch()
    arguments = [*EMULATE, "-q", "-o", str(tmp_path / "call"), "--", "sh", "-c", script]
    with subprocess.Popen(arguments, start_new_session=True) as process:
        end = time.monotonic() + WAIT_S
        while not begun.exists() or len(of_run(Path(mark))) < 2:
            assert time.monotonic() < end
            time.sleep(0.1)
        process.send_signal(number)
    assert begun.read_text() == "10.87.0.1 5001\n"
    end = time.monotonic() + WAIT_S
    while left := of_run(tmp_path):
        assert time.monotonic() < end, left
        time.sleep(0.2)


def of_run(directory: Path) -> list[str]:
    """Processes that have the folder in their command line or a file in it open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            files = [str(one.readlink()) for one in (process / "fd").iterdir()]
        except OSError:
            continue
        if process.name != str(os.getpid()) and any(str(directory) in one for one in (*words, *files)):
            found.append(" ".join(words))
    return found


def test_keys_of_modelled_tcp_are_refused_by_name() -> None:
    """A kernel has no ticks to set; the message says so."""
    said = dict([parsed("tcp.tick_s", 0.5)])
    with pytest.raises(UsageError, match=r"tcp\.tick_s: only a modelled TCP can be told this"):
        check(resolve("test", said), said)


def test_packets_that_no_frame_takes_are_refused() -> None:
    """Where the protocol does not cut them; both keys are named."""
    said = dict([parsed("link.protocol", "sr")])
    with pytest.raises(UsageError, match=r"kernel\.mtu = 1500: .* frames of 250 octets \(link\.frame_bytes\)"):
        check(resolve("test", said), said)
    said |= dict([parsed("link.ppp", True), parsed("link.frame_bytes", 1600)])
    with pytest.raises(UsageError, match=r"all escaped in PPP.*\n.*link\.frame_bytes at least 3008"):
        check(resolve("test", said), said)


def test_keys_of_the_kernel_become_its_settings() -> None:
    """By default those of the interface; a buffer's size is its least, usual and largest one."""
    assert KernelKeys({}).sysctls() == [
        "net.ipv4.tcp_sack=1", "net.ipv4.tcp_frto=2", "net.ipv4.tcp_recovery=1", "net.ipv4.tcp_timestamps=1"
    ]  # fmt: skip
    said = dict([parsed("kernel.sack", 0), parsed("kernel.receive_buffer_bytes", 16_384)])
    assert {"net.ipv4.tcp_sack=0", "net.ipv4.tcp_rmem=4096 16384 16384"} <= set(KernelKeys(said).sysctls())


def test_keys_of_the_kernel_change_no_simulation() -> None:
    """They are said to have no effect, and the scenario is the same."""
    made = resolve("test", dict([parsed("kernel.sack", 0)]))
    assert made.unused == ("kernel.sack",)
    assert made == resolve("test", {})


def test_a_congestion_control_that_the_kernel_has_not_is_refused() -> None:
    """With those that it has."""
    if not Path("/proc/sys/net/ipv4/tcp_available_congestion_control").exists():
        pytest.skip("no Linux kernel's list of congestion controls")
    with pytest.raises(MissingCapabilityError, match=r"this kernel has .*reno"):
        check_congestion_control("none-such")


def test_a_congestion_control_that_namespaces_may_not_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the setting that allows it."""
    names = {"tcp_available_congestion_control": "reno cubic\n", "tcp_allowed_congestion_control": "reno\n"}
    monkeypatch.setattr(Path, "read_text", lambda path: names[path.name])
    with pytest.raises(MissingCapabilityError, match="tcp_allowed_congestion_control='reno cubic'` allows it"):
        check_congestion_control("cubic")
    check_congestion_control("reno")


def test_without_the_tools_a_host_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces are entered by util-linux, and configured by iproute2."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(MissingCapabilityError, match="install the packages util-linux and iproute2"):
        Host("10.87.1.1", "10.87.1.2", 1500).__enter__()


def test_where_there_is_no_device_what_it_takes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the last line of what was tried."""
    monkeypatch.setattr("multitracer.replay.emulate.host._unshare", lambda: ["sh", "-c", "echo not allowed >&2"])
    with pytest.raises(MissingCapabilityError, match=r"TUN device: not allowed\nIt takes root; or user namespaces"):
        Host("10.87.1.1", "10.87.1.2", 1500).__enter__()


def test_without_root_hosts_are_in_user_namespaces_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made with the network namespace, and entered with it."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    made = Host("10.87.1.1", "10.87.1.2", 1500)
    with subprocess.Popen(["sleep", "0"]) as holder:
        made._holder = holder  # type: ignore[assignment]
        inside = made.inside(["true"])
    assert inside[:4] == [
        "nsenter", f"--user=/proc/{holder.pid}/ns/user", "--preserve-credentials", f"--net=/proc/{holder.pid}/ns/net"
    ]  # fmt: skip
    assert host_module._unshare() == ["unshare", "--user", "--map-root-user", "--net"]


@pytest.mark.slow
def test_in_a_user_namespace_packets_and_samples_are_recorded(tmp_path: Path) -> None:
    """Without tracepoints and real time, which it does not allow; the analysis finds the connection."""
    with host():
        pass
    if not shutil.which("dumpcap"):
        pytest.skip("tcpdump cannot capture in a user namespace, and dumpcap is not installed")
    arguments = [*EMULATE, "--set", "workload.file_bytes=2000", "-o", str(tmp_path / "call")]
    done = subprocess.run(["unshare", "--user", "--map-root-user", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    truth = json.loads((tmp_path / "call" / "truth.json").read_text())
    assert (truth["realtime"], truth["exit"]) == (False, 0)
    names = {path.name for path in (tmp_path / "call" / "snd").iterdir()}
    lacks = json.loads((tmp_path / "call" / "snd" / "machine.json").read_text())["missing"]
    assert names >= {"snd.pcap", "machine.json"}
    assert ("ss.txt" in names) == bool(lacks)  # where tracefs is mounted, the machine's root may use it there, too
    assert len(analyze(tmp_path / "call" / "snd").summary()["connections"]) == 1


@pytest.mark.slow
def test_datagrams_are_late_by_the_link_and_lost_where_it_loses(tmp_path: Path) -> None:
    """Each of them is in the table; those that came took the link's delay at least; nothing else is analysed."""
    with host():
        pass
    scenario = tmp_path / "raw.toml"
    scenario.write_text(
        "[link]\nprotocol = 'raw'\nrate_bps = 1000000\ndelay_s = 0.03\nframe_bytes = 1500\n"
        "[channel]\nmodel = 'listed'\n[channel.forward]\nframes = [3, 4, 11]\n"
        "[emulate]\ntransfer = 'datagrams'\ndatagrams = 20\ndatagram_interval_s = 0.02\n"
    )
    arguments = [*EMULATE[:-2], str(scenario), "-o", str(tmp_path / "out")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert "17 of 20 datagrams came (15.00 % lost)" in done.stdout
    table = rows(tmp_path / "out" / "datagrams.csv")
    assert [int(one["number"]) for one in table if not one["delay_ms"]] == [3, 4, 11]
    assert all(float(one["delay_ms"]) >= 31.6 for one in table if one["delay_ms"])  # 200 octets take 1.6 ms
    assert json.loads((tmp_path / "out" / "truth.json").read_text())["datagrams"]["received"] == 17
    assert not (tmp_path / "out" / "analysis").exists()

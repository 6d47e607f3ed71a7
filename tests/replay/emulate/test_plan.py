"""What hosts transfer: a scenario's workload as connections, and how two processes carry them out."""

from __future__ import annotations

import csv
import io
import socket
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from multitracer.model.errors import UsageError
from multitracer.replay.emulate import datagrams, exchanges, plan
from multitracer.replay.emulate.kernel import KernelKeys, check
from multitracer.replay.emulate.plan import FIRST_PORT, Plan, plan_of
from multitracer.replay.simulate.applications import work_of
from multitracer.replay.simulate.scenario import resolve
from multitracer.replay.simulate.schema import parsed


def planned(**keys: object) -> Plan:
    """The plan of a scenario with these keys."""
    said = dict(parsed(name, value) for name, value in keys.items())
    own = KernelKeys(said)
    scenario = resolve("test", {**said, **own.of_packets()})
    return plan_of(scenario, work_of(scenario, 1), own)


def test_files_are_sent_by_the_host_that_opens_their_connections() -> None:
    """One after the other, and a second one beside them; the wired host has the data of a download."""
    made = planned(**{"workload.file_bytes": 5000, "workload.files": 2, "workload.second_connection_at_s": 0.5})
    assert made.connections == (((5000, 0),), ((5000, 0),), ((5000, 0),))
    assert [page[1:] for page in made.pages] == [(0, 1), (1, 2)]
    assert (made.opens, made.second_at_s, made.until_s) == (0, 0.5, None)
    assert planned(**{"workload.direction": "up"}).opens == 1


def test_segments_are_those_of_the_kernel() -> None:
    """A length in segments is that of full packets without their headers."""
    assert planned(**{"workload.segments": 10, "kernel.mtu": 1000, "kernel.timestamps": 0}).connections == (
        ((9600, 0),),
    )
    assert planned(**{"workload.segments": 10}).connections == (((14_480, 0),),)


def test_pages_of_the_web_are_asked_for_by_the_terminal() -> None:
    """With as many octets and pauses as a simulation of the same seed has."""
    keys = {"workload.kind": "web-browsing", "workload.seconds": 20, "workload.think_s": 2, "workload.server_s": 0.1}
    made = planned(**keys)
    scenario = resolve("test", {**dict(parsed(*one) for one in keys.items()), **KernelKeys({}).of_packets()})
    objects = work_of(scenario, 1).objects
    assert made.connections == tuple(((int(one.request), int(one.reply)),) for one in objects)
    assert (made.opens, made.parallel, made.first_alone, made.server_s, made.until_s) == (1, 4, True, 0.1, 20)
    assert {pause for pause, _, _ in made.pages[1:]} == {2.0}


def test_requests_and_responses_have_one_connection() -> None:
    """Of the terminal's, with the time between them."""
    made = planned(**{"emulate.transfer": "request-response", "emulate.requests": 3, "emulate.think_s": 0.1})
    assert made.connections == (((300, 10_000),) * 3,)
    assert (made.opens, made.think_s, made.until_s) == (1, 0.1, None)


def test_more_connections_than_there_are_ports_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As each has a port of its own."""
    monkeypatch.setattr(plan, "MOST_CONNECTIONS", 2)
    with pytest.raises(UsageError, match=r"has 3 connections; 2 at most .*\n.*workload\.files"):
        planned(**{"workload.files": 3})


def test_a_plan_is_read_as_it_was_saved(tmp_path: Path) -> None:
    """By processes of other hosts; JSON has no tuples, which makes no difference to them."""
    made = Plan(5001, 1, (((3, 4), (5, 6)),), ((0.5, 0, 1),), until_s=2.0)
    made.save(tmp_path / "plan")
    read = Plan.load(tmp_path / "plan")
    assert [[tuple(each) for each in one] for one in read.connections] == [[(3, 4), (5, 6)]]
    assert (read.opens, [tuple(page) for page in read.pages], read.until_s) == (1, [(0.5, 0, 1)], 2.0)


@pytest.mark.slow
def test_a_plan_is_carried_out(tmp_path: Path) -> None:
    """Every exchange has a row, in the order of pages; thinking and serving take their time."""
    made = Plan(
        5001, 0, (((100, 2000), (1, 70_000)), ((5000, 0),), ((0x7FFF, 1),)), ((0.0, 0, 1), (0.2, 1, 3)), 2,
        server_s=0.1, think_s=0.3,
    )  # fmt: skip
    made.save(tmp_path / "plan")
    serve = [sys.executable, "-m", "multitracer.replay.emulate.exchanges", "serve", str(tmp_path / "plan"), "127.0.0.1"]
    results = io.StringIO()
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        assert server.stdout.readline().strip() == exchanges.READY
        exchanges.Opener(made, "127.0.0.1", "127.0.0.1", results).run()
        server.kill()
    rows = list(csv.DictReader(io.StringIO(results.getvalue())))
    assert sorted(int(row["connection"]) for row in rows) == [0, 0, 1, 2]
    assert all(int(row["port"]) == FIRST_PORT + int(row["connection"]) for row in rows)
    first, second = (row for row in rows if row["connection"] == "0")
    assert float(first["end_s"]) - float(first["begin_s"]) >= 0.1
    assert float(second["begin_s"]) - float(first["end_s"]) >= 0.3
    assert min(float(row["begin_s"]) for row in rows[2:]) - float(second["end_s"]) >= 0.2


def test_lost_datagrams_have_no_delay(tmp_path: Path) -> None:
    """They are counted; the delay of those that came is told; a row that was cut is not read."""
    (tmp_path / "sent").write_text("0 1000000000\n1 1100000000\n2 1200000000\n3 1300")
    (tmp_path / "taken").write_text("0 1000000000 1050000000\n2 1200000000 1270000000\n2 1200000000 1290000000\n")
    found = datagrams.measured(tmp_path / "sent", tmp_path / "taken", tmp_path / "table.csv")
    assert (found["sent"], found["received"], found["loss_percent"]) == (3, 2, pytest.approx(100 / 3))
    assert (found["delay_ms"], found["delay_max_ms"]) == (60, 70)
    table = (tmp_path / "table.csv").read_text().splitlines()
    assert table == ["number,sent_s,delay_ms", "0,0.000000,50.000", "1,0.100000,", "2,0.200000,70.000"]
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_where_no_datagram_came_there_is_no_delay(tmp_path: Path) -> None:
    """All are lost, and delays are not known; nor is the loss where none was sent."""
    for name, sent, loss in (("one", "0 5\n", 100.0), ("none", "", None)):
        (tmp_path / f"{name}.sent").write_text(sent)
        (tmp_path / f"{name}.taken").write_text("")
        paths = (tmp_path / f"{name}.{ending}" for ending in ("sent", "taken", "csv"))
        found = datagrams.measured(*paths)
        assert (found["loss_percent"], found["delay_ms"], found["received"]) == (loss, None, 0)


@pytest.mark.slow
def test_datagrams_have_the_octets_that_were_asked_for(tmp_path: Path) -> None:
    """Numbered, with the time of their sending, in packets of that size; one every interval."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.bind(("127.0.0.1", 5001))
        here.settimeout(5)
        sender = threading.Thread(target=datagrams.send, args=("127.0.0.1", 5001, 3, 200, 0.05, tmp_path / "sent"))
        sender.start()
        got = [here.recv(2000) for _ in range(3)]
        sender.join()
    assert [len(one) for one in got] == [172] * 3
    sent = [tuple(map(int, line.split())) for line in (tmp_path / "sent").read_text().splitlines()]
    assert sent == [(int.from_bytes(one[:8]), int.from_bytes(one[8:16])) for one in got]
    assert all(0.04 < (b[1] - a[1]) / 1e9 < 1 for a, b in pairwise(sent))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("emulate.requests", 3, r"emulate\.requests has an effect only with emulate\.transfer = request-response"),
        ("emulate.datagram_bytes", 100, r"only with emulate\.transfer = datagrams"),
        ("contention.enabled", True, r"contention\.enabled: only a modelled TCP"),
        ("workload.warmup_s", 3, r"workload\.warmup_s: nothing is left out"),
        ("tcp.interface_queue_bytes", 3000, r"tcp\.interface_queue_bytes: only a modelled TCP"),
        ("workload.kind", "none", "there is nothing to transfer"),
    ],
)
def test_what_cannot_be_emulated_is_refused_by_name(name: str, value: object, why: str) -> None:
    """Never ignored; each with the reason."""
    said = dict([parsed(name, value)])
    with pytest.raises(UsageError, match=why):
        check(resolve("test", said), said)

"""The applications of a scenario: the pages and objects, or the files, that a run is to transfer."""

from __future__ import annotations

from dataclasses import fields, replace

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.loops import loop_of
from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.work import Manner, Page, Work, work
from multitracer.replay.workloads.files import sizes
from multitracer.replay.workloads.web_browsing import Browser
from multitracer.replay.workloads.web_sessions import Habits, Surfer

NS = 1_000_000_000
PAGES, OBJECTS = 64, 100_000
"""Pages drawn at a time; of large ones fewer, with about so many objects."""


def work_of(scenario: Scenario, seed: int) -> Work:
    """What is to be transferred; the client is the terminal where data go down."""
    kind = scenario.word("workload.kind")
    how = Manner(1 if scenario.forward == "down" else 0, closes=scenario.flag("tcp.fin", "forward"))
    if kind == "none":
        return work([], how)
    if kind in ("file-transfer", "repeated-files"):
        files = _files(scenario, seed)
        at = scenario.value("workload.second_connection_at_s")
        second = None if at is None else (scenario.ns("workload.second_connection_at_s"), files[0])
        return work([(0, [(0, octets)]) for octets in files], how, second)
    # ns-2's sinks have no application above them: its web (class Http) goes by what sources know.
    web = replace(
        how, parallel=scenario.whole("workload.parallel_connections"), server_ns=scenario.ns("workload.server_s"),
        acknowledged=loop_of(scenario)[1] == "ns-2",
    )  # fmt: skip
    if kind == "web-browsing":
        return work(_browsing(scenario, seed), replace(web, primary=True))
    return work(_sessions(scenario, seed), web)


def payload(scenario: Scenario) -> int:
    """Octets of application data in a full segment."""
    return scenario.whole("tcp.segment_bytes") - scenario.whole("tcp.header_bytes")


def _files(scenario: Scenario, seed: int) -> list[int]:
    count = scenario.whole("workload.files")
    if scenario.value("workload.segments") is not None:
        return [scenario.whole("workload.segments") * payload(scenario)] * count
    least = scenario.whole("workload.file_bytes")
    most = scenario.value("workload.file_bytes_max") or least
    return [int(each) for each in sizes(Stream(seed, "workload").uniform(count), least, most)]


def _sessions(scenario: Scenario, seed: int) -> list[Page]:
    """Pages of all the connections, the last one whole; or more than begin, or the link can carry, in the time."""
    habits = Habits(**{each.name: scenario.number(f"workload.{each.name}") for each in fields(Habits)})
    surfer = Surfer(lambda part: Stream(seed, "workload", "", part), habits)
    connections, seconds = scenario.value("workload.connections"), scenario.value("workload.seconds") or 0
    until, most = round(seconds * NS), scenario.number("link.rate_bps", scenario.forward) * seconds / 8
    made: list[Page] = []
    begun, total, objects = 0, 0, 0
    while True:
        drawn = surfer.take(max(1, min(PAGES, round(OBJECTS / habits.objects))))
        for page in range(len(drawn.objects)):
            own = slice(int(drawn.first[page]), int(drawn.first[page] + drawn.objects[page]))
            things = list(zip(drawn.request_bytes[own].tolist(), drawn.object_bytes[own].tolist(), strict=True))
            made.append((int(drawn.off_ns[page]), things))
            begun, total = begun + made[-1][0], total + sum(reply for _, reply in things)
            objects += len(things)
            if objects >= connections if connections is not None else begun > until or total > most:
                return made


def _browsing(scenario: Scenario, seed: int) -> list[Page]:
    """More pages than the link can carry in the time."""
    if scenario.whole("workload.packet_bytes") != payload(scenario):
        raise UsageError("workload.packet_bytes must be tcp.segment_bytes less tcp.header_bytes")
    rate = scenario.number("link.rate_bps", scenario.forward)
    most = rate * scenario.number("workload.seconds") / 8
    counted = scenario.flag("workload.page_counted")
    browser = Browser(lambda part: Stream(seed, "workload", "", part), page_counted=counted)
    pause = scenario.ns("workload.think_s")
    made: list[Page] = []
    total = 0
    while total <= most:
        drawn = browser.take(PAGES)
        for page in range(PAGES):
            first, count = int(drawn.first[page]), int(drawn.objects[page])
            embedded = slice(first, first + count)
            things = [(int(drawn.request_bytes[page]), int(drawn.reply_bytes[page]))]
            asked, answered = drawn.object_request_bytes[embedded], drawn.object_reply_bytes[embedded]
            things += zip(asked.tolist(), answered.tolist(), strict=True)
            total += sum(reply for _, reply in things)
            sent = [(_request(scenario, ask), _reply(scenario, reply)) for ask, reply in things]
            made.append((pause if made else 0, sent))
    return made


def _request(scenario: Scenario, octets: int) -> int:
    """The octets that a client sends: as `_reply`, or no more than one packet holds."""
    if scenario.word("workload.request") == "one-packet":
        return min(octets, payload(scenario))
    return _reply(scenario, octets)


def _reply(scenario: Scenario, octets: int) -> int:
    """The octets that a server sends: all of its packets full, or the last one short."""
    how, full = scenario.word("workload.request"), payload(scenario)
    return -(-octets // full) * full if how == "whole" else octets

"""The applications of a scenario: the pages and objects, or the files, that a run is to transfer."""

from __future__ import annotations

from multitracer.model.errors import UsageError
from multitracer.replay.simulate.randomness import Stream
from multitracer.replay.simulate.scenario import Scenario
from multitracer.replay.simulate.work import Work, work
from multitracer.replay.workloads.files import sizes
from multitracer.replay.workloads.web_browsing import Browser

PAGES = 64
"""Pages drawn at a time."""


def work_of(scenario: Scenario, seed: int) -> Work:
    """What is to be transferred; the client is the terminal where data go down."""
    client = 1 if scenario.forward == "down" else 0
    kind = scenario.word("workload.kind")
    if kind in ("file-transfer", "repeated-files"):
        pages = [(0, [(0, octets)]) for octets in _files(scenario, seed)]
        return work(pages, 1, primary=False, acknowledged=True, client=client)
    if kind == "web-browsing":
        parallel = scenario.whole("workload.parallel_connections")
        return work(_browsing(scenario, seed), parallel, primary=True, acknowledged=False, client=client)
    if kind == "none":
        return work([], 1, primary=False, acknowledged=True, client=client)
    raise UsageError(f"workload.kind = {kind} cannot be simulated yet")


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


def _browsing(scenario: Scenario, seed: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """More pages than the link can carry in the time."""
    if scenario.whole("workload.packet_bytes") != payload(scenario):
        raise UsageError("workload.packet_bytes must be tcp.segment_bytes less tcp.header_bytes")
    rate = scenario.number("link.rate_bps", scenario.forward)
    most = rate * scenario.number("workload.seconds") / 8
    counted = scenario.flag("workload.page_counted")
    browser = Browser(lambda part: Stream(seed, "workload", "", part), page_counted=counted)
    pause = scenario.ns("workload.think_s")
    made: list[tuple[int, list[tuple[int, int]]]] = []
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
            made.append((pause if made else 0, [(_cut(scenario, ask), _cut(scenario, reply)) for ask, reply in things]))
    return made


def _cut(scenario: Scenario, octets: int) -> int:
    """The octets that an application sends for a message: all of its packets full, or the last one short."""
    how, full = scenario.word("workload.request"), payload(scenario)
    return -(-octets // full) * full if how == "whole" else octets

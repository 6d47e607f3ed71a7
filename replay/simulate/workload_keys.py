"""The keys of the workload, and of the media that share the link with it."""

from __future__ import annotations

from collections.abc import Mapping

from multitracer.replay.simulate.key import Key, Value, flag, number, seconds, whole, word

KIND = "workload.kind"
_FILES = ((KIND, ("file-transfer", "repeated-files")),)
_WEB = ((KIND, ("web-browsing", "web-sessions")),)
_BROWSING = ((KIND, ("web-browsing",)),)
_SESSIONS = ((KIND, ("web-sessions",)),)
_TIMED = ((KIND, ("web-browsing", "web-sessions", "none")),)
_ON = (("contention.enabled", (True,)),)
_MOST_BYTES = 10**12
_MOST_OBJECTS = 10_000_000


def _as_long(values: Mapping[str, Value]) -> float | None:
    counted = values[KIND] == "web-sessions" and values["workload.connections"] is not None
    return None if counted else 2000.0


WORKLOAD = (
    word(KIND, "What the application does.", "file-transfer", "web-browsing", "web-sessions", "repeated-files", "none"),
    word("workload.direction", "Which way its data goes: from the wired end down to the terminal, or up.", "down",
         "up"),
    whole("workload.segments", "Length of a transfer in full segments, instead of octets.", None, least=1,
          most=_MOST_BYTES, where=_FILES, default_text="none"),
    whole("workload.file_bytes", "Octets of a file.", 10_000_000, least=1, most=_MOST_BYTES,
          where=(*_FILES, ("workload.segments", (None,)))),
    whole("workload.file_bytes_max", "The largest file: sizes are log-uniform from file_bytes to this.", None, least=1,
          most=_MOST_BYTES, where=(*_FILES, ("workload.segments", (None,))), default_text="file_bytes"),
    whole("workload.files", "Files, one after the other.", 1, least=1, most=1_000_000, where=_FILES),
    whole("workload.connections", "Connections after which it ends, with the page that has the last one, or with "
          "workload.seconds if that is said and over before.", None, least=1, most=_MOST_OBJECTS, where=_SESSIONS,
          default_text="none"),
    seconds("workload.seconds", "How long the web is used.", None, above=True, where=_TIMED, derived=_as_long,
            default_text="2000; beside workload.connections none"),
    whole("workload.parallel_connections", "Connections at a time.", None, least=1, most=1000, where=_WEB,
          derived=lambda values: 2 if values[KIND] == "web-sessions" else 4, default_text="4; sessions 2"),
    whole("workload.packet_bytes", "Largest packet that requests and replies are cut into.", 250, least=1, most=65_535,
          where=_BROWSING),
    word("workload.request", "Packets of a request or reply: the last one short; all full; a request no more than one.",
         "cut", "whole", "one-packet", where=_BROWSING),
    flag("workload.page_counted", "The page is one of the objects that its number of objects counts.", where=_BROWSING),
    word("workload.end", "What counts at the end: complete transactions, or every octet.", "last-complete", "cut",
         where=_WEB),
    seconds("workload.warmup_s", "What is left out at the start."),
    seconds("workload.server_s", "Time that the server takes to answer. A request or reply is over when it has come; "
            "with tcp.model = ns-2, whose sinks tell no application, when its sender has the last acknowledgement.",
            where=_WEB),
    seconds("workload.think_s", "Time between a page and the next request.", where=_BROWSING),
    seconds("workload.off_s", "Mean time between pages, Gamma.", 46.8, above=True, where=_SESSIONS),
    seconds("workload.off_sd_s", "Its standard deviation.", 168.6, above=True, where=_SESSIONS),
    number("workload.objects", "Mean number of objects a page, lognormal.", 5.3, above=True, most=1e6, where=_SESSIONS),
    number("workload.objects_sd", "Its standard deviation.", 12.0, above=True, most=1e6, where=_SESSIONS),
    number("workload.object_bytes", "Mean size of an object, Pareto.", 5600.0, above=True, most=1e9, where=_SESSIONS),
    number("workload.object_alpha", "Its shape.", 1.77, least=1, above=True, most=1000, where=_SESSIONS),
    number("workload.request_bytes", "Mean size of a request, lognormal.", 364.0, above=True, most=1e6,
           where=_SESSIONS),
    number("workload.request_sd_bytes", "Its standard deviation.", 101.0, above=True, most=1e6, where=_SESSIONS),
    word("workload.page_from", "A page's time begins with its first SYN, or its first request.", "syn", "request",
         where=_SESSIONS),
    seconds("workload.second_connection_at_s", "When a second connection begins a file of the same size beside "
            "the first.", None,
            where=_FILES, default_text="none"),
)  # fmt: skip

CONTENTION = (
    flag("contention.enabled", "A media source shares the link.", one=True),
    number("contention.rate_bps", "Its rate while it talks.", 56_000.0, least=1, most=1e13, where=_ON),
    seconds("contention.talk_s", "Mean time of talk, exponential.", 1.0, above=True, where=_ON),
    seconds("contention.silent_s", "Mean time of silence, exponential.", 1.35, above=True, where=_ON),
    whole("contention.packet_bytes", "Octets of its packets.", 250, least=1, most=65_535, where=_ON),
    Key("contention.direction", "word", "Which way they go.", "down", choices=("down", "up", "both"), where=_ON),
    word("contention.start", "Silent at time 0, or in the middle of whatever it does.", "silent", "stationary",
         where=_ON),
    word("contention.bursts", "A talk has whole packets, at least one; or packets come on the clock's beat while it "
         "lasts.", "whole", "continuous", where=_ON),
)  # fmt: skip

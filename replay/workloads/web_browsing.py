"""Web pages by the distributions that B. Mah measured.

Source: B. Mah, An Empirical Model of HTTP Network Traffic, INFOCOM 1997, as ns-2 carries his numbers in tcl/http
(class Http): lengths of requests and of replies, and the number of objects embedded in a page. ns-2 draws the page and
its objects from the same distribution of replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitracer.replay.workloads.empirical import Counted, counted

_PARTS = ("request", "reply", "objects", "object request", "object reply")


@dataclass(frozen=True)
class Pages:
    """Some pages after one another, and what is embedded in them; all octets are int64.

    Object j of page i has its octets at place `first[i] + j` of the last two.
    """

    request_bytes: Any
    reply_bytes: Any
    objects: Any
    first: Any
    object_request_bytes: Any
    object_reply_bytes: Any


def lengths(which: str) -> Counted:
    """Mah's numbers: "requests" and "replies" in octets, or "objects" of a page."""
    return counted(f"mah-{which}")


class Browser:
    """The pages of one seed, in blocks: the same pages however many are taken at a time.

    `stream` makes the stream of a part of the workload's random numbers. Mah counted some messages of no octet at all;
    here they have one, as nothing else would be sent. With `page_counted` the page is one of its own objects.
    """

    def __init__(self, stream: Any, *, page_counted: bool = False) -> None:
        self._streams = {name: stream(part) for part, name in enumerate(_PARTS)}
        self._page_counted = page_counted

    def take(self, count: int) -> Pages:
        """The next pages."""
        objects = lengths("objects").at(self._streams["objects"].uniform(count)) - self._page_counted
        total = int(objects.sum())
        return Pages(
            self._octets("request", count),
            self._octets("reply", count),
            objects,
            np.cumsum(objects) - objects,
            self._octets("object request", total),
            self._octets("object reply", total),
        )

    def _octets(self, part: str, count: int) -> Any:
        which = "requests" if part.endswith("request") else "replies"
        return np.maximum(lengths(which).at(self._streams[part].uniform(count)), 1)

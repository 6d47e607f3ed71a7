"""The packets in Wi-Fi frames; those in fragments once, when all are there."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from multitracer.wire import ieee80211
from multitracer.wire.ieee80211 import MODULUS, Frame, Heard

_REMEMBERED = MODULUS // 2
"""So far behind, a sequence number is that of an earlier frame (10.3.2.14.3 leaves the size of the cache open)."""
_MOST_SENDERS = 4096
_MOST_FRAGMENTS = 16  # four bits number them


class _Sender(NamedTuple):
    """What was heard from one transmitter to one receiver in one traffic class."""

    taken: OrderedDict[tuple[int, int], None]
    """Numbers and fragments of the frames whose octets were taken."""
    parts: dict[int, dict[int, bytes]]
    """By number, the fragments of an MSDU of which some are missing."""


class WifiPackets:
    """Takes the frames of a capture in their order."""

    def __init__(self) -> None:
        self._senders: OrderedDict[tuple[bytes, bytes, int], _Sender] = OrderedDict()

    def packets(self, record: bytes, link_type: int, *, whole: bool = True) -> list[tuple[int, bytes]]:
        """(EtherType, payload) of the packets in a record; of a repeated fragment none."""
        heard = ieee80211.hear(record, link_type, whole=whole)
        if heard is None or not heard.frame.carries_data:
            return []
        return self.of_frame(heard)

    def of_frame(self, heard: Heard) -> list[tuple[int, bytes]]:
        """The same of a data frame."""
        frame = heard.frame
        body = ieee80211.open_body(frame, heard.octets)
        if body is not None and (frame.fragment or frame.more_fragments):
            body = None if self._repeated(frame) else self._joined(frame, body)
        return [] if body is None else list(ieee80211.msdus(body, aggregated=frame.aggregated, mesh=frame.mesh))

    def _sender(self, frame: Frame) -> _Sender:
        key = (frame.transmitter, frame.receiver, frame.tid)
        if key not in self._senders:
            self._senders[key] = _Sender(OrderedDict(), {})
            if len(self._senders) > _MOST_SENDERS:
                self._senders.popitem(last=False)
        return self._senders[key]

    def _repeated(self, frame: Frame) -> bool:
        """Whether the frame repeats one that was taken; else it is noted as taken."""
        taken, key = self._sender(frame).taken, (frame.number, frame.fragment)
        if frame.retry and key in taken:
            return True
        taken[key] = None
        taken.move_to_end(key)
        while (frame.number - next(iter(taken))[0]) % MODULUS > _REMEMBERED or len(taken) > MODULUS:
            taken.popitem(last=False)
        return False

    def _joined(self, frame: Frame, body: bytes) -> bytes | None:
        """The body of all fragments once the last is there; None before."""
        waiting = self._sender(frame).parts
        parts = waiting.setdefault(frame.number, {})
        parts[frame.fragment] = body
        if frame.more_fragments:
            if len(waiting) > _MOST_FRAGMENTS:
                del waiting[next(iter(waiting))]
            return None
        del waiting[frame.number]
        complete = sorted(parts) == list(range(frame.fragment + 1))
        return b"".join(parts[number] for number in sorted(parts)) if complete else None

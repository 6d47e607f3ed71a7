"""Carried packets matched to captured segments by their headers, one to one and in order.

The header fields (addresses, ports, sequence and acknowledgement number, length, flags, and IP ID and
checksum if the packet was not changed between capture and link) usually fit one segment only. If they fit
several, as those of a TCP retransmission do, the order decides: a link sends packets in the order in
which they were offered, none before it was offered, and at once when it is idle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from multitracer.correlation.candidates import UNRELATED, Fields
from multitracer.correlation.headers import Header

NONE = -1
_TRUSTED = 0.5
"""If a field agrees for less than this share of a stream's packets, it was rewritten after the capture."""

Ends = dict[tuple[str, int, str, int], list[int]]


class Offer(NamedTuple):
    """A carried packet: its header, and the times in ns of its first frame and its last first-transmitted frame."""

    header: Header | None
    first_ns: int
    last_new_ns: int
    garbled: bool


def match(offers: Sequence[Offer], fields: Fields, ends: Ends) -> list[int]:
    """For each carried packet, in the order of transmission, the index in `fields` of its segment, or -1."""
    return _Assignment(offers, fields, _candidates(offers, fields, ends)).run(ends)


def _candidates(offers: Sequence[Offer], fields: Fields, ends: Ends) -> list[list[int]]:
    """For each packet the places (indices in `fields`) whose fields fit it, in the order of sending."""
    index: dict[tuple[int, ...], list[int]] = {}
    by_sum: dict[tuple[int, ...], list[int]] = {}
    for place, stream in enumerate(fields.stream):
        size = fields.payload_bytes[place]
        key = stream, fields.raw_seq[place], fields.raw_ack[place], size, fields.flags[place]
        index.setdefault(key, []).append(place)
        by_sum.setdefault((stream, size, fields.checksum[place]), []).append(place)
    found: list[list[int]] = []
    for offer in offers:
        head = offer.header
        streams = ends.get(head[:4], []) if head else []
        if not head or not head.numbered:
            found.append([])
        elif offer.garbled:
            # Decompressed with a stale context: wrong numbers, but the sender's TCP checksum (RFC 1144 4.1).
            found.append([p for s in streams for p in by_sum.get((s, head.payload_bytes, head.checksum), [])])
        else:
            numbers = head.raw_seq, head.raw_ack, head.payload_bytes, head.flags
            found.append([p for s in streams for p in index.get((s, *numbers), [])])
    for name in ("ip_id", "checksum"):
        found = _with_equal_field(offers, fields, found, name)
    return found


def _with_equal_field(offers: Sequence[Offer], fields: Fields, found: list[list[int]], name: str) -> list[list[int]]:
    """The candidates with the same value of field `name`, in streams where that field was not rewritten."""
    column: list[int] = getattr(fields, name)
    same: list[list[int]] = []
    agree: dict[int, list[int]] = {}
    for offer, places in zip(offers, found, strict=True):
        value = getattr(offer.header, name) if offer.header and not offer.garbled else NONE
        known = value >= 0 and bool(places)
        same.append([place for place in places if column[place] == value] if known else places)
        if known:
            tally = agree.setdefault(fields.stream[places[0]], [0, 0])
            tally[0] += bool(same[-1])
            tally[1] += 1
    trusted = {stream for stream, (fit, all_) in agree.items() if fit >= _TRUSTED * all_}
    return [
        narrow if places and fields.stream[places[0]] in trusted else places
        for places, narrow in zip(found, same, strict=True)
    ]


@dataclass
class _Assignment:
    """Chooses among candidates, stream by stream: first where only one fits, then by the order."""

    offers: Sequence[Offer]
    fields: Fields
    candidates: list[list[int]]

    def run(self, ends: Ends) -> list[int]:
        """The place chosen for each packet, -1 for none."""
        chosen = [NONE] * len(self.offers)
        busy_until = list(accumulate((offer.last_new_ns for offer in self.offers), max, initial=NONE))
        self.candidates = [self._possible_in_time(n) for n in range(len(self.offers))]
        streams: dict[int, list[int]] = {}
        for number, (offer, places) in enumerate(zip(self.offers, self.candidates, strict=True)):
            for stream in self._streams(offer, places, ends):
                streams.setdefault(stream, []).append(number)
        places_of: dict[int, list[int]] = {}
        for place, stream in enumerate(self.fields.stream):
            if stream in streams:
                places_of.setdefault(stream, []).append(place)
        for stream, numbers in streams.items():
            self._in_stream(numbers, places_of.get(stream, []), busy_until, chosen)
        return chosen

    def _streams(self, offer: Offer, places: list[int], ends: Ends) -> list[int]:
        if places or offer.header is None or offer.header.numbered:
            return [self.fields.stream[places[0]]] if places else []
        return ends.get(offer.header[:4], [])

    def _possible_in_time(self, number: int) -> list[int]:
        """Candidates that were captured before the packet's first frame, or behind the link after it.

        Those that the clock error leaves possible stay.
        """
        first = self.offers[number].first_ns
        return [place for place in self.candidates[number] if self._possible(place, first)]

    def _possible(self, place: int, first_ns: int) -> bool:
        time, error = self.fields.time_ns[place], self.fields.error_ns[place]
        return time - error <= first_ns if self.fields.offered[place] else time + error >= first_ns

    def _in_stream(self, numbers: list[int], places: list[int], busy_until: list[int], chosen: list[int]) -> None:
        """Choose for the packets of one stream: packets and segments are in order, so the pairs are, too."""
        only = [(n, self.candidates[n][0]) for n in numbers if len(self.candidates[n]) == 1]
        anchors = dict(_longest_increasing(only))
        sure = {place: n for n, place in only} | {place: n for n, place in anchors.items()}
        limit, above = len(self.fields.row), {}
        for number in reversed(numbers):
            above[number] = limit
            limit = anchors.get(number, limit)
        latest = NONE
        alike = Counter(self.candidates[number][-1] for number in numbers if self.candidates[number])
        for number in numbers:
            if self.candidates[number]:
                alike[self.candidates[number][-1]] -= 1
            if chosen[number] >= 0:  # matched in another connection with the same ports
                continue
            if number in anchors:
                chosen[number] = latest = anchors[number]
                continue
            if len(self.candidates[number]) == 1:  # out of order, as behind a link without in-sequence delivery
                place = self.candidates[number][0]
                chosen[number] = place if sure[place] == number else NONE
                continue
            fits = [p for p in self._possible_segments(number, places, latest, above[number]) if p not in sure]
            if fits:
                # As many as there are packets behind it that fit no later segment are theirs.
                left = alike[self.candidates[number][-1]] if self.candidates[number] else 0
                chosen[number] = latest = self._least_waiting(fits[: max(1, len(fits) - left)], busy_until[number])

    def _possible_segments(self, number: int, places: list[int], after: int, before: int) -> list[int]:
        candidates = self.candidates[number]
        head = self.offers[number].header
        if head is not None and not head.numbered:  # cut off within its header: compare the known fields
            between = places[bisect_right(places, after) : bisect_left(places, before)]
            candidates = [place for place in between if self._agrees(head, place)]
        return candidates[bisect_right(candidates, after) : bisect_left(candidates, before)]

    def _agrees(self, head: Header, place: int) -> bool:
        seen = head.wire_bytes, head.ip_id, head.raw_seq, head.raw_ack
        columns = self.fields.wire_bytes, self.fields.ip_id, self.fields.raw_seq, self.fields.raw_ack
        return all(value < 0 or value == column[place] for value, column in zip(seen, columns, strict=True))

    def _least_waiting(self, fits: list[int], busy_until: int) -> int:
        """The segment that the link would have kept waiting for the shortest time; of equals the first."""
        if self.fields.error_ns[fits[0]] == UNRELATED or not self.fields.offered[fits[0]]:
            return fits[0]
        return max(fits, key=lambda place: (max(self.fields.time_ns[place], busy_until), -place))


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs whose second members increase; the others are out of order."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before.append(ends[length - 1] if length else NONE)
        tails[length : length + 1] = [place]
        ends[length : length + 1] = [at]
    chain = []
    at = ends[-1] if ends else NONE
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]

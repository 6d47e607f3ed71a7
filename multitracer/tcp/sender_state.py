"""The state of a replayed TCP sender: one array of int64, with its retransmission timer (RFC 6298)."""

from __future__ import annotations

from typing import Any

from multitracer.compute.kernels import inlined, kernel
from multitracer.tcp.scoreboard import (
    EVENT,
    LATEST,
    NEVER,
    NOTE,
    ORIGINAL,
    R_ASKED,
    R_ROW,
    Scoreboard,
    SegmentColumns,
)  # fmt: skip

SECOND = 1_000_000_000
MIN_RTO_NS = 200_000_000  # Linux TCP_RTO_MIN; RFC 6298 2.4 asks for 1 s, which is longer

# Columns of a sender; times and round trips in ns.
# Bytes below UNA are acknowledged, below TOP sent, below HIGH_SACK selectively acknowledged except for holes; a
# recovery lasts until RECOVERY_END is acknowledged (-1: none). Bytes from SIMPLE_FROM on were sent once, in order of
# time, and not selectively acknowledged.
# NEWEST_ARRIVED is the latest time at which a segment known to have arrived was first sent, NEWEST_LISTED what that was
# when the newest acknowledgement last had room for more blocks than it listed, so that what it left out was missing.
# NEWEST_ECHO is the latest timestamp that acknowledgements of UNA echoed (0: none), ACKED_SEND_TIME when the last
# segment was sent that the latest cumulative acknowledgement covered (-1: none), LAST_PROGRESS when an acknowledgement
# last advanced UNA or selectively acknowledged something new, TIMER_START when the retransmission timer was last
# restarted, BACKOFF how many timeouts there were since.
# PROBE_SENT: a tail loss probe was sent since UNA advanced; PROBE_END: TOP when the probe was sent that is not yet
# answered (RFC 8985 7.4; -1: none). RECOVERY_STAMP is the timestamp of the recovery's first retransmission (-1:
# none), RECOVERY_RESENT how many of its retransmissions no DSACK has reported.
# REORDERED: the path reordered packets; SACK_CAPABLE: the receiver permits or sends SACK; SENDS_DSACKS: it has reported
# a duplicate by DSACK, which those that send SACK need not do (RFC 2883). UNDONE_END: TOP when the recovery began that
# turned out to be needless (-1: none, or all of that is acknowledged); LAST_DUPACK is when DUPACKS was last counted up,
# EARLIER_DUPACKS what it had been counted up to when the timer last ran out. LAST_SENT and LAST_RESENT: when new data
# were last sent, and data last sent again. BY_TIMER: the recovery began with a timeout, and nothing of it had been
# sent again before: the octets that it resent (0: it did not); UNDONE_AT is when one that began so turned out to be
# needless (0: none), UNDONE_OCTETS what its timeout had resent. ANEW_TOP is TOP when a resend was last sent that may
# have begun another recovery, which is not decided yet (0: it is), and ANEW_END its end. FIRST_PARTIAL is when UNA
# first advanced within the recovery (0: not yet; NEVER: it began with a timeout). LOSS_TOLD is when an acknowledgement
# within the recovery told that the last copy of the oldest data was lost too (0: none did). DOUBTFUL_END is TOP when
# the last resend was sent of which it is open whether the recovery or the timer sent it, DOUBTFUL_WAIT for how long the
# timer had run then (0: UNA has advanced, or more was resent). LAST_DSACK is when an acknowledgement last came that
# told nothing but a duplicate. LATEST_RESEND is the latest time at which one of the acknowledged segments was sent
# again, of which any copy may have arrived (0: none was).
# WITHOUT_SACK: the receiver's SYN does not permit SACK. ASKED counts the acknowledgements of UNA that repeat all of the
# one before, by such a receiver. MAYBE_NEEDLESS counts resent segments, as their octets may have come before; NEEDED
# those of the latest resend, if it was asked for (0: it was not). ANSWERED is what MAYBE_NEEDLESS was when UNA last
# advanced to data sent after all of these (-1: never). LAST_ACK is the latest row of the receiver with an
# acknowledgement, but for keep-alives (-1: none). RECOVERED is the end of the recovery that the latest advance of UNA
# ended (-1: it ended none); of one that was undone before, UNDONE_END is. Octets UNMARKED_FROM to UNMARKED_TO-1 hold
# all above UNA that were sent below TOP without being marked as resent: probes of a closed window, or captured late.
# FIRST_UNACKED is the first scoreboard row that is not fully acknowledged, ROWS the number of rows; FACTS, EVENTS and
# PAIRS count facts, events and pairs; NEXT_BLOCK follows the latest SACK block, NEXT_ROW is the next row to replay.
(UNA, TOP, HIGH_SACK, RECOVERY_END, SIMPLE_FROM, DUPACKS, SRTT, RTTVAR, RTO, LEAST_RTT,
 LAST_SENT, LAST_PROGRESS, NEWEST_ARRIVED, NEWEST_ECHO, ACKED_SEND_TIME, TIMER_START, BACKOFF, PROBE_SENT,
 PROBE_END, RECOVERY_STAMP, RECOVERY_RESENT, REORDERED, SACK_CAPABLE, SENDS_DSACKS, UNDONE_END, LAST_DUPACK,
 EARLIER_DUPACKS, LAST_RESENT, BY_TIMER, UNDONE_AT, UNDONE_OCTETS, ANEW_TOP, ANEW_END, FIRST_PARTIAL, LOSS_TOLD,
 DOUBTFUL_END, DOUBTFUL_WAIT, LAST_DSACK, LATEST_RESEND, WITHOUT_SACK, ASKED, MAYBE_NEEDLESS, ANSWERED, LAST_ACK,
 RECOVERED, NEEDED, NEWEST_LISTED, UNMARKED_FROM, UNMARKED_TO, FIRST_UNACKED, ROWS, FACTS, EVENTS, PAIRS, NEXT_BLOCK,
 NEXT_ROW, SENDER_FIELDS) = range(57)  # fmt: skip

PACKET_OCTETS, LEAST_PACKET_OCTETS = 1_460, 536
"""Octets of data in a packet of Ethernet, at most, and by default (RFC 9293 3.7.1): a longer record than the first is
several packets, which leave the host later; how many is not known, but hardly more than of the second."""


LEAST_BLOCKS = 3
"""An acknowledgement with fewer blocks had room for more: beside timestamps there is room for three (RFC 2018 3)."""


@kernel
def new_sender(sender: Any, first_sample: int) -> None:
    """Initialise a sender of which only the handshake's round trip is known (ns; -1 unknown)."""
    sender[:] = 0
    sender[RECOVERY_END] = sender[ACKED_SEND_TIME] = sender[PROBE_END] = sender[RECOVERY_STAMP] = -1
    sender[UNDONE_END] = sender[ANSWERED] = sender[LAST_ACK] = sender[RECOVERED] = -1
    sender[RTO], sender[LEAST_RTT], sender[SIMPLE_FROM], sender[LAST_PROGRESS] = SECOND, NEVER, NEVER, NEVER
    sender[UNMARKED_FROM], sender[UNMARKED_TO] = NEVER, -NEVER
    if first_sample > 0:
        update_rto(sender, first_sample)


@inlined
def update_rto(sender: Any, sample: int) -> None:
    """RFC 6298 2.2-2.3 with a clock granularity of 0, and the minimum RTO of Linux."""
    if sender[SRTT] == 0:
        sender[SRTT] = sample
        sender[RTTVAR] = sample // 2
    else:
        sender[RTTVAR] += (abs(sender[SRTT] - sample) - sender[RTTVAR]) // 4
        sender[SRTT] += (sample - sender[SRTT]) // 8
    sender[RTO] = sender[SRTT] + max(MIN_RTO_NS, 4 * sender[RTTVAR])
    sender[LEAST_RTT] = min(sender[LEAST_RTT], sample)


@inlined
def note_progress(sender: Any, number: int, now: int) -> None:
    """UNA advanced to `number`: that ended a recovery, or is its first partial acknowledgement."""
    if number >= sender[RECOVERY_END]:
        sender[RECOVERED] = sender[RECOVERY_END]
        sender[RECOVERY_END] = sender[RECOVERY_STAMP] = -1
    elif sender[FIRST_PARTIAL] == 0:
        sender[FIRST_PARTIAL] = now


@inlined
def note_echo(sender: Any, tsecr: int) -> None:
    """An acknowledgement echoes a timestamp: a segment that carried it has arrived (RFC 7323 4.3)."""
    if tsecr > 0 and (sender[NEWEST_ECHO] == 0 or (tsecr - sender[NEWEST_ECHO]) & 0xFFFFFFFF < 0x80000000):
        sender[NEWEST_ECHO] = tsecr


@inlined
def asks_for_missing(sender: Any, board: Scoreboard, events: Any) -> bool:
    """Whether the receiver has asked for the oldest octets again because of data sent after their last copy.

    It repeats its number for each packet above them (RFC 5681 4.2), and for each resent one that it had before. The
    answers to those sent before the data that the number acknowledges had come by then. That the network copied a
    packet, in either direction, is left out of account: it is rare.
    """
    asked, first = sender[ASKED] - (sender[MAYBE_NEEDLESS] - sender[ANSWERED]), sender[FIRST_UNACKED]
    if sender[ANSWERED] < 0 or asked <= 0:
        return False
    note = board.notes[first, NOTE]
    if note >= 0:
        resent = events[board.pairs[board.facts[note, LATEST], EVENT], R_ROW]
        for k in range(first + 1, sender[ROWS]):
            if board.notes[k, ORIGINAL] < resent:
                asked -= packets_of(board.ends[k] - board.ends[k - 1])
    return bool(asked > 0)


@inlined
def note_resend(sender: Any, board: Scoreboard, events: Any, start: int, first: int, stop: int, octets: int) -> None:
    """Octets from `start` on, scoreboard rows first..stop-1, were sent again in one record, the latest of `events`."""
    of_oldest = first == sender[FIRST_UNACKED] and start == sender[UNA] and stop == first + 1
    whole = board.ends[first] <= start + octets
    asked = of_oldest and whole and asks_for_missing(sender, board, events)
    packets = max(stop - first, packets_of(octets))
    events[sender[EVENTS], R_ASKED] = 1 if asked else 0
    sender[MAYBE_NEEDLESS] += packets
    sender[NEEDED] = packets if asked else 0


@inlined
def note_unmarked(sender: Any, start: int, end: int) -> None:
    """Octets start..end-1, some of them below TOP, were sent, and are not marked as a retransmission.

    Of a keep-alive all octets were acknowledged before.
    """
    if end > sender[UNA]:
        sender[UNMARKED_FROM] = min(sender[UNMARKED_FROM], start)
        sender[UNMARKED_TO] = max(sender[UNMARKED_TO], end)


@inlined
def packets_of(octets: int) -> int:
    """How many packets a record of so many octets is at most; one of more than a packet's octets is several."""
    return 1 if octets <= PACKET_OCTETS else -(-octets // LEAST_PACKET_OCTETS)


@inlined
def note_answered(sender: Any, sent: int, now: int) -> None:
    """UNA advanced to the end of data that was first sent at a time (ns).

    What is acknowledged in less than a round trip after it was sent again had come before (RFC 8985 6.2, step 2). What
    was asked for, and is acknowledged later, is taken for lost: to be overtaken for so long is rare.
    """
    if now - sender[LAST_RESENT] >= sender[LEAST_RTT] // 10 * 9:
        sender[MAYBE_NEEDLESS] -= sender[NEEDED]
    sender[NEEDED] = 0
    if sent > sender[LAST_RESENT]:
        sender[ANSWERED] = sender[MAYBE_NEEDLESS]


@inlined
def note_asked(sender: Any, board: Scoreboard, segments: SegmentColumns, row: int, now: int) -> None:
    """Segment `row` repeats the number of UNA: count it if data sent later may have made the receiver do so.

    For each repeat there must be another segment above the oldest one, sent a round trip ago. One with another window
    or another sequence number says something else, as a keep-alive does; with no window it refuses a probe.
    """
    before, oldest = sender[LAST_ACK], sender[FIRST_UNACKED]
    later = oldest + sender[ASKED] + 1
    if before < 0 or sender[WITHOUT_SACK] == 0 or later >= sender[ROWS] or sender[LEAST_RTT] == NEVER:
        return
    if board.ends[oldest] <= sender[UNA]:  # captured after its acknowledgement
        return
    window = segments.window_bytes[row]
    same = window == segments.window_bytes[before] and segments.seq[row] == segments.seq[before]
    same &= segments.ack[row] == segments.ack[before]
    came = now - segments.time_ns[board.notes[later, ORIGINAL]] >= sender[LEAST_RTT] // 10 * 9
    if window > 0 and same and came:
        sender[ASKED] += 1

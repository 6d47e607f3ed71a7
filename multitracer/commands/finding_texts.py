"""What docs/findings.md says about each kind of finding: what happened, how it looks, its evidence, what to do."""

from __future__ import annotations

from typing import NamedTuple


class Explained(NamedTuple):
    """The texts on one kind of finding."""

    happened: str
    """What happened, and what it does to the transfer."""
    seen: str
    """How one recognises it in the picture."""
    evidence: str
    """What proves it, and which keys of `evidence` hold it."""
    remedy: str
    """What a user can do about it."""


EXPLAINED = {
    "link-release": Explained(
        "One end gave the link up: DISC in RLP, the release of the bearer in the logs of handsets. What it had not "
        "delivered is lost, and nothing gets through until a new link is set up.",
        "New frames end, here at 19 s when the radio died; the sender polls without an answer, and at 21.5 s the peer "
        "sends DISC. TCP's acknowledgements stand still from there on. (The recording is that of link-reset below "
        "with DISC written for SABM, cut at 30 s.)",
        "The records of the link's log that began and ended the release; with both captures also `segments_lost`, "
        "`bytes_lost` and `standstill_s`, the time without progress of TCP.",
        "Look for the reason before it: an outage (coverage, handover) that outlasted N2 retransmissions of T1 each "
        "is cured there, by a larger N2 or T1 (`AT+CRLP` on GSM modems). A call that was dropped on purpose needs an "
        "application that resumes, or a dialler that redials at once.",
    ),
    "link-reset": Explained(
        "The link protocol gave up repeating and started anew: SABM and UA in RLP after N2 attempts, RESET and RESET "
        "ACK in UMTS RLC AM after MaxDAT transmissions of one PDU. What both ends held is thrown away, so a link that "
        "is otherwise reliable loses a whole queue of segments at once.",
        "Before the reset there are polls without an answer, after it frame numbers that begin at 0 again. TCP notices "
        "nothing until its timer runs out, here 12 s after the link was back, and then resends what was flushed.",
        "The records of the first SABM or RESET and of its answer; `segments_lost`, `bytes_lost` and `records` are the "
        "segments that it flushed, `standstill_s` the time without progress of TCP around it. What an RLC entity may "
        "have given up by itself since the reset before is left out: what an MRW names, and while that is unanswered "
        "all up to the last PDU that was sent MaxDAT times (all there is, where the MRWs do not show that it counts): "
        "the rest it likely flushed.",
        "Let the link persist for longer than outages last: raise N2 (24.022; `AT+CRLP`, XID) or MaxDAT (25.322). LTE "
        "and 5G have no reset: reaching maxRetxThreshold is a radio link failure, after which the connection is "
        "re-established. A short interface queue limits what a reset can flush.",
    ),
    "link-outage": Explained(
        "The radio was dead: for more than two link round trips no frame got through although frames were sent. "
        "Everything behind it waits; if it lasts, the link is reset.",
        "The line of acknowledged frames stands still while frames go on being sent, until the link's window is full; "
        "then only polls and their repeats are left. The reset follows at once, shaded behind the selection.",
        "`erased` frames that came damaged, `sent` frames meanwhile, `under_way` those sent just before that never "
        "came, `duration_ms`. It is likely only where neither "
        "repeats nor a reset show that the frames sent were missed. Of Wi-Fi, `erased` counts repeats of a frame, each "
        "of which proves that its sender had no acknowledgement; likely where other frames may have gone unheard. "
        "Undecided where a log lacks frames then.",
        "Nothing in TCP prevents it. Coverage, antenna and handover settings are the cause; make the link persistent "
        "enough (N2, MaxDAT, maxRetxThreshold) that a usual outage ends before a reset, and switch F-RTO on "
        "(`net.ipv4.tcp_frto`) so that TCP recovers quickly from the timeouts that it sets off.",
    ),
    "header-decompression-failure": Explained(
        "After segments were lost inside the link, the header decompressor went on with a context that was no longer "
        "the sender's, and built wrong sequence numbers. The receiver discards every such segment for its checksum, "
        "silently, until one with an uncompressed header comes.",
        "The link carries new frames without a pause (a rising line, a blue time lane), yet TCP's acknowledgements "
        "stand still. It begins after a reset, and ends only with TCP's timeout, whose resends are sent uncompressed.",
        "`count` segments came with the checksum of segments that were sent, but sequence numbers too low by "
        "`offset_bytes`, which is as much as was lost before; `acks_meanwhile` is 0. Undecided if checksums were cut "
        "off or filled in by the network card after the capture.",
        "Switch Van Jacobson compression (RFC 1144) off on links that can lose packets or be reset (`novj` in pppd), "
        "or use robust header compression (ROHC: RFC 5795, for TCP RFC 6846), which checks its context by a CRC and "
        "repairs it by feedback.",
    ),
    "path-stall": Explained(
        "Data was in flight, none of it was lost, and nothing arrived for more than two round trips: something on the "
        "path held it. Without a log of the link it cannot be said what; with one, link-outage, link-recovery-hole or "
        "flow-control-gap says it.",
        "Acknowledgements stop, the sender goes on until its window is full, and after the stall they rise "
        "again without a needed resend. The resends within it (marks in orange) are needless.",
        "`limited_s` in `count` stretches against `round_trip_ms`. With one capture, acknowledgements stand for "
        "arrivals and the layer is unknown; where the capture has a hole it is undecided.",
        "Record the link (RLP or RLC log, a modem's diagnostic log) to see whether it repeats, is stopped, or hands "
        "over. Handovers, a scheduler that serves others, and power saving (DRX) are usual; TCP with F-RTO and "
        "timestamps loses least.",
    ),
    "spurious-timeout": Explained(
        "TCP's retransmission timer ran out although the data, or its acknowledgement, was still on its way. TCP then "
        "lowers its threshold, sets its window to one segment, and may resend all that was outstanding.",
        "A resend in orange (a triangle: by the timer) at the level of the acknowledgements, in the midst of a stall "
        "after which they jump past it without its help. The congestion window falls to one segment; here it is "
        "restored when the first acknowledgement proves the timeout needless (undo).",
        "An earlier copy reached the receiver, or its acknowledgement the sender, after the timer had run out; "
        "`records`, `seq` and `bytes` name the resend. Undecided if late and lost cannot be told apart.",
        "Let the sender detect it: F-RTO (RFC 5682; `net.ipv4.tcp_frto`, on by default in Linux) and Eifel (RFC 3522, "
        "4015), which needs timestamps. Do not make the link give up sooner: a persistent link with such a TCP is "
        "better than losses. A steadier delay (shorter queue) gives the timer a true margin; `rto_min` of a route "
        "raises its floor.",
    ),
    "local-drop": Explained(
        "A queue in the sending host dropped segments: the sender's capture has them, the link never put an octet of "
        "them on the air. TCP takes it for congestion, rightly: it sends faster than the link takes.",
        "TCP sends two segments for each acknowledgement (slow start); in the delays the first of each two has its "
        "wait for the first frame (a square), the second has none: it was dropped. The distance between sent and "
        "acknowledged bytes is the full queue. The resends come much later. (The squares end at 11 s because a reset "
        "flushed what was sent from then on.)",
        "The link carried a packet that was sent after them, with no reset between; or as many packets waited when "
        "they were sent as whenever the queue dropped one elsewhere. `count`, `bytes` and `records` are the segments."
        " Undecided where the log shows nothing later, or by its frames' numbers lacks some between.",
        "If the queue is smaller than the product of bandwidth and delay, enlarge it (`ip link set DEV txqueuelen N`, "
        "the driver's ring). If excessive-queueing is found too, do the opposite: a shorter queue, byte queue limits "
        "(BQL) and fq_codel with ECN, so that TCP slows down before packets are dropped.",
    ),
    "competing-recovery": Explained(
        "TCP resent bytes while the link was still repeating the frames that carried them, and those frames got "
        "through: the same loss was repaired twice, and the second copy took air time for nothing.",
        "In the link's frames repeats (triangles) of frames reported missing (crosses), and meanwhile in the sequence "
        "numbers a resend in orange of the bytes that they carry. The selection ends where the first copy got through.",
        "`frame_retransmissions` of the frames of the earlier copy, which got through `delivered_after_ms` after the "
        "resend. Confirmed where TCP's timer set it off; likely where duplicate acknowledgements did, because "
        "delivery out of order explains them as well.",
        "Make the link's repair faster than TCP's: T1 near the round trip of RLP, shorter t-PollRetransmit and status "
        "prohibit timers in RLC. Deliver in sequence, so that repeats cause no duplicate acknowledgements, and use "
        "F-RTO or Eifel against needless timeouts.",
    ),
    "flow-control-gap": Explained(
        "The link had data and sent none, because its peer had said stop (XOFF or RNR in RLP) or because as many "
        "frames were unacknowledged as its window allows.",
        "New frames pause and go on where they stopped, without repeats; the pause is shaded, and purple in the time "
        "lane. TCP's acknowledgements pause with them.",
        "The records of XOFF and XON (or RNR and RR), and `duration_s`. A full window is likely only: logs do not "
        "say how large it is, only that no more frames were ever unacknowledged. RLP's is 61 frames; it is also full "
        "while a poll waits in the device, as the entity heeds no acknowledgement until the poll is answered.",
        "XOFF and RNR: the far side takes data too slowly; raise the rate behind it (the serial line of a modem, the "
        "interworking function) or its buffer. Full window: raise the link's window to rate times round trip (k in "
        "RLP, up to 61 on one channel: `AT+CRLP`; Configured_Tx_Window_Size in UMTS RLC), poll earlier, or shorten the "
        "status prohibit timer.",
    ),
    "timeout": Explained(
        "TCP's retransmission timer ran out, and the data was indeed missing, or every acknowledgement of it was lost. "
        "TCP waits for a round trip with its variance, doubles that with each further timeout, and begins with a "
        "window of one segment.",
        "Acknowledgements stand still, then a triangle at their level: the resend by the timer. Here a tail loss "
        "probe (square) and the first timeout's resend were lost, too; after the second timeout the rest is resent in "
        "slow start (diamonds) while the congestion window grows from one segment.",
        "The wait since the timer was last restarted against the modelled timer, and that no earlier copy came; or "
        "the kernel's log of it, or that the sender's log has its timeout doubled then (RFC 6298 5.5). `seq`, `bytes` "
        "and `records` name the resend.",
        "Its cause is what `caused_by` says: a reset, an outage, a drop. SACK with RACK-TLP (RFC 8985) repairs most "
        "losses without the timer; switch both on. The timer is as long as the queue makes the round trip: a shorter "
        "queue shortens every later timeout, too.",
    ),
    "burst-loss": Explained(
        "Two or more segments that were sent within one round trip were lost together: by a full queue, a radio "
        "fade, or a reset. Bursts need more than one round trip to be repaired where SACK is missing.",
        "The acknowledgements stop and SACK blocks (purple) grow above them, with a gap for each lost segment; each "
        "gap is filled by one resend (triangle pointing down, then diamonds). The congestion window is reduced once.",
        "`count` and `bytes` of what never reached the receiver's capture, `got_through` of what was sent among it; "
        "with a link's log the layer says whether the host's queue dropped it or the link lost it. Without that "
        "capture, likely only: what never came out of the link by the logs of both of its ends.",
        "Switch SACK on at both ends (RFC 2018, 6675). In a queue: pacing (`fq` in Linux), a shorter start (HyStart), "
        "or an AQM that drops singly or marks (ECN). On a radio without repairs: an acknowledged mode (RLC AM, RLP "
        "non-transparent) or longer interleaving.",
    ),
    "excessive-queueing": Explained(
        "For at least ten round trips segments waited in a queue for longer than the empty path needs for a round "
        "trip. The link is busy, so bulk data loses nothing by it, but everything else waits behind it, and timers "
        "and losses take the longer to repair.",
        "The wait for the first frame grows to many times the least round trip, and the sent bytes run away from the "
        "acknowledged ones, which rise evenly with the link's rate.",
        "`count` segments with `median_wait_ms` and `longest_wait_ms` against `pipe_ms`, the least round trip. "
        "Confirmed where the link's log shows the wait; likely from round trips alone, which do not say whose queue "
        "it is.",
        "Shorten the queue before the link to about one product of bandwidth and delay (`txqueuelen`, BQL), or manage "
        "it: fq_codel, CAKE or PIE, with ECN. If it is out of reach (base station, modem), shape slightly below the "
        "link's rate, limit the receive window, or use a congestion control that keeps queues short (BBR).",
    ),
    "spurious-fast-retransmit": Explained(
        "Duplicate acknowledgements or SACK made TCP infer a loss, but the segment was only late: overtaken by later "
        "ones. TCP resent it needlessly and reduced its window.",
        "A resend in orange that points down (fast) at the level of the acknowledgements. The link repeats old frames "
        "(triangles) while new ones are delivered past them, and the acknowledgements rise when a repeat gets through; "
        "SACK blocks below them (DSACK) report such copies.",
        "An earlier copy is in the receiver's capture, or DSACK or an echoed timestamp reports it; `seq`, `bytes` and "
        "`records` name the resends.",
        "Deliver in sequence: in-sequence delivery of RLC AM (UMTS), reordering by PDCP (LTE, 5G: no "
        "outOfOrderDelivery, t-Reordering longer than a repeat). At the sender SACK and timestamps, with RACK (RFC "
        "8985), which waits for a part of the round trip, and undo by DSACK or Eifel; `net.ipv4.tcp_reordering` sets "
        "the first threshold.",
    ),
    "link-recovery-hole": Explained(
        "Nothing reached TCP for more than two link round trips, because the link repeated the frames that were next "
        "in order and held back all that came after them. Nothing is lost; the delay varies.",
        "The line of acknowledged frames stands still until repeats (triangles) get through, then jumps; TCP's "
        "acknowledgements pause and go on without a resend.",
        "`gap_ms` against `link_rtt_ms`, and `frame_retransmissions` of the frames of the segment that came next "
        "(`seq`). Likely only where that segment was matched to its frames without its payload, or where a packet "
        "that the link carried before it was lost, which may have been the gap, or where a log lacks frames then.",
        "Repair sooner: poll after fewer frames, T1 just above the round trip (RLP), shorter t-PollRetransmit, "
        "t-StatusProhibit and t-Reassembly (RLC); SREJ instead of REJ. Lose less: more robust coding, or the frame "
        "size that `multitracer retrace` finds best for this log.",
    ),
    "zero-window": Explained(
        "The receiver advertised a window of zero: its application did not read, and its buffer was full. The sender "
        "may only probe until the window opens.",
        "The advertised window (dashed) and the acknowledgements meet and stay level, nothing is outstanding, and the "
        "time lane is grey (window full). When the window opens, the sender goes on at once.",
        "`count` acknowledgements with a window of zero (`records`), from the first until the window opened. One "
        "capture at either end proves it.",
        "Let the receiving application read faster: in a thread of its own, before it decodes or writes to disk. A "
        "larger receive buffer (`SO_RCVBUF`, `net.ipv4.tcp_rmem`) bridges pauses, but not a reader that is slower "
        "than the path.",
    ),
    "receiver-window-limited": Explained(
        "The next segment did not fit the window that the receiver advertised, while the path had room: the receiver "
        "held the sender back. Here its window even closes (zero-window).",
        "The sent bytes touch the advertised window (dashed), stop there, and the window does not move on as it did "
        "before; the congestion window is larger than what is outstanding.",
        "`limited_s` in `count` stretches against `round_trip_ms`. `kernel_clocks` beside the limits shows the "
        "kernel's own `rwnd_limited_s`, which counts a full window also while the path is busy.",
        "Raise the receiver's buffer to twice the product of bandwidth and delay: leave automatic tuning on (do not "
        "set `SO_RCVBUF`), raise the maximum of `net.ipv4.tcp_rmem`, and see that window scaling (RFC 7323) passes "
        "all middleboxes. If the window shrinks, the application reads too slowly.",
    ),
    "fast-retransmit": Explained(
        "TCP inferred a loss from duplicate acknowledgements, SACK or RACK, rightly, and repaired it without waiting "
        "for its timer. It costs a reduction of the window, and rarely idle time.",
        "The acknowledgements stop, SACK blocks (purple) grow above them, and a triangle pointing down marks the "
        "resend, with diamonds for further ones; a round trip later the acknowledgements catch up. The congestion "
        "window is reduced.",
        "The duplicate acknowledgements and selectively acknowledged bytes when it was resent, and that no earlier "
        "copy reached the receiver (or, from one capture, that only the copy was acknowledged). Undecided where that "
        "cannot be told.",
        "On a saturated link this is congestion control at work; ECN (`net.ipv4.tcp_ecn=1` at both ends and an AQM "
        "that marks) avoids the loss. Losses on the radio are better repaired there: acknowledged mode, more "
        "repetitions, more robust coding.",
    ),
    "link-retransmissions": Explained(
        "The link sent frames again. That is its task on a bad radio; the air time is what the repairs cost, and new "
        "data waits meanwhile.",
        "Triangles in the link's frames, below the line of new frames, and orange in the time lane. Here the link "
        "first repeats two frames, later a whole part of its window (REJ, or after a poll); TCP sees only a pause.",
        "`count` repeats among `sent` frames of the direction `link`.",
        "Where repeats take a large share, use more robust coding or another frame size: `multitracer retrace` finds "
        "the best one from the same log. Repeats of frames that had arrived come from polls or status reports closer "
        "together than a round trip: raise the status prohibit timer, or T1 in RLP.",
    ),
    "ack-loss": Explained(
        "Acknowledgements left the receiver and never reached the sender. The next one usually makes up for it; it "
        "costs time where it was the last, and then TCP waits for its timer.",
        "Both captures show it, or the link's logs. Here the acknowledgements stand still from 6 s on although "
        "segments up to there had arrived: what follows are a probe and timeouts.",
        "`count` and `records` of the acknowledgements in the receiver's capture that the sender's lacks, which is "
        "complete there; with a link's log, whether they were on the air. A reset flushed them if nothing sent later "
        "came before it, unless an RLC entity may have given them up by itself (see link-reset), or the link's sender "
        "knew them to have come. Without the receiver's capture, likely only: what was on the link, never came out of "
        "it, and is not in the sender's capture (`link`, `sender`, and `highest_ack` where its octets are logged). An "
        "RLC entity ignores what comes while its own RESET still waits to be sent: so nothing from then on is in that "
        "capture, nor acknowledged by a STATUS.",
        "Look at the reverse direction: its queue (let acknowledgements pass bulk data, for instance by fq_codel), its "
        "power, its acknowledged mode. F-RTO and tail loss probes (RFC 8985) limit what the loss of a last "
        "acknowledgement costs.",
    ),
    "reordering": Explained(
        "Segments were delivered out of order although each was sent once: by parallel paths, by a link that delivers "
        "out of sequence while it repeats, or by several queues.",
        "SACK blocks (purple) appear above the acknowledgements with many gaps, and the acknowledgements then jump "
        "over all of it, mostly without resends; those that come (diamonds) are few against the gaps.",
        "`count` and `records` of segments that arrived after segments sent later, in both captures, none of which "
        "was sent twice.",
        "Deliver in sequence: RLC AM in-sequence delivery (UMTS), PDCP reordering (LTE, 5G), balancing by flow instead "
        "of by packet (ECMP, bonding). At the sender RACK adapts to it (RFC 8985); DSACK and timestamps undo what it "
        "does needlessly.",
    ),
    "application-limited": Explained(
        "TCP had nothing to send for longer than a round trip, or the last acknowledgements were on their way: the "
        "application did not write. No other layer was responsible for this time.",
        "All data is acknowledged, window and path have room, and sending goes on without an acknowledgement that "
        "could have set it off. The goodput falls to zero between bursts; the time lane is light grey.",
        "`limited_s` in `count` stretches against `round_trip_ms`, and whose data it is (`sender`). Confirmed where "
        "nothing was outstanding for half of that time (`nothing_outstanding_s`), each time longer than this host is "
        "late elsewhere, or only a FIN followed; likely if all of it is the time that the acknowledgement of the last "
        "data took. Likely where nothing followed for a round trip once all was acknowledged: what a window had "
        "held back would have gone out then. Likely, too, where at least no acknowledgement advanced for half of it, "
        "or by the sender's log the congestion window had room and less was outstanding than before: a late host may "
        "have held data back as well. Else undecided: a full congestion window or send buffer may have. Undecided also "
        "where the capture has a hole.",
        "Write earlier and in larger pieces, send requests without waiting for each answer (pipelining, parallel "
        "requests), read from disk ahead. If the pauses are intended (a video in chunks), the network is not what "
        "limits.",
    ),
    "idle-link": Explained(
        "The link carried nothing for longer than a round trip in the midst of the transfer. `evidence.cause` says "
        "which idle cause of the accounting it is: TCP waited for its timer or repaired a loss, a window was full, or "
        "there was nothing to send.",
        "No frames in the link's panel while the time lane is idle (dark red: TCP waits or repairs). Here the link "
        "works again from 22.7 s on, but TCP's timer, long because of the queue before, runs out only at 34.7 s.",
        "`duration_ms` against the least round trip, `cause`, and the direction `link`; undecided where the cause is "
        "unknown, or where the numbers of the link's frames do not show that its log has all. What set it off lasted "
        "for at least half of it, or was over less than a round trip before its end; of a repair it is what began it, "
        "or, where that is in doubt, what lost the data that it sent again.",
        "Follow `caused_by`: what made TCP wait is what to cure. For idle_recovery see timeout, for "
        "idle_window_limited receiver-window-limited (or a congestion window that is small after losses), for "
        "idle_sender application-limited.",
    ),
    "ack-compression": Explained(
        "Acknowledgements came closer together than they had left: something held them and let them go at once. The "
        "sender answers with a burst, and its clock, the spacing of acknowledgements, is lost.",
        "The acknowledgements stand still and then rise nearly upright, and data follows as fast as the host sends; "
        "its round trips then rise, segment by segment, as the burst queues.",
        "`count` acknowledgements that left over `left_over_ms` came within `came_within_ms` (less than half).",
        "Pace the sender (`fq`, BBR), so that no burst follows. In the reverse direction: a shorter or fair queue "
        "(fq_codel), repairs of the link that do not hold acknowledgements back, uplink grants that are not saved up.",
    ),
    "probe": Explained(
        "TCP sent a tail loss probe: after some two round trips without an acknowledgement it resent the last segment "
        "(or sent a new one), so that SACK can show what is missing before the timer runs out. Needless if the data "
        "was only late.",
        "A square at the upper end of what is outstanding, in orange if it was needless, as here in a stall. The "
        "congestion window stays as it is.",
        "That it was the last outstanding segment, the first resend by a timer since anything was acknowledged, and "
        "whether an earlier copy arrived; a state log shows the untouched window.",
        "Nothing: it is cheap, and saves timeouts. Many needed ones mean losses at the end of bursts (drops of a short "
        "queue); many needless ones a path whose delay varies: look for path-stall, link-recovery-hole and "
        "flow-control-gap.",
    ),
    "handshake-retry": Explained(
        "A SYN (or the answer to it) was sent more than once: the first one or its answer was lost, late, or not "
        "accepted. TCP waits for one second before it tries again, then for two (RFC 6298).",
        "The transfer's first data comes a second or more after its first packet; the SYNs carry no data and are not "
        "drawn, the finding's bar goes from the first to the last of them.",
        "`count` and `records` of the SYNs. Both captures show whether the SYN or its answer was lost; otherwise the "
        "layer is unknown.",
        "Regularly about 1 s (3 s on old systems): check the listener (its backlog: `ss -ltn`, `net.core.somaxconn`), "
        "firewalls and SYN rate limits. On a radio that must wake up first, keep the connection open and reuse it.",
    ),
}  # fmt: skip
"""The texts on every kind of finding."""

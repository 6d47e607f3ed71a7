"""The keys of UMTS RLC: acknowledged, unacknowledged and transparent mode (25.322, names of its clause 9.6)."""

from __future__ import annotations

from typing import Any

from multitracer.replay.simulate.key import Key, flag, seconds, whole, word
from multitracer.replay.simulate.limits import LARGEST_RLC_WINDOW, LONGEST_RLC_S, MOST_POLL_SDU
from multitracer.replay.simulate.link_keys import PROTOCOL

_AM = ((PROTOCOL, ("rlc-am",)),)
_UM = ((PROTOCOL, ("rlc-um",)),)


def _am(key: Any, name: str, *arguments: Any, **more: Any) -> Key:
    made: Key = key(f"link.rlc-am.{name}", *arguments, where=_AM, **more)
    return made


def _am_s(name: str, *arguments: Any, **more: Any) -> Key:
    return _am(seconds, name, *arguments, most=LONGEST_RLC_S, **more)


RLC_AM = (
    _am(whole, "window", "PDUs that may be unacknowledged, of either side.", 512, least=1, most=LARGEST_RLC_WINDOW),
    _am(whole, "max_dat", "MaxDAT: a PDU is sent at most MaxDAT - 1 times, so not 1; 0: no limit.", 10, most=10_000),
    _am(word, "after_max_dat", "What follows: its SDU is discarded, or the link reset.", "discard", "reset"),
    _am(word, "discard", "What a discard takes: every unacknowledged SDU up to it, as the window moves past them, or "
        "its SDU alone, when the window has come to it.", "window", "sdu"),
    _am_s("discard_s", "Timer_Discard, with explicit signalling; unset: none.", None, above=True,
        default_text="none"),
    _am_s("mrw_s", "Timer_MRW.", 0.5, above=True),
    _am(whole, "max_mrw", "MaxMRW: so many MRWs unanswered make a reset; 0: unlimited.", 4, most=10_000),
    _am(flag, "send_mrw", "Send MRW: every discarded SDU is named, not only the last."),
    _am(flag, "poll_last_new", "Poll in the last PDU of the buffer of new data.", True),
    _am(flag, "poll_last_retransmission", "Poll in the last PDU of the retransmission buffer.", True),
    _am_s("poll_s", "Timer_Poll; 0: none.", 0.3),
    _am(word, "poll_timer_starts", "What starts Timer_Poll: a poll, or the first unacknowledged PDU as well; or it "
        "runs periodically.", "poll-and-first", "poll", "periodic"),
    _am(whole, "poll_pdu", "Poll_PDU: poll in every n-th PDU; 0: not.", 0, most=LARGEST_RLC_WINDOW),
    _am(whole, "poll_sdu", "Poll_SDU: poll at the end of every n-th SDU; 0: not.", 0, most=MOST_POLL_SDU),
    _am(whole, "poll_window_percent", "Poll_Window: poll when this part of the window is used; 0: not.", 80, most=100),
    _am_s("poll_periodic_s", "Timer_Poll_Periodic; 0: none."),
    _am_s("poll_prohibit_s", "Timer_Poll_Prohibit; 0: none."),
    _am(flag, "any_status_stops_poll", "Any STATUS PDU stops Timer_Poll."),
    _am(word, "last_poll", "A poll with nothing left to send resends the last PDU, which counts as a transmission or "
        "does not; or it is dropped.", "counted", "uncounted", "dropped"),
    _am(flag, "missing_pdu_indication", "A gap found makes a report.", True),
    _am(word, "missing_report", "Of a gap: when it is first seen, or at each PDU while it is open.", "once", "each"),
    _am(whole, "missing_threshold", "Missing PDUs that it takes for a gap to make a report.", 1, least=1,
        most=LARGEST_RLC_WINDOW),
    _am(word, "lost_resend", "A lost retransmission is found by the next report that a timer or poll makes, or by the "
        "next PDU sent after all that was asked for: the simulated receiver knows which that is.", "next-report",
        "next-pdu"),
    _am_s("resend_guard_s", "A PDU is not sent again within this time of its last sending; 0: no guard."),
    _am(word, "status_format", "SUFI that names missing PDUs.", "bitmap", "list", "rlist"),
    _am_s("status_periodic_s", "Timer_Status_Periodic; 0: none."),
    _am_s("status_prohibit_s", "Timer_Status_Prohibit; 0: none."),
    _am(flag, "periodic_always", "The periodic report is sent also when nothing came since the last one.", True),
    _am(flag, "piggyback", "Status reports may ride in the padding of AMD PDUs."),
    _am_s("epc_s", "Timer_EPC, of the estimated PDU counter; 0: none."),
    _am(flag, "length_indicators", "Where SDUs end is said by length indicators; no: one SDU is one PDU.", True),
    _am(flag, "in_sequence", "SDUs are handed over in their order.", True),
    _am_s("rst_s", "Timer_RST.", 0.5, above=True),
    _am(whole, "max_rst", "MaxRST: after so many RESETs but one without an answer `after_max_rst` follows.", 4, least=1,
        most=10_000),
    _am(word, "after_max_rst", "The link is given up, or re-established at once.", "end", "reestablish"),
    _am(flag, "reset_discards_all", "A reset also discards SDUs of which nothing was sent."),
)  # fmt: skip

RLC_UM = (
    Key("link.rlc-um.marks_start", "yes-no", "A PDU whose first octet begins an SDU says so.", True, where=_UM),
    Key("link.rlc-um.discard_s", "number", "Timer_Discard without signalling; unset: none.", None, above=True,
        most=LONGEST_RLC_S, where=_UM, default_text="none"),
)  # fmt: skip

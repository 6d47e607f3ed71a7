"""What can be set about UMTS RLC in acknowledged mode (3GPP TS 25.322), and what the papers set."""

from __future__ import annotations

from dataclasses import dataclass, replace

from multitracer.model.errors import UsageError

MS = 1_000_000
MOST_QUEUE_SDUS, MOST_QUEUE_BYTES = 1 << 20, 1 << 28
LARGEST_PDU_BYTES = 4000
LARGEST_WINDOW = 2047
"""Half the sequence numbers: a larger window would restrict which PDUs may be sent again (9.6)."""
SHORT_LI_PDU_BYTES = 126
"""9.2.2.8: up to this size length indicators have seven bits."""

STATUS_FORMATS = ("list", "bitmap", "rlist")
LAST_POLLS = ("counted", "uncounted", "dropped")
DISCARD_MODES = ("no_discard", "max_dat", "timer")
AFTER_MAX_RST = ("end", "reestablish")


@dataclass(frozen=True)
class Parameters:
    """Parameters of an RLC AM entity, by the names of 25.322 clause 9.6; times in ns, 0 for a timer not configured."""

    pdu_bytes: int = 40
    """AMD PDU size, header included."""
    li_bits: int = 0
    """Bits of a length indicator, 7 or 15; 0: by the PDU's size, 9.2.2.8."""
    length_indicators: bool = True
    """Length indicators say where SDUs end. Else a PDU holds one SDU, whole, and is as long as that (papers 000, 003):
    `pdu_bytes` is the longest one."""
    header_bytes: int = 2
    """Octets that the fixed header takes on the air; other than 2 only without length indicators and octets."""
    special_he: bool = False
    """HE = 10 may say that the PDU ends an SDU."""
    piggyback: bool = False
    """Status reports may ride in the padding of AMD PDUs, 9.2.1.5."""
    control_pdu_bytes: int = 0
    """STATUS and RESET PDUs are filled up to this size; 0: as short as they can be."""
    status_format: str = "list"
    """SUFI that names missing PDUs: list, bitmap or rlist."""
    whole_reports: bool = True
    """A report names all gaps, in as many SUFIs and PDUs as it takes; else in one SUFI what goes into that, and
    acknowledges up to there; the rest waits for the next report."""
    in_sequence: bool = True
    """SDUs are handed over in their order."""

    tx_window: int = 512
    """Configured_Tx_Window_Size, PDUs; no larger than the other side's rx_window."""
    rx_window: int = 512
    """Configured_Rx_Window_Size, PDUs."""

    poll_last_new: bool = True
    """Poll in the last PDU of the buffer of new data."""
    poll_last_retransmission: bool = True
    """Poll in the last PDU of the retransmission buffer."""
    poll_ns: int = 300 * MS
    """Timer_Poll."""
    poll_pdu: int = 0
    """Poll_PDU: poll in every n-th PDU; 0: not."""
    poll_sdu: int = 0
    """Poll_SDU: poll in the PDU with the last octet of every n-th SDU; 0: not."""
    poll_window_percent: int = 80
    """Poll_Window: when this part of the window is used, in percent; 0: not. Something must poll before a window is
    full, or a sender with more data than that waits for ever."""
    poll_periodic_ns: int = 0
    """Timer_Poll_Periodic."""
    poll_prohibit_ns: int = 0
    """Timer_Poll_Prohibit."""
    poll_when_unacknowledged: bool = False
    """Timer_Poll runs whenever PDUs are unacknowledged, not only after a poll: else, when only it and the window
    can poll, a loss at the end of the data is never found."""
    last_poll: str = "counted"
    """A poll with nothing left to send: the last PDU is sent again for it, counted as a transmission or (uncounted)
    not; or the poll is dropped."""
    any_status_stops_poll: bool = False
    """Any STATUS PDU stops Timer_Poll, also one that says nothing of the PDU polled for; not with
    poll_when_unacknowledged, where the timer runs on until it is answered."""

    missing_pdu_indication: bool = True
    """A gap found makes a report."""
    missing_threshold: int = 1
    """With missing_pdu_indication: a gap found makes a report only where so many PDUs are missing."""
    report_each: bool = False
    """With missing_pdu_indication: a report at each new PDU while a gap is open, not only when one is found."""
    resend_guard_ns: int = 0
    """A PDU called missing so soon after it was sent last is not sent again."""
    lost_resend_by_pdu: bool = False
    """A PDU that comes after all that a report asked for was sent again makes another report, if something of that is
    still missing. 25.322 has nothing by which a receiver could know that: only a simulated one does."""
    status_periodic_ns: int = 0
    """Timer_Status_Periodic."""
    periodic_always: bool = True
    """The periodic report is made also when no AMD PDU came since the last report and nothing is missing."""
    status_prohibit_ns: int = 0
    """Timer_Status_Prohibit."""
    epc_ns: int = 0
    """Timer_EPC, of the estimated PDU counter."""
    tti_ns: int = 10 * MS
    """What the estimated PDU counter takes for a transmission time interval."""
    pdus_per_tti: int = 1
    """PDUs that the estimated PDU counter expects in it."""

    discard: str = "no_discard"
    """no_discard (reset at MaxDAT), max_dat (discard at MaxDAT) or timer (Timer_Discard, explicit signalling)."""
    max_dat: int = 10
    """MaxDAT: a PDU is sent at most MaxDAT - 1 times; 0: no limit."""
    discard_alone: bool = False
    """With discard = max_dat: the SDUs before those of the PDU at MaxDAT are sent on, and its own are discarded when
    nothing before it is unacknowledged. Else all of them are, as the MRW moves the window past them."""
    discard_ns: int = 0
    """Timer_Discard; for discard = timer."""
    mrw_ns: int = 500 * MS
    """Timer_MRW."""
    max_mrw: int = 4
    """MaxMRW: that many MRWs unanswered make a reset; 0: no limit."""
    send_mrw: bool = False
    """Send MRW: every discarded SDU is named, not only the last."""
    rst_ns: int = 500 * MS
    """Timer_RST."""
    max_rst: int = 4
    """MaxRST: after MaxRST - 1 RESETs without an answer `after_max_rst` says how it goes on."""
    after_max_rst: str = "end"
    """25.322 11.4.4.1 only tells the upper layers. end: they give the link up. reestablish: they re-establish it at
    once; their signalling goes over the same radio, so RESETs stand for it, sent until one is answered."""
    reset_discards_all: bool = False
    """A reset also discards SDUs of which nothing was sent yet."""

    max_sdu_bytes: int = 1600
    """Longest SDU."""
    queue_sdus: int = 1024
    """SDUs that wait or are unacknowledged, at most."""
    waiting_sdus: int = 0
    """SDUs not sent whole that wait, at most; 0: as `queue_sdus`."""
    queue_bytes: int = 1 << 18
    """Octets that wait, at most; room for the longest SDU."""

    @property
    def li_octets(self) -> int:
        """Octets of a length indicator."""
        bits = self.li_bits or (7 if self.pdu_bytes <= SHORT_LI_PDU_BYTES else 15)
        return (bits + 1) // 8

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            check(name, getattr(self, name), low, high)
        check("queue_bytes", self.queue_bytes, self.max_sdu_bytes, MOST_QUEUE_BYTES)
        if self.li_bits not in (0, 7, 15):
            raise UsageError(f"li_bits is {self.li_bits}; it must be 7, 15 or 0")
        if self.li_bits == 7 and self.pdu_bytes > SHORT_LI_PDU_BYTES:
            raise UsageError(f"li_bits is 7; PDUs of more than {SHORT_LI_PDU_BYTES} octets need 15")
        if self.status_format not in STATUS_FORMATS:
            raise UsageError(f"status_format is {self.status_format!r}; it must be one of {', '.join(STATUS_FORMATS)}")
        if self.last_poll not in LAST_POLLS:
            raise UsageError(f"last_poll is {self.last_poll!r}; it must be one of {', '.join(LAST_POLLS)}")
        if self.discard not in DISCARD_MODES:
            raise UsageError(f"discard is {self.discard!r}; it must be one of {', '.join(DISCARD_MODES)}")
        if self.after_max_rst not in AFTER_MAX_RST:
            raise UsageError(f"after_max_rst is {self.after_max_rst!r}; it must be one of {', '.join(AFTER_MAX_RST)}")
        if self.discard == "timer" and not self.discard_ns:
            raise UsageError("discard_ns is 0; with discard = timer it must be above 0")
        if self.discard == "max_dat" and not self.max_dat:
            raise UsageError("max_dat is 0; with discard = max_dat it must be from 2 to 10000")
        if self.discard_alone and self.discard != "max_dat":
            raise UsageError("discard_alone needs discard = max_dat")
        if self.max_dat == 1:
            raise UsageError("max_dat is 1; a PDU is sent max_dat - 1 times, so it must be 0 or from 2 to 10000")
        check_windows(self.tx_window, self.rx_window)
        self._check_form()

    def _check_form(self) -> None:
        """What PDUs look like."""
        if self.length_indicators and self.header_bytes != 2:
            raise UsageError(f"header_bytes is {self.header_bytes}; with length_indicators it must be 2")
        if self.piggyback and not self.length_indicators:
            raise UsageError("piggyback needs length_indicators, which say where a status report begins")
        if self.control_pdu_bytes > self.pdu_bytes:
            raise UsageError(f"control_pdu_bytes is {self.control_pdu_bytes}; it must be from 0 to {self.pdu_bytes}")
        if 0 < self.control_pdu_bytes < LEAST_PDU_BYTES:
            raise UsageError(f"control_pdu_bytes is {self.control_pdu_bytes}; it must be 0 or from {LEAST_PDU_BYTES}")


LEAST_PDU_BYTES = 16
"""Room for a report that names a PDU beside an MRW, an MRW_ACK and a WINDOW."""
LONGEST_NS = 1000 * 1000 * MS
MOST_POLL_SDU = 64
"""The largest value of Poll_SDU that 25.331 can configure (10.3.4.4)."""
_RANGES = (
    ("pdu_bytes", LEAST_PDU_BYTES, LARGEST_PDU_BYTES),
    ("tx_window", 1, LARGEST_WINDOW), ("rx_window", 1, LARGEST_WINDOW),
    ("poll_ns", 0, LONGEST_NS), ("poll_pdu", 0, LARGEST_WINDOW), ("poll_sdu", 0, MOST_POLL_SDU),
    ("poll_window_percent", 0, 100),
    ("poll_periodic_ns", 0, LONGEST_NS), ("poll_prohibit_ns", 0, LONGEST_NS), ("status_periodic_ns", 0, LONGEST_NS),
    ("status_prohibit_ns", 0, LONGEST_NS), ("epc_ns", 0, LONGEST_NS), ("tti_ns", 1, LONGEST_NS),
    ("pdus_per_tti", 1, 1000), ("max_dat", 0, 10_000), ("discard_ns", 0, LONGEST_NS), ("mrw_ns", 1, LONGEST_NS),
    ("max_mrw", 0, 10_000), ("rst_ns", 1, LONGEST_NS), ("max_rst", 1, 10_000), ("max_sdu_bytes", 1, 65_535),
    ("queue_sdus", 1, MOST_QUEUE_SDUS), ("control_pdu_bytes", 0, LARGEST_PDU_BYTES), ("header_bytes", 0, 64),
    ("resend_guard_ns", 0, LONGEST_NS), ("missing_threshold", 1, LARGEST_WINDOW), ("waiting_sdus", 0, MOST_QUEUE_SDUS),
)  # fmt: skip


def check(name: str, value: int, low: int, high: int) -> None:
    """Raise UsageError unless `low` <= `value` <= `high`."""
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}; it must be from {low} to {high}")


def check_windows(tx_window: int, rx_window: int) -> None:
    """Raise UsageError when a sender's window is larger than its receiver's.

    What lies beyond that is dropped and never called missing, and a poll in it answered with an old ACK, for ever.
    """
    if tx_window > rx_window:
        raise UsageError(f"tx_window is {tx_window}; with rx_window {rx_window} it must be from 1 to {rx_window}")


def check_queue(queue_sdus: int, queue_bytes: int, room: int, sdu_bytes: int) -> None:
    """Raise UsageError when a queue cannot hold what fills the `room` of an opportunity from a saturated source."""
    octets = room + 2 * sdu_bytes
    check("queue_bytes", queue_bytes, octets, MOST_QUEUE_BYTES)
    check("queue_sdus", queue_sdus, octets // sdu_bytes, MOST_QUEUE_SDUS)


PAPER_UNIFORM = Parameters(
    pdu_bytes=250, status_format="bitmap", tx_window=128, rx_window=128,
    poll_last_new=False, poll_last_retransmission=False, poll_ns=200 * MS, poll_window_percent=70,
    poll_prohibit_ns=100 * MS, poll_when_unacknowledged=True, status_periodic_ns=400 * MS, mrw_ns=500 * MS,
)  # fmt: skip
"""Papers 000 and 003 over the uniform channel: one SDU a PDU, no report prohibited. Timer_Poll starts with the
first unacknowledged PDU: with only those polls the papers' losses at the end of the data would never be found."""

PAPER_TWO_STATE = replace(
    PAPER_UNIFORM, poll_last_retransmission=True, poll_window_percent=80, status_periodic_ns=500 * MS,
    status_prohibit_ns=90 * MS, mrw_ns=110 * MS,
)  # fmt: skip
"""Papers 000 and 003 over the two-state channel."""

PAPER_001 = Parameters(
    pdu_bytes=80, tx_window=256, rx_window=256, tti_ns=20 * MS, pdus_per_tti=4, poll_pdu=217, poll_ns=40 * MS,
    poll_periodic_ns=1080 * MS, poll_prohibit_ns=20 * MS, poll_window_percent=85, mrw_ns=80 * MS, max_dat=0,
)  # fmt: skip
"""Paper 001, Table III, where a TTI is 20 ms: Timer_Poll 2 TTIs, Timer_Poll_Periodic 54, Timer_Poll_Prohibit 1,
Timer_MRW 4, polls in the last PDU of both buffers, no discard. 54 TTIs of four PDUs are 85 % of the window."""

PAPER_002 = Parameters(
    pdu_bytes=40, poll_ns=300 * MS, poll_window_percent=0, poll_when_unacknowledged=True, status_prohibit_ns=100 * MS,
    max_dat=11,
)  # fmt: skip
"""Paper 002: polls by a timer and in the last PDU of either buffer, ten transmissions, then a reset. The timer
runs while anything is unacknowledged: nothing else polls when there are more data than a window."""

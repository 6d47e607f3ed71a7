"""RLC PDUs in captures: in UDP or bare, alone or inside MAC PDUs, in the framings Wireshark knows.

`read` makes links and frames from UDP payloads and from whole records of the user link types and of
exported PDUs. Inside MAC only signalling bearers can be decoded: the RLC mode of a data bearer is
configured by RRC, which is not in the capture, so those PDUs are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from multitracer.parsers.shared.lines import Losses
from multitracer.parsers.shared.rlc_frames import At, FrameRow, Links, PduRows, frames_table
from multitracer.wire import mac_lte, mac_nr, rlc_lte, rlc_nr
from multitracer.wire.bits import MalformedPduError
from multitracer.wire.mac_lte import number, tagged

if TYPE_CHECKING:
    import pandas as pd

    from multitracer.model.trace import Skip

USER_LINK_TYPES = range(147, 163)
MAC_LTE_LINK_TYPE, EXPORTED_PDU = 147, 252
UDP_HEADER_BYTES = 8
SIGNATURES = (b"umts-rlc", b"rlc-lte", b"rlc-nr", b"mac-lte", b"mac-nr")

_SENDERS = ("mobile", "network")  # by direction: uplink is 0, downlink 1
_TM, _UM, _AM = 1, 2, 4  # rlcMode of rlc-lte and rlc-nr
_HARQ_NS = 100_000_000
"""A HARQ process, with 8 ms a transmission (36.321 5.3.2), gives up sooner than this."""
_RESTART = -1
_DRB = "of a data bearer: its RLC mode is set by RRC, which a MAC capture does not show"


class Datagram(NamedTuple):
    """A UDP payload; for link types 147..162 and 252 a whole record, with ports -1."""

    record: int
    time_ns: int
    link_type: int
    source_port: int
    destination_port: int
    payload: bytes


def read(
    datagrams: Iterable[tuple[int, int, int, int, int, bytes]],
) -> tuple[dict[str, pd.DataFrame], list[Skip]]:
    """Tables links and frames of all RLC PDUs found, and what had to be skipped.

    UDP payloads without a known signature are of other protocols, and not counted. A capture does not
    say whether the frames of a link were logged by their sender: they are taken to be where each new
    number follows the one before, because at a receiver losses leave gaps.
    """
    capture = _Capture()
    for datagram in datagrams:
        capture.add(Datagram(*datagram))
    rows = _with_side(capture.pdus.rows, [protocol for protocol, _, _ in capture.links.numbers])
    tables = {"links": capture.links.table(), "frames": frames_table(rows, capture.links.senders)}
    return tables, capture.losses.skips


class _Capture:
    """Collects the RLC PDUs of datagrams, one after the other."""

    def __init__(self) -> None:
        self.links = Links()
        self.losses = Losses()
        self.pdus = PduRows(losses=self.losses)
        self._harq: dict[tuple[int, int, int], tuple[int, bytes]] = {}

    def add(self, datagram: Datagram) -> None:
        """Decode one datagram, or count it as a loss."""
        try:
            if datagram.link_type == EXPORTED_PDU:
                self._exported(datagram)
            elif datagram.link_type in USER_LINK_TYPES:
                self._of_user_link_type(datagram)
            else:
                self._with_signature(datagram, datagram.payload)
        except MalformedPduError as error:
            self.losses.add(str(error), datagram.record)

    def _of_user_link_type(self, datagram: Datagram) -> None:
        """Decode a record of a user link type. Anybody may use these: only records with a known framing are read."""
        for start in (UDP_HEADER_BYTES, 0):
            if self._with_signature(datagram, datagram.payload[start:]):
                return
        if datagram.link_type != MAC_LTE_LINK_TYPE:
            raise MalformedPduError(f"link type {datagram.link_type} without a framing of RLC or MAC")
        self._mac_lte(datagram, datagram.payload)

    def _exported(self, datagram: Datagram) -> None:
        """Decode an exported PDU: tags, one with the name of a Wireshark dissector, then the octets for it."""
        at, name = 0, b""
        while True:
            tag, size = (
                int.from_bytes(datagram.payload[at : at + 2], "big"),
                int.from_bytes(datagram.payload[at + 2 : at + 4], "big"),
            )
            at += 4
            if tag == 0 or at > len(datagram.payload):
                break
            if tag in (12, 13):
                name = datagram.payload[at : at + size].rstrip(b"\0")
            at += size
        body = datagram.payload[at:]
        if name == b"udp":
            self._with_signature(datagram, body[UDP_HEADER_BYTES:])
        elif name == b"mac-lte-framed":
            self._mac_lte(datagram, body)
        elif name == b"mac-nr-framed":
            self._mac_nr(datagram, body)

    def _with_signature(self, datagram: Datagram, payload: bytes) -> bool:
        """Decode a payload that begins with one of the signatures; False where it has none."""
        readers: dict[bytes, Callable[[Datagram, bytes], None]] = {
            b"umts-rlc": self._umts, b"rlc-lte": self._lte, b"rlc-nr": self._nr,
            b"mac-lte": self._mac_lte, b"mac-nr": self._mac_nr,
        }  # fmt: skip
        signature = next((s for s in SIGNATURES if payload.startswith(s)), None)
        if signature is None:
            return False
        readers[signature](datagram, payload[len(signature) :])
        return True

    def _at(self, datagram: Datagram, protocol: str, bearer: str, direction: int) -> At:
        link = self.links.number(protocol, bearer, _SENDERS[min(direction, 1)])
        return At(datagram.record, datagram.time_ns, link, True)

    def _umts(self, datagram: Datagram, octets: bytes) -> None:
        values = tagged(octets, 0, {2: 1, 3: 1, 4: 1, 5: 4, 6: 1, 7: 1})
        bearer = f"U-RNTI {number(values, 5)} RB {number(values, 6)}"
        at = self._at(datagram, "rlc-umts", bearer, number(values, 4))
        # The mode, or else the channel type by which it is known: DCCH and DTCH are AM, CTCH UM, others TM.
        mode = number(values, 3) if 3 in values else {3: 2, 4: 2, 5: 1}.get(number(values, 2), 0)
        li_bits = {1: 7, 2: 15}.get(number(values, 7), 0)
        if mode == 2:
            self.pdus.umts_am(at, values[1], li_bits)
        elif mode == 1:
            self.pdus.umts_um(at, values[1], li_bits)
        else:
            self.pdus.transparent(at, values[1])

    def _lte(self, datagram: Datagram, octets: bytes) -> None:
        values = tagged(octets, 1, {2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2, 8: 0, 9: 1})
        bearer = _bearer(number(values, 5), number(values, 6), number(values, 7))
        at = self._at(datagram, "rlc-lte", bearer, number(values, 3))
        sn_bits, wide = number(values, 2, 10), 8 in values
        if octets[0] == _AM:
            self.pdus.lte_am(at, values[1], rlc_lte.am_spec(sn_bits, wide))
        elif octets[0] == _UM:
            self.pdus.lte_um(at, values[1], sn_bits, 15 if wide else 11)
        else:
            self.pdus.transparent(at, values[1])

    def _nr(self, datagram: Datagram, octets: bytes) -> None:
        values = tagged(octets, 2, {2: 1, 3: 2, 4: 1, 5: 1})
        bearer = _bearer(number(values, 3), number(values, 4), number(values, 5))
        at = self._at(datagram, "rlc-nr", bearer, number(values, 2))
        if octets[0] == _AM:
            self.pdus.nr_am(at, values[1], rlc_nr.am_spec(octets[1]))
        elif octets[0] == _UM:
            self.pdus.nr_um(at, values[1], octets[1])
        else:
            self.pdus.transparent(at, values[1])

    def _mac_lte(self, datagram: Datagram, octets: bytes) -> None:
        seen = mac_lte.context(octets)
        if seen.rnti_type not in (mac_lte.C_RNTI, mac_lte.SPS_RNTI) or self._repeated(datagram, seen):
            return
        if not seen.crc_ok:
            raise MalformedPduError("MAC PDU with a failed CRC")
        for lcid, sdu in mac_lte.sdus(seen.pdu, seen.direction):
            if lcid in mac_lte.SPEC.srbs:
                at = self._at(datagram, "rlc-lte", f"UE {seen.ue} RNTI {seen.rnti} SRB{lcid}", seen.direction)
                self.pdus.lte_am(at, sdu)
            elif lcid:
                self.losses.add(f"LTE RLC PDU {_DRB}", datagram.record)

    def _mac_nr(self, datagram: Datagram, octets: bytes) -> None:
        seen = mac_nr.context(octets)
        if seen.rnti_type not in (mac_nr.C_RNTI, mac_nr.CS_RNTI):
            return
        for lcid, sdu in mac_nr.sdus(seen.pdu, seen.direction):
            if lcid in mac_nr.SPEC.srbs:
                at = self._at(datagram, "rlc-nr", f"UE {seen.ue} RNTI {seen.rnti} SRB{lcid}", seen.direction)
                self.pdus.nr_am(at, sdu)
            else:
                self.losses.add(f"NR RLC PDU {_DRB}", datagram.record)

    def _repeated(self, datagram: Datagram, seen: mac_lte.Context) -> bool:
        """Whether this is a HARQ retransmission of a MAC PDU already captured, whose RLC PDUs were sent once."""
        key = (seen.direction, seen.rnti, seen.ue)
        before, pdu = self._harq.get(key, (0, b""))
        if seen.retransmission and pdu == seen.pdu and datagram.time_ns - before < _HARQ_NS:
            return True
        if seen.crc_ok:
            self._harq[key] = (datagram.time_ns, seen.pdu)
        return False


def _bearer(ue: int, kind: int, number_: int) -> str:
    """A bearer's name by its channel type, which rlc-lte and rlc-nr number alike."""
    names = {1: "CCCH", 2: "BCCH-BCH", 3: "PCCH", 4: f"SRB{number_}", 5: f"DRB{number_}", 6: "BCCH-DL-SCH"}
    return f"UE {ue} {names.get(kind, f'channel {number_}')}"


def _with_side(rows: list[FrameRow], protocols: list[str]) -> list[FrameRow]:
    """The rows; those of links with gaps in their numbers are marked as logged by the receiver."""
    numbers: list[list[int]] = [[] for _ in protocols]
    for row in rows:
        if row.type in ("AMD", "RESET", "RESET_ACK"):
            numbers[row.link].append(row.sn if row.type == "AMD" else _RESTART)
    sent = [
        not _has_gap(sns, _modulus(protocol, sns)) for sns, protocol in zip(numbers, protocols, strict=True)
    ]
    return [row if sent[row.link] else row._replace(sent=False) for row in rows]


def _modulus(protocol: str, sns: list[int]) -> int:
    """The smallest modulus of the protocol that is above all numbers in use."""
    sizes = {"rlc-umts": (12,), "rlc-lte": (10, 16), "rlc-nr": (12, 18)}[protocol]
    return 1 << next((bits for bits in sizes if not max(sns, default=0) >> bits), sizes[-1])


def _has_gap(sns: list[int], modulus: int) -> bool:
    """Whether some number was followed by one that skips others."""
    expected = _RESTART
    for sn in sns:
        ahead = (sn - expected) % modulus
        if sn == _RESTART or expected == _RESTART or ahead == 0:
            expected = _RESTART if sn == _RESTART else (sn + 1) % modulus
        elif ahead < modulus // 2:
            return True
    return False

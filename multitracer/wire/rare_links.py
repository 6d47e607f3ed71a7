"""What follows the headers of rare link layers, as EtherType and octets.

Works on one record at a time in plain Python, since captures hold few of them.
"""

from __future__ import annotations

from multitracer.wire import radiotap
from multitracer.wire.wifi_packets import WifiPackets

RARE_LINK_TYPES = frozenset({*radiotap.LINK_TYPES})


class RareLinkDecoder:
    """Takes the records of a capture in their order, as some packets are spread over several, or repeated."""

    def __init__(self) -> None:
        self._wifi = WifiPackets()

    def payloads(self, record: bytes, link_type: int, *, whole: bool = True) -> list[tuple[int, bytes]]:
        """(EtherType, octets after the link header) of every packet in a record of one of RARE_LINK_TYPES.

        `whole`: no octets of the record were left out. EtherType 0x6558 is a whole Ethernet frame, 0x880B a PPP frame.
        """
        if link_type in radiotap.LINK_TYPES:
            return self._wifi.packets(record, link_type, whole=whole)
        return []

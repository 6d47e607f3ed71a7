"""Bit fields of any width read from and written to octets, most significant bit first (as in 3GPP figures)."""

from __future__ import annotations


class MalformedPduError(ValueError):
    """The octets are not a PDU of the protocol: too short, a reserved value, or fields that contradict each other."""


class BitReader:
    """Reads fields from the front of `octets`; raises MalformedPduError when they run out."""

    def __init__(self, octets: bytes, position: int = 0) -> None:
        self.octets = octets
        self.position = position
        """In bits."""

    @property
    def left(self) -> int:
        """Bits not read yet."""
        return 8 * len(self.octets) - self.position

    def take(self, bits: int) -> int:
        """The next `bits` bits as an unsigned number; raises MalformedPduError when fewer are left."""
        end = self.position + bits
        last = (end + 7) >> 3
        if last > len(self.octets):
            raise MalformedPduError(f"ends {end - 8 * len(self.octets)} bits early")
        window = int.from_bytes(self.octets[self.position >> 3 : last], "big")
        self.position = end
        return (window >> (8 * last - end)) & ((1 << bits) - 1)


class BitWriter:
    """Collects fields; `octets` gives them as bytes, padded with zero bits to a whole octet."""

    def __init__(self) -> None:
        self._fields: list[str] = []
        self.bits = 0

    def put(self, value: int, bits: int) -> None:
        """Append `value` in `bits` bits; raises ValueError when it does not fit."""
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{value} does not fit {bits} bits")
        if bits:
            self._fields.append(format(value, f"0{bits}b"))
        self.bits += bits

    def octets(self, size: int = 0) -> bytes:
        """Everything put so far, padded with zeros to at least `size` octets."""
        length = (self.bits + 7) // 8
        text = "".join(self._fields) or "0"
        return (int(text, 2) << (8 * length - self.bits)).to_bytes(length, "big").ljust(size, b"\0")

"""What metrics are called on pages, and in which unit they are shown."""

from __future__ import annotations

_UNITS = {"bps": ("kbit/s", 1000), "s": ("s", 1), "ms": ("ms", 1), "percent": ("%", 1), "bytes": ("octets", 1)}


def unit_of(name: str) -> tuple[str, int]:
    """The unit that a metric is shown in, and what its values are divided by."""
    return _UNITS.get(name.rpartition("_")[2], ("", 1))


def title_of(name: str) -> str:
    """The metric in words, with its unit."""
    words, _, unit = name.rpartition("_")
    called = (words if unit in _UNITS else name).replace("_", " ").replace("tcp", "TCP").replace("rtt", "RTT")
    return f"{called[0].upper()}{called[1:]}" + (f", {_UNITS[unit][0]}" if unit in _UNITS else "")

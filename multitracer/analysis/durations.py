"""Lengths of time as the page and the Markdown summary write them."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """A length of time that is not negative, with two or three digits: "17.1 s", "140 ms", "9.6 ms", "25 us"."""
    if seconds >= 99.95:
        return f"{seconds:,.0f} s"
    if seconds >= 0.9995:
        return f"{seconds:.1f} s"
    if seconds >= 0.00995:
        return f"{1e3 * seconds:.0f} ms"
    if seconds >= 0.0000995:
        return f"{1e3 * seconds:.2g} ms"
    return f"{1e6 * seconds:.2g} us" if seconds > 0 else "0 s"

"""The state of 4.4BSD's ends: that of TCP by its RFCs."""

from __future__ import annotations

from multitracer.replay.tcp.rfc.state import tcp

__all__ = ["tcp"]

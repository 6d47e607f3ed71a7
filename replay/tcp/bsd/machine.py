"""4.4BSD's kernels: those of TCP by its RFCs, under rules of its own."""

from __future__ import annotations

from multitracer.replay.tcp.rfc.machine import close, expire, local_drop, observe, receive, start, write

__all__ = ["close", "expire", "local_drop", "observe", "receive", "start", "write"]

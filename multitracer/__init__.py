"""MultiTracer: which layer made a transfer over a wireless link slow, when, and on what evidence."""

from __future__ import annotations

__version__ = "0.1.0"

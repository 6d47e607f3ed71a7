"""Shared by several input formats: sources, lines of text, captured packets, link frames, TCP state."""

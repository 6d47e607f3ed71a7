"""Selective repeat with multireject, with a constant (SR) and an adaptive timeout (ASR)."""

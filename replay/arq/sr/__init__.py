"""Selective repeat, with a constant (SR) and an adaptive timeout (ASR)."""

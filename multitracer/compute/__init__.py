"""Compiled loops over arrays, and what is done to whole columns at once."""

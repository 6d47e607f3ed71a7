"""Runs of a link protocol, recorded as instruments on a real link would have logged them."""
